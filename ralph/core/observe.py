"""What one attempt left behind, put together as one observation without opinion (C-4)."""

from __future__ import annotations

from datetime import datetime

from msgspec.structs import replace

from ralph.core import completion, failure, plan, signature
from ralph.core.facts import (
    AgentResult,
    ClaimKind,
    FailureClass,
    Observation,
    Outcome,
    Plan,
    PlanDelta,
    PlanRead,
    PlanStatus,
    Tree,
    TreeDelta,
)
from ralph.core.state import RunState


def observe(
    state: RunState,
    result: AgentResult,
    *,
    ended_at: datetime,
    plan_after: PlanRead,
    tree_after: Tree | None,
    delta: TreeDelta | None,
    read_only: bool,
) -> Observation:
    """Describe the attempt in flight; ``delta`` is against the first attempt's snapshot (C-2).

    Raises:
        ValueError: if no attempt is in flight.
    """
    flight = state.flight
    if flight is None:
        raise ValueError("no attempt is in flight")
    changes = plan_changes(state.plan_before, state.plan, plan_after)
    moved = tree_after is not None and state.before is not None and tree_after.id != state.before.id
    how = state.policy.completion
    claim = completion.find_claim(result.final_text, how.markers, how.match)
    klass, outcome = failure.settle(
        result,
        changed=moved or plan_after.digest != state.plan_digest,
        progressed=moved or bool(changes.completed),
        claimed=claim.kind is ClaimKind.SIGNAL,
    )
    error = signature.signature(_error_text(result, klass, outcome))
    return Observation(
        iteration=flight.iteration,
        attempt=flight.attempt,
        agent=flight.agent,
        started_at=flight.at,
        ended_at=max(ended_at, flight.at),
        outcome=outcome,
        result=replace(result, klass=klass, final_text="", error_text=""),
        folder=flight.folder,
        claim=claim,
        summary=completion.summary_line(result.final_text),
        question=completion.last_question(result.final_text),
        text_digest=completion.text_digest(result.final_text),
        had_text=bool(result.final_text.strip()),
        task=state.task,
        plan=plan_after,
        plan_delta=changes,
        tree=tree_after,
        delta=delta,
        signature=error[0] if error else None,
        error=error[1] if error else "",
        read_only=read_only,
    )


def plan_changes(before: Plan | None, last: Plan | None, after: PlanRead) -> PlanDelta:
    """Changes since the iteration began; an unreadable or lost plan changes nothing (C6, C7)."""
    now = last if after.plan is None else after.plan
    if after.status is not PlanStatus.OK or now is None or before is None:
        return PlanDelta()
    return plan.compare(before, now)


def by_person(last: Plan | None, now: PlanRead) -> tuple[str, ...]:
    """What changed in the plan while no agent was running, in words (B10)."""
    if last is None or now.plan is None:
        return ()
    changes = plan.compare(last, now.plan)
    named = {
        "ticked": changes.completed + changes.added_done,
        "un-ticked": changes.unticked,
        "added": changes.added,
        "removed": changes.removed,
    }
    return tuple(f"{verb} {task}" for verb, tasks in named.items() for task in tasks)


def _error_text(result: AgentResult, klass: FailureClass, outcome: Outcome) -> str:
    """The agent's own words, else the class with its exit code or signal (L-19); "" when ok."""
    if result.error_text.strip() or outcome is Outcome.OK:
        return result.error_text
    if result.signal is not None:
        return f"{klass} signal {result.signal}"
    return f"{klass} exit {result.exit_code}"
