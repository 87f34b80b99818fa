"""The one verdict on an iteration: counters, ladder, claim, and the end if it is one (X-2)."""

from __future__ import annotations

from datetime import datetime

from msgspec.structs import replace

from ralph.core import breaker, claim, progress
from ralph.core.breaker import Trip
from ralph.core.events import Counters, IterationJudged, Level, Note, RequestKind
from ralph.core.facts import (
    ClaimKind,
    EndedBy,
    FailureClass,
    Observation,
    PlanStatus,
    VerifyResult,
)
from ralph.core.outcome import Ending, escalated, follow_up, interrupted
from ralph.core.progress import Progress
from ralph.core.state import RunState
from ralph.core.units import several

REFUSALS = 2


def wants_verify(state: RunState, seen: Observation) -> bool:
    """True when the verify commands have to run before this observation is judged (T-17)."""
    rules = state.policy.verify
    if not rules.commands or seen.result.ended_by is EndedBy.STOP or state.stop_now:
        return False
    if claim.confirming(state, seen) or rules.every == "iteration":
        return True
    before = state.before.id if state.before else ""
    changed = bool(seen.tree and seen.tree.id != before) or bool(seen.plan and seen.plan.plan)
    return rules.every == "change" and changed


def judge(state: RunState, at: datetime) -> IterationJudged:
    """Judge the pending observation (X-2, X-4); every part of the verdict is in the result.

    Raises:
        ValueError: if no observation is pending.
    """
    seen, verified = state.pending, state.verified
    if seen is None:
        raise ValueError("nothing is waiting for a verdict")
    made = progress.measure(state, seen, verified)
    counters, explored = progress.count(state, seen, made)
    counters = _with_verdicts(counters, verified)
    found = breaker.trips(
        seen,
        state.counters,
        counters,
        state.policy,
        plan_progress=made.plan,
        storm_carried=state.storm,
    )
    ruling = claim.Ruling(counters=counters)
    if claim.confirming(state, seen) and not cut_short(state, seen):
        ruling = claim.rule(state, counters, made, verified or ())
        counters = ruling.counters
    counters = replace(counters, api_errors=breaker.storm_after(seen, state.storm))
    step = _ladder(state, seen, made, found)
    stops = _stops(state, seen, counters, ruling, step.level)
    ending = stops[0] if stops else None
    return IterationJudged(
        at=at,
        iteration=seen.iteration,
        counters=replace(counters, level=step.level),
        progress=made.kinds,
        counted=made.counted + made.proven,
        unproven=made.unproven,
        tree_since_tick=made.tree_since_tick,
        exploring=explored,
        level_before=state.counters.level,
        level_action="none" if ending and step.level is not Level.STOPPED else step.action,
        level_reason=step.reason,
        trips=tuple(f"{trip.letter}: {trip.reason}" for trip in found),
        notes=(*ruling.notes, *_notes(state, seen, ruling, verified)),
        lines=(*_lines(state, seen, made), *ruling.lines),
        ending=ending,
        also=_also(state, seen, counters, stops),
    )


def _with_verdicts(counters: Counters, verified: tuple[VerifyResult, ...] | None) -> Counters:
    passed = sum(result.passed is True for result in verified or ())
    return replace(counters, verifies=counters.verifies + passed)


def _ladder(
    state: RunState, seen: Observation, made: Progress, found: tuple[Trip, ...]
) -> breaker.Step:
    rules = state.policy.breaker
    if not rules.enabled:
        return breaker.Step(level=Level.HEALTHY, action="none", reason="", changed=False)
    if seen.read_only:
        found = ()
    changed = bool(made.tree) or made.plan
    fresh = breaker.fresh_evidence(seen, changed=changed)
    return breaker.climb(state.counters.level, found, fresh=fresh, hard_stop=rules.hard_stop)


def _stops(
    state: RunState,
    seen: Observation,
    counters: Counters,
    ruling: claim.Ruling,
    level: Level,
) -> tuple[Ending, ...]:
    """Every reason to end, in the order of X-2; the first is the end, the rest are "also"."""
    candidates = (
        _asked(state, seen),
        _agent_class(seen, counters),
        _blocked(state),
        ruling.ending,
        _same_error(state, counters),
        _failing(state, counters),
        _no_progress(state, counters),
        _churn(state, counters),
        _ladder_stop(state, level),
    )
    return tuple(end for end in candidates if end is not None)


def _asked(state: RunState, seen: Observation) -> Ending | None:
    return stop_ending(state) if cut_short(state, seen) else None


def cut_short(state: RunState, seen: Observation) -> bool:
    """True when a stop ended the agent, or came before every verify command had its verdict."""
    if seen.result.ended_by is EndedBy.STOP:
        return True
    if not state.stop_now or state.verified is None:
        return False
    whole = len(state.verified) == len(state.policy.verify.commands)
    return not whole or any(result.passed is None for result in state.verified)


def stop_ending(state: RunState) -> Ending | None:
    """The end that a stop request means; None without one (T-1)."""
    stop = state.stop
    if stop is None:
        return None
    if stop.request is RequestKind.STOP_NOW and stop.by.startswith("SIG"):
        return interrupted(stop.by)
    return follow_up("stopped_by_user", f"asked by {stop.by}")


