"""One raw value, as TOML, YAML, a variable or a flag gives it, becomes the value of its key."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping

from ralph.core.keys import Key, Kind
from ralph.core.units import count, seconds

_WORDS = {"true": True, "on": True, "yes": True, "1": True}
_WORDS |= {"false": False, "off": False, "no": False, "0": False}


class BadValue(ValueError):
    """The value does not fit its key; the text completes "KEY ..."."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


def parse(key: Key, raw: object) -> object:
    """Return ``raw`` as the value of ``key``: bool, int, float seconds, str, tuple or dict (B-22).

    Raises:
        BadValue: if it has the wrong type or lies outside what the key allows.
    """
    match key.kind:
        case Kind.FLAG:
            return _flag(raw)
        case Kind.COUNT:
            return _bounded(key, _number(raw))
        case Kind.SECONDS:
            return _length(key, raw)
        case Kind.TEXT:
            return _text(key, raw)
        case Kind.LIST:
            return _list(key, raw)
        case Kind.TABLE:
            return _table(key, raw, _entry)
        case Kind.COUNTS:
            return _table(key, raw, _number)


def _wrong(key: Key, raw: object, hint: str = "") -> BadValue:
    return BadValue(f"must be {key.kind}, got {shown(raw)}", hint=hint)


def shown(raw: object) -> str:
    """``raw`` in one line, as TOML would write it, at most 60 characters."""
    if isinstance(raw, bool):
        return "true" if raw else "false"
    if isinstance(raw, Mapping):
        return "a table"
    if isinstance(raw, (list, tuple)):
        text = f"[{', '.join(shown(item) for item in raw)}]"
    else:
        text = f'"{raw}"' if isinstance(raw, str) else str(raw)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _flag(raw: object) -> bool:
    if isinstance(raw, bool):
        return raw
    word = str(raw).strip().lower() if isinstance(raw, (str, int)) else ""
    if word not in _WORDS:
        raise BadValue(f"must be true or false, got {shown(raw)}")
    return _WORDS[word]


def _number(raw: object) -> int:
    if isinstance(raw, bool) or not isinstance(raw, (int, float, str)):
        raise BadValue(f"must be {Kind.COUNT}, got {shown(raw)}")
    try:
        return count(raw)
    except ValueError as error:
        raise BadValue(str(error)) from None


def _length(key: Key, raw: object) -> float:
    if isinstance(raw, bool) or not isinstance(raw, (int, float, str)):
        raise _wrong(key, raw)
    try:
        return seconds(raw)
    except ValueError as error:
        raise BadValue(str(error)) from None


def _bounded(key: Key, number: int) -> int:
    if number < key.least:
        hint = "leave it out for no cap" if key.name == "max" else ""
        raise BadValue(f"must be at least {key.least}, got {number}", hint=hint)
    if 0 < number < key.gap:
        raise BadValue(f"must be 0 (off) or at least {key.gap}, got {number}")
    return number


def _text(key: Key, raw: object) -> str:
    if not isinstance(raw, str):
        raise _wrong(key, raw)
    if key.filled and not raw.strip():
        raise BadValue("must not be empty")
    if key.choices and raw not in key.choices:
        close = difflib.get_close_matches(raw, key.choices, n=1)
        hint = f'did you mean "{close[0]}"?' if close else ""
        raise BadValue(f"must be one of {', '.join(key.choices)}; got {shown(raw)}", hint=hint)
    return raw


def _list(key: Key, raw: object) -> tuple[str, ...]:
    if isinstance(raw, str):
        raise _wrong(key, raw, hint=f'write it in brackets: ["{raw}"]')
    if not isinstance(raw, (list, tuple)) or not all(isinstance(item, str) for item in raw):
        raise _wrong(key, raw)
    if key.filled and not any(item.strip() for item in raw[:1]):
        raise BadValue("must not be empty")
    if key.solid and not all(item.strip() for item in raw):
        raise BadValue("must not have an empty entry")
    spaced = next((item for item in raw if key.unspaced and item.split() != [item]), None)
    if spaced is not None:
        raise BadValue(f"must not contain white space, got {shown(spaced)}")
    return tuple(raw)


def _table(key: Key, raw: object, read: Callable[[object], object]) -> dict[str, object]:
    if not isinstance(raw, Mapping):
        raise _wrong(key, raw)
    table: dict[str, object] = {}
    for name, value in raw.items():
        try:
            table[str(name)] = read(value)
        except BadValue as error:
            raise BadValue(f"entry {name} {error}", hint=error.hint) from None
    return table


def _entry(raw: object) -> str:
    if not isinstance(raw, str):
        raise BadValue(f"must be a text, got {shown(raw)}")
    return raw
