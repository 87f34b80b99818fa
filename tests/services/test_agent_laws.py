"""Readers take any bytes in any pieces, and the pieces make no difference (A4, A23)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.services.agents.base import Reader, Reading, Session
from ralph.services.agents.claude_stream import ClaudeReader
from ralph.services.agents.lines import LineSplitter, Tail
from ralph.services.agents.text import TextReader
from tests.support.claude import (
    answers,
    api_error,
    calls,
    fails,
    init,
    limit,
    result,
    retry,
    says,
    session,
    stream,
)

READERS = [ClaudeReader, TextReader]
_PIECES = st.sampled_from(
    [
        stream(init()),
        stream(says("héllo\r\n\x1b[1mRALPH_COMPLETE\x1b[0m", "m1")),
        stream(says("again", "m1")),
        stream(calls("t1", "Bash", {"command": "ls"})),
        stream(answers("t1", "Exit code 1\nno", failed=True)),
        stream(api_error("API Error: x", "overloaded")),
        stream(retry(2)),
        stream(limit(1_796_158_800)),
        stream(fails("Invalid API key")),
        stream(result("done ✓")),
        stream(result("done"))[:-20],
        "Error: ünïcode \N{ROCKET}\n".encode(),
        b"Retrying in 4 s\n",
        b"\xff\xfe\xc3\n",
        b"\xc3",
        b"\xa9",
        b"\r",
        b"\n",
        b"{",
        b"[{}",
        b"\x1b]0;t",
        b"\x00\x07",
    ]
)
_BYTES = st.lists(_PIECES | st.binary(max_size=20), max_size=12).map(b"".join)
_CUTS = st.lists(st.integers(0, 4000), max_size=12)


def pieces(whole: bytes, cuts: list[int]) -> list[bytes]:
    edges = [0, *sorted(min(cut, len(whole)) for cut in cuts), len(whole)]
    return [whole[at:end] for at, end in pairwise(edges)]


def heard(make: Callable[[Session], Reader], out: list[bytes], err: list[bytes]) -> Reading:
    reader = make(session(prompt="one\ntwo"))
    for chunk in out:
        reader.hear("stdout", chunk)
        reader.live(1.0)
        reader.endless(50)
        reader.settled()
    for chunk in err:
        reader.hear("stderr", chunk)
    return reader.reading()


@pytest.mark.parametrize("make", READERS)
@given(out=_BYTES, err=_BYTES, cuts=_CUTS)
def test_any_bytes_in_any_chunking_give_the_reading_of_one_chunk(
    make: Callable[[Session], Reader], out: bytes, err: bytes, cuts: list[int]
) -> None:
    whole = heard(make, [out], [err])
    assert heard(make, pieces(out, cuts), pieces(err, cuts)) == whole
    assert heard(make, [bytes([byte]) for byte in out[:300]] + [out[300:]], [err]) == whole
    whole.final_text.encode()
    whole.errors.encode()


@given(whole=st.binary(max_size=200).map(lambda raw: raw.replace(b"a", b"\n")), cuts=_CUTS)
def test_lines_are_those_of_a_plain_split(whole: bytes, cuts: list[int]) -> None:
    splitter = LineSplitter()
    lines = [line for piece in pieces(whole, cuts) for line in splitter.feed(piece)]
    assert [*lines, splitter.rest()] == whole.split(b"\n")
    assert splitter.size == 0


@given(lines=st.lists(st.text("ab ", max_size=30)), limit_=st.integers(1, 60))
def test_a_tail_keeps_whole_last_lines_within_its_limit(lines: list[str], limit_: int) -> None:
    tail = Tail(limit_)
    for line in lines:
        tail.add(line)
    assert len(tail.text()) <= limit_
    assert "\n".join(lines).endswith(tail.text())
    full = [line for line in lines if line.strip()]
    assert all(line in full[-3:] or limit_ < 30 for line in tail.last(3))