def _agent_class(seen: Observation, counters: Counters) -> Ending | None:
    if seen.result.klass is FailureClass.BILLING:
        return escalated("agent_billing", seen.result.detail or seen.error)
    if counters.refusals >= REFUSALS:
        return escalated("agent_refused", seen.result.detail or ", ".join(seen.result.denied))
    return None


def _blocked(state: RunState) -> Ending | None:
    still_open = state.plan.open if state.plan else ()
    if not still_open or not all(task.blocked for task in still_open):
        return None
    return follow_up(
        "blocked", "only blocked tasks are open: " + ", ".join(t.id for t in still_open)
    )


def _same_error(state: RunState, counters: Counters) -> Ending | None:
    limit = state.policy.stall.same_error
    if not limit or counters.same_error < limit:
        return None
    return escalated("same_error", f"Same error in {several(counters.same_error, 'iteration')}")


def _failing(state: RunState, counters: Counters) -> Ending | None:
    limit = state.policy.stall.failing_streak
    if not limit or counters.failing_streak < limit:
        return None
    return escalated(
        "failing_streak", f"No success in {several(counters.failing_streak, 'iteration')}"
    )


def _no_progress(state: RunState, counters: Counters) -> Ending | None:
    limit = state.policy.stall.no_progress
    if not limit or counters.no_progress < limit:
        return None
    detail = f"No progress for {several(counters.no_progress, 'iteration')}"
    if state.plan is not None and state.plan.tasks and not state.plan.open:
        return follow_up("plan_done_unconfirmed", f"{detail}; every task is done, none claimed it")
    return escalated("no_progress", detail)


def _churn(state: RunState, counters: Counters) -> Ending | None:
    limit = 2 * state.policy.progress.max_churn
    if not limit or counters.churn < limit:
        return None
    return escalated("no_progress", f"No task completed in {several(counters.churn, 'iteration')}")


def _ladder_stop(state: RunState, level: Level) -> Ending | None:
    if level is not Level.STOPPED or not state.policy.breaker.hard_stop:
        return None
    return escalated("breaker_stopped", "the ladder reached stopped")


def _also(
    state: RunState, seen: Observation, counters: Counters, stops: tuple[Ending, ...]
) -> tuple[str, ...]:
    if not stops or stops[0].resolved:
        return ()
    reasons = [stop.reason for stop in stops]
    also = reasons[1:]
    limit, same = state.policy.stall.same_error, counters.same_error
    if same > 1 and "same_error" not in reasons:
        also.append(f"same_error {same}/{limit}")
    if state.cap is not None and seen.iteration >= state.cap:
        also.append("iteration_cap")
    return tuple(dict.fromkeys(also))


def _notes(
    state: RunState,
    seen: Observation,
    ruling: claim.Ruling,
    verified: tuple[VerifyResult, ...] | None,
) -> tuple[Note, ...]:
    notes = []
    klass, marker = seen.result.klass, state.policy.completion.markers[0]
    failing = tuple(result for result in verified or () if result.passed is False)
    if failing and not ruling.notes:
        notes.append(claim.critique(failing))
    if klass is FailureClass.NEEDS_INPUT:
        notes.append(Note(name="nobody", values={"question": seen.question}))
    if klass is FailureClass.CONTEXT_FULL:
        notes.append(Note(name="smaller"))
    if klass is FailureClass.REFUSED:
        notes.append(Note(name="denied", values={"commands": "\n".join(seen.result.denied)}))
    if seen.result.ended_by is EndedBy.REPEAT:
        notes.append(Note(name="repeat", values={"call": seen.result.detail}))
    no_open_task = state.plan is None or not state.plan.open
    if seen.claim.kind is ClaimKind.MENTION and no_open_task:
        notes.append(Note(name="failed_claim_mention", values={"marker": marker}))
    if seen.plan is not None and seen.plan.status is PlanStatus.BROKEN:
        notes.append(Note(name="plan_broken", values={"detail": seen.plan.detail}))
    lost = seen.plan is not None and seen.plan.status in (PlanStatus.MISSING, PlanStatus.BLANK)
    if lost and state.plan is not None and state.plan.tasks:
        notes.append(Note(name="plan_gone"))
    return tuple(notes)


def _lines(state: RunState, seen: Observation, made: Progress) -> tuple[str, ...]:
    delta = seen.plan_delta
    before = state.plan_before.done if state.plan_before else 0
    after = state.plan.done if state.plan else 0
    lines = [f"Tasks completed: {before} → {after}"] if before != after else []
    lines += [f"ticked without changes: {task}" for task in made.newly_unproven]
    lines += [f"proven by later changes: {task}" for task in made.proven]
    lines += [f"Task un-ticked: {task}" for task in delta.unticked]
    lines += [f"Task removed from the plan: {task}" for task in delta.removed]
    lines += [f"Task first seen ticked, not counted: {task}" for task in delta.added_done]
    lines += [f"Contradiction: {text}" for text in seen.result.contradictions]
    lines += [f"Left by the agent and ended: {text}" for text in seen.result.survivors]
    return tuple(lines)
