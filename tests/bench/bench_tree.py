"""How long a look at the tree takes, next to ``git status`` on the same tree in the same run."""

from __future__ import annotations

import statistics
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter

from ralph.services.tree import WorkTree
from tests.bench.table import Row

SIZES = ((10_000, 0), (50_000, 5_000))  # tracked files, files in an ignored folder
REPEATS = 7
EDITS = 5  # files that differ from one warm look to the next
GOAL = 2.0  # times git status (D7)
COLD = 5.0  # times git status; once a run


def rows() -> Iterator[Row]:
    """Cold is the first look of a new store, warm any later one; medians of each."""
    for tracked, ignored in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            yield from _measured(Path(folder), tracked, ignored)


def _measured(folder: Path, tracked: int, ignored: int) -> Iterator[Row]:
    root = folder / "repo"
    _repository(root, tracked, ignored)
    _status(root)
    cold: list[float] = []
    status: list[float] = []
    for number in range(3):
        tree = WorkTree(root, state=folder / f"state{number}", plan=root / "PLAN.md")
        cold.append(_seconds(tree.snapshot))
        status.append(_seconds(lambda: _status(root)))
        if number < 2:
            tree.close()
    name = f"tree, {tracked:,} files" + (f" and {ignored:,} ignored" if ignored else "")
    yield _row(f"{name}: first snapshot", cold, status, COLD)
    yield from _warm(tree, root, name)
    tree.close()


def _warm(tree: WorkTree, root: Path, name: str) -> Iterator[Row]:
    for edits in (0, EDITS):
        ours: list[float] = []
        status: list[float] = []
        for number in range(REPEATS):
            for file in range(edits):
                (root / f"src/d{file:04}/f0.py").write_text(f"edit {number} {edits}\n")
            ours.append(_seconds(tree.snapshot))
            status.append(_seconds(lambda: _status(root)))
        yield _row(f"{name}: snapshot after {edits} edits", ours, status, GOAL)


def _row(name: str, ours: list[float], status: list[float], most: float) -> Row:
    one, other = statistics.median(ours) * 1000, statistics.median(status) * 1000
    goal = f"<= {most:g} x git status --porcelain"
    return Row(name=name, ours=one, baseline=other, unit="ms", goal=goal, met=one <= most * other)


def _seconds(run: Callable[[], object]) -> float:
    begun = perf_counter()
    assert run() is not None
    return perf_counter() - begun


def _status(root: Path) -> bytes:
    return _git(root, "--no-optional-locks", "status", "--porcelain")


def _git(root: Path, *args: str) -> bytes:
    return subprocess.run(["git", *args], cwd=root, check=True, capture_output=True).stdout


def _repository(root: Path, tracked: int, ignored: int) -> None:
    for top, count in (("src", tracked), ("out", ignored)):
        for number in range(count):
            folder = root / top / f"d{number // 20:04}"
            if number % 20 == 0:
                folder.mkdir(parents=True)
            (folder / f"f{number % 20}.py").write_text(f"print({number})\n" * 10)
    (root / ".gitignore").write_text("out/\n")
    _git(root, "init", "-q")
    # One pack instead of a file an object, which the disk would take minutes to write.
    _git(root, "-c", "core.bigFileThreshold=1", "add", "-A")
    who = ("-c", "user.name=dev", "-c", "user.email=dev@example.invalid")
    _git(root, *who, "-c", "gc.auto=0", "commit", "-q", "-m", "start")
