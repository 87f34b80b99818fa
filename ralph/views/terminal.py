"""What the terminal can do, and a way to draw on it that can never block the loop (F3)."""

from __future__ import annotations

import io
import os
import select
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TextIO

from ralph.views.texts import ascii_only

FALLBACK_SIZE = (80, 24)
LAST_FRAME = 1.0  # seconds that the last frame may wait for a slow terminal
_COERCED = ("C.UTF-8", "C.utf8")  # what Python itself puts into LC_CTYPE under LANG=C
_NO_WRAP, _WRAP = b"\x1b[?7l", b"\x1b[?7h"
_COLOURS = {"red": "1;31", "green": "32", "yellow": "33", "dim": "2", "bold": "1"}


@dataclass(frozen=True)
class Looks:
    """What a stream can show."""

    terminal: bool  # a terminal that understands cursor movement
    utf8: bool
    colour: bool


def looks(stream: TextIO | None, environ: Mapping[str, str]) -> Looks:
    """Look at ``stream`` and the environment (NO_COLOR, TERM, locale); None: it was closed."""
    if stream is None:
        return Looks(terminal=False, utf8=False, colour=False)
    tty = stream.isatty()
    smart = tty and environ.get("TERM", "") not in ("", "dumb", "unknown")
    return Looks(
        terminal=smart,
        utf8=_utf8(stream, environ),
        colour=smart and not environ.get("NO_COLOR"),
    )


def _utf8(stream: TextIO, environ: Mapping[str, str]) -> bool:
    if not (getattr(stream, "encoding", "") or "").lower().startswith("utf"):
        return False
    category = environ.get("LC_CTYPE", "")
    if category in _COERCED and environ.get("LANG", "") in ("", "C", "POSIX"):
        category = ""
    locale = environ.get("LC_ALL") or category or environ.get("LANG", "")
    return "utf-8" in locale.lower() or "utf8" in locale.lower()


def in_foreground(fd: int) -> bool:
    """False while another process group owns the terminal: drawing would disturb its screen."""
    try:
        return os.tcgetpgrp(fd) == os.getpgrp()
    except OSError:
        return True  # not our controlling terminal: nobody else is in front of it


class Printer:
    """Whole lines on a stream: folded to ASCII and left without colour where it has to be."""

    def __init__(self, stream: TextIO | None, look: Looks) -> None:
        self._stream = stream
        self._look = look

    def line(self, text: str, style: str = "") -> None:
        """Write one line; a stream that is gone is not written to any more (F3)."""
        if self._stream is None:
            return
        if not self._look.utf8:
            text = ascii_only(text)
        if style and self._look.colour:
            text = f"\x1b[{_COLOURS[style]}m{text}\x1b[0m"
        try:
            self._stream.write(f"{text}\n")
            self._stream.flush()
        except (OSError, ValueError):
            silence(self._stream)
            self._stream = None

    def block(self, lines: Iterable[str], style: str = "") -> None:
        """Write ``lines``; ``style`` is for the first of them."""
        for line in lines:
            self.line(line, style)
            style = ""


def silence(stream: TextIO) -> None:
    """Point a broken ``stream`` at the null device: its last flush must not change an exit code."""
    with suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)


class Screen(io.TextIOBase):
    """A terminal as a text file; each ``flush`` sends one frame and never blocks.

    The terminal is opened anew where it has a name, so that the non-blocking mode is ours alone.
    What it does not take at once is kept; ``busy`` says so, and the next frame waits for it.
    Lines never wrap: a character that is wider than expected cannot shift the frame.
    """

    def __init__(self, stream: TextIO) -> None:
        self._encoding = stream.encoding or "ascii"
        self._fd = _own(stream.fileno())
        self._parts: list[str] = []
        self._unsent = b""

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """Encoding of the terminal's stream."""
        return self._encoding

    @property
    def busy(self) -> bool:
        """True while an earlier frame is not out yet."""
        self._push()
        return bool(self._unsent)

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows now; 80 x 24 when the terminal does not know."""
        try:
            columns, rows = os.get_terminal_size(self._fd)
        except OSError:
            return FALLBACK_SIZE
        return (columns, rows) if columns and rows else FALLBACK_SIZE

    @property
    def foreground(self) -> bool:
        """False while ralph is a background job of its terminal."""
        return in_foreground(self._fd)

    def isatty(self) -> bool:
        """A screen is a terminal by definition."""
        return True

    def writable(self) -> bool:
        """Always."""
        return True

    def write(self, text: str) -> int:
        """Keep ``text`` for the next ``flush``."""
        self._parts.append(text)
        return len(text)

    def flush(self) -> None:
        """Send what was written since the last flush; raises OSError when the terminal is gone."""
        if self._parts and not self.closed:
            frame = "".join(self._parts).encode(self._encoding, "replace")
            self._parts.clear()
            self._unsent += _NO_WRAP + frame + _WRAP
            self._push()

    def urgent(self, sequence: bytes) -> None:
        """Send a short sequence at once, past any frame; lost when the terminal is stuck."""
        try:
            os.write(self._fd, sequence)
        except OSError:
            return

    def close(self) -> None:
        """Give the last frame a moment to get out, then let go of the terminal."""
        if self.closed:
            return
        try:
            while self.busy and select.select([], [self._fd], [], LAST_FRAME)[1]:
                continue
        except OSError:
            self._unsent = b""
        self._parts.clear()
        super().close()
        os.close(self._fd)

    def _push(self) -> None:
        while self._unsent:
            try:
                sent = os.write(self._fd, self._unsent)
            except BlockingIOError:
                return
            self._unsent = self._unsent[sent:]


def _own(fd: int) -> int:
    try:
        return os.open(os.ttyname(fd), os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return os.dup(fd)
