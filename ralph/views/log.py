"""The log of a run: every event and all the agent says, with times, without secrets (L-25, F8)."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Protocol

from ralph.core.cleaning import clean
from ralph.core.events import AnyEvent
from ralph.core.live import Live
from ralph.core.masking import mask
from ralph.views.board import Board
from ralph.views.wording import log_lines

WINDOW = 65_536  # characters of an unfinished line that are held back at most
OVERLAP = 4_096  # of them kept for the next window, so that no secret is cut unseen
LOOK_AGAIN = 1.0  # seconds between two looks whether the file is still there
_KEY_BEGINS = re.compile(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY")
_KEY_ENDS = re.compile(r"-----END [A-Z0-9 ]*PRIVATE KEY[^\n]*")


class Clock(Protocol):
    """Wall time for the stamps, monotonic time for how long (C-7)."""

    def now(self) -> datetime:
        """Current time, UTC-aware."""
        ...

    def monotonic(self) -> float:
        """Seconds from an arbitrary start."""
        ...


def name_for(folder: Path, now: datetime) -> Path:
    """``ralph_YYYYMMDD_HHMMSS.log`` in local time; ``_2``, ``_3`` ... when that name is taken."""
    stem = f"ralph_{now.astimezone():%Y%m%d_%H%M%S}"
    path, number = folder / f"{stem}.log", 1
    while path.exists():
        number += 1
        path = folder / f"{stem}_{number}.log"
    return path


class LogView:
    """View of a run as a text file with mode 0600; every line is stamped with local time.

    Memory does not grow with the length of a line. A write that fails is told to ``warn`` once
    and tried again with the next line; a file that was deleted is begun again.
    """

    def __init__(self, path: Path, clock: Clock, warn: Callable[[str], None]) -> None:
        self._path = path
        self._clock = clock
        self._warn = warn
        self._warned = False
        self._board = Board()
        self._pieces: list[str] = []  # words that are not written yet
        self._size = 0  # characters of them
        self._mid_line = False  # the file ends inside a line
        self._fd: int | None = None
        self._looked_at = float("-inf")

    def event(self, event: AnyEvent) -> None:
        """Write what has happened, after all words said so far."""
        self._board = self._board.after(event)
        self._flush_words()
        self._looked_at = float("-inf")
        text = mask(clean("\n".join(log_lines(event, self._board))))
        if text:
            self._write(self._stamped(event.at, text) + "\n")

    def live(self, live: Live) -> None:
        """Nothing: what matters of it is in the next event."""

    def say(self, text: str) -> None:
        """Write the agent's words; the end of an unfinished line waits for more."""
        self._pieces.append(text)
        self._size += len(text)
        if "\n" not in text and self._size <= WINDOW:
            return
        held = "".join(self._pieces)
        cut = _last_line_end(held)
        if cut:
            self._words(held[:cut])
            held = held[cut:]
        while len(held) > WINDOW:
            cut = _safe_cut(held)
            self._words(held[:cut])
            held = held[cut:]
        self._pieces, self._size = [held], len(held)

    def tick(self) -> None:
        """Nothing to refresh."""

    def close(self) -> None:
        """Write what is held back and let go of the file."""
        self._flush_words()
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _flush_words(self) -> None:
        held = "".join(self._pieces)
        self._pieces, self._size = [], 0
        if held or self._mid_line:
            self._words(held if held.endswith("\n") else f"{held}\n")

    def _words(self, block: str) -> None:
        """Write whole lines, or a part of one that is too long to wait for its end."""
        ends = block.endswith("\n")
        text = mask(clean(block)).removesuffix("\n" if ends else "")
        begun = ""
        if self._mid_line:
            first, newline, text = text.partition("\n")
            begun = first + "\n" * (ends or bool(newline))
            if not newline:
                self._mid_line = not ends
                return self._write(begun)
        self._mid_line = not ends
        return self._write(begun + self._stamped(self._clock.now(), text) + "\n" * ends)

    def _stamped(self, when: datetime, text: str) -> str:
        stamp = f"[{when.astimezone():%Y-%m-%d %H:%M:%S}] "
        return stamp + text.replace("\n", f"\n{stamp}")

    def _write(self, text: str) -> None:
        left = text.encode("utf-8", "replace")
        try:
            fd = self._file()
            while left:
                left = left[os.write(fd, left) :]
        except OSError as error:
            self._mid_line = False
            if not self._warned:
                self._warned = True
                self._warn(f"cannot write the log {self._path}: {error.strerror or error}")

    def _file(self) -> int:
        """The open file, begun again when it is no longer where it was."""
        now = self._clock.monotonic()
        if self._fd is not None and now - self._looked_at >= LOOK_AGAIN:
            self._looked_at = now
            if _gone(self._fd, self._path):
                os.close(self._fd)
                self._fd = None
        if self._fd is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
            self._fd = os.open(self._path, flags, 0o600)
        return self._fd


def _gone(fd: int, path: Path) -> bool:
    try:
        return not os.path.samestat(os.fstat(fd), path.stat())
    except OSError:
        return True


def _last_line_end(text: str) -> int:
    """Where the last whole line ends; before a private key that has not ended yet."""
    cut = text.rfind("\n") + 1
    begins = [found.start() for found in _KEY_BEGINS.finditer(text, 0, cut)]
    if not begins or _KEY_ENDS.search(text, begins[-1], cut):
        return cut
    line = text.rfind("\n", 0, begins[-1]) + 1
    return line if len(text) - line <= WINDOW else cut


def _safe_cut(text: str) -> int:
    """Where ``text`` can be cut without hiding a secret from ``mask``.

    At least OVERLAP characters stay behind. A blank is the best place, else one where masking both
    halves gives what masking the whole gives.
    """
    longest = len(text) - OVERLAP
    blank = text.rfind(" ", longest - OVERLAP, longest)
    places = [blank] * (blank > 0) + list(range(longest, longest - OVERLAP, -OVERLAP // 4))
    for cut in places:
        before, after = text[max(0, cut - OVERLAP) : cut], text[cut : cut + OVERLAP]
        if mask(before) + mask(after) == mask(before + after):
            return cut
    return longest
