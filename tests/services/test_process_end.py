"""Whatever an agent starts is gone when its run is over (A-8, A2, A9, A11)."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ralph.core.facts import EndedBy
from tests.support.supervised import Supervised, stop_when
from tests.support.world import Script, alive, eventually

DAEMONS = """
import os, signal, sys, time

def note():
    fd = os.open("pids", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(fd, b"%d\\n" % os.getpid())
    os.close(fd)

def daemon(*, clear):
    if os.fork():
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    note()
    if clear:
        program = "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(600)"
        os.execve(sys.executable, [sys.executable, "-c", program], {})
    time.sleep(600)

daemon(clear=False)
daemon(clear=True)
note()
while len(open("pids").read().split()) < 3:
    time.sleep(0.01)
"""
STUBBORN = DAEMONS + "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nopen('up', 'w')\n"
HANG = "time.sleep(600)\n"

SUPERVISOR = """
import os, sys
from pathlib import Path
from ralph.services import process
from tests.support.supervised import Noting, Supervised
box = Supervised(Path(sys.argv[1]))
hold = int(sys.argv[2])
box.run(sys.argv[3:], grace=30.0, hold=hold if hold >= 0 else None)
"""


@pytest.fixture
def box(tmp_path: Path) -> Supervised:
    return Supervised(tmp_path)


def gone(box: Supervised, count: int) -> bool:
    pids = box.pids()
    return len(pids) == count and not any(map(alive, pids)) and not box.left()


def test_a11_an_agent_that_ignores_term_and_its_daemons_are_gone_after_the_grace(
    box: Supervised, script: Script
) -> None:
    left = box.run(script(STUBBORN + HANG), tick=stop_when((box.folder / "up").exists))
    assert (left.ended_by, left.signal, left.exit_code) == (EndedBy.STOP, signal.SIGKILL, None)
    assert gone(box, 3)
    assert len(left.survivors) >= 2  # both daemons outlived the grace


def test_a2_what_a_finished_agent_leaves_is_ended_and_named(
    box: Supervised, script: Script
) -> None:
    left = box.run(script(DAEMONS + "sys.exit(7)"))
    assert (left.ended_by, left.exit_code) == (EndedBy.EXIT, 7)
    assert gone(box, 3)
    assert len(left.survivors) == 2


def test_a2_a_child_that_holds_the_pipe_does_not_keep_the_run(box: Supervised) -> None:
    start = time.monotonic()
    left = box.run(["sh", "-c", "echo said; sleep 300 & exit 0"])
    assert time.monotonic() - start < 60
    assert (left.ended_by, left.exit_code, box.out) == (EndedBy.EXIT, 0, b"said\n")
    assert left.survivors[0].startswith("sleep (")
    assert not box.left()


def test_a8_a_name_in_leave_outlives_a_normal_end_only(box: Supervised) -> None:
    left = box.run(["sh", "-c", "sleep 300 & echo $! > pids"], leave=("sleep",))
    (pid,) = box.pids()
    try:
        assert left.survivors == ()
        assert alive(pid)
    finally:
        os.kill(pid, signal.SIGKILL)
    (box.folder / "pids").unlink()
    command = "sleep 300 & echo $! > pids; touch up; wait"
    stop = stop_when((box.folder / "up").exists)
    assert box.run(["sh", "-c", command], leave=("sleep",), tick=stop).ended_by is EndedBy.STOP
    assert gone(box, 1)


def test_a8_an_agent_that_kills_its_guard_leaves_nothing(box: Supervised, script: Script) -> None:
    left = box.run(script(DAEMONS + "os.kill(os.getppid(), 9)\n" + HANG))
    assert left.problem == "the process between ralph and the agent was killed"
    assert gone(box, 3)


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_a9_nothing_outlives_a_killed_supervisor_and_the_hold_is_kept_until_then(
    box: Supervised, script: Script, end: signal.Signals
) -> None:
    watch, hold = os.pipe()
    with supervisor(box, script(STUBBORN + HANG), hold) as running:
        os.close(hold)
        assert eventually((box.folder / "up").exists, 30)
        pids = box.pids()
        running.send_signal(end)
        running.wait()
        assert os.read(watch, 1) == b""  # the last holder of the descriptor is gone
        assert [pid for pid in pids if alive(pid)] == []
    os.close(watch)


def test_a9_a_killed_supervisor_waits_for_no_long_grace(box: Supervised, script: Script) -> None:
    with supervisor(box, script(STUBBORN + HANG), -1) as running:
        assert eventually((box.folder / "up").exists, 30)
        start = time.monotonic()
        running.kill()
        assert eventually(lambda: not any(map(alive, box.pids())), 20)
        assert time.monotonic() - start < 15  # half the grace; five seconds on a quiet machine


def test_a8_an_error_of_the_ear_still_ends_everything(box: Supervised, script: Script) -> None:
    class Broken:
        def hear(self, *_: object) -> bool:
            raise ZeroDivisionError

        def settled(self) -> bool:
            return False

    with pytest.raises(ZeroDivisionError):
        box.run(script(STUBBORN + "print('x', flush=True)\n" + HANG), Broken())
    assert gone(box, 3)


def test_a3_a_stop_ends_the_agent_at_once(box: Supervised) -> None:
    start = time.monotonic()
    left = box.run(["sleep", "300"], tick=lambda _: EndedBy.STOP, grace=60.0)
    assert (left.ended_by, left.signal) == (EndedBy.STOP, signal.SIGTERM)
    assert time.monotonic() - start < 30


# K-14
def test_k14_the_first_signal_may_be_an_interrupt(box: Supervised, script: Script) -> None:
    program = """
    import pathlib, time
    try:
        pathlib.Path("up").touch()
        time.sleep(600)
    except KeyboardInterrupt:
        raise SystemExit(9)
    """
    stop = stop_when((box.folder / "up").exists)
    left = box.run(script(program), tick=stop, interrupt="INT", grace=30.0)
    assert (left.ended_by, left.exit_code) == (EndedBy.STOP, 9)


# K-14
def test_k14_a_stopped_agent_is_ended_too(box: Supervised) -> None:
    stop = stop_when((box.folder / "up").exists)
    left = box.run(["sh", "-c", "touch up; kill -STOP $$"], tick=stop, grace=60.0)
    assert (left.ended_by, left.signal) == (EndedBy.STOP, signal.SIGTERM)


@contextlib.contextmanager
def supervisor(box: Supervised, argv: list[str], hold: int) -> Iterator[subprocess.Popen[bytes]]:
    """A process of its own that runs ``argv`` supervised."""
    running = subprocess.Popen(
        [sys.executable, "-c", SUPERVISOR, str(box.folder), str(hold), *argv],
        cwd=Path(__file__).parents[2],
        pass_fds=(hold,) if hold >= 0 else (),
    )
    try:
        yield running
    finally:
        running.kill()
        running.wait()
