"""What every view shows of a run, folded from its events; pure and cheap (10.1, L-26)."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

import msgspec
from msgspec.structs import replace

from ralph.core.events import (
    AnyEvent,
    AttemptStarted,
    Counters,
    IterationJudged,
    IterationObserved,
    Level,
    Noted,
    Paused,
    PolicyChanged,
    Requested,
    RequestKind,
    RunEnded,
    RunStarted,
    Verified,
    WaitEnded,
    WaitStarted,
)
from ralph.core.facts import Plan, PlanRead, Usage
from ralph.core.policy import Policy


class Doing(StrEnum):
    """What the run does at this moment."""

    STARTING = "starting"
    RUNNING = "running"  # an agent
    CHECKING = "checking"  # the agent is done: verify commands, verdict
    BETWEEN = "between"  # judged, nothing launched yet
    WAITING = "waiting"
    PAUSED = "paused"
    ENDED = "ended"


class Board(msgspec.Struct, frozen=True, kw_only=True):
    """One moment of a run as a person sees it.

    ``after`` folds any suffix of a journal that begins with ``run_started``: each verdict carries
    all counters, so the first and the last few events are enough.
    """

    started: RunStarted | None = None
    policy: Policy = Policy()
    counters: Counters = Counters()
    plan: Plan | None = None
    doing: Doing = Doing.STARTING
    agent: str = ""
    iteration: int = 0
    attempt: int = 0
    task: str = ""  # id of the first open task when the iteration began
    calls: int = 0  # in the window of an hour, as last heard
    calls_limit: int = 0
    level_reason: str = ""
    trips: tuple[str, ...] = ()
    usage: Usage = Usage()  # of all attempts so far; live tokens come on top
    attempt_at: datetime | None = None
    last_at: datetime | None = None  # of the newest event
    wait: WaitStarted | None = None
    pause_wanted: bool = False
    stop: RequestKind | None = None
    held: dict[str, list[Any]] = {}
    warning: str = ""  # newest one since the last verdict
    ended: RunEnded | None = None

    @property
    def max(self) -> int | None:
        """Iteration cap in force; None without one (L-2)."""
        if self.ended is not None:
            return self.ended.max
        first = self.started.max if self.started is not None else None
        return self.policy.max if self.policy.max is not None else first

    @property
    def level(self) -> Level:
        """Level of the ladder after the last verdict."""
        return self.counters.level

    @property
    def task_text(self) -> str:
        """Text of the current task, its id when the plan does not know it, or ""."""
        task = self.task or self.counters.task
        tasks = self.plan.tasks if self.plan else ()
        return next((known.text for known in tasks if known.id == task), task)

    @property
    def title(self) -> str:
        """Title of the plan, else what the run was started with (10.4)."""
        if self.plan is not None and self.plan.title:
            return self.plan.title
        return self.started.title or self.started.prompt if self.started else ""

    def after(self, event: AnyEvent) -> Board:
        """The board after ``event``; nothing is decided here."""
        board = replace(self, last_at=event.at)
        match event:
            case RunStarted():
                return _begun(event)
            case AttemptStarted():
                return _launched(board, event)
            case IterationObserved():
                return _observed(board, event)
            case IterationJudged():
                return _judged(board, event)
            case WaitStarted() | WaitEnded() | Paused() | Requested():
                return _held(board, event)
            case Verified():
                return replace(board, doing=Doing.CHECKING)
            case PolicyChanged():
                return _changed(board, event)
            case Noted():
                return replace(board, warning=event.text) if event.warning else board
            case RunEnded():
                return _over(board, event)


def _begun(event: RunStarted) -> Board:
    policy = msgspec.convert(event.policy, Policy)
    board = Board(
        started=event,
        policy=policy,
        agent=event.agent,
        calls_limit=policy.rate.calls_per_hour,
        last_at=event.at,
    )
    return _with_plan(board, event.started_plan)


def _with_plan(board: Board, read: PlanRead | None) -> Board:
    if read is None or read.plan is None:
        return board
    if board.plan is not None and board.plan.tasks and not read.plan.tasks:
        return board  # a plan that lost all its tasks replaces none (C6, C7)
    counters = replace(board.counters, tasks_done=read.plan.done, tasks_total=len(read.plan.tasks))
    return replace(board, plan=read.plan, counters=counters)


def _launched(board: Board, event: AttemptStarted) -> Board:
    board = _with_plan(board, event.plan)
    return replace(
        board,
        doing=Doing.RUNNING,
        agent=event.agent,
        iteration=event.iteration,
        attempt=event.attempt,
        task=event.task if event.attempt == 1 else board.task or event.task,
        calls=event.calls,
        calls_limit=event.calls_limit or board.calls_limit,
        attempt_at=event.at,
        wait=None,
    )


def _observed(board: Board, event: IterationObserved) -> Board:
    seen = event.seen
    board = _with_plan(board, seen.plan)
    return replace(
        board,
        doing=Doing.CHECKING,
        iteration=seen.iteration,
        attempt=seen.attempt,
        task=board.task or seen.task,
        usage=board.usage.plus(seen.result.usage),
        attempt_at=None,
    )


def _judged(board: Board, event: IterationJudged) -> Board:
    counters = event.counters
    healthy = counters.level is Level.HEALTHY
    return replace(
        board,
        doing=Doing.BETWEEN,
        iteration=event.iteration,
        counters=counters,
        usage=counters.usage if counters.usage != Usage() else board.usage,
        level_reason="" if healthy else event.level_reason or board.level_reason,
        trips=event.trips,
        warning="",
    )


def _held(board: Board, event: WaitStarted | WaitEnded | Paused | Requested) -> Board:
    match event:
        case WaitStarted():
            return replace(board, wait=event, doing=Doing.WAITING)
        case WaitEnded():
            return replace(board, wait=None, doing=Doing.BETWEEN)
        case Paused():
            return replace(board, doing=Doing.PAUSED, pause_wanted=False)
        case Requested():
            return _asked(board, event)


def _asked(board: Board, event: Requested) -> Board:
    match event.request:
        case RequestKind.STOP_NOW | RequestKind.STOP_AFTER:
            urgent = board.stop is RequestKind.STOP_NOW
            return replace(board, stop=board.stop if urgent else event.request)
        case RequestKind.PAUSE:
            return replace(board, pause_wanted=True)
        case RequestKind.CONTINUE:
            doing = Doing.BETWEEN if board.doing is Doing.PAUSED else board.doing
            return replace(board, pause_wanted=False, doing=doing)
        case RequestKind.ACCEPT:
            return replace(board, held={})
        case RequestKind.SKIP_WAIT:
            return board


def _changed(board: Board, event: PolicyChanged) -> Board:
    policy = msgspec.convert(event.policy, Policy)
    limit = policy.rate.calls_per_hour
    return replace(board, policy=policy, held=event.held, calls_limit=limit)


def _over(board: Board, event: RunEnded) -> Board:
    return replace(
        board,
        doing=Doing.ENDED,
        counters=event.counters,
        iteration=event.iteration or board.iteration,
        usage=event.counters.usage if event.counters.usage != Usage() else board.usage,
        task=event.last_task or board.task,
        ended=event,
        wait=None,
        attempt_at=None,
    )
