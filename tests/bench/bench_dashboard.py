"""How much of a core the dashboard takes while an agent says 10 MB a second."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import termios
from pathlib import Path

from tests.bench.table import Row

SECONDS = 5.0
RATE = 10_000_000  # bytes a second
GOAL = 10.0  # percent of one core
PROGRAM = """
import os, sys, time
from ralph.core.live import Live
from ralph.services.clock import SystemClock
from ralph.views.choose import view_for
from tests.views.story import attempt, started

class Nothing:
    def event(self, event): pass
    live = say = event
    def tick(self): pass
    def close(self): pass

view, seconds, rate = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
clock = SystemClock()
shown = view_for(sys.stderr, os.environ, clock) if view == "dashboard" else Nothing()
shown.event(started())
shown.event(attempt())
chunk = "".join(f"line {n}: the agent looks at a file and says so\\n" for n in range(1300))[:65536]
begun, cpu, said = clock.monotonic(), time.process_time(), 0
while clock.monotonic() - begun < seconds:
    shown.say(chunk)
    said += len(chunk)
    shown.live(Live(tool="Bash: pytest -q", tokens=said))
    shown.tick()
    clock.pause(said / rate - (clock.monotonic() - begun))
wall = clock.monotonic() - begun
print(100 * (time.process_time() - cpu) / wall, said / wall)
shown.close()
"""


def _share(view: str) -> tuple[float, float]:
    """Percent of a core, and bytes a second, of a program with ``view`` on a terminal."""
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (40, 120))
    path = [str(Path(__file__).parents[2]), *filter(None, sys.path)]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
    environ |= {"TERM": "xterm-256color", "LANG": "C.UTF-8"}
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, view, str(SECONDS), str(RATE)],
        stdout=subprocess.PIPE,
        stderr=slave,
        env=environ,
        text=True,
    )
    while program.poll() is None:
        if select.select([master], [], [], 0.1)[0]:
            os.read(master, 65_536)
    out = program.communicate()[0]
    os.close(master)
    os.close(slave)
    share, rate = out.split()
    return float(share), float(rate)


def rows() -> list[Row]:
    """The dashboard against the same stream without a view."""
    share, rate = _share("dashboard")
    nothing, _ = _share("nothing")
    return [
        Row(
            name="dashboard, agent says 10 MB/s: CPU of one core",
            ours=share,
            baseline=nothing,
            unit="%",
            goal=f"< {GOAL:g} % of one core",
            met=share < GOAL,
        ),
        Row(
            name="dashboard, agent says 10 MB/s: stream taken",
            ours=rate / 1e6,
            baseline=RATE / 1e6,
            unit="MB/s",
            goal="not slowed down",
            met=rate > 0.95 * RATE,
        ),
    ]
