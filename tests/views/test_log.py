"""The log holds everything, in time order, without secrets, and never stops a run (L-25, F8)."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ralph.core.events import Noted, PolicyChanged, Requested, RequestKind, Verified
from ralph.core.facts import Claim, ClaimKind, FailureClass, Usage, VerifyResult
from ralph.views.log import LogView, name_for
from tests.views.story import (
    START,
    FakeClock,
    Reports,
    attempt,
    ended,
    judged,
    observed,
    started,
    steering,
    waiting,
)

STAMP = re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\] ")
SECRET = "sk-ant-api03-" + "aB3dE5fG7hJ9" * 4
KEY = (
    "-----BEGIN RSA PRIVATE KEY-----\n"
    + "MIIEpAIBAAKCAQEA7\n" * 20
    + "-----END RSA PRIVATE KEY-----\n"
)


@pytest.fixture
def reports() -> Reports:
    return Reports()


@pytest.fixture
def log(tmp_path: Path, reports: Reports) -> Iterator[LogView]:
    view = LogView(tmp_path / "run" / "ralph.log", FakeClock(), reports)
    yield view
    view.close()


def lines_of(path: Path) -> list[str]:
    text = path.read_text()
    assert text.endswith("\n")
    lines = text.splitlines()
    assert all(STAMP.match(line) for line in lines)
    return [STAMP.sub("", line, count=1) for line in lines]


@pytest.fixture
def written(log: LogView, tmp_path: Path) -> Callable[[], list[str]]:
    def read() -> list[str]:
        log.close()
        return lines_of(tmp_path / "run" / "ralph.log")

    return read


# L-25
def test_l25_the_wording_is_fixed(log: LogView, written: Callable[[], list[str]]) -> None:
    for event in (started(), attempt(7, task="AQU-103")):
        log.event(event)
    log.say("I read the code\n")
    log.event(observed(7, usage=Usage(output=2847)))
    log.event(steering())
    lines = written()
    after = lines[lines.index("Iteration 7 started") :]
    assert after[:4] == [
        "Iteration 7 started",
        "Current task: AQU-103",
        "I read the code",
        "claude output: 2,847 tokens",
    ]
    assert "Tasks completed: 6 → 7" in lines
    assert "Breaker: healthy → steering (no progress in 2 iterations)" in lines


# L-25
def test_l25_every_kind_of_event_leaves_a_line(
    log: LogView, written: Callable[[], list[str]]
) -> None:
    wrong = VerifyResult(command="pytest -q", passed=False, output="one\ntwo", drafted=("a.py",))
    change = {"stall.no_progress": [3, 5]}
    for event in (
        started(),
        attempt(attempt=2, by_person=("AQU-1 done",), blocks=("steering",), calls=90),
        observed(
            error="boom",
            claim=Claim(kind=ClaimKind.SIGNAL, markers=("RALPH_COMPLETE",)),
            result={"klass": FailureClass.CRASH, "signal": 9, "detail": "killed by SIGKILL"},
        ),
        Verified(at=START, iteration=12, results=(wrong,)),
        judged(progress=("plan", "tree")),
        waiting(),
        Requested(at=START, request=RequestKind.STOP_AFTER, by="key"),
        PolicyChanged(at=START, policy=started().policy, applied=change, held=change, fixed=change),
        Noted(at=START, text="disk is nearly full", warning=True),
        ended(),
    ):
        log.event(event)
    lines = written()
    for line in (
        "Iteration 12 started (attempt 2)",
        "Changed by a person: AQU-1 done",
        "Put before the prompt: steering",
        "Warning: 90 of 100 launches of this hour are used",
        "claude output: n/a tokens",
        "Iteration 12: crash, 3m 20s, exit 0, signal 9",
        "Error: boom",
        "Completion marker: RALPH_COMPLETE",
        "Verify failed (0s): pytest -q",
        "Verify changed a.py: its verdict is void",
        "  one",
        "  two",
        "Asked by key: stop after this iteration",
        "Config: stall.no_progress 3 → 5",
        "Config changed by the agent? stall.no_progress 3 → 5 is held until a person accepts it",
        "Config: stall.no_progress 3 → 5 takes effect with the next run",
        "Warning: disk is nearly full",
        "Run ended: ESCALATED_TO_HUMAN / no_progress",
    ):
        assert line in lines, line
    assert any(line.startswith("Waiting (rate limit) until ") for line in lines)


@given(st.text("ab\n", max_size=200), st.lists(st.integers(1, 20), min_size=1))
@settings(deadline=None, max_examples=60)
def test_any_chunking_gives_the_same_lines(
    tmp_path_factory: pytest.TempPathFactory, text: str, sizes: list[int]
) -> None:
    path = tmp_path_factory.mktemp("log") / "x.log"
    log = LogView(path, FakeClock(), Reports())
    log.event(Noted(at=START, text="begin"))
    at = 0
    while at < len(text):
        size = sizes[at % len(sizes)]
        log.say(text[at : at + size])
        at += size
    log.event(Noted(at=START, text="end"))
    log.close()
    want = text.removesuffix("\n").split("\n") if text else []
    assert lines_of(path) == ["begin", *want, "end"]


@pytest.mark.parametrize("filler", ["x", "word ", "é"])
def test_f8_a_secret_is_masked_wherever_the_chunks_are_cut(tmp_path: Path, filler: str) -> None:
    for offset in (0, 1, 20, 65_500, 65_530, 65_536, 61_440, 61_420, 131_000):
        before = (filler * (offset // len(filler) + 1))[:offset]
        path = tmp_path / f"{offset}.log"
        log = LogView(path, FakeClock(), Reports())
        text = f"{before} {SECRET} {filler * 80_000}\n"
        for at in range(0, len(text), 4093):
            log.say(text[at : at + 4093])
        log.close()
        assert SECRET[:30] not in path.read_text()
        assert SECRET[-30:] not in path.read_text()
        assert len(path.read_text()) > 80_000


def test_f8_a_secret_said_one_character_at_a_time_is_masked(
    log: LogView, written: Callable[[], list[str]]
) -> None:
    for letter in f"token {SECRET} and on\n":
        log.say(letter)
    assert SECRET not in "".join(written())


def test_f8_a_private_key_said_line_by_line_is_masked(
    log: LogView, written: Callable[[], list[str]]
) -> None:
    log.say("here it is\n")
    for line in KEY.splitlines(keepends=True):
        log.say(line)
    log.say("that was it\n")
    lines = written()
    assert "MIIEpAIBAAKCAQEA7" not in "\n".join(lines)
    assert (lines[0], lines[-1]) == ("here it is", "that was it")


def test_f8_events_are_masked_too(log: LogView, written: Callable[[], list[str]]) -> None:
    log.event(Noted(at=START, text=f"hook said {SECRET}"))
    assert SECRET not in "".join(written())


def test_a22_control_sequences_do_not_reach_the_file(
    log: LogView, written: Callable[[], list[str]]
) -> None:
    log.say("\x1b[31mred\x1b[0m\x1b]0;title\x07\n10%\r100%\r\n")
    log.event(Noted(at=START, text="\x1b[2Jnote"))
    assert written() == ["red", "100%", "note"]


def test_f8_only_the_owner_can_read_it(log: LogView, tmp_path: Path) -> None:
    log.event(started())
    assert (tmp_path / "run" / "ralph.log").stat().st_mode & 0o777 == 0o600


def test_f2_a_full_disk_is_told_once_and_stops_nothing(reports: Reports) -> None:
    log = LogView(Path("/dev/full"), FakeClock(), reports)
    for _ in range(5):
        log.event(started())
        log.say("words\n")
    log.close()
    assert len(reports.lines) == 1
    assert "/dev/full" in reports.lines[0]


def test_f2_a_deleted_folder_is_made_again(log: LogView, tmp_path: Path, reports: Reports) -> None:
    log.event(Noted(at=START, text="before"))
    shutil.rmtree(tmp_path / "run")
    log.event(Noted(at=START, text="after"))
    assert lines_of(tmp_path / "run" / "ralph.log") == ["after"]
    assert reports.lines == []


def test_f2_writing_goes_on_when_the_disk_has_room_again(tmp_path: Path, reports: Reports) -> None:
    path = tmp_path / "run"
    path.write_text("a file where the folder should be")
    log = LogView(path / "ralph.log", FakeClock(), reports)
    log.event(Noted(at=START, text="lost"))
    path.unlink()
    log.event(Noted(at=START, text="kept"))
    log.close()
    assert lines_of(path / "ralph.log") == ["kept"]
    assert len(reports.lines) == 1


# L-25
def test_l25_names_are_local_time_and_never_taken_twice(tmp_path: Path) -> None:
    first = name_for(tmp_path, START)
    assert first.name == f"ralph_{START.astimezone():%Y%m%d_%H%M%S}.log"
    first.touch()
    second = name_for(tmp_path, START)
    assert second.name == f"{first.stem}_2.log"
    second.touch()
    assert name_for(tmp_path, START).name == f"{first.stem}_3.log"


def test_one_line_of_100_mb_needs_no_memory(tmp_path: Path) -> None:
    program = textwrap.dedent(
        """
        import resource, sys
        from pathlib import Path
        from ralph.services.clock import SystemClock
        from ralph.views.log import LogView

        log = LogView(Path(sys.argv[1]), SystemClock(), lambda text: sys.exit(text))
        log.say("warm up " * 20_000)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(1600):
            log.say("abcdefgh" * 8192)
        log.close()
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
        """
    )
    path = tmp_path / "long.log"
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert path.stat().st_size > 100_000_000
    assert path.read_bytes().count(b"\n") == 1
    assert int(done.stdout) < 8_000  # KiB
    path.unlink()
