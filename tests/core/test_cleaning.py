"""A22: what reaches a log or a screen is text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.core.cleaning import clean


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("10%\r50%\r100%", "100%"),
        ("line\r\nnext\r\n", "line\nnext\n"),
        ("abc\x08\x08x", "ax"),
        ("a\tb\x00c\x7f", "a\tbc"),
        ("abc\u202edef\u2066", "abcdef"),
        ("half \ud83d", "half \ufffd"),
        ("plain ✓ äöü", "plain ✓ äöü"),
        ("\x1bPsixel...\x1b\\after", "after"),
        ("\x9b31mX\x9dtitle\x9cY", "XY"),
        ("10%\r20%\r30%\r\nnext", "30%\nnext"),
        ("10%\r20%\r", "20%"),
        ("a\x08b\x00c\x7f", "bc"),
        ("\x1b]0;never ended\nnext line", "\nnext line"),
        ("\u202eevil\u202c", "evil"),
    ],
)
def test_a22_only_text_is_left(raw: str, text: str) -> None:
    assert clean(raw) == text


@given(st.text(alphabet=st.characters(codec=None), max_size=200))
def test_a22_cleaning_twice_changes_nothing_and_can_be_encoded(text: str) -> None:
    once = clean(text)
    assert clean(once) == once
    once.encode()


_ODD = st.text(alphabet="ab \t\r\x08\x1b[]m0;\x07\\\x9b\x9c\x90\u202e", max_size=40)


@given(st.lists(_ODD, min_size=1, max_size=5))
def test_a22_lines_are_cleaned_together_as_one_by_one(lines: list[str]) -> None:
    assert clean("\n".join(lines)) == "\n".join(clean(line) for line in lines)
