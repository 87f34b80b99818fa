"""A1 to A18, A24, A-3, A-6 to A-8: a command is supervised to its certain end, with all it left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from ralph.core.facts import EndedBy
from ralph.errors import StorageError
from ralph.services.process import Exit, Order, run
from tests.support.world import alive, eventually, marked

NEVER: Callable[[float], EndedBy | None] = lambda quiet: None  # noqa: E731, ARG005


class Ear:
    """Hears everything as life; ``word`` in the output settles it."""

    def __init__(self, word: bytes = b"") -> None:
        self.heard = b""
        self.word = word

    def hear(self, stream: str, chunk: bytes) -> bool:
        if stream == "stdout":
            self.heard = (self.heard + chunk)[-1000:]
        return True

    def settled(self) -> bool:
        return bool(self.word) and self.word in self.heard


class Bench:
    """Runs shell text below one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.mark = f"RALPH_TEST_PROCESS={folder.parent.name}{folder.name}"

    def __call__(
        self,
        shell: str = "",
        *,
        argv: tuple[str, ...] = (),
        stdin: bytes | None = None,
        hard: float = 0.0,
        idle: float = 0.0,
        grace: float = 1.0,
        linger: float = 1.0,
        leave: tuple[str, ...] = (),
        hold: int | None = None,
        ear: Ear | None = None,
        tick: Callable[[float], EndedBy | None] = NEVER,
    ) -> Exit:
        name, _, value = self.mark.partition("=")
        order = Order(
            argv=argv or ("/bin/sh", "-c", shell),
            cwd=self.folder,
            env={**os.environ, name: value},
            stdin=stdin,
            stdout=self.folder / "out",
            stderr=self.folder / "err",
            hard=hard,
            idle=idle,
            grace=grace,
            linger=linger,
            mark=self.mark,
            leave=leave,
            hold=hold,
        )
        return run(order, ear or Ear(), tick=tick)

    def left(self) -> list[int]:
        return [pid for pid in marked(self.mark) if alive(pid)]

    @property
    def out(self) -> bytes:
        return (self.folder / "out").read_bytes()


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_a24_exit_code_and_signal_come_from_the_wait_status(bench: Bench) -> None:
    assert (bench("exit 3").exit_code, bench("exit 137").exit_code) == (3, 137)
    killed = bench("kill -9 $$")
    assert (killed.exit_code, killed.signal, killed.ended_by) == (None, 9, EndedBy.EXIT)


def test_a4_both_streams_are_kept_as_raw_bytes(bench: Bench) -> None:
    done = bench(r"printf 'a\000\377'; printf 'no' >&2")
    assert bench.out == b"a\0\xff"
    assert (bench.folder / "err").read_bytes() == b"no"
    assert (done.stdout_bytes, done.stderr_bytes) == (3, 2)
    assert (bench.folder / "out").stat().st_mode & 0o777 == 0o600


def test_files_are_appended_to_never_cut(bench: Bench) -> None:
    bench("echo one")
    bench("echo two")
    assert bench.out == b"one\ntwo\n"


def test_a1_the_hard_limit_ends_a_silent_agent(bench: Bench) -> None:
    done = bench("sleep 60", hard=0.5)
    assert (done.ended_by, done.signal) == (EndedBy.HARD, signal.SIGTERM)
    assert bench.left() == []


def test_a1_the_hard_limit_does_not_wait_for_a_flood_to_end(bench: Bench) -> None:
    assert bench("yes", hard=0.5).ended_by is EndedBy.HARD
    assert bench.left() == []


def test_a16_silence_without_cpu_is_idle(bench: Bench) -> None:
    assert bench("echo hi; sleep 60", idle=1.0, hard=30).ended_by is EndedBy.IDLE


def test_a6_silence_with_cpu_is_work(bench: Bench) -> None:
    busy = f"{sys.executable} -c 'while True: pass'"
    assert bench(busy, idle=0.6, hard=3.0).ended_by is EndedBy.HARD


