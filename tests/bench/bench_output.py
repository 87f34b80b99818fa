"""200 MB of an agent's output through supervision, against a plain redirect into a file."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.bench.table import Row

SIZE = 200 << 20  # bytes
ROUNDS = 3
GROWTH = 20.0  # MB
SPEED = 100.0  # MB a second
FLOOD = f"import os\nblock = b'x' * 65536\nfor _ in range({SIZE // 65536}): os.write(1, block)"
PROGRAM = """
import json, os, resource, subprocess, sys, time
from pathlib import Path
from ralph.services import process
from ralph.services.tail import Tail

way, folder, flood = sys.argv[1], Path(sys.argv[2]), (sys.executable, "-c", sys.argv[3])

def supervised(argv):
    order = process.Order(argv=argv, cwd=folder, env=dict(os.environ), stdin=None,
                          stdout=folder / "out", stderr=folder / "err", hard=0, idle=900)
    return process.run(order, Tail(4096), tick=lambda quiet: None).exit_code

def plain(argv):
    with (folder / "out").open("wb") as out, (folder / "err").open("wb") as err:
        return subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=err).returncode

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

run = {"supervised": supervised, "plain": plain}[way]
run((sys.executable, "-c", "pass"))
(folder / "out").unlink()
before, begun = peak(), time.monotonic()
code = run(flood)
wall = time.monotonic() - begun
print(json.dumps([code, (folder / "out").stat().st_size, wall, peak() - before]))
"""


def _once(way: str) -> tuple[float, float]:
    """MB a second, and MB by which the peak of memory grew."""
    path = [str(Path(__file__).parents[2]), *filter(None, sys.path)]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, way, folder, FLOOD],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path)},
            stdout=subprocess.PIPE,
            check=True,
        )
    code, size, wall, grown = json.loads(done.stdout)
    if (code, size) != (0, SIZE):
        raise RuntimeError(f"{way}: exit {code}, {size} of {SIZE} bytes")
    return SIZE / 1e6 / wall, grown


def rows() -> list[Row]:
    """Median of interleaved rounds; memory is the worst of them."""
    rounds = [(_once("supervised"), _once("plain")) for _ in range(ROUNDS)]
    ours, base = (statistics.median(pair[way][0] for pair in rounds) for way in (0, 1))
    grown, grown_base = (max(pair[way][1] for pair in rounds) for way in (0, 1))
    return [
        Row(
            name="200 MB of output drained, written and heard",
            ours=ours,
            baseline=base,
            unit="MB/s",
            goal=f">= {SPEED:g} MB/s",
            met=ours >= SPEED,
        ),
        Row(
            name="200 MB of output: growth of peak memory",
            ours=grown,
            baseline=grown_base,
            unit="MB",
            goal=f"< {GROWTH:g} MB",
            met=grown < GROWTH,
        ),
    ]
