"""How many events a second the journal makes durable, against a bare write and fsync."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

from ralph.core.policy import Policy, RatePolicy
from ralph.services.journal import Journal
from ralph.services.ledger import CallWindow
from ralph.services.lines import encode
from tests.bench.table import Row
from tests.support.records import NOW, noted, started

EVENTS = 1500
ROUNDS = 3
GOAL = 0.5  # of the bare rate
TAKES = 200


def _rate(once: Callable[[], object], count: int) -> float:
    begun = perf_counter()
    for _ in range(count):
        once()
    return count / (perf_counter() - begun)


def _bare(path: Path, line: bytes) -> float:
    """Lines a second that are written to one open file and flushed one by one."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        return _rate(lambda: (os.write(fd, line), os.fsync(fd)), EVENTS)
    finally:
        os.close(fd)


def _journal(folder: Path) -> float:
    """Events a second that ``append`` has returned from."""
    book, event = Journal.create(folder), noted("x" * 300)
    book.append(started(folder.name))
    try:
        return _rate(lambda: book.append(event), EVENTS)
    finally:
        book.close()


def _takes(path: Path) -> float:
    """Calls a second that one process takes from the ledger, durable each."""
    calls, policy = CallWindow(path.parent, path=path), Policy(rate=RatePolicy(calls_per_hour=0))
    return _rate(lambda: calls.take("claude", policy, NOW), TAKES)


def rows() -> list[Row]:
    """Both in turns on the same disk, the best round of each."""
    line, _ = encode(noted("x" * 300))
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench-") as name:
        top = Path(name)
        pairs = [(_journal(top / f"run{n}"), _bare(top / f"bare{n}", line)) for n in range(ROUNDS)]
        takes = _takes(top / "ledger.sqlite3")
    ours, bare = max(ours for ours, _ in pairs), max(bare for _, bare in pairs)
    return [
        Row(
            name=f"journal, durable events of {len(line)} B (baseline: write + fsync)",
            ours=ours,
            baseline=bare,
            unit="/s",
            goal=f"> {GOAL:.0%} of the bare rate",
            met=ours > GOAL * bare,
        ),
        Row(
            name="call window, calls counted (baseline: write + fsync)",
            ours=takes,
            baseline=bare,
            unit="/s",
            goal="> 5 /s",
            met=takes > 5,
        ),
    ]
