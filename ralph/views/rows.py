"""The dashboard's rows: what each says, in wording from longest to shortest (L-26)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ralph.core.events import Level, RequestKind, WaitStarted
from ralph.core.live import Live
from ralph.core.outcome import TerminalState
from ralph.views.board import Board, Doing
from ralph.views.texts import dollars, local_time, one_line, out_of, span
from ralph.views.wording import CALLS_WARNING, WAITS

QUIET = 30.0  # seconds of silence from which it is said
LEVEL_STYLES = {
    Level.HEALTHY: "green",
    Level.STEERING: "yellow",
    Level.CONSTRAINED: "magenta",
    Level.STOPPED: "bold red",
}
_ENDS = {
    TerminalState.RESOLVED: "green",
    TerminalState.ESCALATED: "bold red",
    TerminalState.FOLLOW_UP: "yellow",
    TerminalState.FALLBACK: "yellow",
}


@dataclass(frozen=True)
class Row:
    """One line of the box; the first of ``texts`` that fits is shown."""

    label: str
    texts: tuple[str, ...]
    style: str = ""
    share: float | None = None  # of a bar, 0 to 1


def required_rows(board: Board, live: Live, now: datetime) -> list[Row]:
    """The six rows that a dashboard always has, in their order (L-26)."""
    counters, stall = board.counters, board.policy.stall
    used = board.calls / board.calls_limit if board.calls_limit else 0.0
    calls = out_of(board.calls, board.calls_limit)
    return [
        _iteration(board),
        _tasks(board),
        Row("No Progress", _no_progress(board), _heat(counters.no_progress, stall.no_progress)),
        Row(
            "Same Error",
            (out_of(counters.same_error, stall.same_error),),
            _heat(counters.same_error, stall.same_error),
        ),
        Row("API Calls", (f"{calls} (hour)", calls), "yellow" if used >= CALLS_WARNING else ""),
        _status(board, live, now),
    ]


def optional_rows(board: Board, live: Live, elapsed: float) -> list[Row]:
    """Rows that are there when they are known and there is room, in their order."""
    reason = f" - {one_line(board.level_reason)}" if board.level_reason else ""
    completion, required = board.counters.completion, board.policy.completion.required
    rows = [
        Row("Ladder", (f"{board.level}{reason}",), LEVEL_STYLES[board.level]),
        Row("Elapsed", (span(elapsed),)),
    ]
    if completion:
        rows.append(Row("Completion", (f"{completion} / {required}",), "green"))
    if board.task_text:
        rows.append(Row("Task", (one_line(board.task_text),)))
    spent = _spent(board, live)
    if spent:
        rows.append(Row("Tokens", (spent,)))
    if live.tool and board.doing is Doing.RUNNING:
        rows.append(Row("Tool", (one_line(live.tool),)))
    return rows


def _iteration(board: Board) -> Row:
    if board.max is None:
        return Row("Iteration", (f"{board.iteration} (no cap)", str(board.iteration)))
    text = f"{board.iteration} / {board.max}"
    return Row("Iteration", (text,), share=board.iteration / board.max)


def percent_done(board: Board) -> str:
    """``18 / 24 (75%)``, rounded down; ``n/a`` without tasks (L-26)."""
    done, total = board.counters.tasks_done, board.counters.tasks_total
    return f"{done} / {total} ({100 * done // total}%)" if total else "n/a"


def _tasks(board: Board) -> Row:
    done, total = board.counters.tasks_done, board.counters.tasks_total
    long = percent_done(board)
    return Row("Tasks", (long, long.partition(" (")[0]), share=done / total if total else None)


def _no_progress(board: Board) -> tuple[str, ...]:
    short = out_of(board.counters.no_progress, board.policy.stall.no_progress)
    exploring = board.counters.exploring
    if not exploring:
        return (short,)
    return (f"{short} (+{exploring} exploring)", f"{short} (+{exploring})", short)


def _heat(count: int, limit: int) -> str:
    if not count or not limit:
        return ""
    return "red" if count >= max(2, limit - 1) else "yellow"


def _spent(board: Board, live: Live) -> str:
    tokens, cost = board.usage.billed, board.usage.cost
    if live.tokens is not None and board.doing is Doing.RUNNING:
        tokens = (tokens or 0) + live.tokens
    parts = [f"{tokens:,}" if tokens is not None else "n/a"]
    if cost is not None:
        parts.append(dollars(cost))
    return "  ".join(parts) if tokens is not None or cost is not None else ""


def _status(board: Board, live: Live, now: datetime) -> Row:
    match board.doing:
        case Doing.ENDED if board.ended is not None:
            ending = board.ended.ending
            texts = (f"{ending.state} ({ending.reason})", ending.state.value)
            return Row("Status", texts, _ENDS[ending.state])
        case Doing.WAITING if board.wait is not None:
            return _waiting(board, board.wait, now)
        case Doing.PAUSED:
            return Row("Status", ("Paused - press p to go on", "Paused"), "blue")
        case _:
            return _working(board, live)


def _waiting(board: Board, wait: WaitStarted, now: datetime) -> Row:
    left = span((wait.until - now).total_seconds())
    why, when = WAITS[wait.reason], local_time(wait.until, now)
    until = f"next try {when}" if wait.probe else f"until {when}"
    texts: tuple[str, ...] = (
        f"Waiting ({why}) - {left} left, {until}",
        f"Waiting ({why}) - {left} left",
        f"Waiting - {left} left",
        f"Waiting {left}",
        f"Wait {left}",
    )
    if board.stop is not None:
        texts = (f"Stopping - {texts[0]}", "Stopping")
    return Row("Status", texts, "yellow")


def _working(board: Board, live: Live) -> Row:
    running = board.doing is Doing.RUNNING
    word = {
        Doing.STARTING: "Starting",
        Doing.RUNNING: f"Running ({board.agent})",
        Doing.CHECKING: "Checking the result",
    }.get(board.doing, "Between iterations")
    if board.attempt > 1 and running:
        word = f"Running ({board.agent}, attempt {board.attempt})"
    short = word.partition(" (")[0]
    if board.stop is RequestKind.STOP_NOW:
        return Row("Status", ("Stopping now",), "red")
    if board.stop is not None:
        after = "stopping after this iteration"
        return Row("Status", (f"{word} - {after}", f"{short} - {after}", "Stopping"), "yellow")
    if board.pause_wanted:
        after = "pausing after this iteration"
        return Row("Status", (f"{word} - {after}", f"{short} - {after}", "Pausing"), "blue")
    silence = f"quiet for {span(live.quiet)}" if live.quiet >= QUIET else ""
    more = ", ".join(part for part in (silence, one_line(live.last_seen)) if part)
    texts = (f"{word} - {more}", word, short) if more and running else (word, short)
    return Row("Status", texts, "cyan" if running else "")
