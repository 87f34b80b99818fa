"""The terminal record: everything a person needs in the morning (T-3)."""

from __future__ import annotations

from datetime import datetime

from msgspec.structs import replace

from ralph.core.events import RunEnded
from ralph.core.outcome import Ending
from ralph.core.state import RunState

NAMED = 8  # tasks that are named one by one


def terminal_record(
    state: RunState, ending: Ending, also: tuple[str, ...], *, at: datetime
) -> RunEnded:
    """Close the run with ``ending``; an attempt in flight is named as interrupted (X-5).

    A resolved one names what it does not cover: tasks that are no longer in the plan, and
    optional ones that are open (C5, L-11).
    """
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
        also=(*also, *(_undone(state) if ending.resolved else ())),
        blocked=blocked if ending.reason == "blocked" else (),
        question=state.question,
        actions=state.actions,
        resume="" if ending.resolved else "ralph resume",
        log=started.log,
        seconds=max(0.0, (at - started.at).total_seconds()),
    )


def _undone(state: RunState) -> tuple[str, ...]:
    tasks = state.plan.tasks if state.plan else ()
    gone = sorted(state.known - state.counted - {task.id for task in tasks})
    left = [task.id for task in tasks if task.optional and not task.done]
    named = {"no longer in the plan": gone, "open, but optional": left}
    return tuple(f"{what}: {_few(ids)}" for what, ids in named.items() if ids)


def _few(ids: list[str]) -> str:
    more = f" and {len(ids) - NAMED} more" if len(ids) > NAMED else ""
    return ", ".join(ids[:NAMED]) + more