def test_a6_output_keeps_an_agent_alive(bench: Bench) -> None:
    done = bench("for n in 1 2 3 4 5 6; do echo $n; sleep 0.4; done", idle=1.5)
    assert (done.ended_by, done.exit_code) == (EndedBy.EXIT, 0)


def test_a11_an_agent_that_ignores_term_is_killed(bench: Bench) -> None:
    done = bench("trap '' TERM; sleep 60 & sleep 60; sleep 60", hard=0.5, grace=0.5)
    assert (done.ended_by, done.signal) == (EndedBy.HARD, signal.SIGKILL)
    assert bench.left() == []


def test_a2_background_processes_that_hold_the_pipes_do_not_hold_the_run(bench: Bench) -> None:
    done = bench("sleep 300 & echo done")
    assert (done.exit_code, bench.out) == (0, b"done\n")
    assert any(name.startswith("sleep") for name in done.survivors)
    assert bench.left() == []


def test_a8_daemons_in_sessions_of_their_own_are_ended(bench: Bench) -> None:
    done = bench("setsid sh -c 'setsid sleep 300 & sleep 300' & (setsid sleep 300 &); sleep 0.2")
    assert len(done.survivors) >= 3
    assert bench.left() == []


def test_a8_a_daemon_that_cleared_its_environment_is_ended(
    bench: Bench, script: Callable[[str], list[str]]
) -> None:
    argv = script(
        """
        import os, subprocess, sys
        child = subprocess.Popen(["sleep", "300"], env={}, start_new_session=True)
        print(child.pid)
        """
    )
    bench(argv=tuple(argv))
    assert not alive(int(bench.out))


def test_a11_what_may_stay_stays(bench: Bench) -> None:
    done = bench("setsid sleep 300 > /dev/null 2>&1 & echo $!", leave=("sleep",))
    pid = int(bench.out)
    try:
        assert done.survivors == ()
        assert eventually(lambda: Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"sleep"))
    finally:
        os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("agent", ["cat > /dev/null", "true", "exec 0<&-; sleep 0.3"])
def test_a14_a_large_prompt_blocks_nothing(bench: Bench, agent: str) -> None:
    assert bench(agent, stdin=b"x" * 5_000_000).exit_code == 0


def test_a14_the_prompt_arrives_whole(bench: Bench) -> None:
    prompt = os.urandom(3_000_000)
    bench("cat", stdin=prompt)
    assert bench.out == prompt


def test_a17_without_a_prompt_stdin_is_the_null_device(bench: Bench) -> None:
    bench("readlink /proc/self/fd/0; cat")
    assert bench.out == b"/dev/null\n"


def test_a12_ten_megabytes_without_a_newline_are_drained(bench: Bench) -> None:
    done = bench("head -c 10000000 /dev/zero; head -c 10000000 /dev/zero >&2")
    assert (done.stdout_bytes, done.stderr_bytes) == (10_000_000, 10_000_000)


@pytest.mark.parametrize(
    ("argv", "why"),
    [
        (("no-such-agent",), "not found on PATH"),
        (("./missing",), "no such file"),
        (("./plain",), "not executable"),
        (("./orphan",), "interpreter"),
    ],
)
def test_a18_what_cannot_start_says_why(bench: Bench, argv: tuple[str, ...], why: str) -> None:
    (bench.folder / "plain").write_text("x")
    orphan = bench.folder / "orphan"
    orphan.write_text("#!/no/such/interpreter\n")
    orphan.chmod(0o755)
    done = bench(argv=argv)
    assert (done.started, done.ended_by) == (False, EndedBy.LAUNCH)
    assert why in done.problem


def test_a18_a_missing_folder_is_named(bench: Bench, tmp_path: Path) -> None:
    order = Order(
        argv=("true",),
        cwd=tmp_path / "gone",
        env=dict(os.environ),
        stdin=None,
        stdout=tmp_path / "o",
        stderr=tmp_path / "e",
        hard=0,
        idle=0,
    )
    assert "gone" in run(order, Ear(), tick=NEVER).problem


