"""Keys on a real pseudo-terminal: read without Enter, given back however it ends."""

from __future__ import annotations

import fcntl
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.world import eventually

PRELUDE = """
import os, signal, sys
sys.path[:0] = {path!r}
from ralph.services.clock import SystemClock
from ralph.services.keys import Keys

def say(text):
    print(text, flush=True)

def serve(keys):
    while True:
        for request in keys.poll():
            say(f"{{request.request.value}} {{request.by}}")
            if request.request.value == "stop_after":
                return
        SystemClock().pause(0.01)
"""


class Terminal:
    """A pseudo-terminal and one program that has it as its controlling terminal."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.open: tuple[int, ...] = pty.openpty()
        self.master, self.slave = self.open
        self.said = folder / "said"
        self.program: subprocess.Popen[bytes] | None = None

    def run(self, body: str, *, controlling: bool = True) -> None:
        source = PRELUDE.format(path=[str(Path(__file__).parents[2]), *sys.path])
        if controlling:  # the first terminal a session leader opens becomes its own
            source += f"os.open({os.ttyname(self.slave)!r}, os.O_RDWR)\n"
        script = self.folder / "program.py"
        script.write_text(source + body)
        with self.said.open("wb") as out:
            self.program = subprocess.Popen(
                [sys.executable, str(script)],
                stdin=self.slave if controlling else subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def lines(self) -> list[str]:
        return self.said.read_text().splitlines()

    def wait_for(self, *lines: str) -> None:
        assert eventually(lambda: self.lines()[: len(lines)] == list(lines), 20), self.lines()

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def mode(self) -> list[object]:
        return termios.tcgetattr(self.slave)

    @property
    def echoes(self) -> bool:
        return bool(self.mode()[3] & termios.ECHO)  # type: ignore[operator]

    def finish(self) -> int:
        assert self.program is not None
        return self.program.wait(20)

    def close(self) -> None:
        if self.program is not None and self.program.poll() is None:
            os.killpg(self.program.pid, signal.SIGKILL)
            self.program.wait()
        self.hang_up()

    def hang_up(self) -> None:
        for fd in self.open:
            os.close(fd)
        self.open = ()


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    made = Terminal(tmp_path)
    yield made
    made.close()


READ = """
with Keys() as keys:
    say("ready")
    serve(keys)
"""


@pytest.fixture
def reading(terminal: Terminal) -> Terminal:
    terminal.run(READ)
    terminal.wait_for("ready")
    return terminal


def test_each_key_is_a_request_without_enter(reading: Terminal) -> None:
    wanted = ["ready"]
    for key, request in (
        ("p", "pause"),
        ("p", "pause"),
        ("c", "continue"),
        ("n", "skip_wait"),
        ("a", "accept"),
        ("Q", "stop_now"),
        ("q", "stop_after"),
    ):
        reading.type(key)
        wanted.append(f"{request} key")
        reading.wait_for(*wanted)
    assert reading.finish() == 0


def test_other_keys_and_sequences_ask_for_nothing(reading: Terminal) -> None:
    reading.type("x\n\té日")
    for sequence in ("\x1b[A", "\x1bOq", "\x1b[3~", "\x1b[?1;2c", "\x1b]11;rgb:aa/cc\x07", "\x1bp"):
        reading.type(sequence)
    reading.type("n")
    reading.wait_for("ready", "skip_wait key")
    assert len(reading.lines()) == 2


def test_a_sequence_in_two_pieces_is_still_one(terminal: Terminal, tmp_path: Path) -> None:
    terminal.run(
        f"""
with Keys() as keys:
    say("ready")
    for name in ("one", "two", "three"):
        while not os.path.exists(os.path.join({str(tmp_path)!r}, name)):
            SystemClock().pause(0.01)
        for request in keys.poll():
            say(request.request.value)
        say(name)
