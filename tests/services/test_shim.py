"""The program between ralph and an agent, run alone: its records, its table, its portable mode."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.services import shim
from ralph.services.descendants import cpu_seconds
from ralph.services.lifeline import GUARD
from tests.support.world import Script, alive, eventually

MODES = [
    "reaper",
    pytest.param("portable", marks=pytest.mark.skipif(not shutil.which("ps"), reason="no ps")),
]
TREE = """
import os, signal, sys, time
for _ in range(3):
    if not os.fork():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        break
fd = os.open("pids", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
os.write(fd, b"%d\\n" % os.getpid())
time.sleep(600)
"""

CHAIN = """
import os, sys, time
log = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
until = time.monotonic() + 25
if os.fork():
    time.sleep(0 if sys.argv[2] == "exit" else 600)
    os._exit(0)
while time.monotonic() < until:
    if os.fork():
        os._exit(0)
    os.setsid()
    os.write(log, b".")
    time.sleep(0.001)
"""


class Guard:
    """One shim, spoken to through its two pipes."""

    def __init__(self, folder: Path, argv: list[str], *, mode: str, grace: float = 0.3) -> None:
        self.folder = folder
        life_read, self.life = os.pipe()
        self.status, status_write = os.pipe()
        head = [str(life_read), str(status_write), "-1", str(grace), str(int(signal.SIGTERM))]
        self.process = subprocess.Popen(
            [*GUARD, *head, "", mode, "", *argv],
            cwd=folder,
            pass_fds=(life_read, status_write),
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(life_read)
        os.close(status_write)
        self.rest = b""

    def record(self) -> dict[str, Any]:
        """The next record; empty at the end."""
        while b"\n" not in self.rest:
            assert select.select([self.status], [], [], 60)[0], "no record in a minute"
            chunk = os.read(self.status, 65536)
            if not chunk:
                return {}
            self.rest += chunk
        line, _, self.rest = self.rest.partition(b"\n")
        return dict(json.loads(line))

    def pids(self) -> list[int]:
        path = self.folder / "pids"
        return [int(word) for word in path.read_text().split()] if path.exists() else []

    def let_go(self) -> None:
        if self.life >= 0:
            os.close(self.life)
            self.life = -1

    def close(self) -> None:
        self.let_go()
        os.close(self.status)
        self.process.wait(60)


@pytest.fixture
def guards(tmp_path: Path) -> Iterator[list[Guard]]:
    made: list[Guard] = []
    yield made
    for guard in made:
        guard.close()


def test_it_tells_pid_exit_and_end(tmp_path: Path, guards: list[Guard]) -> None:
    guards.append(guard := Guard(tmp_path, ["sh", "-c", "exit 5"], mode="reaper"))
    assert guard.record()["pid"] > 0
    assert guard.record() == {"exited": True}
    end = guard.record()
    assert (end["code"], end["signal"], end["survivors"]) == (5, None, [])
    assert guard.record() == {}


def test_a18_it_tells_why_there_was_no_start(tmp_path: Path, guards: list[Guard]) -> None:
    guards.append(guard := Guard(tmp_path, ["no-such-program-here"], mode="reaper"))
    assert guard.record() == {"errno": 2}
    assert guard.record() == {}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("way", ["word", "supervisor gone"])
def test_a8_a_word_or_the_end_of_the_supervisor_ends_the_tree(
    tmp_path: Path, guards: list[Guard], script: Script, mode: str, way: str
) -> None:
    guards.append(guard := Guard(tmp_path, script(TREE), mode=mode))
    assert guard.record()["pid"] > 0
    assert eventually(lambda: len(guard.pids()) == 4, 30)
    if way == "word":
        os.write(guard.life, b"s")
    else:
        guard.let_go()
    end = guard.record()
    assert (end["signal"], end["code"]) == (signal.SIGTERM, None)
    assert len(end["survivors"]) == 3
    assert not any(map(alive, guard.pids()))


@pytest.mark.parametrize("way", ["exit", "word", "supervisor gone"])
def test_a11_a_chain_of_forks_that_is_quicker_than_any_look_ends_under_load(
    tmp_path: Path, guards: list[Guard], script: Script, way: str
) -> None:
    program = script(CHAIN)
    logs = [tmp_path / f"links-{number}" for number in range(8)]
    for log in logs:
        guards.append(Guard(tmp_path, [*program, str(log), way], mode="reaper"))
    assert eventually(lambda: all(log.exists() and log.stat().st_size > 20 for log in logs), 60)
    for guard in guards:
        if way == "word":
            os.write(guard.life, b"s")
        elif way == "supervisor gone":
            guard.let_go()
    for guard in guards:
        while "survivors" not in (said := guard.record()):
            assert said, "the guard died without a word"
        assert said["survivors"] or way != "exit"
    links = [log.stat().st_size for log in logs]
    time.sleep(0.3)
    assert [log.stat().st_size for log in logs] == links


def test_a8_without_a_subreaper_a_left_child_of_the_group_is_ended(
    tmp_path: Path, guards: list[Guard]
) -> None:
    if not shutil.which("ps"):
        pytest.skip("no ps")
    command = "sleep 300 & echo $! > pids; exit 0"
    guards.append(guard := Guard(tmp_path, ["sh", "-c", command], mode="portable"))
    records = [guard.record() for _ in range(3)]
    assert records[2]["code"] == 0
    assert records[2]["survivors"] == [f"sleep ({guard.pids()[0]})"]
    assert not alive(guard.pids()[0])


# K-14
def test_k14_signals_to_the_guard_itself_do_nothing(tmp_path: Path, guards: list[Guard]) -> None:
    guards.append(guard := Guard(tmp_path, ["sh", "-c", "read x; exit 3"], mode="reaper"))
    assert guard.record()["pid"] > 0
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
        guard.process.send_signal(number)
    assert guard.record() == {"exited": True}
    assert guard.record()["code"] == 3


def test_many_survivors_are_counted_not_listed(
    tmp_path: Path, guards: list[Guard], script: Script
) -> None:
    program = script(
        f"import os\nfor _ in range({shim.MANY + 5}): os.fork() or os.execlp"
        "('sleep', 'sleep', '300')"
    )
    guards.append(guard := Guard(tmp_path, program, mode="reaper"))
    end = [guard.record() for _ in range(3)][2]
    assert len(end["survivors"]) == shim.MANY + 1
    assert end["survivors"][-1] == "and 5 more"


@given(st.text())
def test_any_process_name_makes_a_valid_record(name: str) -> None:
    assert json.loads(shim._quoted(name)) is not None


@given(st.lists(st.integers(0, 30), max_size=30), st.integers(0, 30))
def test_below_is_everything_whose_chain_of_parents_meets_the_root(
    parents: list[int], root: int
) -> None:
    processes = [
        shim.Process(pid, parent, 0, 0, "S", f"p{pid}", 0.0)
        for pid, parent in enumerate(parents)
        if pid != parent
    ]
    parent_of = {p.pid: p.parent for p in processes}

    def reaches(pid: int) -> bool:
        seen = set()
        while pid in parent_of and pid not in seen:
            seen.add(pid)
            pid = parent_of[pid]
            if pid == root:
                return True
        return False

    found = [p.pid for p in shim.below(root, processes, frozenset())]
    assert sorted(found) == [p.pid for p in processes if reaches(p.pid)]


def test_below_spares_a_name_and_what_it_started() -> None:
    chain = [shim.Process(n, n - 1, 0, 0, "S", f"p{n}", 0.0) for n in range(2, 6)]
    assert [p.pid for p in shim.below(1, chain, frozenset({"p4"}))] == [2, 3]


@pytest.mark.parametrize("mode", MODES)
def test_both_tables_know_this_process(mode: str) -> None:
    me = next(p for p in shim.table(mode) if p.pid == os.getpid())
    assert (me.parent, me.group, me.dead) == (os.getppid(), os.getpgrp(), False)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("00:01", 1.0), ("01:02:03", 3723.0), ("2-00:00:10", 172810.0), ("0:00.25", 0.25)],
)
def test_cpu_times_of_ps_are_seconds(text: str, seconds: float) -> None:
    assert shim._seconds(text) == seconds


def test_a16_the_cpu_of_a_tree_counts_children_that_ended(script: Script) -> None:
    program = script("""
    import subprocess, sys
    burn = "import time\\nwhile time.process_time() < 0.3: pass"
    subprocess.run([sys.executable, "-c", burn])
    print("burnt", flush=True)
    sys.stdin.read()
    """)
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == b"burnt\n"
        used = cpu_seconds(os.getpid())
        running.communicate()
    assert used is not None
    assert used >= 0.25


def test_an_unknown_tree_has_no_cpu() -> None:
    assert cpu_seconds(2**22 + 1) is None
