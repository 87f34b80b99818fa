"""The terminal record: everything a person needs in the morning (T-3)."""

from __future__ import annotations

from datetime import datetime

from msgspec.structs import replace

from ralph.core.events import RunEnded
from ralph.core.outcome import Ending
from ralph.core.state import RunState


def terminal_record(
    state: RunState, ending: Ending, also: tuple[str, ...], *, at: datetime
) -> RunEnded:
    """Close the run with ``ending``; an attempt in flight is named as interrupted (X-5)."""
    started, plan = state.started, state.plan
    blocked = tuple(task.text for task in plan.open if task.blocked) if plan else ()
    return RunEnded(
        at=at,
        run_id=started.run_id,
        work_id=started.work_id,
        ending=ending,
        counters=replace(state.counters, calls=state.calls, usage=state.spent, turns=state.turns),
        iteration=state.iteration,
        max=state.cap,
        interrupted_iteration=state.flight.iteration if state.flight else None,
        last_task=state.task,
        also=also,
        blocked=blocked if ending.reason == "blocked" else (),
        question=state.question,
        actions=state.actions,
        resume="" if ending.resolved else "ralph resume",
        log=started.log,
        seconds=max(0.0, (at - started.at).total_seconds()),
    )
