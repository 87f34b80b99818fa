"""How quickly ralph answers beside a bare interpreter, over a journal of 10,000 iterations."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from ralph.services.lines import encode
from tests.bench.table import Row, installed
from tests.support.history import Play

ROUNDS = 7
COMMANDS = (("--version", 2.0), ("status --json", 6.0), ("--help", 12.0))
LONG = 10_000
FIRST = "20260101-000000-0000000000"


def _best(argv: list[str], folder: Path, env: dict[str, str]) -> float:
    best = float("inf")
    for _ in range(ROUNDS):
        for run in (folder / ".ralph" / "runs").iterdir():
            if run.name != FIRST:  # what an earlier round began
                shutil.rmtree(run)
        begun = perf_counter()
        subprocess.run(argv, cwd=folder, env=env, capture_output=True, check=False)
        best = min(best, perf_counter() - begun)
    return best * 1000


def _long(root: Path) -> None:
    """A run of 10,000 iterations that changed something each time, ended at its cap."""
    play = Play(plan=None, cap=LONG, stall={"no_progress": 0}, progress={"max_churn": 0})
    for number in range(LONG):
        play.beat(tree=f"t{number + 1}")
    play.end()
    folder = root / ".ralph" / "runs" / FIRST
    folder.mkdir(parents=True)
    lines = b"".join(encode(event)[0] for event in play.events)
    (folder / "journal.jsonl").write_bytes(lines)
    (root / "PROMPT.md").write_text("Do the work.\n")


def rows() -> list[Row]:
    """Best of seven of each command, in a folder with one long run."""
    found = []
    with tempfile.TemporaryDirectory() as name:
        root = Path(name) / "repo"
        root.mkdir()
        _long(root)
        env = installed(Path(name))
        base = _best([sys.executable, "-c", "pass"], root, env)
        for words, times in COMMANDS:
            ours = _best([sys.executable, "-m", "ralph", *words.split()], root, env)
            goal = f"at most {times:.0f} times"
            found.append(Row(f"ralph {words}", ours, base, "ms", goal, ours <= times * base))
        resume = [sys.executable, "-m", "ralph", "resume", "--agent", "no-such-agent-anywhere"]
        ours = _best(resume, root, env)
        found.append(
            Row("ralph resume, 10,000 iterations", ours, base, "ms", "< 500 ms", ours < 500)
        )
    return found
