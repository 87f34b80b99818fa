"""From bytes to clean lines in flat memory (A4, A12, A22)."""

from __future__ import annotations

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
    """The last text of a stream, at most ``limit`` characters, cut at a line start."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._parts: list[str] = []
        self._size = 0

    def add(self, text: str) -> None:
        """Append one line, or several."""
        self._parts.append(text)
        self._size += len(text) + 1
        if self._size > 2 * self._limit:
            kept = self.text()
            self._parts, self._size = [kept], len(kept) + 1

    def text(self) -> str:
        """The kept lines; of a last line that is longer its end."""
        text = "\n".join(self._parts)
        if len(text) <= self._limit:
            return text
        start = text.find("\n", len(text) - self._limit - 1) + 1
        return text[start or -self._limit :]

    def last(self, count: int) -> tuple[str, ...]:
        """The last ``count`` lines that are not blank, newest last."""
        return tuple([line for line in self.text().split("\n") if line.strip()][-count:])


def decode(raw: bytes) -> str:
    """Clean text of one raw line; bytes that are no UTF-8 are replaced (A4)."""
    return clean(raw.decode("utf-8", "replace"))
