"""Level and verdict become the blocks put before the next prompt (X-1, B-16, B-17, L-30)."""

from __future__ import annotations

from ralph.core.events import Level, Note
from ralph.core.facts import PlanStatus
from ralph.core.state import RunState


def notes_for(state: RunState) -> tuple[Note, ...]:
    """Blocks for the next launch in the order of X-1: resume, all done, critique, steering.

    How to claim (L-30) depends on the prompt's own words and is added by whoever reads the file.
    """
    notes = [*_resumed(state), *_all_done(state)]
    if state.verdict is not None:
        notes.extend(state.verdict.notes)
    return (*notes, *_steering(state))


def _resumed(state: RunState) -> tuple[Note, ...]:
    reason = state.started.carried.stop_reason
    first = state.verdict is None
    return (Note(name="resume", values={"reason": reason}),) if reason and first else ()


def _all_done(state: RunState) -> tuple[Note, ...]:
    plan = state.plan
    if plan is None or not plan.tasks or plan.open or state.counters.completion:
        return ()
    if state.plan_status is not PlanStatus.OK:
        return ()
    return (Note(name="all_done", values={"marker": state.policy.completion.markers[0]}),)


def _steering(state: RunState) -> tuple[Note, ...]:
    level = state.counters.level
    if level is Level.HEALTHY or state.verdict is None:
        return ()
    reason = "; ".join(trip.partition(": ")[2] for trip in state.verdict.trips)
    reason = reason or state.verdict.level_reason
    last = "\n".join(f"- {action}" for action in state.actions)
    notes = [Note(name="steering", values={"reason": reason, "repeated": last})]
    if level.rank >= Level.CONSTRAINED.rank:
        current = state.plan.current if state.plan else None
        task = current.text if current else "the smallest step that can be finished now"
        notes.append(Note(name="constrained", values={"task": task}))
        if state.policy.breaker.constrain.read_only and not state.last_read_only:
            notes.append(Note(name="read_only"))
    return tuple(notes)
