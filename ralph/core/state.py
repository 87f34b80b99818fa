"""The state of a run as a fold over its events; nothing else is a source of truth (10.1)."""

from __future__ import annotations

from datetime import datetime

import msgspec
from msgspec.structs import replace

from ralph.core.events import (
    AttemptStarted,
    Carried,
    Counters,
    IterationJudged,
    Requested,
    RequestKind,
    RunEnded,
    RunStarted,
    WaitStarted,
)
from ralph.core.facts import (
    Observation,
    Plan,
    PlanStatus,
    Tree,
    Usage,
    VerifyResult,
)
from ralph.core.policy import Policy
from ralph.core.retry import Retry
from ralph.core.seen import Seen


class RunState(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the next decision needs."""

    started: RunStarted
    policy: Policy
    counters: Counters = Counters()
    iteration: int = 0  # number of the latest launch
    attempt: int = 0
    flight: AttemptStarted | None = None  # launched, not observed
    before: Tree | None = None  # snapshot before the first attempt of the iteration
    pending: Observation | None = None  # observed, not judged
    verified: tuple[VerifyResult, ...] | None = None  # for ``pending``
    verdict: IterationJudged | None = None  # latest
    retry: Retry | None = None
    wait: WaitStarted | None = None
    waiting_for_slot: datetime | None = None  # since when the call window is full
    stop: Requested | None = None
    pause_wanted: bool = False
    paused: bool = False
    plan: Plan | None = None  # last good one
    plan_before: Plan | None = None  # when the first attempt of the iteration was launched
    plan_status: PlanStatus = PlanStatus.MISSING
    plan_digest: str = ""
    counted: frozenset[str] = frozenset()
    known: frozenset[str] = frozenset()
    unproven: frozenset[str] = frozenset()
    tree_since_tick: bool = False
    trees: tuple[str, ...] = ()  # ids of recent snapshots, newest last
    keys: Seen = Seen()  # tool-call keys seen in this run
    storm: int = 0  # API errors in a row at the end of the last attempt
    spent: Usage = Usage()
    turns: int = 0
    calls: int = 0
    text_digest: str = ""  # of the last judged iteration
    worked: frozenset[str] = frozenset()  # agents that had an ok iteration in this run
    idle_since: datetime | None = None  # end of the last attempt
    task: str = ""  # first open task when the last iteration began
    last_read_only: bool = False  # the last iteration was a planning one (B-17)
    actions: tuple[str, ...] = ()
    question: str = ""
    ended: RunEnded | None = None

    @property
    def cap(self) -> int | None:
        """Iteration cap of this run: the one in force, else the one it started with (L-1)."""
        return self.policy.max

    @property
    def stop_now(self) -> bool:
        """True once somebody asked to stop at once."""
        return self.stop is not None and self.stop.request is RequestKind.STOP_NOW


def begin(event: RunStarted) -> RunState:
    """State of a run that has just started."""
    carried, plan = event.carried, event.started_plan
    tasks = plan.plan.tasks if plan and plan.plan else ()
    ticked = {task.id for task in tasks if task.done}
    return RunState(
        started=event,
        policy=msgspec.convert(event.policy, Policy),
        plan=plan.plan if plan else None,
        plan_status=plan.status if plan else PlanStatus.MISSING,
        plan_digest=plan.digest if plan else "",
        counted=frozenset(carried.counted) | ticked - set(carried.unproven),
        known=frozenset(carried.known) | {task.id for task in tasks},
        unproven=frozenset(carried.unproven) & {task.id for task in tasks if task.done},
        tree_since_tick=carried.tree_since_tick,
        trees=(event.started_tree.id,) if event.started_tree else (),
        counters=tally(Counters(), plan.plan if plan else None),
    )


def carry(state: RunState, *, reason: bool) -> Carried:
    """What the next run of the same work keeps (T-6); ``reason``: the stop reason as well."""
    ended = state.ended
    why = f"{ended.ending.reason}: {ended.ending.detail}" if ended and reason else ""
    return Carried(
        counted=tuple(sorted(state.counted)),
        known=tuple(sorted(state.known)),
        unproven=tuple(sorted(state.unproven)),
        tree_since_tick=state.tree_since_tick,
        stop_reason=why.removesuffix(": "),
    )


def tally(counters: Counters, plan: Plan | None) -> Counters:
    """``counters`` with the task counts of ``plan``; all 0 without one."""
    plan = plan or Plan()
    current = plan.current
    return replace(
        counters,
        tasks_done=plan.done,
        tasks_total=len(plan.tasks),
        tasks_open=len(plan.open),
        task=current.id if current else "",
    )
