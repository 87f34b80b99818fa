"""X-6, T-2, F2: whatever happens while a run is open, it ends in one recorded state."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ralph.cli.asks import Ask
from ralph.cli.start import finish
from ralph.core.events import RunEnded
from ralph.core.outcome import Ending
from ralph.core.policy import AgentPolicy, CustomAgent, Policy
from ralph.core.state import RunState
from ralph.core.terminal import terminal_record
from ralph.errors import RalphError, StorageError
from tests.support.history import START, Play

AGENT = Policy(agent=AgentPolicy(use="sh"), agents={"sh": CustomAgent(command=("/bin/sh",))})


@dataclass
class Broken:
    """A loop that fails as told; its record may fail too."""

    error: Exception
    base: Path
    unrecordable: bool = False
    ended: list[Ending] = field(default_factory=list)
    reserve: int = 0

    @property
    def state(self) -> RunState:
        return Play().state

    @property
    def world(self) -> Any:
        return SimpleNamespace(
            recorder=SimpleNamespace(spend_reserve=self._spend),
            folders=SimpleNamespace(base=self.base),
            clock=SimpleNamespace(now=lambda: START),
        )

    def _spend(self) -> None:
        self.reserve += 1

    def run(self) -> RunEnded:
        raise self.error

    def end(self, ending: Ending, also: tuple[str, ...] = ()) -> RunEnded:
        if self.unrecordable:
            raise StorageError("no room")
        self.ended.append(ending)
        return terminal_record(self.state, ending, also, at=START)


def closed(loop: Broken, root: Path) -> RunEnded:
    grounds = SimpleNamespace(
        root=root, policy=AGENT, loaded=SimpleNamespace(notes=()), prompt=root / "PROMPT.md"
    )
    return finish(loop, grounds, Ask())  # type: ignore[arg-type]


#
@pytest.mark.parametrize("error", [ValueError("odd"), KeyError("k"), RecursionError("deep")])
def test_x6_a_bug_ends_the_run_as_internal_error_with_a_crash_file(
    tmp_path: Path, error: Exception
) -> None:
    loop = Broken(error, tmp_path)
    ended = closed(loop, tmp_path)
    assert (ended.ending.state, ended.ending.reason) == ("ESCALATED_TO_HUMAN", "internal_error")
    (crash,) = tmp_path.glob("crash-*.txt")
    assert type(error).__name__ in crash.read_text()
    assert str(crash) in ended.ending.detail
    assert len(loop.ended) == 1


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (StorageError("disk is full", full=True), "disk_full"),
        (StorageError("read-only"), "internal_error"),
        (RalphError("no prompt file"), "internal_error"),
    ],
)
def test_f2_an_error_that_is_known_names_itself(
    tmp_path: Path, error: Exception, reason: str
) -> None:
    loop = Broken(error, tmp_path)
    ended = closed(loop, tmp_path)
    assert (ended.ending.reason, ended.ending.detail) == (reason, str(error))
    assert loop.reserve == isinstance(error, StorageError)
    assert not list(tmp_path.glob("crash-*"))


def test_f2_an_end_that_cannot_be_recorded_is_still_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ended = closed(Broken(StorageError("full", full=True), tmp_path, unrecordable=True), tmp_path)
    assert ended.ending.exit_code == 3
    assert "could not be recorded: no room" in capsys.readouterr().err
