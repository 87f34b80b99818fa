"""One table of facts per configuration key, derived from the types of Policy (section 11).

A key is written with dots: ``stall.no_progress``. The agents of [agents.NAME] have one entry for
all names, ``agents.*.command``. Defaults stand in Policy and nowhere else.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import cache
from typing import Any

import msgspec
from msgspec.structs import fields

from ralph.core.policy import CustomAgent, Policy, Section


class Kind(StrEnum):
    """What a value is; the text completes "must be ..."."""

    FLAG = "true or false"
    COUNT = "a whole number"
    SECONDS = "a length of time"
    TEXT = "a text"
    LIST = "a list of texts"
    TABLE = "a table of texts"
    COUNTS = "a table of whole numbers"


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """One key: ``least`` is the smallest value, ``gap`` the smallest one apart from 0 (B-22)."""

    name: str
    kind: Kind
    choices: tuple[str, ...] = ()
    least: int = 0
    gap: int = 0
    filled: bool = False  # must not be empty or blank
    solid: bool = False  # no entry of the list may be blank
    unspaced: bool = False  # no entry of the list may contain whitespace


_KINDS: dict[object, Kind] = {
    bool: Kind.FLAG,
    int: Kind.COUNT,
    int | None: Kind.COUNT,
    float: Kind.SECONDS,
    str: Kind.TEXT,
    tuple[str, ...]: Kind.LIST,
    dict[str, str]: Kind.TABLE,
    dict[str, int]: Kind.COUNTS,
}

_BOUNDS: dict[str, dict[str, Any]] = {
    "prompt": {"filled": True},
    "max": {"least": 1},
    "preset": {"choices": ("cautious", "default", "trusting")},
    "agent.use": {"filled": True},
    "agent.autonomy": {"choices": ("full", "edit")},
    "agents.*.command": {"filled": True},
    "agents.*.prompt": {"choices": ("stdin", "file", "argument")},
    "agents.*.output": {"choices": ("text", "claude")},
    "plan.file": {"filled": True},
    "completion.markers": {"filled": True, "solid": True, "unspaced": True},
    "completion.required": {"least": 1},
    "completion.match": {"choices": ("line", "word")},
    "verify.commands": {"solid": True},
    "verify.every": {"choices": ("claim", "change", "iteration")},
    "progress.policy": {"choices": ("plan_or_tree", "plan", "tree")},
    "breaker.repeated_tool_limit": {"gap": 2},
    "rate.scope": {"choices": ("user", "project")},
    "rate.count": {"choices": ("launches", "turns")},
}

OLDER = {
    "repeatedToolLimit": "breaker.repeated_tool_limit",
    "errorStormLimit": "breaker.error_storm_limit",
    "agentTokenCaps": "breaker.agent_token_caps",
    "tokenVelocityPerMin": "breaker.token_velocity_per_min",
    "hardStop": "breaker.hard_stop",
    "costCapUsd": "floor.usd",
    "costCapTokens": "floor.tokens",
}

LATER = (
    *(
        "agent.session",
        "agent.fallback",
        "breaker.heartbeat",
        "progress.verify_every",
        "progress.markers",
    ),
    *("stall.phases", "stall.recompute", "limits", "budget.usd", "budget.tokens", "budget.turns"),
    *("budget.cost_per_turn", "budget.stop_when_critical", "budget.dispatches", "budget.commands"),
    *("budget.retries_per_task", "budget.judge_cycles", "budget.retriage", "budget.batch"),
    *("budget.work", "judge", "divergence", "tiers", "floor", "hooks.on_terminal"),
    *("hooks.on_level_change", "hooks.on_wait", "notify", "integrity", "tracker"),
)


@cache
def keys() -> dict[str, Key]:
    """Every key of Policy by its dotted name, in the order in which Policy declares them."""
    return {
        name: Key(name=name, kind=_KINDS[kind], **_BOUNDS.get(name, {}))
        for name, kind in _walk(Policy, "")
    }


def _walk(section: type[Section], prefix: str) -> Iterator[tuple[str, object]]:
    for field in fields(section):
        name = prefix + field.name
        if field.type == dict[str, CustomAgent]:
            yield from _walk(CustomAgent, f"{name}.*.")
        elif isinstance(field.type, type) and issubclass(field.type, Section):
            yield from _walk(field.type, f"{name}.")
        else:
            yield name, field.type


def pattern(name: str) -> str:
    """``agents.mine.command`` -> ``agents.*.command``; other names stay as they are."""
    parts = name.split(".")
    if parts[0] == "agents" and len(parts) > 1:
        parts[1] = "*"
    return ".".join(parts)


def find(name: str) -> Key | None:
    """The facts of the key ``name``, or None when there is no such key."""
    return keys().get(pattern(name))


def is_section(name: str) -> bool:
    """True when ``name`` is a table of keys: ``stall``, ``breaker.constrain``, ``agents.mine``."""
    return any(key.startswith(f"{pattern(name)}.") for key in keys())


def later(name: str) -> bool:
    """True for a key that the format knows and this version does not."""
    return any(name == known or name.startswith(f"{known}.") for known in LATER)


def nearest(name: str) -> str:
    """The key or section that was probably meant by the unknown ``name``; "" when none is near."""
    leaf = name.rpartition(".")[2]
    names = [*keys(), *_sections()]
    same = [known for known in names if known.rpartition(".")[2] == leaf]
    if same:
        return same[0]
    close = difflib.get_close_matches(pattern(name), names, n=1, cutoff=0.75)
    if close:
        return _named(close[0], name)
    leaves = {known.rpartition(".")[2]: known for known in names}
    close = difflib.get_close_matches(leaf, leaves, n=1, cutoff=0.75)
    return _named(leaves[close[0]], name) if close else ""


def _named(known: str, name: str) -> str:
    parts = name.split(".")
    return known.replace("*", parts[1] if parts[0] == "agents" and len(parts) > 1 else "NAME")


def _sections() -> list[str]:
    found = (name.rpartition(".")[0] for name in keys())
    return sorted({name for name in found if name and not name.endswith("*")})


def flatten(policy: Policy) -> dict[str, Any]:
    """Every value of ``policy`` by its dotted key; agents by their real names."""
    flat: dict[str, Any] = {}
    for name in keys():
        if name.startswith("agents.*."):
            leaf = name.rpartition(".")[2]
            flat |= {
                f"agents.{who}.{leaf}": getattr(agent, leaf) for who, agent in policy.agents.items()
            }
        else:
            value: Any = policy
            for part in name.split("."):
                value = getattr(value, part)
            flat[name] = value
    return flat


def build(flat: Mapping[str, object]) -> Policy:
    """Return the Policy that has the values of ``flat`` and defaults elsewhere.

    Raises:
        msgspec.ValidationError: if a value does not have the type of its key, a key is unknown, or
            an agent has no command.
    """
    tree: dict[str, Any] = {}
    for name, value in flat.items():
        *folders, leaf = name.split(".")
        node = tree
        for folder in folders:
            node = node.setdefault(folder, {})
        node[leaf] = value
    return msgspec.convert(tree, Policy)
