"""What an event is called in the log and on a plain terminal (10.2); text may need cleaning."""

from __future__ import annotations

import re

from ralph.core.events import (
    AnyEvent,
    AttemptStarted,
    IterationJudged,
    IterationObserved,
    Noted,
    Paused,
    PolicyChanged,
    Requested,
    RequestKind,
    RunEnded,
    RunStarted,
    Verified,
    WaitEnded,
    WaitReason,
    WaitStarted,
)
from ralph.core.facts import ClaimKind, FailureClass, VerifyResult
from ralph.views.banner import banner
from ralph.views.board import Board
from ralph.views.endbox import endbox
from ralph.views.texts import dollars, local_time, span

WAITS = {
    WaitReason.RATE: "rate limit",
    WaitReason.BACKOFF: "provider error",
    WaitReason.RESET: "usage limit",
    WaitReason.DELAY: "constrained",
}
REQUESTS = {
    RequestKind.STOP_AFTER: "stop after this iteration",
    RequestKind.STOP_NOW: "stop now",
    RequestKind.PAUSE: "pause",
    RequestKind.CONTINUE: "continue",
    RequestKind.SKIP_WAIT: "skip the wait",
    RequestKind.ACCEPT: "accept the held configuration changes",
}
CALLS_WARNING = 0.9  # share of the window from which the rest is worth a word (L-22)
_TASK_ID = re.compile(r"[A-Z][A-Z0-9]+-\d+")


def log_lines(event: AnyEvent, board: Board) -> list[str]:
    """Lines of the log for ``event``; ``board`` is the board after it (10.2)."""
    match event:
        case RunStarted():
            return banner(event)
        case AttemptStarted():
            return _started(event, board)
        case IterationObserved():
            return _observed(event)
        case IterationJudged():
            return _judged(event, board)
        case Verified():
            return [line for result in event.results for line in _verified(result)]
        case RunEnded():
            return [f"Run ended: {event.ending.state} / {event.ending.reason}", *endbox(event)]
        case _:
            return notices(event)


def notices(event: AnyEvent) -> list[str]:
    """Lines for what happens between iterations: waits, requests, configuration, notes."""
    match event:
        case WaitStarted():
            return [wait_line(event)]
        case WaitEnded():
            how = "" if event.how == "time" else f": {event.how.replace('_', ' ')}"
            return [f"Wait over ({WAITS[event.reason]}){how}"]
        case Requested():
            return [f"Asked by {event.by}: {REQUESTS[event.request]}"]
        case Paused():
            return ["Paused; nothing is launched until a continue or stop request"]
        case PolicyChanged():
            return _changes(event)
        case Noted():
            return [f"Warning: {event.text}" if event.warning else event.text]
        case _:
            return []


def wait_line(event: WaitStarted) -> str:
    """``Waiting (rate limit) until 14:05: why``; a guessed instant says so."""
    guess = ", then a try" if event.probe else ""
    why = f": {event.detail}" if event.detail else ""
    return f"Waiting ({WAITS[event.reason]}) until {local_time(event.until, event.at)}{guess}{why}"


def level_line(event: IterationJudged) -> str:
    """``Breaker: healthy → steering (reason)``, or "" when the level did not move."""
    before, after = event.level_before, event.counters.level
    if before is after:
        return ""
    why = f" ({event.level_reason})" if event.level_reason else ""
    return f"Breaker: {before} → {after}{why}"


def calls_line(board: Board) -> str:
    """A warning when most of the hour's calls are used (L-22), else ""."""
    limit = board.calls_limit
    if not limit or board.calls < CALLS_WARNING * limit:
        return ""
    return f"Warning: {board.calls} of {limit} launches of this hour are used"


def task_name(board: Board) -> str:
    """The id of the current task where the plan has ids, else its text."""
    found = _TASK_ID.fullmatch(board.task)
    return board.task if found else board.task_text


def counters_line(board: Board) -> str:
    """``no progress 1/3 (+2 exploring), same error 0/5, completion 0/2, ladder healthy``."""
    counters, stall = board.counters, board.policy.stall
    more = f" (+{counters.exploring} exploring)" if counters.exploring else ""
    return (
        f"no progress {counters.no_progress}/{stall.no_progress or 'off'}{more}, "
        f"same error {counters.same_error}/{stall.same_error or 'off'}, "
        f"completion {counters.completion}/{board.policy.completion.required}, "
        f"ladder {counters.level}"
    )


def _started(event: AttemptStarted, board: Board) -> list[str]:
    again = f" (attempt {event.attempt})" if event.attempt > 1 else ""
    lines = [f"Iteration {event.iteration} started{again}"]
    task = task_name(board)
    if task:
        lines.append(f"Current task: {task}")
    lines += [f"Changed by a person: {change}" for change in event.by_person]
    if event.blocks:
        lines.append(f"Put before the prompt: {', '.join(event.blocks)}")
    warning = calls_line(board)
    return [*lines, warning] if warning else lines


def _observed(event: IterationObserved) -> list[str]:
    seen, result = event.seen, event.seen.result
    usage = result.usage
    known = usage.output if usage is not None else None
    tokens = "n/a" if known is None else f"{known:,}"
    cost = f", {dollars(usage.cost)}" if usage is not None and usage.cost is not None else ""
    lines = [f"{seen.agent} output: {tokens} tokens{cost}"]
    how = f"Iteration {seen.iteration}: {result.klass}, {span(result.seconds)}"
    if result.exit_code is not None:
        how += f", exit {result.exit_code}"
    if result.signal is not None:
        how += f", signal {result.signal}"
    lines.append(how)
    if result.klass is not FailureClass.OK and result.detail:
        lines.append(f"Detail: {result.detail}")
    if seen.error:
        lines.append(f"Error: {seen.error}")
    if seen.claim.kind is not ClaimKind.NONE:
        what = "Completion marker" if seen.claim.kind is ClaimKind.SIGNAL else "Marker mentioned"
        lines.append(f"{what}: {', '.join(seen.claim.markers)}")
    return lines


def _judged(event: IterationJudged, board: Board) -> list[str]:
    came = ", ".join(event.progress) or ("exploring" if event.exploring else "none")
    lines = [*event.lines, f"Progress: {came}; {counters_line(board)}"]
    moved = level_line(event)
    lines += [moved] if moved else []
    return lines + [f"Condition: {trip}" for trip in event.trips]


def _verified(result: VerifyResult) -> list[str]:
    word = {True: "passed", False: "failed", None: "no verdict"}[result.passed]
    detail = f": {result.detail}" if result.detail else ""
    lines = [f"Verify {word} ({span(result.seconds)}): {result.command}{detail}"]
    lines += [f"Verify changed {name}: its verdict is void" for name in result.drafted]
    lines += [f"Verify left a new file: {name}" for name in result.leftovers]
    if result.passed is not True:
        lines += [f"  {line}" for line in result.output.splitlines()]
    return lines


def _changes(event: PolicyChanged) -> list[str]:
    lines = [f"Config: {key} {old} → {new}" for key, (old, new) in event.applied.items()]
    lines += [
        f"Config changed by the agent? {key} {old} → {new} is held until a person accepts it"
        for key, (old, new) in event.held.items()
    ]
    return lines + [
        f"Config: {key} {old} → {new} takes effect with the next run"
        for key, (old, new) in event.fixed.items()
    ]
