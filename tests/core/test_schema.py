"""Section 11: the JSON Schema knows every key and its default."""

from __future__ import annotations

from typing import Any

from ralph.core.keys import flatten, keys
from ralph.core.policy import Policy
from ralph.core.schema import schema


def entry(name: str) -> dict[str, Any]:
    found: dict[str, Any] = schema()
    for part in name.split("."):
        found = found["additionalProperties"] if part == "*" else found["properties"][part]
    return found


def test_every_key_is_there_with_its_default() -> None:
    defaults = flatten(Policy())
    for name in keys():
        value = defaults.get(name)
        wanted = list(value) if isinstance(value, tuple) else value
        assert entry(name).get("default") == wanted, name


def test_choices_and_units() -> None:
    assert entry("plan.file")["type"] == "string"
    assert entry("agent.autonomy")["enum"] == ["full", "edit"]
    assert {"type": "string"} in entry("agent.timeout")["anyOf"]


def test_unknown_keys_are_refused_everywhere_but_for_names_of_agents() -> None:
    whole = schema()
    assert whole["additionalProperties"] is False
    assert whole["properties"]["stall"]["additionalProperties"] is False
    assert whole["properties"]["agents"]["additionalProperties"]["additionalProperties"] is False
