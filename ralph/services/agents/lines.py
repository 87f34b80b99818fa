"""From bytes to clean lines in flat memory (A4, A12, A22)."""

from __future__ import annotations

from collections import deque

from ralph.core.cleaning import clean

CAP = 8 << 20  # longest line that is kept whole
KEPT = 64 << 10  # of a longer one: so much of its head and of its tail


class LineSplitter:
    """Cuts a byte stream at newlines, in time linear in its length.

    A line longer than ``CAP`` comes as head, a note on the bytes left out, and tail.
    """

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0
        self._head = b""
        self._tail = bytearray()

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take ``chunk``; return the lines that it completes, without their newline."""
        first, *rest = chunk.split(b"\n")
        self._add(first)
        if not rest:
            return []
        lines = [self.rest(), *rest[:-1]]
        self._add(rest[-1])
        return lines

    def rest(self) -> bytes:
        """Return what came since the last newline, and forget it."""
        line = b"".join(self._parts)
        if self._head:
            left_out = self._size - len(self._head) - len(self._tail)
            line = b"%b [%d bytes left out] %b" % (self._head, left_out, bytes(self._tail))
        self._parts, self._size, self._head = [], 0, b""
        self._tail.clear()
        return line

    @property
    def pending(self) -> bytes:
        """First byte of the unfinished line; empty when there is none."""
        return self._head[:1] if self._head else self._parts[0][:1] if self._parts else b""

    @property
    def size(self) -> int:
        """Bytes of the unfinished line so far."""
        return self._size

    def _add(self, piece: bytes) -> None:
        if not piece:
            return
        self._size += len(piece)
        if self._head:
            self._keep_tail(piece)
            return
        self._parts.append(piece)
        if self._size > CAP:
            whole = b"".join(self._parts)
            self._parts = []
            self._head = whole[:KEPT]
            self._keep_tail(whole[KEPT:])

    def _keep_tail(self, piece: bytes) -> None:
        self._tail += piece[-KEPT:]
        del self._tail[:-KEPT]


class Tail:
    """The last text of a stream, at most ``limit`` characters, cut at line starts."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lines: deque[str] = deque()
        self._size = 0

    def add(self, line: str) -> None:
        """Append one line."""
        line = line[-self._limit :]
        self._lines.append(line)
        self._size += len(line) + 1
        while self._size > self._limit + 1 and len(self._lines) > 1:
            self._size -= len(self._lines.popleft()) + 1

    def text(self) -> str:
        """The kept lines."""
        return "\n".join(self._lines)

    def last(self, count: int) -> tuple[str, ...]:
        """The last ``count`` lines that are not blank, newest last."""
        found: list[str] = []
        for line in reversed(self._lines):
            if line.strip():
                found.append(line)
            if len(found) == count:
                break
        return tuple(reversed(found))


def decode(raw: bytes) -> str:
    """Clean text of one raw line; bytes that are no UTF-8 are replaced (A4)."""
    return clean(raw.decode("utf-8", "replace"))
