"""L-19: the same error has the same name, another error another one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.core.signature import normalised, signature


def name(text: str) -> str:
    found = signature(text)
    assert found is not None
    return found[0]


# L-19
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("failed at 2026-01-29T10:00:00Z", "failed at 2026-01-30 23:59:59.123+02:00"),
        ("[10:00:01] boom", "[23:59:59.5] boom"),
        ("took 1.5s", "took 300 ms"),
        ("id 6f1e1f6e-0000-4000-8000-00000000aaaa", "id 11111111-2222-3333-4444-555555555555"),
        ("object at 0x7f00aa", "object at 0xDEADBEEF"),
        ("no /tmp/tmpab12/x.py", "no /var/folders/zz/q/T/y.py"),
        ("pid 4711 died", "pid=9 died"),
        ("src/a.py:12:3: bad", "src/a.py:400: bad"),
        ("  spaced   out", "spaced out"),
        ("\x1b[31mred\x1b[0m alert", "red alert"),
        ('File "a.py", line 3, in f', 'File "a.py", line 77, in f'),
    ],
)
def test_l19_what_changes_by_itself_is_replaced(one: str, other: str) -> None:
    assert name(one) == name(other)


# L-19
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("KeyError: 'a'", "KeyError: 'b'"),
        ("expected 3, got 4", "expected 3, got 5"),
        ("src/a.py:12: bad", "src/b.py:12: bad"),
        ("HTTP 404", "HTTP 500"),
        ("test_one FAILED", "test_two FAILED"),
    ],
)
def test_l19_what_makes_the_error_stays(one: str, other: str) -> None:
    assert name(one) != name(other)


# L-19
def test_l19_only_the_last_20_lines_count() -> None:
    tail = "\n".join(f"line of words {chr(97 + n)}" for n in range(20))
    assert name(f"one start\n{tail}") == name(f"other start\n\n{tail}")
    assert name(f"{tail}\nend") != name(tail)


# L-19
def test_l19_the_first_line_is_shown_as_it_was() -> None:
    found = signature("\n  src/a.py:12:  bad\nmore\n")
    assert found is not None
    assert found[1] == "src/a.py:12: bad"
    assert len((signature("x" * 1000) or ("", ""))[1]) == 300


# L-19
@pytest.mark.parametrize("text", ["", " \n\t", "---\n***", "\x1b[0m"])
def test_l19_a_text_without_words_names_nothing(text: str) -> None:
    assert signature(text) is None


@given(st.text(max_size=300))
def test_any_text_has_a_stable_name(text: str) -> None:
    assert signature(text) == signature(text)
    assert normalised(normalised(text)) == normalised(normalised(normalised(text)))