@pytest.mark.parametrize("why", [EndedBy.STOP, EndedBy.REPEAT])
def test_a_tick_ends_the_agent_at_once(bench: Bench, why: EndedBy) -> None:
    assert bench("sleep 60", tick=lambda quiet: why).ended_by is why  # noqa: ARG005
    assert bench.left() == []


def test_ticks_come_in_a_flood_and_know_the_silence(bench: Bench) -> None:
    quiet: list[float] = []

    def tick(seconds: float) -> EndedBy | None:
        quiet.append(seconds)
        return EndedBy.STOP if len(quiet) > 3 else None

    assert bench("yes", tick=tick).ended_by is EndedBy.STOP
    assert max(quiet) < 5


def test_an_error_in_a_tick_leaves_nothing_running(bench: Bench) -> None:
    def tick(quiet: float) -> EndedBy | None:
        raise StorageError("boom")

    with pytest.raises(StorageError, match="boom"):
        bench("setsid sleep 300 & sleep 300", tick=tick)
    assert eventually(lambda: bench.left() == [])


def test_a7_after_its_result_an_agent_that_hangs_is_ended(bench: Bench) -> None:
    done = bench("echo RESULT; sleep 60", ear=Ear(b"RESULT"), linger=0.5, hard=30)
    assert done.ended_by is EndedBy.LINGER


def test_a3_after_its_result_no_other_limit_counts(bench: Bench) -> None:
    done = bench("echo RESULT; sleep 1.2", ear=Ear(b"RESULT"), linger=20, hard=0.6, idle=0.5)
    assert (done.ended_by, done.exit_code) == (EndedBy.EXIT, 0)


def test_k14_a_full_disk_ends_the_agent_and_is_told(bench: Bench) -> None:
    (bench.folder / "out").symlink_to("/dev/full")
    with pytest.raises(StorageError) as told:
        bench("while :; do echo x; sleep 0.01; done", hard=30)
    assert told.value.full
    assert bench.left() == []


def test_the_hold_outlives_every_process_of_the_agent(bench: Bench) -> None:
    read, write = os.pipe()
    try:
        done = bench("ls -l /proc/self/fd | grep -c pipe:; true", hold=write)
        os.close(write)
        os.set_blocking(read, False)
        assert os.read(read, 1) == b""
        assert done.exit_code == 0
    finally:
        os.close(read)


SUPERVISOR = """
import os, sys
from pathlib import Path
from ralph.services.process import Order, run

class Ear:
    def hear(self, stream, chunk):
        return True
    def settled(self):
        return False

folder = Path(sys.argv[1])
name, _, value = sys.argv[2].partition("=")
run(
    Order(
        argv=("/bin/sh", "-c", sys.argv[3]), cwd=folder, env={**os.environ, name: value},
        stdin=None, stdout=folder / "out", stderr=folder / "err", hard=0, idle=0, mark=sys.argv[2],
    ),
    Ear(),
    tick=lambda quiet: None,
)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_a9_nothing_outlives_a_killed_supervisor(bench: Bench, number: int) -> None:
    shell = (
        "trap '' TERM HUP INT; setsid sleep 300 & env -i setsid sleep 301 & "
        "echo up; while :; do sleep 1; done"
    )
    argv = [sys.executable, "-c", textwrap.dedent(SUPERVISOR), str(bench.folder), bench.mark, shell]
    with subprocess.Popen(argv) as supervisor:
        assert eventually(lambda: (bench.folder / "out").exists() and bench.out == b"up\n", 20)
        pids = bench.left()
        assert pids
        supervisor.send_signal(number)
        supervisor.wait()
    assert eventually(lambda: not any(alive(pid) for pid in pids), 10)
    assert bench.left() == []
