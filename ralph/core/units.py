"""Durations and counts as people write them: "15m", "1h30m", "200k", "off"."""

from __future__ import annotations

import math
import re

_LENGTHS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_FACTORS = {"": 1, "k": 1_000, "m": 1_000_000, "g": 1_000_000_000}
_DURATION = re.compile(
    r"(?:(?P<d>\d+(?:\.\d+)?)d)?(?:(?P<h>\d+(?:\.\d+)?)h)?(?:(?P<m>\d+(?:\.\d+)?)m(?!s))?"
    r"(?:(?P<s>\d+(?:\.\d+)?)s)?(?:(?P<ms>\d+(?:\.\d+)?)ms)?"
)
_PLAIN = re.compile(r"\d+(?:\.\d+)?")
_COUNT = re.compile(r"(?P<number>(?:\d{1,3}(?:,\d{3})+|\d+(?:_\d+)*)(?:\.\d+)?)(?P<factor>[kmg]?)")


def seconds(value: str | float) -> float:
    """Return ``value`` in seconds: a number of seconds, "1h30m", "0" or "off" (B-22).

    Raises:
        ValueError: if it is negative, not finite, or no length of time.
    """
    if isinstance(value, (int, float)):
        return _length(float(value))
    text = value.strip().lower().replace(" ", "")
    if text == "off":
        return 0.0
    if text.startswith("-"):
        raise ValueError(f"must not be negative, got {value!r}")
    if _PLAIN.fullmatch(text):
        return _length(float(text))
    found = _DURATION.fullmatch(text)
    if not text or found is None:
        raise ValueError(f'must be a length of time such as "90s", "15m" or "1h30m", got {value!r}')
    parts = found.groupdict()
    return _length(sum(float(parts[unit]) * _LENGTHS[unit] for unit in parts if parts[unit]))


def _length(length: float) -> float:
    if not math.isfinite(length):
        raise ValueError("must be a finite length of time")
    if length < 0:
        raise ValueError(f"must not be negative, got {length:g}")
    return length


def count(value: str | float) -> int:
    """Return ``value`` as a whole number: 8, "08", "60_000", "200k", "1.5m", "0" or "off" (B-22).

    Raises:
        ValueError: if it is negative or not a whole number.
    """
    if isinstance(value, (int, float)):
        return _whole(float(value), value) if isinstance(value, float) else _natural(value)
    text = value.strip().lower()
    if text == "off":
        return 0
    if text.startswith("-"):
        raise ValueError(f"must not be negative, got {value!r}")
    found = _COUNT.fullmatch(text)
    if found is None:
        raise ValueError(f'must be a whole number such as 8 or "200k", got {value!r}')
    digits = found["number"].replace("_", "").replace(",", "")
    factor = _FACTORS[found["factor"]]
    return _whole(float(digits) * factor, value) if "." in digits else int(digits) * factor


def _whole(number: float, value: object) -> int:
    if not math.isfinite(number) or abs(number - round(number)) > 1e-6:
        raise ValueError(f"must be a whole number, got {value!r}")
    return _natural(round(number))


def _natural(number: int) -> int:
    if number < 0:
        raise ValueError(f"must not be negative, got {number}")
    return number


def spell(length: float) -> str:
    """Return ``length`` seconds as ``seconds`` reads it back: "1h30m", "0.25s", "0"."""
    whole, rest = divmod(round(length * 1000), 1000)
    text = ""
    for unit in ("d", "h", "m"):
        amount, whole = divmod(whole, int(_LENGTHS[unit]))
        text += f"{amount}{unit}" if amount else ""
    if rest:
        return f"{text}{whole + rest / 1000:g}s"
    return text + (f"{whole}s" if whole else "") or "0"


def several(number: int, noun: str) -> str:
    """Return ``number`` with its noun, as in "1 file" and "2,000 files"."""
    ending = "" if number == 1 else "es" if noun.endswith("ch") else "s"
    return f"{number:,} {noun}{ending}"
