"""CPU and wall of one iteration of ralph against a bare shell loop with two ``git status``."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from tests.bench.table import Row, installed

ITERATIONS = 20
ROUNDS = 5  # on a small repository
SIZES = (10, 20_000, 100_000)
GOAL_MS = 40.0
GOAL_RATIO = 1.5
AGENT = "#!/bin/sh\ncat > /dev/null\necho $$ >> work\n"


def _repository(folder: Path, files: int) -> None:
    subprocess.run(["git", "init", "-q", folder], check=True)
    for number in range(files):
        path = folder / f"d{number // 500}" / f"f{number}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{number}\n")
    (folder / "PROMPT.md").write_text("Do the work.\n")
    (folder / "agent.sh").write_text(AGENT)
    (folder / "agent.sh").chmod(0o755)
    who = ["-c", "user.name=bench", "-c", "user.email=bench@example.invalid"]
    subprocess.run(["git", "add", "-A"], cwd=folder, check=True)
    subprocess.run(["git", *who, "commit", "-qm", "start"], cwd=folder, check=True)


def _cost(argv: list[str], folder: Path, env: dict[str, str]) -> tuple[float, float]:
    """Milliseconds of CPU and of wall of ``argv`` with its children; ralph ends at its cap."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), perf_counter()
    ended = subprocess.run(argv, cwd=folder, env=env, capture_output=True, check=False)
    if ended.returncode != (4 if "ralph" in argv else 0):
        raise RuntimeError(ended.stderr.decode())
    wall, after = perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu * 1000, wall * 1000


def _ralph(count: int) -> list[str]:
    flags = ["--max", str(count), "--set", "rate.calls_per_hour=0", "--set", "progress.max_churn=0"]
    return [sys.executable, "-m", "ralph", "run", "--agent", "./agent.sh", *flags]


def _bare(count: int) -> list[str]:
    each = "git status --porcelain > s1; ./agent.sh < PROMPT.md > out; git status --porcelain > s2"
    return ["sh", "-c", f"n=0; while [ $n -lt {count} ]; do {each}; n=$((n+1)); done"]


def _each(env: dict[str, str], folder: Path, rounds: int) -> dict[str, list[float]]:
    """Cost of one iteration from the cheapest of interleaved rounds: CPU and wall of each loop."""
    spent: dict[tuple[str, int], list[tuple[float, float]]] = {}
    for _ in range(rounds):
        for what, argv in (("ralph", _ralph), ("bare", _bare)):
            for count in (2, 2 + ITERATIONS):
                spent.setdefault((what, count), []).append(_cost(argv(count), folder, env))
    least = {key: [min(column) for column in zip(*of, strict=True)] for key, of in spent.items()}
    return {
        what: [
            (many - few) / ITERATIONS
            for many, few in zip(least[what, 2 + ITERATIONS], least[what, 2], strict=True)
        ]
        for what in ("ralph", "bare")
    }


def rows() -> list[Row]:
    """Cost of an iteration: that of twenty-two less that of two, by twenty."""
    found: list[Row] = []
    for files in SIZES:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name) / "repo"
            folder.mkdir()
            _repository(folder, files)
            env = installed(Path(name))
            _cost(_ralph(1), folder, env)
            small = files < 1000
            costs = _each(env, folder, ROUNDS if small else 1)
            for at, kind in enumerate(("CPU", "wall")):
                ours, base = costs["ralph"][at], costs["bare"][at]
                met = ours - base <= GOAL_MS if small else ours <= GOAL_RATIO * base
                goal = f"at most {GOAL_MS:.0f} ms above" if small else f"at most {GOAL_RATIO} times"
                found.append(
                    Row(f"{kind} of an iteration, {files:,} files", ours, base, "ms", goal, met)
                )
    return found
