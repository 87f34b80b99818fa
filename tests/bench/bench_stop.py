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
from tests.bench.table import Row, installed
from tests.support.world import alive, eventually, marked

COUNT = 200
ROUNDS = 5
GOAL = 2.0  # seconds beyond the grace
WHOLE_GOAL = 0.5  # the same for a whole run that is told to stop
DEAF = "trap '' TERM HUP INT; echo $$ > pids; while :; do sleep 1; done"
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


def _whole_run() -> float:
    """Seconds from ``ralph stop --now`` to the end of a run whose agent ignores SIGTERM."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "repo"
        subprocess.run(["git", "init", "-q", folder], check=True)
        (folder / "PROMPT.md").write_text("Do the work.\n")
        env = installed(Path(place))
        ralph = [sys.executable, "-m", "ralph"]
        run = subprocess.Popen(
            [*ralph, "run", "--agent", f'sh -c "{DEAF}"'],
            cwd=folder,
            env=env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        eventually(lambda: bool(_pids(folder)), 60.0)
        begun = time.monotonic()
        subprocess.run(
            [*ralph, "stop", "--now"], cwd=folder, env=env, check=True, capture_output=True
        )
        run.wait()
        took = time.monotonic() - begun
        if any(map(alive, _pids(folder))):
            raise RuntimeError("the agent is left")
        return took


def rows() -> list[Row]:
    """Median of interleaved rounds; the deaf tree's grace is taken off."""
    grace = 0.5
    rounds = [
        (_supervised("hears", 10.0), _supervised("deaf", grace), _plain()) for _ in range(ROUNDS)
    ]
    polite, deaf, plain = (statistics.median(times) for times in zip(*rounds, strict=True))
    whole = _whole_run() - process.GRACE
    return [
        Row(
            name="stop --now of a whole run, the agent ignores SIGTERM: all gone",
            ours=whole,
            baseline=plain,
            unit="s",
            goal=f"< {WHOLE_GOAL:g} s",
            met=whole < WHOLE_GOAL,
        ),
        *(
            Row(
                name=f"{name} of {COUNT} processes, half in sessions of their own: all gone",
                ours=seconds,
                baseline=plain,
                unit="s",
                goal=f"< {GOAL:g} s",
                met=seconds < GOAL,
            )
            for name, seconds in (("TERM", polite), ("KILL after the grace", deaf - grace))
        ),
    ]
