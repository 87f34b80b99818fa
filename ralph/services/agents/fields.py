"""Fields of a decoded JSON object, by type: one of another type counts as missing."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]


def string(record: Json, name: str) -> str:
    """The text of a field, "" without one."""
    value = record.get(name)
    return value if isinstance(value, str) else ""


def mapping(record: Json, name: str) -> Json:
    """The object in a field, empty without one."""
    value = record.get(name)
    return value if isinstance(value, dict) else {}


def items(record: Json, name: str) -> list[Json]:
    """The objects in an array field; what is no object is left out."""
    value = record.get(name)
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def number(record: Json, name: str) -> float | None:
    """A finite number; true and false are none."""
    value = record.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return value if -1e18 < value < 1e18 else None


def integer(record: Json, name: str) -> int | None:
    """A whole number that is not negative; a float is cut."""
    value = number(record, name)
    return int(value) if value is not None and value >= 0 else None
