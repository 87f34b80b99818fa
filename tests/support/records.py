"""Events and journals in small: what the tests of the records write and read back."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ralph.core.events import AnyEvent, AttemptStarted, Counters, Noted, RunEnded, RunStarted
from ralph.core.outcome import follow_up
from ralph.services.journal import Journal
from ralph.services.locks import this_host

NOW = datetime(2026, 3, 1, 2, 0, tzinfo=UTC)
WRITER = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from ralph.core.events import Noted
from ralph.services.journal import Journal
from tests.support.records import started

folder = Path(sys.argv[1])
journal = Journal.create(folder)
print(journal.append(started(folder.name)).seq, flush=True)
for number in range(int(sys.argv[2])):
    at = datetime(2026, 3, 1, 2, 0, number % 60, tzinfo=UTC)
    print(journal.append(Noted(at=at, text="n" * (number * 37 % 900))).seq, flush=True)
sys.stdin.read()
"""


def started(run_id: str, **more: object) -> RunStarted:
    facts: dict[str, object] = {
        "at": NOW,
        "run_id": run_id,
        "work_id": "work.1",
        "root": "/repo",
        "prompt": "PROMPT.md",
        "plan_path": "PLAN.md",
        "agent": "claude",
        "host": this_host(),
    }
    return RunStarted(**(facts | more))  # type: ignore[arg-type]


def attempt(iteration: int = 1) -> AttemptStarted:
    return AttemptStarted(
        at=NOW + timedelta(minutes=iteration),
        iteration=iteration,
        attempt=1,
        agent="claude",
        folder=f"iterations/{iteration:04d}",
    )


def noted(text: str = "a note") -> Noted:
    return Noted(at=NOW, text=text)


def ended(run_id: str) -> RunEnded:
    ending = follow_up("iteration_cap")
    return RunEnded(at=NOW, run_id=run_id, work_id="work.1", ending=ending, counters=Counters())


def written(folder: Path, events: Sequence[AnyEvent]) -> Path:
    """A journal that its writer left with these events."""
    journal = Journal.create(folder)
    for event in events:
        journal.append(event)
    journal.close()
    return folder


def writer(folder: Path, count: int) -> subprocess.Popen[str]:
    """A process that writes ``count`` notes, says each number once durable, and then waits."""
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(folder), str(count)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
