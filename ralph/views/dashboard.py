"""The dashboard: a live box on a terminal, drawn when something changed (L-26, F3)."""

from __future__ import annotations

from collections import deque
from datetime import datetime
from typing import Protocol

from rich.console import Console, ConsoleOptions, RenderResult
from rich.control import Control
from rich.live import Live as Picture
from rich.segment import Segment

from ralph.core.events import AnyEvent, AttemptStarted, RunStarted
from ralph.core.live import Live
from ralph.core.masking import mask
from ralph.views.board import Board, Doing
from ralph.views.frame import Line, Scene, frame
from ralph.views.terminal import Looks, Screen
from ralph.views.texts import display_lines

PAUSE = 0.25  # seconds between two frames at least
KEPT = 16_384  # characters of the agent's words that may still be shown
SHOW_CURSOR, HIDE_CURSOR = b"\x1b[?25h", b"\x1b[?25l"


class Clock(Protocol):
    """Wall time for countdowns, monotonic time for how long (C-7)."""

    def now(self) -> datetime:
        """Current time, UTC-aware."""
        ...

    def monotonic(self) -> float:
        """Seconds from an arbitrary start."""
        ...


class Dashboard:
    """View of a run on a terminal: at most four frames a second, one a second when only time moves.

    Draws on ``screen`` from ``tick`` and ``event`` alone; a slow or stopped terminal costs frames,
    never time.
    """

    def __init__(self, screen: Screen, look: Looks, clock: Clock, *, keys: bool = True) -> None:
        self._screen = screen
        self._look = look
        self._clock = clock
        self._keys = keys
        self._board = Board()
        self._live = Live()
        self._words = Words()
        self._begun = clock.monotonic()
        self._drawn_at = float("-inf")
        self._second = -1
        self._dirty = True
        self._afresh = False
        self._size = screen.size
        self._console = Console(
            file=screen,  # type: ignore[arg-type]
            force_terminal=True,
            no_color=not look.colour,
            legacy_windows=False,
            highlight=False,
            markup=False,
            emoji=False,
        )
        self._picture = Picture(
            console=self._console,
            auto_refresh=False,
            redirect_stdout=False,
            redirect_stderr=False,
            vertical_overflow="crop",
        )

    def event(self, event: AnyEvent) -> None:
        """Fold ``event`` and draw if a frame is due."""
        self._board = self._board.after(event)
        if isinstance(event, RunStarted):
            self._begun = self._clock.monotonic()
        if isinstance(event, AttemptStarted):
            self._words.clear()
        if self._board.doing is not Doing.RUNNING:
            self._live = Live()
        self._dirty = True
        self.tick()

    def live(self, live: Live) -> None:
        """Remember what the agent does; the next tick shows it."""
        if live != self._live:
            self._live = live
            self._dirty = True

    def say(self, text: str) -> None:
        """Remember the agent's words; the next tick shows the last of them."""
        self._words.add(text)
        self._dirty = True

    def tick(self) -> None:
        """Draw when something changed and the last frame is old enough."""
        now = self._clock.monotonic()
        if now - self._drawn_at < PAUSE:
            return
        size, second = self._screen.size, int(now - self._begun)
        changed = self._dirty or self._afresh or second != self._second or size != self._size
        if not changed or not self._screen.foreground or self._screen.busy:
            return
        self._second, self._drawn_at, self._dirty = second, now, False
        self._draw(size)

    def suspend(self) -> None:
        """Give the cursor back to the shell: ralph is about to be stopped (SIGTSTP)."""
        self._screen.urgent(SHOW_CURSOR)

    def resume(self) -> None:
        """Draw everything anew at the next tick: the shell has written in between."""
        self._screen.urgent(HIDE_CURSOR)
        self._afresh = True

    def close(self) -> None:
        """Draw the last frame, which stays, and show the cursor again."""
        try:
            if self._screen.foreground:
                self._draw(self._screen.size)
                self._picture.stop()
        finally:
            self._screen.urgent(SHOW_CURSOR)
            self._screen.close()

    def _draw(self, size: tuple[int, int]) -> None:
        self._console.size = size
        if not self._picture.is_started:
            self._picture.start()
        if self._afresh or size != self._size:
            self._console.control(Control.home(), Control.clear())
            self._afresh, self._size = False, size
        self._picture.update(Styled(frame(self._scene(size))), refresh=True)

    def _scene(self, size: tuple[int, int]) -> Scene:
        width, height = size
        said = self._words.last(height) or list(self._live.tail)
        return Scene(
            board=self._board,
            live=self._live,
            said=[line for text in said for line in display_lines(mask(text))],
            elapsed=self._clock.monotonic() - self._begun,
            now=self._clock.now(),
            width=width,
            height=height,
            utf8=self._look.utf8,
            keys=self._keys,
        )


class Words:
    """The last few thousand characters of a stream, at the cost of a queue (A22)."""

    def __init__(self) -> None:
        self._pieces: deque[str] = deque()
        self._size = 0
        self._cut = False

    def add(self, text: str) -> None:
        """Keep the end of ``text``; forget what is too old to be shown."""
        piece = text[-KEPT:]
        self._cut = self._cut or len(piece) < len(text)
        self._pieces.append(piece)
        self._size += len(piece)
        while self._size - len(self._pieces[0]) >= KEPT:
            self._size -= len(self._pieces.popleft())
            self._cut = True

    def clear(self) -> None:
        """Forget everything."""
        self._pieces.clear()
        self._size = 0
        self._cut = False

    def last(self, count: int) -> list[str]:
        """At most ``count`` last lines, clean; a line that was cut at its start is left out."""
        text = "".join(self._pieces)
        if self._cut and "\n" in text:
            text = text.partition("\n")[2]
        return display_lines(text)[-count:]


class Styled:
    """Styled lines as something that rich can draw."""

    def __init__(self, lines: list[Line]) -> None:
        self._lines = lines

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in self._lines:
            for text, style in line:
                yield Segment(text, console.get_style(style) if style else None)
            yield Segment.line()
