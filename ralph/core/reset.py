"""When does a provider's limit reset? Sentence in, instant out (A-5, E3)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

JUST_PASSED = timedelta(minutes=15)
_FARTHEST = timedelta(days=400)

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_UNITS = {"w": 604800.0, "d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_ABBREVIATIONS = {
    "PT": "America/Los_Angeles",
    "PST": "America/Los_Angeles",
    "PDT": "America/Los_Angeles",
    "MST": "America/Denver",
    "MDT": "America/Denver",
    "CST": "America/Chicago",
    "CDT": "America/Chicago",
    "ET": "America/New_York",
    "EST": "America/New_York",
    "EDT": "America/New_York",
    "BST": "Europe/London",
    "CET": "Europe/Paris",
    "CEST": "Europe/Paris",
}

_EPOCH = re.compile(r"(?<![\d.])(1[5-9]\d{8}|[2-3]\d{9})(\d{3})?(?![\d.]*\d)")
_ISO = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d)(?::(\d\d)(?:\.\d+)?)?\s*(Z\b|[+-]\d\d:?\d\d)?"
)
_WHEN = re.compile(
    r"\b(?:resets?|resetting|try(?:ing)? again|retry|available|renews?|reopens?|back|until"
    r"|lifted|expires?|refresh(?:es)?)\b",
    re.IGNORECASE,
)
_UNIT = (
    r"(?:weeks?|w|days?|d|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s|milliseconds?|ms)"
    r"(?![a-z])"
)
_PIECE = re.compile(rf"(\d{{1,9}}(?:\.\d{{1,6}})?\s*|\ban?\s+)({_UNIT})", re.IGNORECASE)
_SPAN = re.compile(
    rf"\b(?:in|after|within)\s+(?:about\s+|approximately\s+|~\s*)?"
    rf"((?:(?:\d{{1,9}}(?:\.\d{{1,6}})?\s*|an?\s+){_UNIT}[\s,]*(?:and\s+)?)+)",
    re.IGNORECASE,
)
_RETRY_AFTER = re.compile(r"\bretry[-_ ]after[\"']?\s*[:=]?\s*(\d{1,8})\b(?!\s*[a-z:])", re.I)
_TIME = re.compile(
    r"(?<![\d:.])(\d{1,2})(?::(\d\d)(?::(\d\d))?)?\s*([ap])\.?m\b\.?"
    r"|(?<![\d:.])(\d{1,2}):(\d\d)(?::(\d\d))?(?![\d:])"
    r"|\b(noon|midnight)\b",
    re.IGNORECASE,
)
_MONTH_DAY = re.compile(
    r"\b(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\s+(\d{1,2})(?:st|nd|rd|th)?\b"
    r"(?!:)(?:,?\s+(\d{4})\b)?",
    re.IGNORECASE,
)
_DAY_MONTH = re.compile(
    r"\b(\d{1,2})(?:st|nd|rd|th)?\s+(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
    r"(?:,?\s+(\d{4})\b)?",
    re.IGNORECASE,
)
_YMD = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)\b")
_WEEKDAY = re.compile(r"\b(mon|tue|wed|thu|fri|sat|sun)(?:[a-z]*day)?\b", re.IGNORECASE)
_ZONE = re.compile(r"\(([A-Za-z][\w+/-]*(?:\s?[+-]\d{1,2}(?::?\d\d)?)?)\)")
_OFFSET = re.compile(r"\b(?:UTC|GMT)\s?([+-])(\d{1,2})(?::?(\d\d))?\b")
_PLAIN_ZONE = re.compile(r"\s*,?\s*([A-Z][A-Za-z_]+/[A-Za-z_+/-]+|[A-Z]{2,4})\b")


def reset_instant(sentence: str, *, now: datetime, zone: str | tzinfo) -> datetime | None:
    """Return the UTC instant that ``sentence`` states, or None when it states none.

    An epoch or ISO instant wins over a duration, a duration over a clock time. A clock time is
    read in the zone that the sentence names, else in ``zone``; without a date it is the next such
    instant. Where the clock shows it twice the first one still to come is meant, where the clock
    skips it the instant right after. What lies in the past is ``now``, but a bare clock time is
    the next day's once 15 minutes have passed. An unknown zone states nothing.

    Raises:
        ValueError: if ``now`` is not aware, or ``zone`` names no time zone.
    """
    if now.tzinfo is None:
        raise ValueError("now must be aware")
    local = _zone(zone) if isinstance(zone, str) else zone
    if local is None:
        raise ValueError(f"no such time zone: {zone}")
    now = now.astimezone(UTC)
    try:
        stated = _epoch(sentence) or _iso(sentence, local) or _span(sentence, now)
        if stated is None:
            stated = _clock(sentence, now, local)
    except (ValueError, OverflowError):
        return None
    if stated is None or stated > now + _FARTHEST:
        return None
    return max(stated, now)


def from_epoch(value: float) -> datetime | None:
    """Return the instant of an epoch in seconds or milliseconds; None when it cannot be one."""
    seconds = value / 1000 if value > 1e11 else value
    try:
        return datetime.fromtimestamp(seconds, UTC) if seconds > 1e9 else None
    except (ValueError, OverflowError, OSError):
        return None


def _epoch(sentence: str) -> datetime | None:
    found = _EPOCH.search(sentence)
    return from_epoch(float(found[1])) if found else None


def _iso(sentence: str, local: tzinfo) -> datetime | None:
    found = _ISO.search(sentence)
    if not found:
        return None
    numbers = [int(part or 0) for part in found.groups()[:6]]
    offset = found[7]
    if offset is None:
        zone = _stated_zone(sentence, found.end(), local)
    else:
        zone = UTC if offset == "Z" else _fixed(offset[0], offset[1:3], offset[-2:])
    if zone is None:
        return None
    return datetime(*numbers, tzinfo=zone).astimezone(UTC)  # type: ignore[arg-type,misc]


def _span(sentence: str, now: datetime) -> datetime | None:
    after = _RETRY_AFTER.search(sentence)
    if after:
        return now + timedelta(seconds=int(after[1]))
    keyword = _WHEN.search(sentence)
    found = _SPAN.search(sentence, keyword.end()) if keyword else None
    if not found:
        return None
    seconds = 0.0
    for amount, unit in _PIECE.findall(found[1]):
        number = 1.0 if amount[0] in "aA" else float(amount)
        name = unit.lower()
        seconds += number * _UNITS["ms" if name.startswith(("ms", "milli")) else name[0]]
    return now + timedelta(seconds=seconds)


def _clock(sentence: str, now: datetime, local: tzinfo) -> datetime | None:
    keyword = _WHEN.search(sentence)
    if not keyword:
        return None
    rest = sentence[keyword.end() :]
    found = _TIME.search(rest)
    if not found:
        return None
    at = _time_of_day(found)
    zone = _stated_zone(rest, found.end(), local)
    if at is None or zone is None:
        return None
    today = now.astimezone(zone).date()
    day = _dated(rest, today)
    if day is not None:
        return min(_instants(day, at, zone), key=lambda instant: abs(instant - now))
    return _next(_days(rest, today), at, zone, now)


def _time_of_day(found: re.Match[str]) -> time | None:
    hour12, minute12, second12, half, hour24, minute24, second24, word = found.groups()
    if word:
        return time(12 if word.lower() == "noon" else 0)
    if half:
        if not 1 <= int(hour12) <= 12:
            return None
        hour = int(hour12) % 12 + (12 if half.lower() == "p" else 0)
        return time(hour, int(minute12 or 0), int(second12 or 0))
    return time(int(hour24), int(minute24), int(second24 or 0))


def _dated(rest: str, today: date) -> date | None:
    """Calendar date in the sentence; without a year the one nearest to today."""
    found = _YMD.search(rest)
    if found:
        return date(int(found[1]), int(found[2]), int(found[3]))
    found = _MONTH_DAY.search(rest)
    if found:
        month, day, year = found[1], found[2], found[3]
    else:
        found = _DAY_MONTH.search(rest)
        if not found:
            return None
        month, day, year = found[2], found[1], found[3]
    number = _MONTHS.index(month.lower()) + 1
    if year:
        return date(int(year), number, int(day))
    near = [_date(today.year + step, number, int(day)) for step in (-1, 0, 1)]
    real = [candidate for candidate in near if candidate]
    if not real:
        raise ValueError("no such day")
    return min(real, key=lambda candidate: abs(candidate - today))


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _days(rest: str, today: date) -> list[date]:
    """Days that a clock time without a date may mean, in order."""
    if re.search(r"\btomorrow\b", rest, re.IGNORECASE):
        return [today + timedelta(days=1)]
    weekday = _WEEKDAY.search(rest)
    around = [today + timedelta(days=step) for step in range(-1, 9)]
    if weekday:
        wanted = _WEEKDAYS.index(weekday[1].lower())
        return [day for day in around if day.weekday() == wanted]
    return around


def _next(days: list[date], at: time, zone: tzinfo, now: datetime) -> datetime | None:
    for day in days:
        for instant in _instants(day, at, zone):
            if instant > now - JUST_PASSED:
                return instant
    return None


def _instants(day: date, at: time, zone: tzinfo) -> Iterator[datetime]:
    first = datetime.combine(day, at, zone).astimezone(UTC)
    yield first
    second = datetime.combine(day, at.replace(fold=1), zone).astimezone(UTC)
    if second > first:  # the clock shows it twice; in a gap fold=1 lies before
        yield second


def _stated_zone(text: str, end: int, local: tzinfo) -> tzinfo | None:
    """Zone named at or after ``end``; ``local`` when none is, None when it is unknown."""
    found = _OFFSET.search(text, end)
    if found:
        return _fixed(found[1], found[2], found[3] or "0")
    found = _ZONE.search(text, end)
    if found:
        return _zone(found[1])
    found = _PLAIN_ZONE.match(text, end)
    if found:
        return _zone(found[1]) or local
    return local


def _fixed(sign: str, hours: str, minutes: str) -> tzinfo:
    offset = timedelta(hours=int(hours), minutes=int(minutes))
    return timezone(-offset if sign == "-" else offset)


def _zone(name: str) -> tzinfo | None:
    if name.upper() in ("UTC", "GMT", "Z"):
        return UTC
    try:
        return ZoneInfo(_ABBREVIATIONS.get(name, name))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None
