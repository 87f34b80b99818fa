"""Lengths of time and counts as people write them (B-22, section 11)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.core.units import count, seconds, several, spell


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("15m", 900.0),
        ("1h30m", 5400.0),
        ("1h 30m", 5400.0),
        ("90s", 90.0),
        ("90", 90.0),
        (90, 90.0),
        (0.5, 0.5),
        ("250ms", 0.25),
        ("1d", 86400.0),
        ("1.5h", 5400.0),
        ("2H", 7200.0),
        ("0", 0.0),
        (0, 0.0),
        ("0s", 0.0),
        ("off", 0.0),
        ("OFF", 0.0),
    ],
)
def test_b22_lengths_of_time(text: str | float, expected: float) -> None:
    assert seconds(text) == expected


@pytest.mark.parametrize(
    "text",
    ["", "  ", "15x", "m", "1m1h", "-5m", -1, "1h-5m", "nan", float("nan"), float("inf"), "1,5h"],
)
def test_b22_what_is_no_length_of_time(text: str | float) -> None:
    with pytest.raises(ValueError, match="must"):
        seconds(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (8, 8),
        ("8", 8),
        ("08", 8),
        ("60_000", 60_000),
        ("60,000", 60_000),
        ("200k", 200_000),
        ("1.5m", 1_500_000),
        ("2M", 2_000_000),
        ("1g", 1_000_000_000),
        (3.0, 3),
        ("off", 0),
        ("0", 0),
    ],
)
def test_b22_counts(text: str | float, expected: int) -> None:
    assert count(text) == expected


@pytest.mark.parametrize(
    "text", ["", "x", "1.5", 1.5, "-1", -1, "0x10", "1e3", "5t", "1,5", "1__0", "_1", float("nan")]
)
def test_b22_what_is_no_count(text: str | float) -> None:
    with pytest.raises(ValueError, match="must"):
        count(text)


@given(st.integers(min_value=0, max_value=10**10))
def test_what_spell_writes_is_read_back_to_the_millisecond(milliseconds: int) -> None:
    length = milliseconds / 1000
    assert seconds(spell(length)) == pytest.approx(length, abs=1e-6)


@given(st.integers(min_value=0, max_value=10**18))
def test_every_whole_number_is_read_exactly(number: int) -> None:
    assert count(str(number)) == number
    assert count(f"{number:_}") == number


@pytest.mark.parametrize("read", [seconds, count])
@given(text=st.text(max_size=12))
def test_whatever_the_text_the_answer_is_a_number_or_a_value_error(
    read: Callable[[str], float], text: str
) -> None:
    with suppress(ValueError):
        assert read(text) >= 0


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0 files"), (1, "1 file"), (2, "2 files"), (2000, "2,000 files")],
)
def test_a_number_is_told_with_its_noun(number: int, text: str) -> None:
    assert several(number, "file") == text


def test_a_noun_that_hisses_takes_two_letters() -> None:
    assert several(2, "launch") == "2 launches"
