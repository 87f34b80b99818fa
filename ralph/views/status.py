"""``ralph status`` and ``ralph runs`` from the first and the last events of a journal (B-16, T-3).

Nothing heavy is imported here: this is on the fast path.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from ralph.core.events import AnyEvent, RunEnded, RunStarted
from ralph.views.board import Board, Doing
from ralph.views.texts import local_time, one_line, out_of, short_count, span

_STATES = {Doing.WAITING: "waiting", Doing.PAUSED: "paused", Doing.ENDED: "ended"}


def status(
    started: RunStarted,
    tail: Sequence[AnyEvent],
    *,
    live: bool,
    now: datetime,
    folder: str = "",
) -> dict[str, Any]:
    """Everything a program wants to know of one run; unknown values are None (C-5).

    ``tail``: the last events in order, RunStarted included or not. ``live``: a supervisor holds
    the run; without one and without a terminal record the state is ``crashed`` (T-2).
    """
    board = Board().after(started)
    for event in tail:
        if not isinstance(event, RunStarted):
            board = board.after(event)
    counters, policy, ended = board.counters, board.policy, board.ended
    until = ended.at if ended else now if live else board.last_at or now
    cost = board.usage.cost
    return {
        "run_id": started.run_id,
        "work_id": started.work_id,
        "parent_run_id": started.parent_run_id,
        "title": one_line(board.title),
        "state": _state(board, live=live),
        "outcome": _outcome(ended),
        "iteration": board.iteration,
        "iterations_completed": counters.iterations,
        "max": board.max,
        "tasks": {"done": counters.tasks_done, "total": counters.tasks_total},
        "no_progress": {
            "count": counters.no_progress,
            "limit": policy.stall.no_progress,
            "exploring": counters.exploring,
        },
        "same_error": {"count": counters.same_error, "limit": policy.stall.same_error},
        "completion": {"count": counters.completion, "required": policy.completion.required},
        "calls": {"count": board.calls, "limit": board.calls_limit},
        "level": board.level.value,
        "level_reason": board.level_reason,
        "agent": board.agent,
        "current_task": one_line(board.task_text) or None,
        "doing": board.doing.value,
        "wait": _wait(board),
        "stop_requested": board.stop.value if board.stop else None,
        "pause_requested": board.pause_wanted,
        "held": board.held,
        "warning": board.warning or None,
        "tokens": board.usage.billed,
        "cost_usd": None if cost is None else cost / 1_000_000,
        "as_of": now.isoformat(),
        "started_at": started.at.isoformat(),
        "ended_at": ended.at.isoformat() if ended else None,
        "seconds": max(0.0, (until - started.at).total_seconds()),
        "log": (ended.log if ended else "") or started.log or None,
        "dir": folder or None,
        "resume": ended.resume or None if ended else None,
    }


def _state(board: Board, *, live: bool) -> str:
    if board.ended is None and not live:
        return "crashed"
    return _STATES.get(board.doing, "running")


def _outcome(ended: RunEnded | None) -> dict[str, Any] | None:
    if ended is None:
        return None
    ending = ended.ending
    return {
        "state": ending.state.value,
        "reason": ending.reason,
        "detail": ending.detail,
        "exit_code": ending.exit_code,
    }


def _wait(board: Board) -> dict[str, str] | None:
    wait = board.wait
    if wait is None:
        return None
    return {"reason": wait.reason.value, "until": wait.until.isoformat(), "detail": wait.detail}


def status_text(facts: dict[str, Any]) -> str:
    """The same for a person: a dozen aligned lines."""
    stall, error, calls = facts["no_progress"], facts["same_error"], facts["calls"]
    more = f" (+{stall['exploring']} exploring)" if stall["exploring"] else ""
    rows = [
        ("Run", f"{facts['run_id']}{_after_dash(facts['title'])}"),
        ("Status", _state_text(facts)),
        ("Iteration", _of(facts["iteration"], facts["max"])),
        ("Tasks", _tasks(facts["tasks"])),
        ("No Progress", out_of(stall["count"], stall["limit"]) + more),
        ("Same Error", out_of(error["count"], error["limit"])),
        ("API Calls", f"{out_of(calls['count'], calls['limit'])} (hour)"),
        ("Ladder", f"{facts['level']}{_after_dash(facts['level_reason'])}"),
        ("Task", facts["current_task"] or ""),
        ("Spent", _spent(facts)),
        ("Warning", facts["warning"] or ""),
        ("Log", facts["log"] or ""),
        ("Resume", facts["resume"] or ""),
    ]
    return "\n".join(f"{label:<12} {one_line(text)}" for label, text in rows if text)


def run_line(facts: dict[str, Any]) -> str:
    """One line of ``ralph runs``: id, how it stands, iterations, tasks, length, title."""
    outcome = facts["outcome"]
    how = f"{outcome['state']}/{outcome['reason']}" if outcome else facts["state"]
    return (
        f"{facts['run_id']}  {how:<46}  {_of(facts['iteration'], facts['max']):>9}  "
        f"{_tasks(facts['tasks']):>15}  {span(facts['seconds']):>11}  {facts['title']}"
    ).rstrip()


def _state_text(facts: dict[str, Any]) -> str:
    outcome, wait = facts["outcome"], facts["wait"]
    if outcome:
        detail = _after_dash(outcome["detail"])
        return f"{outcome['state']} / {outcome['reason']} (exit {outcome['exit_code']}){detail}"
    if facts["state"] == "crashed":
        return "crashed - its supervisor is gone; ralph resume goes on"
    if wait:
        until = datetime.fromisoformat(wait["until"])
        now = datetime.fromisoformat(facts["as_of"])
        return f"waiting ({wait['reason']}) until {local_time(until, now)}"
    stop = " - stop requested" if facts["stop_requested"] else ""
    stop = stop or (" - pause requested" if facts["pause_requested"] else "")
    doing = f" ({facts['doing']})" if facts["doing"] != facts["state"] else ""
    return f"{facts['state']}{doing}{stop}"


def _spent(facts: dict[str, Any]) -> str:
    parts = [span(facts["seconds"])]
    if facts["tokens"] is not None:
        parts.append(f"{short_count(facts['tokens'])} tokens")
    if facts["cost_usd"] is not None:
        parts.append(f"${facts['cost_usd']:,.2f}")
    return ", ".join(parts)


def _tasks(tasks: dict[str, int]) -> str:
    done, total = tasks["done"], tasks["total"]
    return f"{done} / {total} ({100 * done // total}%)" if total else "n/a"


def _of(count: int, limit: int | None) -> str:
    return str(count) if limit is None else f"{count} / {limit}"


def _after_dash(text: str) -> str:
    return f" - {text}" if text else ""