"""
    )
    terminal.wait_for("ready")
    for typed, name in (("\x1b[?1;2", "one"), ("c", "two"), ("n", "three")):
        terminal.type(typed)
        assert eventually(lambda typed=typed: _arrived(terminal, len(typed)), 20)
        (tmp_path / name).touch()
        assert eventually(lambda name=name: name in terminal.lines(), 20)
    assert terminal.lines() == ["ready", "one", "two", "skip_wait", "three"]


def test_a_paste_asks_for_nothing(reading: Terminal) -> None:
    reading.type("quit and cancel the plan, quick\n")

    def answered() -> bool:
        reading.type("n")
        return len(reading.lines()) > 1

    assert eventually(answered, 20)
    assert set(reading.lines()) == {"ready", "skip_wait key"}


def _arrived(terminal: Terminal, count: int) -> bool:
    """True when so many bytes wait to be read; a pseudo-terminal delivers a little later."""
    raw = fcntl.ioctl(terminal.slave, termios.FIONREAD, b"\0" * 4)
    return bool(struct.unpack("i", raw) == (count,))


def test_the_terminal_is_silent_meanwhile_and_as_before_afterwards(terminal: Terminal) -> None:
    before = terminal.mode()
    terminal.run(READ)
    terminal.wait_for("ready")
    assert not terminal.echoes
    assert terminal.mode()[3] & termios.ISIG  # type: ignore[operator]
    terminal.type("q")
    assert terminal.finish() == 0
    assert terminal.mode() == before


def test_an_exception_gives_the_terminal_back(terminal: Terminal) -> None:
    before = terminal.mode()
    terminal.run("with Keys() as keys:\n    say('ready')\n    raise SystemExit(5)\n")
    assert terminal.finish() == 5
    assert terminal.mode() == before


def test_without_a_terminal_there_are_no_keys_and_no_error(terminal: Terminal) -> None:
    terminal.run(
        "with Keys() as keys:\n    say(f'{keys.active} {keys.poll()}')\n", controlling=False
    )
    assert terminal.finish() == 0
    assert terminal.lines() == ["False []"]


def test_a_terminal_that_goes_away_is_no_error(terminal: Terminal) -> None:
    terminal.run(
        """
signal.signal(signal.SIGHUP, signal.SIG_IGN)
with Keys() as keys:
    say("ready")
    while keys.active:
        keys.poll()
        SystemClock().pause(0.01)
    say(f"gone {keys.poll()}")
"""
    )
    terminal.wait_for("ready")
    terminal.hang_up()
    terminal.wait_for("ready", "gone []")
    assert terminal.finish() == 0


JOB = """
import subprocess, termios
def echoes():
    return bool(termios.tcgetattr(0)[3] & termios.ECHO)

signal.signal(signal.SIGTTOU, signal.SIG_IGN)
job = subprocess.Popen([sys.executable, __file__, "job"], process_group=0)
front = lambda pid: os.tcsetpgrp(0, pid)
"""

AS_JOB = """
if sys.argv[1:] == ["job"]:
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    with Keys(on_suspend=lambda: say("suspend"), on_resume=lambda: say("resume")) as keys:
        say("ready")
        serve(keys)
    raise SystemExit
"""


def test_a_stopped_ralph_gives_the_terminal_back_and_takes_it_again(terminal: Terminal) -> None:
    before = terminal.mode()
    terminal.run(
        AS_JOB
        + JOB
        + """
front(job.pid)
while echoes():
    SystemClock().pause(0.01)
os.kill(job.pid, signal.SIGTSTP)
os.waitpid(job.pid, os.WUNTRACED)
front(os.getpid())
say(f"stopped, echoes: {echoes()}")
front(job.pid)
os.kill(job.pid, signal.SIGCONT)
while echoes():
    SystemClock().pause(0.01)
say("again silent")
say(f"job: {job.wait()}")
"""
    )
    assert eventually(lambda: "again silent" in terminal.lines(), 20), terminal.lines()
    assert "stopped, echoes: True" in terminal.lines()
    assert terminal.lines().index("suspend") < terminal.lines().index("resume")
    terminal.type("n")
    assert eventually(lambda: "skip_wait key" in terminal.lines(), 20)
    terminal.type("q")
    assert terminal.finish() == 0
    assert "job: 0" in terminal.lines()
    assert terminal.mode() == before


def test_a_background_ralph_reads_nothing_and_is_not_stopped_for_it(terminal: Terminal) -> None:
    terminal.run(
        AS_JOB
        + JOB
        + """
while True:
    SystemClock().pause(0.3)
    pid, _ = os.waitpid(job.pid, os.WUNTRACED | os.WNOHANG)
    say(f"{'stopped' if pid else 'running'}, echoes: {echoes()}")
    break
front(job.pid)
say(f"job: {job.wait()}")
"""
    )
    assert eventually(lambda: "running, echoes: True" in terminal.lines(), 20), terminal.lines()
    assert eventually(lambda: not terminal.echoes, 20)
    terminal.type("q")
    assert terminal.finish() == 0
    assert "stop_after key" in terminal.lines()


def test_a_hard_stop_is_survived_too(reading: Terminal) -> None:
    assert reading.program is not None
    before = reading.mode()
    os.kill(reading.program.pid, signal.SIGSTOP)
    sane = reading.mode()
    sane[3] |= termios.ECHO | termios.ICANON  # type: ignore[operator]
    termios.tcsetattr(reading.slave, termios.TCSANOW, sane)  # what a shell does
    os.kill(reading.program.pid, signal.SIGCONT)
    assert eventually(lambda: reading.mode() == before, 20)
    reading.type("q")
    assert reading.finish() == 0
    assert reading.echoes
