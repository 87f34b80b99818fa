"""Which work a new run belongs to, and what it takes over from the last one (C-1, T-6)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ralph.core.events import Carried
from ralph.core.facts import Plan
from ralph.core.fold import fold
from ralph.core.outcome import TerminalState
from ralph.core.state import RunState, carry
from ralph.errors import JournalDamaged
from ralph.services import runs


@dataclass(frozen=True)
class Work:
    """The work of a new run, and its last run if it has one."""

    work_id: str
    last: RunState | None = None

    def carried(self, *, reason: bool) -> Carried:
        """What the last run hands over; with its stop reason only for a resume (T-6)."""
        return carry(self.last, reason=reason) if self.last else Carried()


def work_of(root: Path, base: str, plan: Plan | None) -> Work:
    """Return the open work called ``base``, or the next one when the last is closed (C-1).

    A work is closed once a run of it is RESOLVED, or when the plan has tasks and none of their
    ids is known from it. One whose last journal is damaged cannot be gone on with either.
    """
    for run in runs.all_runs(root):
        work_id = run.started().work_id
        name, _, ordinal = work_id.rpartition(".")
        if name != base or not ordinal.isdigit():
            continue
        try:
            last = fold(run.events())
        except JournalDamaged:
            return Work(f"{base}.{int(ordinal) + 1}")
        if _closed(last, plan):
            return Work(f"{base}.{int(ordinal) + 1}")
        return Work(work_id, last)
    return Work(f"{base}.1")


def _closed(last: RunState, plan: Plan | None) -> bool:
    if last.ended is not None and last.ended.ending.state is TerminalState.RESOLVED:
        return True
    tasks = {task.id for task in plan.tasks} if plan else set()
    return bool(tasks) and bool(last.known) and not tasks & last.known
