"""What a run whose supervisor was killed together with its guard may have left running (A9)."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from ralph.errors import RalphError
from ralph.services import runs
from ralph.services.clock import SystemClock
from ralph.services.descendants import SecondNet, values_of

VARIABLE = "RALPH_RUN_ID"  # every agent, verify command and hook of a run has it


def end_leftovers(root: Path, *, clock: SystemClock | None = None) -> tuple[str, ...]:
    """End the processes of crashed runs of ``root``; return ``name (pid)`` of each.

    Found by the environment that ralph gave them: whoever cleared it is not found. Runs that
    live, that ended in another way or that belong to another tree are left alone, and so is
    this process with all above it. To be called while the tree is locked.
    """
    ended: list[str] = []
    for run_id in sorted(values_of(VARIABLE)):
        if _crashed(root, run_id):
            net = SecondNet(f"{VARIABLE}={run_id}")
            try:
                ended += net.end(0, lost=False, clock=clock or SystemClock())
            finally:
                net.close()
    return tuple(ended)


def _crashed(root: Path, run_id: str) -> bool:
    if "/" in run_id or not run_id:
        return False
    run = runs.RunFolder(runs.run_path(root, run_id))
    with suppress(RalphError):
        ended = run.ended()
        return ended is not None and ended.ending.reason == "crashed" and not run.live()
    return False
