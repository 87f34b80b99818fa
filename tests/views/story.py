"""A run for views to show: events as the loop would record them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import msgspec
from rich.console import Console

from ralph.core.events import (
    AnyEvent,
    AttemptStarted,
    Counters,
    IterationJudged,
    IterationObserved,
    Level,
    RunEnded,
    RunStarted,
    WaitReason,
    WaitStarted,
)
from ralph.core.facts import (
    AgentResult,
    FailureClass,
    Observation,
    Outcome,
    Plan,
    PlanRead,
    PlanStatus,
    Task,
    Usage,
)
from ralph.core.outcome import Ending, escalated
from ralph.core.policy import Policy
from ralph.views.board import Board
from ralph.views.dashboard import Styled
from ralph.views.frame import Line

START = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
PLAN = Plan(
    title="Invoice service",
    tasks=tuple(
        Task(id=f"INV-{n}", text=f"INV-{n} Reject a negative amount", done=n <= 18)
        for n in range(1, 25)
    ),
)


@dataclass
class FakeClock:
    """A clock that moves when the test says so."""

    wall: datetime = START
    seconds: float = 1000.0

    def now(self) -> datetime:
        return self.wall

    def monotonic(self) -> float:
        return self.seconds

    def pause(self, seconds: float) -> None:
        self.forward(seconds)

    def forward(self, seconds: float) -> None:
        self.wall += timedelta(seconds=seconds)
        self.seconds += seconds


def started(**changes: Any) -> RunStarted:
    policy = msgspec.to_builtins(Policy(max=changes.pop("cap", 20)))
    for name, values in changes.pop("sections", {}).items():
        policy[name].update(values)
    fields: dict[str, Any] = {
        "at": START,
        "run_id": "20261130-120000-a1b2",
        "work_id": "w-77",
        "root": "/repo",
        "prompt": "PROMPT.md",
        "plan_path": "IMPLEMENTATION_PLAN.md",
        "agent": "claude",
        "argv": ("claude", "-p", "--output-format", "stream-json"),
        "max": policy["max"],
        "policy": policy,
        "started_plan": PlanRead(status=PlanStatus.OK, digest="d", plan=PLAN),
        "log": ".ralph/runs/r/ralph_20261130_120000.log",
    }
    return RunStarted(**{**fields, **changes})


def attempt(iteration: int = 12, **changes: Any) -> AttemptStarted:
    fields: dict[str, Any] = {
        "at": START + timedelta(seconds=3700),
        "iteration": iteration,
        "attempt": 1,
        "agent": "claude",
        "folder": f"iterations/{iteration:04d}",
        "task": "INV-19",
        "calls": 12,
        "calls_limit": 100,
    }
    return AttemptStarted(**{**fields, **changes})


def observed(iteration: int = 12, usage: Usage | None = None, **changes: Any) -> IterationObserved:
    at = START + timedelta(seconds=3900)
    result = {"klass": FailureClass.OK, "seconds": 200.0, "exit_code": 0, "usage": usage}
    result |= changes.pop("result", {})
    fields: dict[str, Any] = {
        "iteration": iteration,
        "attempt": 1,
        "agent": "claude",
        "started_at": START,
        "ended_at": at,
        "outcome": Outcome.OK,
        "result": AgentResult(**result),
        "folder": "f",
    }
    return IterationObserved(at=at, seen=Observation(**{**fields, **changes}))


def counters(**changes: Any) -> Counters:
    fields: dict[str, Any] = {
        "iterations": 12,
        "calls": 12,
        "tasks_done": 18,
        "tasks_total": 24,
        "tasks_open": 6,
        "task": "INV-19",
        "usage": Usage(input=1_000_000, output=234_567, cost=3_420_000),
    }
    return Counters(**{**fields, **changes})


def judged(iteration: int = 12, **changes: Any) -> IterationJudged:
    fields: dict[str, Any] = {
        "at": START + timedelta(seconds=3901),
        "iteration": iteration,
        "counters": counters(),
    }
    return IterationJudged(**{**fields, **changes})


def steering(reason: str = "no progress in 2 iterations") -> IterationJudged:
    return judged(
        counters=counters(no_progress=2, exploring=1, level=Level.STEERING),
        level_before=Level.HEALTHY,
        level_action="steer",
        level_reason=reason,
        trips=(f"N: {reason}",),
        lines=("Tasks completed: 6 → 7",),
    )


def waiting(seconds: float = 192, **changes: Any) -> WaitStarted:
    at = START + timedelta(seconds=3902)
    fields: dict[str, Any] = {
        "at": at,
        "reason": WaitReason.RATE,
        "until": at + timedelta(seconds=seconds),
        "detail": "100 launches in the last hour",
    }
    return WaitStarted(**{**fields, **changes})


def ended(ending: Ending | None = None, **changes: Any) -> RunEnded:
    fields: dict[str, Any] = {
        "at": START + timedelta(seconds=4000),
        "run_id": "20261130-120000-a1b2",
        "work_id": "w-77",
        "ending": ending or escalated("no_progress", "No progress for 3 iterations"),
        "counters": counters(no_progress=3),
        "iteration": 12,
        "max": 20,
        "last_task": "INV-19",
        "resume": "ralph resume",
        "log": ".ralph/runs/r/ralph_20261130_120000.log",
        "seconds": 4000.0,
    }
    return RunEnded(**{**fields, **changes})


def board_of(*events: AnyEvent) -> Board:
    board = Board()
    for event in events:
        board = board.after(event)
    return board


@dataclass
class Reports:
    """What was said to a callback."""

    lines: list[str] = field(default_factory=list)

    def __call__(self, text: str) -> None:
        self.lines.append(text)


def drawn(lines: list[Line], width: int, height: int) -> list[str]:
    """The frame as rich puts it on a terminal without colour."""
    file = StringIO()
    console = Console(file=file, width=width, height=height, color_system=None)
    console.print(Styled(lines), end="")
    return file.getvalue().splitlines()
