"""One plain line an iteration for pipes, logs of CI and dumb terminals (L-26, F3)."""

from __future__ import annotations

from ralph.core.events import AnyEvent, AttemptStarted, IterationJudged, RunEnded
from ralph.core.live import Live
from ralph.core.masking import mask
from ralph.views.board import Board
from ralph.views.rows import percent_done
from ralph.views.terminal import Printer
from ralph.views.texts import one_line, span
from ralph.views.wording import calls_line, counters_line, level_line, notices


class Plain:
    """View of a run in lines: iterations, waits, changes of the ladder, warnings, the end."""

    def __init__(self, printer: Printer) -> None:
        self._printer = printer
        self._board = Board()

    def event(self, event: AnyEvent) -> None:
        """Print what is worth a line."""
        board = self._board = self._board.after(event)
        for line in _lines(event, board):
            self._printer.line(mask(one_line(line)))

    def live(self, live: Live) -> None:
        """Nothing: a line an iteration is enough."""

    def say(self, text: str) -> None:
        """Nothing: the words are in the log."""

    def tick(self) -> None:
        """Nothing to refresh."""

    def close(self) -> None:
        """Nothing to put back."""


def _lines(event: AnyEvent, board: Board) -> list[str]:
    match event:
        case AttemptStarted():
            return [line] if (line := calls_line(board)) else []
        case IterationJudged():
            moved = level_line(event)
            return [iteration_line(event, board)] + ([moved] if moved else [])
        case RunEnded():
            ending = event.ending
            detail = f": {ending.detail}" if ending.detail else ""
            return [f"Run ended: {ending.state} / {ending.reason}{detail}"]
        case _:
            return notices(event)


def iteration_line(event: IterationJudged, board: Board) -> str:
    """``Iteration 12 / 20: tasks 18 / 24 (75%), no progress 0/3, ..., 12/100 calls, 1h 02m``."""
    number = str(event.iteration) if board.max is None else f"{event.iteration} / {board.max}"
    start = board.started.at if board.started else event.at
    calls = f"{board.calls}/{board.calls_limit or 'off'} calls"
    elapsed = span((event.at - start).total_seconds())
    return (
        f"Iteration {number}: tasks {percent_done(board)}, {counters_line(board)}, "
        f"{calls}, {elapsed}"
    )
