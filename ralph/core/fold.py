"""What each event does to the state (10.1); facts are taken over, nothing is decided here."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from ralph.core import breaker, retry
from ralph.core.events import (
    AnyEvent,
    AttemptStarted,
    Event,
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
from ralph.core.facts import (
    EndedBy,
    FailureClass,
    Observation,
    Outcome,
    Plan,
    PlanRead,
    Tree,
)
from ralph.core.policy import Policy
from ralph.core.state import RunState, begin
from ralph.core.units import several

LAST_ACTIONS = 3


def fold(events: Iterable[AnyEvent]) -> RunState:
    """Replay ``events``, the first of which must be RunStarted.

    Raises:
        ValueError: if there is no event, or the first one is of another kind.
    """
    state: RunState | None = None
    for event in events:
        if state is None:
            if not isinstance(event, RunStarted):
                raise ValueError("a journal begins with run_started")
            state = begin(event)
        else:
            state = evolve(state, event)
    if state is None:
        raise ValueError("the journal is empty")
    return state


def evolve(state: RunState, event: Event) -> RunState:
    """Return the state after ``event``; facts are taken over, nothing is decided here."""
    match event:
        case AttemptStarted():
            return _launched(state, event)
        case IterationObserved():
            return _observed(state, event.seen)
        case Verified():
            return replace(state, verified=event.results)
        case IterationJudged():
            return _judged(state, event)
        case WaitStarted() | WaitEnded() | Paused() | Requested():
            return _held(state, event)
        case PolicyChanged():
            return replace(state, policy=msgspec.convert(event.policy, Policy))
        case RunEnded():
            return replace(state, ended=event, flight=None)
        case Noted():
            return state
        case _:
            raise ValueError(f"unexpected event {type(event).__name__}")


def _launched(state: RunState, event: AttemptStarted) -> RunState:
    first = event.attempt == 1
    by_person = _ticked(event.plan, state)
    state = _with_plan(state, event.plan)
    return replace(
        state,
        plan_before=state.plan if first else state.plan_before,
        iteration=event.iteration,
        attempt=event.attempt,
        flight=event,
        before=event.tree if first else state.before,
        task=event.task if first else state.task,
        calls=state.calls + 1,
        waiting_for_slot=None,
        counted=state.counted | by_person,
    )


def _ticked(read: PlanRead | None, state: RunState) -> frozenset[str]:
    """Tasks that a person ticked while no agent ran: never counted again (B10)."""
    if read is None or read.plan is None:
        return frozenset()
    done = {task.id for task in state.plan.tasks if task.done} if state.plan else set()
    return frozenset(task.id for task in read.plan.tasks if task.done) - done


def _observed(state: RunState, seen: Observation) -> RunState:
    state = _with_plan(state, seen.plan)
    usage = state.spent.plus(seen.result.usage)
    outside = seen.outcome is Outcome.INFRA_ERROR or retried(seen)
    limit = seen.result.klass is FailureClass.USAGE_LIMIT
    return replace(
        state,
        flight=None,
        pending=None if outside else seen,
        verified=None,
        retry=retry.after_failure(state.retry, seen) if outside else None,
        storm=breaker.storm_after(seen, state.storm) if outside and not limit else state.storm,
        spent=usage,
        turns=state.turns + (seen.result.turns or 0),
        idle_since=seen.ended_at,
    )


def retried(seen: Observation) -> bool:
    """True for auth failures and bad invocations: the same iteration is launched again (A-4)."""
    if seen.result.ended_by is EndedBy.STOP:
        return False
    return seen.result.klass in retry.NOT_THE_WORK


def _judged(state: RunState, event: IterationJudged) -> RunState:
    seen = state.pending
    worked = state.worked
    trees = state.trees
    keys = state.keys
    if seen is not None:
        if seen.outcome is Outcome.OK:
            worked = worked | {seen.agent}
        trees = _remember(trees, state.before, seen.tree, state.policy.progress.tree_memory)
        keys = keys.plus(seen.result.tools.keys) if seen.result.tools else keys
    return replace(
        state,
        counters=event.counters,
        verdict=event,
        pending=None,
        verified=None,
        before=None,
        counted=state.counted | set(event.counted),
        unproven=frozenset(event.unproven),
        tree_since_tick=event.tree_since_tick,
        trees=trees,
        keys=keys,
        storm=event.counters.api_errors,
        worked=worked,
        text_digest=seen.text_digest if seen else state.text_digest,
        question=seen.question if seen else "",
        last_read_only=bool(seen and seen.read_only),
        actions=(*state.actions, _action(seen, event))[-LAST_ACTIONS:] if seen else state.actions,
    )


def _remember(
    trees: tuple[str, ...], before: Tree | None, after: Tree | None, memory: int
) -> tuple[str, ...]:
    for tree in (before, after):
        if tree is not None and (not trees or trees[-1] != tree.id):
            trees = (*trees, tree.id)
    return trees[-memory - 1 :]


def _action(seen: Observation, event: IterationJudged) -> str:
    change = seen.delta
    moved = f"+{change.added}/−{change.deleted}" if change else ""
    did = seen.summary or (f"{several(change.files, 'file')}, {moved}" if change else "no output")
    ticks = seen.plan_delta.completed
    came = f"done: {', '.join(ticks)}" if ticks else seen.error or ", ".join(event.progress)
    return f"{did} → {came or 'nothing changed'}"


def _held(state: RunState, event: WaitStarted | WaitEnded | Paused | Requested) -> RunState:
    match event:
        case WaitStarted():
            since = state.waiting_for_slot or event.at
            slot = since if event.reason is WaitReason.RATE else state.waiting_for_slot
            return replace(state, wait=event, waiting_for_slot=slot)
        case WaitEnded():
            over = event.reason in (WaitReason.BACKOFF, WaitReason.RESET)
            done = event.how in ("time", RequestKind.SKIP_WAIT)
            waited = replace(state.retry, waited=True) if state.retry and over and done else None
            skip = event.reason is WaitReason.DELAY and event.how == RequestKind.SKIP_WAIT
            return replace(
                state,
                wait=None,
                retry=waited or state.retry,
                idle_since=None if skip else state.idle_since,
            )
        case Paused():
            return replace(state, paused=True)
        case Requested():
            return _asked(state, event)


def _asked(state: RunState, event: Requested) -> RunState:
    match event.request:
        case RequestKind.STOP_NOW | RequestKind.STOP_AFTER:
            urgent = state.stop is not None and state.stop.request is RequestKind.STOP_NOW
            return state if urgent else replace(state, stop=event)
        case RequestKind.PAUSE:
            return replace(state, pause_wanted=True)
        case RequestKind.CONTINUE:
            return replace(state, pause_wanted=False, paused=False)
        case _:
            return state


def _with_plan(state: RunState, read: PlanRead | None) -> RunState:
    if read is None:
        return state
    if read.plan is None:
        return replace(state, plan_status=read.status)
    return replace(
        state,
        plan=_kept(state.plan, read.plan),
        plan_status=read.status,
        plan_digest=read.digest,
        known=state.known | {task.id for task in read.plan.tasks},
    )


def _kept(last: Plan | None, now: Plan) -> Plan:
    """A plan that lost all its tasks does not replace one that had some (C6, C7)."""
    return last if last is not None and last.tasks and not now.tasks else now
