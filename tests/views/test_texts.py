"""Text that goes to a screen or a file is clean and short."""

from __future__ import annotations

import unicodedata
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from ralph.core.cleaning import clean
from ralph.views.texts import (
    ascii_only,
    display_lines,
    dollars,
    local_time,
    one_line,
    short_count,
    span,
)
from tests.views.story import START


@given(st.text(st.characters() | st.sampled_from("\x1b[]0;m\x07\r\n\x9b\\P"), max_size=60))
def test_a22_nothing_that_moves_a_cursor_is_left(raw: str) -> None:
    for text in (clean(raw), one_line(raw), *display_lines(raw)):
        left = {c for c in text if unicodedata.category(c) in ("Cc", "Cs")}
        assert left <= {"\t", "\n"}
    assert not any("\n" in line or "\t" in line for line in display_lines(raw))
    assert clean(clean(raw)) == clean(raw)


@given(st.text())
def test_f3_ascii_only_is_ascii(raw: str) -> None:
    assert ascii_only(raw).isascii()


def test_f3_known_signs_have_a_spelling() -> None:
    assert ascii_only("⚠️  6 → 7 ✓") == "!!  6 -> 7 OK"


def test_lengths_counts_and_money_are_short() -> None:
    assert [span(s) for s in (-5, 0, 59.9, 192, 3723)] == [
        "0s",
        "0s",
        "59s",
        "3m 12s",
        "1h 02m 03s",
    ]
    assert [short_count(n) for n in (950, 12_345, 999_949, 1_234_567)] == [
        "950",
        "12.3k",
        "999.9k",
        "1.2M",
    ]
    assert [dollars(n) for n in (0, 4_200, 3_420_000)] == ["$0.00", "$0.0042", "$3.42"]


def test_a_far_instant_says_its_day() -> None:
    assert len(local_time(START + timedelta(hours=2), START)) == 5
    assert "2026-12-03" in local_time(START + timedelta(days=3), START)
