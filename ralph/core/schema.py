"""A JSON Schema of ralph.toml, derived from the table of keys (section 11)."""

from __future__ import annotations

from typing import Any

from ralph.core import keys
from ralph.core.keys import Key, Kind
from ralph.core.policy import Policy

_TEXT: dict[str, Any] = {"type": "string"}
_COUNT: dict[str, Any] = {"type": "integer", "minimum": 0}
_TYPES: dict[Kind, dict[str, Any]] = {
    Kind.FLAG: {"type": "boolean"},
    Kind.COUNT: {"anyOf": [_COUNT, {"type": "string", "pattern": r"^[0-9.]+[kM]?$"}]},
    Kind.SECONDS: {"anyOf": [_TEXT, {"type": "number", "minimum": 0}]},
    Kind.TEXT: _TEXT,
    Kind.LIST: {"type": "array", "items": _TEXT},
    Kind.TABLE: {"type": "object", "additionalProperties": _TEXT},
    Kind.COUNTS: {"type": "object", "additionalProperties": _COUNT},
}


def schema() -> dict[str, Any]:
    """Every key with its type, choices and default; unknown keys are refused.

    Lengths of time are texts with units ("1h30m") or seconds, large numbers may be texts ("200k").
    """
    top = _table()
    top["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    top["title"] = "ralph.toml"
    defaults = keys.flatten(Policy())
    for name, key in keys.keys().items():
        *folders, leaf = name.split(".")
        table = top
        for folder in folders:
            if folder == "*":
                table = table.setdefault("additionalProperties", _table())
            else:
                table = table["properties"].setdefault(folder, _table())
            if table.get("additionalProperties") is False and folder == "agents":
                del table["additionalProperties"]
        table["properties"][leaf] = _entry(key) | _default(defaults.get(name))
    return top


def _table() -> dict[str, Any]:
    return {"type": "object", "properties": {}, "additionalProperties": False}


def _entry(key: Key) -> dict[str, Any]:
    found = dict(_TYPES[key.kind])
    return found | {"enum": list(key.choices)} if key.choices else found


def _default(value: object) -> dict[str, Any]:
    if value is None:
        return {}
    return {"default": list(value) if isinstance(value, tuple) else value}
