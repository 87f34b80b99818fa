"""When an agent is ended, and what is told of its end (A1, A16, A18, A24, A-3, A-6, A-7, A-11)."""

from __future__ import annotations

import os
import signal
import stat
from pathlib import Path

import pytest

from ralph.core.facts import EndedBy
from ralph.services.deadlines import Deadlines, Silence
from tests.support.supervised import Noting, Supervised
from tests.support.world import Script


@pytest.fixture
def box(tmp_path: Path) -> Supervised:
    return Supervised(tmp_path)


def test_a1_an_agent_that_says_nothing_and_sleeps_is_idle(box: Supervised) -> None:
    left = box.run(["sleep", "300"], idle=0.6)
    assert (left.ended_by, left.signal) == (EndedBy.IDLE, signal.SIGTERM)
    assert left.seconds >= 0.5


def test_a6_retry_lines_are_no_life(box: Supervised) -> None:
    talk = ["sh", "-c", "while echo retry; do sleep 0.1; done"]
    quiet: list[float] = []
    left = box.run(talk, Noting(life=False), quiet.append, idle=1.5, hard=30.0)
    assert left.ended_by is EndedBy.IDLE
    assert max(quiet) > 0.8


def test_a1_an_agent_that_talks_is_not_idle(box: Supervised) -> None:
    talk = ["sh", "-c", "for n in 1 2 3 4 5 6 7 8 9 10 11 12; do echo $n; sleep 0.2; done"]
    assert box.run(talk, idle=2.0).ended_by is EndedBy.EXIT


def test_a16_a_child_that_works_in_silence_is_not_idle(box: Supervised, script: Script) -> None:
    program = """
    import subprocess, sys
    burn = "import time; t = time.process_time()\\nwhile time.process_time() - t < 2: pass"
    subprocess.run([sys.executable, "-c", burn])
    """
    assert box.run(script(program), idle=1.0).ended_by is EndedBy.EXIT


# K-1
def test_k1_the_hard_limit_ends_an_agent_that_talks(box: Supervised) -> None:
    left = box.run(["sh", "-c", "while echo x; do sleep 0.05; done"], hard=0.5)
    assert left.ended_by is EndedBy.HARD


def test_a7_an_agent_that_outlives_its_record_is_ended_as_lingering(box: Supervised) -> None:
    command = ["sh", "-c", "echo RESULT; sleep 30"]
    left = box.run(command, Noting(b"RESULT"), linger=0.3, idle=100.0, hard=100.0)
    assert left.ended_by is EndedBy.LINGER
    assert not box.left()


def limits(*, hard: float, idle: float, linger: float) -> Deadlines:
    silence = Silence(idle, lambda: 0.0, start=0.0)
    return Deadlines(hard=hard, linger=linger, silence=silence, start=0.0)


def test_a3_after_the_record_only_lingering_ends() -> None:
    due = limits(hard=10.0, idle=5.0, linger=30.0)
    assert due.due(1.0) is None
    due.settle(2.0)
    due.settle(20.0)  # a second record does not prolong it
    assert [due.due(at) for at in (11.0, 31.9, 32.0)] == [None, None, EndedBy.LINGER]


def test_a1_limits_of_zero_are_off() -> None:
    due = limits(hard=0.0, idle=0.0, linger=30.0)
    assert [due.due(10.0**n) for n in range(8)] == [None] * 8


@pytest.mark.parametrize(("share", "due"), [(0.002, True), (0.05, False)])
def test_a16_idle_means_under_one_percent_of_a_core(share: float, *, due: bool) -> None:
    now = 0.0
    silence = Silence(900.0, lambda: now * share, start=0.0)
    found = False
    while now < 1800.0 and not found:
        now += 0.25
        found = silence.due(now)
    assert found is due
    assert not due or 900.0 <= now < 1000.0


def test_a6_a_sign_of_life_starts_the_window_anew() -> None:
    now = 0.0
    silence = Silence(10.0, lambda: 0.0, start=0.0)
    while now < 25.0:
        now += 0.5
        if now == 9.0:
            silence.heard(now)
        if silence.due(now):
            break
    assert now == 19.0


@pytest.mark.parametrize(
    ("command", "code", "number"),
    [
        ("exit 0", 0, None),
        ("exit 137", 137, None),
        ("kill -KILL $$", None, signal.SIGKILL),
        ("kill -SEGV $$", None, signal.SIGSEGV),
    ],
)
def test_a24_an_exit_code_and_a_signal_are_told_apart(
    box: Supervised, command: str, code: int | None, number: int | None
) -> None:
    left = box.run(["sh", "-c", command])
    assert (left.ended_by, left.exit_code, left.signal) == (EndedBy.EXIT, code, number)


def test_a18_what_cannot_start_is_said_in_one_line(box: Supervised) -> None:
    def program(name: str, text: str, mode: int) -> str:
        path = box.folder / name
        path.write_text(text)
        path.chmod(mode)
        return f"./{name}"

    asked = {
        "no-such-program-here": "no-such-program-here: not found on PATH",
        "./missing": "./missing: no such file",
        program("plain", "#!/bin/sh\n", stat.S_IRUSR): "./plain: not executable",
        program("broken", "#!/no/such/shell\n", 0o700): (
            "./broken: the interpreter named in its first line is missing"
        ),
    }
    for name, problem in asked.items():
        left = box.run([name])
        assert (left.started, left.ended_by, left.problem) == (False, EndedBy.LAUNCH, problem)
        assert (left.exit_code, left.signal, box.out) == (None, None, b"")


def test_a18_a_missing_folder_and_an_endless_argument_are_named(box: Supervised) -> None:
    assert "folder to start it in is missing" in box.run(["true"], cwd=box.folder / "no").problem
    assert "too long" in box.run(["true", "x" * 5_000_000]).problem
    assert "null byte" in box.run(["true", "a\0b"]).problem


def test_a11_the_environment_is_the_given_one_and_no_other(box: Supervised) -> None:
    env = {"PATH": os.environ["PATH"], "ONLY": "this one"}
    box.run(["env"], env=env, mark="")
    assert sorted(box.out.decode().splitlines()) == sorted(f"{k}={v}" for k, v in env.items())


def test_a8_signals_are_at_their_defaults_and_no_descriptor_leaks(
    box: Supervised, script: Script
) -> None:
    program = """
    import os
    print(sorted(map(int, os.listdir("/proc/self/fd"))), os.getsid(0) == os.getpid())
    """
    watch, hold = os.pipe()
    box.run(script(program), hold=hold)
    os.close(hold)
    os.close(watch)
    assert box.out.decode() == "[0, 1, 2, 3] True\n"  # 3: the listed folder itself
    (box.folder / "out").unlink()
    box.run(["grep", "-E", "Sig(Ign|Blk)", "/proc/self/status"])
    libc = 1 << 31 | 1 << 32  # its own two, which no program can use
    assert [int(line.split()[1], 16) & ~libc for line in box.out.decode().splitlines()] == [0, 0]
