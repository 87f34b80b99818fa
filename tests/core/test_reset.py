"""When a provider's limit resets, from the sentence it printed (A-5, E3)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.core.reset import from_epoch, reset_instant

NOW = datetime(2026, 12, 1, 12, 0, 30, tzinfo=UTC)  # a Tuesday


def at(day: int, hour: int, minute: int = 0, *, month: int = 12, year: int = 2026) -> datetime:
    return datetime(year, month, day, hour, minute, tzinfo=UTC)


@pytest.mark.parametrize(
    ("sentence", "instant"),
    [
        ("You've hit your 5-hour limit · resets 10:16pm (UTC)", at(1, 22, 16)),
        ("You've hit your weekly limit · resets Dec 3, 8:30pm (UTC)", at(3, 20, 30)),
        ("You've hit your limit · resets 12am (Europe/Berlin)", at(1, 23)),
        ("resets Jan 6, 2027, 7pm (America/New_York)", at(7, 0, month=1, year=2027)),
        ("Claude AI usage limit reached|1796158800", at(1, 21)),
        ("limit reached, resets at 1796158800000", at(1, 21)),
        ("You've hit your usage limit. Try again at 9:44 PM.", at(1, 21, 44)),
        ("or try again at Dec 1st, 2026 11:00 PM.", at(1, 23)),
        ("Please try again in 4h 12m", NOW + timedelta(hours=4, minutes=12)),
        ("try again in 2 hours and 5 minutes.", NOW + timedelta(hours=2, minutes=5)),
        ("Rate limited; retry-after: 90", NOW + timedelta(seconds=90)),
        ("resets 2026-12-02T03:00:00Z", at(2, 3)),
        ("resets 2026-12-02T03:00:00+02:00", at(2, 1)),
        ("quota resets at noon tomorrow", at(2, 12)),
        ("limit resets Friday 9am", at(4, 9)),
        ("resets 15:00 PST", at(1, 23)),
        ("resets 3pm UTC+2", at(1, 13)),
    ],
)
def test_e3_the_stated_instant_in_the_stated_zone(sentence: str, instant: datetime) -> None:
    assert reset_instant(sentence, now=NOW, zone="UTC") == instant


def test_e3_without_a_zone_the_agents_own_zone_is_meant() -> None:
    sentence = "Session limit reached ∙ resets 10:45pm"
    assert reset_instant(sentence, now=NOW, zone="Asia/Tokyo") == at(1, 13, 45)
    fixed = timezone(timedelta(hours=-5))
    assert reset_instant(sentence, now=NOW, zone=fixed) == at(2, 3, 45)


def test_e3_just_passed_means_now_and_not_tomorrow() -> None:
    now = datetime(2026, 12, 1, 2, 0, 30, tzinfo=UTC)
    assert reset_instant("resets 3am (Europe/Paris)", now=now, zone="UTC") == now
    later = now + timedelta(minutes=20)
    assert reset_instant("resets 3am (Europe/Paris)", now=later, zone="UTC") == at(2, 2)


def test_e3_a_date_in_the_past_is_now() -> None:
    sentence = "resets Jun 29, 3am (Asia/Singapore)"
    now = datetime(2026, 6, 30, 0, 0, tzinfo=UTC)
    assert reset_instant(sentence, now=now, zone="UTC") == now
    before = datetime(2026, 6, 28, 0, 0, tzinfo=UTC)
    assert reset_instant(sentence, now=before, zone="UTC") == at(28, 19, month=6)


def test_e3_a_date_without_a_year_is_the_nearest_one() -> None:
    now = datetime(2026, 12, 31, 23, 0, tzinfo=UTC)
    assert reset_instant("resets Jan 2, 4am (UTC)", now=now, zone="UTC") == at(
        2, 4, month=1, year=2027
    )


@pytest.mark.parametrize(
    ("now", "instant"),
    [
        # the night in which 02:00 to 03:00 does not exist
        (datetime(2026, 3, 28, 23, 0, tzinfo=UTC), at(29, 1, 30, month=3)),
        # the night in which it exists twice: the first one, then the second
        (datetime(2026, 10, 24, 23, 0, tzinfo=UTC), at(25, 0, 30, month=10)),
        (datetime(2026, 10, 25, 0, 50, tzinfo=UTC), at(25, 1, 30, month=10)),
    ],
)
def test_e3_nights_of_clock_change(now: datetime, instant: datetime) -> None:
    assert reset_instant("resets 2:30am (Europe/Paris)", now=now, zone="UTC") == instant


@pytest.mark.parametrize(
    "sentence",
    [
        "",
        "You've hit your usage limit. Try again later.",
        "resets soon",
        "resets 25:99",
        "resets 13pm",
        "resets Feb 31, 3am",
        "resets 3am (Mars/Olympus)",
        "try again in 999999999 weeks",
        "429 Too Many Requests",
    ],
)
def test_e3_no_instant_is_none(sentence: str) -> None:
    assert reset_instant(sentence, now=NOW, zone="UTC") is None


def test_a_zone_or_a_clock_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="time zone"):
        reset_instant("resets 3am", now=NOW, zone="Mars/Olympus")
    with pytest.raises(ValueError, match="aware"):
        reset_instant("resets 3am", now=NOW.replace(tzinfo=None), zone="UTC")


@pytest.mark.parametrize("value", [-1.0, 0.0, 5.0, 1e30, float("nan"), float("inf")])
def test_what_is_no_epoch_is_none(value: float) -> None:
    assert from_epoch(value) is None


def test_an_epoch_in_seconds_or_milliseconds() -> None:
    assert from_epoch(1796158800) == from_epoch(1796158800000) == at(1, 21)


_WORDS = st.sampled_from(
    ["resets ", "in ", "at ", "3", "12", ":30", "am", "pm", " (", "UTC)", "Dec ", "2027", "31",
     ", ", "hours ", "1796158800", "tomorrow ", "Mon ", "-", "T", "Z", "+02:00", "retry-after: "]
)  # fmt: skip


@given(st.text() | st.lists(_WORDS, max_size=12).map("".join))
def test_any_sentence_gives_an_instant_to_come_or_none(sentence: str) -> None:
    found = reset_instant(sentence, now=NOW, zone="Europe/Berlin")
    assert found is None or NOW <= found <= NOW + timedelta(days=400)


@given(st.integers(0, 23), st.integers(0, 59), st.integers(-14, 14))
def test_a_bare_clock_time_is_never_more_than_a_day_away(hour: int, minute: int, east: int) -> None:
    zone = timezone(timedelta(hours=east))
    found = reset_instant(f"resets {hour:02}:{minute:02}", now=NOW, zone=zone)
    assert found is not None
    assert NOW <= found <= NOW + timedelta(days=1)
    local = found.astimezone(zone)
    assert found == NOW or (local.hour, local.minute) == (hour, minute)
