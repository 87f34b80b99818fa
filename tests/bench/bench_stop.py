"""Time to the certain end of 200 processes, against a plain kill of their process group."""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ralph.core.facts import EndedBy
from ralph.services import process
from ralph.services.tail import Tail
from tests.bench.table import Row
from tests.support.world import alive, eventually, marked

COUNT = 200
ROUNDS = 5
GOAL = 2.0  # seconds beyond the grace
MARK = "RALPH_BENCH_STOP"
TREE = f"""
import os, signal, sys, time
escape, deaf = sys.argv[1] == "escape", sys.argv[2] == "deaf"
for n in range({COUNT - 1}):
    if not os.fork():
        if escape and n % 2:
            os.setsid()
        break
if deaf:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
fd = os.open("pids", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
os.write(fd, b"%d\\n" % os.getpid())
time.sleep(600)
"""


def _argv(escape: str, deaf: str) -> tuple[str, ...]:
    return (sys.executable, "-S", "-c", TREE, escape, deaf)


def _pids(folder: Path) -> list[int]:
    path = folder / "pids"
    return [int(word) for word in path.read_text().split()] if path.exists() else []


def _supervised(deaf: str, grace: float) -> float:
    """Seconds from the stop to the return of a run of which half the processes left the group."""
    asked = 0.0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)

        def tick(quiet: float) -> EndedBy | None:
            nonlocal asked
            if asked or len(_pids(folder)) < COUNT:
                return None
            asked = time.monotonic()
            return EndedBy.STOP

        mark = f"{MARK}={folder.name}"
        process.run(
            process.Order(
                argv=_argv("escape", deaf),
                cwd=folder,
                env={**os.environ, MARK: folder.name},
                stdin=None,
                stdout=folder / "out",
                stderr=folder / "err",
                hard=120.0,
                idle=0.0,
                grace=grace,
                mark=mark,
            ),
            Tail(100),
            tick=tick,
        )
        took = time.monotonic() - asked
        if any(map(alive, _pids(folder))) or marked(mark):
            raise RuntimeError("something is left")
        return took


def _plain() -> float:
    """Seconds from one SIGKILL to the group until all of it is gone; nothing left the group."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tree = subprocess.Popen(_argv("stay", "deaf"), cwd=folder, start_new_session=True)
        eventually(lambda: len(_pids(folder)) == COUNT, 60.0)
        begun = time.monotonic()
        os.killpg(tree.pid, signal.SIGKILL)
        tree.wait()
        eventually(lambda: not any(map(alive, _pids(folder))), 60.0)
        return time.monotonic() - begun


def rows() -> list[Row]:
    """Median of interleaved rounds; the deaf tree's grace is taken off."""
    grace = 0.5
    rounds = [
        (_supervised("hears", 10.0), _supervised("deaf", grace), _plain()) for _ in range(ROUNDS)
    ]
    polite, deaf, plain = (statistics.median(times) for times in zip(*rounds, strict=True))
    return [
        Row(
            name=f"{name} of {COUNT} processes, half in sessions of their own: all gone",
            ours=seconds,
            baseline=plain,
            unit="s",
            goal=f"< {GOAL:g} s",
            met=seconds < GOAL,
        )
        for name, seconds in (("TERM", polite), ("KILL after the grace", deaf - grace))
    ]
