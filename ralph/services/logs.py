"""Find and copy the log of a run, or the raw output of one iteration."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from ralph.errors import NothingToDo, UsageError
from ralph.services import runs
from ralph.services.clock import SystemClock

POLL = 0.3
CHUNK = 256 << 10


def which(root: Path, run: str | None, *, iteration: str | None, raw: bool) -> Path:
    """Return the file to print: the run's log, or one iteration's output.

    Raises:
        NothingToDo: if there is no such run or file.
        UsageError: if ``iteration`` is not a number such as 7 or 7.2, or raw is asked without one.
    """
    found = runs.find(root, run)
    if iteration is None:
        if raw:
            raise UsageError("--raw wants --iteration N", hint="ralph logs --iteration 7 --raw")
        return _there(Path(found.started().log))
    number, dot, attempt = iteration.partition(".")
    if not number.isdigit() or (dot and not attempt.isdigit()):
        raise UsageError(f"--iteration wants a number such as 7 or 7.2, got {iteration!r}")
    folder = found.path / "iterations" / f"{int(number):04d}{dot}{attempt}"
    return _there(folder / "output.log")


def copy(path: Path, *, follow: Callable[[], bool] | None) -> None:
    """Write ``path`` to stdout; go on while ``follow`` says that the run lives."""
    clock = SystemClock()
    with path.open("rb") as file:
        shutil.copyfileobj(file, sys.stdout.buffer, CHUNK)
        sys.stdout.buffer.flush()
        lives = follow() if follow else False
        while follow and lives:
            clock.pause(POLL)
            lives = follow()  # asked before the last copy, which then has everything
            shutil.copyfileobj(file, sys.stdout.buffer, CHUNK)
            sys.stdout.buffer.flush()


def _there(path: Path) -> Path:
    if not path.is_file():
        raise NothingToDo(f"no log at {path}", hint="ralph runs lists the runs of this repository")
    return path
