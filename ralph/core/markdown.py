"""What a reader of Markdown sees: lines without code blocks, quotes and comments (L-11)."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator

_BREAK = re.compile(r"\r\n?|\n")
_FENCE = re.compile(r"(`{3,})[^`]*$|(~{3,})")
_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])(?:[ \t]+|$)")
_TICKS = re.compile(r"`+")
_ITEM_STARTS = frozenset("-*+0123456789")


def lines(text: str) -> list[str]:
    """Lines of ``text`` without their ends; LF, CRLF and CR all end a line, a BOM is dropped."""
    return _BREAK.split(text.removeprefix("\ufeff"))


class Fences:
    """Tells line by line whether a fenced code block is open.

    A block ends at a fence of the same character, at least as long as the one that opened it. One
    inside a list item also ends with the item: at a list marker or heading further to the left.
    """

    def __init__(self) -> None:
        self._fence = ""
        self._indent = 0
        self._floor = 0
        self._items: list[int] = []

    def hides(self, line: str) -> bool:
        """True for a line that opens, closes or lies inside a fenced block."""
        body = line.lstrip()
        if self._fence:
            return bool(not body or self._inside(line, body))
        if not body:
            return False
        column = _column(line, body)
        while self._items and self._items[-1] > column:
            self._items.pop()
        if body[0] in _ITEM_STARTS:
            body, column = self._enter(body, column)
        found = _FENCE.match(body) if body[:1] in ("`", "~") else None
        if found is None:
            return False
        self._fence = found[1] or found[2]
        self._floor = self._items[-1] if self._items else 0
        self._indent = max(column, self._floor)
        return True

    def _inside(self, line: str, body: str) -> bool:
        column, mark, bare = _column(line, body), self._fence[0], body.rstrip()
        closing = not bare.strip(mark) and len(bare) >= len(self._fence)
        if closing and column <= self._indent + 3:
            self._fence = ""
            return True
        left = column < self._floor and (body[0] == "#" or _ITEM.match(body) is not None)
        if left:
            self._fence = ""
            return self.hides(line)
        return True

    def _enter(self, body: str, column: int) -> tuple[str, int]:
        at = 0
        while found := _ITEM.match(body, at):
            at = found.end()
            self._items.append(column + at)
        return body[at:], column + at


def visible(text: str) -> Iterator[str]:
    """Yield the lines that are not fenced code, block quotes or HTML comments.

    A comment inside a line is cut out of it. A comment that is never closed hides the rest when it
    begins its line, and is plain text otherwise. Cost grows linearly with ``text``.
    """
    every = lines(text)
    last_close = max((n for n, line in enumerate(every) if "-->" in line), default=-1)
    fences, comment = Fences(), False
    for number, line in enumerate(every):
        if comment:
            _, closed, line = line.partition("-->")
            if not closed:
                continue
            comment = False
        if fences.hides(line) or line.lstrip().startswith(">"):
            continue
        if "<!--" in line:
            line, comment = _uncomment(line, more=number < last_close)
        yield line


def without_code(text: str) -> str:
    """``text`` without fenced blocks and inline code."""
    fences = Fences()
    return "\n".join(_blank_spans(line) for line in lines(text) if not fences.hides(line))


def _column(line: str, body: str) -> int:
    lead = line[: len(line) - len(body)]
    return len(lead.expandtabs(4)) if "\t" in lead else len(lead)


def _uncomment(line: str, *, more: bool) -> tuple[str, bool]:
    """Cut comments out of ``line``; True when one is still open at its end."""
    spans, kept, at = deque(_code_spans(line)), [], 0
    last_close = line.rfind("-->")
    while (start := _outside(line, at, spans)) >= 0:
        kept.append(line[at:start])
        end = line.find("-->", start + 2) if start < last_close else -1
        if end >= 0:
            at = end + 3
            continue
        if more or not line[:start].strip():
            return "".join(kept), True
        kept.append(line[start : start + 4])
        at = start + 4
    kept.append(line[at:])
    return "".join(kept), False


def _outside(line: str, at: int, spans: deque[tuple[int, int]]) -> int:
    """Where the next comment outside code begins; drops the spans before it."""
    start = line.find("<!--", at)
    while spans and start >= spans[0][0]:
        _, end = spans.popleft()
        if start < end:
            start = line.find("<!--", end)
    return start


def _code_spans(line: str) -> list[tuple[int, int]]:
    """Start and end of each inline code span: runs of backticks of equal length, in pairs."""
    runs = [found.span() for found in _TICKS.finditer(line)]
    later: dict[int, list[int]] = {}
    for index in range(len(runs) - 1, -1, -1):
        later.setdefault(runs[index][1] - runs[index][0], []).append(index)
    spans, index = [], 0
    while index < len(runs):
        same = later[runs[index][1] - runs[index][0]]
        while same and same[-1] <= index:
            same.pop()
        closing = same[-1] if same else index
        if closing > index:
            spans.append((runs[index][0], runs[closing][1]))
        index = closing + 1
    return spans


def _blank_spans(line: str) -> str:
    kept, at = [], 0
    for begin, end in _code_spans(line) if "`" in line else ():
        kept.append(line[at:begin] + " ")
        at = end
    return "".join(kept) + line[at:]
