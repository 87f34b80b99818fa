"""Verify commands, run for real in a repository (M-2, T-15, T-17)."""

from __future__ import annotations

import os
import re
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from ralph.core.facts import VerifyResult
from ralph.core.policy import Policy, VerifyPolicy
from ralph.services.tree import WorkTree
from ralph.services.verify import OUTPUT, STOPPED, VerifyRoom
from tests.support.world import Repo, marked

RUN = f"run-{uuid.uuid4().hex}"


class Room:
    """A verify room on a real tree."""

    def __init__(self, repo: Repo, state: Path) -> None:
        self.root = repo.root
        self.tree = WorkTree(repo.root, state=state, plan=repo.root / "PLAN.md")
        self.room = VerifyRoom(
            repo.root, run_id=RUN, snapshot=self.tree.snapshot, changed=self.tree.changed
        )

    def run(
        self, *commands: str, tick: Callable[[], bool] = lambda: False, **policy: object
    ) -> tuple[VerifyResult, ...]:
        verify = msgspec.structs.replace(VerifyPolicy(timeout=60.0), **policy)
        return self.room.run(commands, Policy(verify=verify), tick=tick)

    def one(self, command: str, **policy: object) -> VerifyResult:
        (result,) = self.run(command, **policy)
        return result


@pytest.fixture
def room(repo: Repo, tmp_path: Path) -> Iterator[Room]:
    made = Room(repo, tmp_path / "state")
    yield made
    made.tree.close()


# M-2
def test_m2_exit_zero_passes_and_is_run_once(room: Room) -> None:
    result = room.one("echo ran >> ../count; echo fine")
    assert (result.passed, result.exit_code, result.reran, result.detail) == (True, 0, False, "")
    assert result.output == "fine"
    assert (room.root.parent / "count").read_text() == "ran\n"


# M-2
def test_m2_a_failure_is_run_once_more_before_it_counts(room: Room) -> None:
    result = room.one("echo ran >> ../count; echo bad >&2; exit 3")
    assert (result.passed, result.exit_code, result.reran) == (False, 3, True)
    assert (result.detail, result.output) == ("exit 3", "bad")
    assert (room.root.parent / "count").read_text() == "ran\nran\n"


# M-2
def test_m2_a_flaky_command_passes_at_the_second_run(room: Room) -> None:
    result = room.one("test -e ../second || { touch ../second; exit 1; }")
    assert (result.passed, result.reran) == (True, True)


# M-2
def test_m2_the_command_gets_a_shell_in_the_repository_and_no_input(room: Room) -> None:
    result = room.one('cat; pwd; [ -t 0 ] || echo "$RALPH_RUN_ID" | tr a-z A-Z')
    assert result.output.splitlines() == [str(room.root), RUN.upper()]


# T-17
def test_t17_a_timeout_is_no_verdict_and_is_tried_twice(room: Room) -> None:
    result = room.one("echo ran >> ../count; sleep 300 & wait", timeout=0.6)
    assert (result.passed, result.exit_code, result.reran) == (None, None, True)
    assert re.fullmatch(r"verify timed out after \S+", result.detail)
    assert (room.root.parent / "count").read_text() == "ran\nran\n"
    assert marked(RUN) == []


# T-17
@pytest.mark.parametrize(("command", "code"), [("no-such-judge --all", 127), ("./app.py", 126)])
def test_t17_a_command_that_cannot_start_is_no_verdict(room: Room, command: str, code: int) -> None:
    result = room.one(command)
    assert (result.passed, result.exit_code, result.reran) == (None, code, True)
    assert result.detail == f"verify could not start (exit {code})"
    assert command.split()[0] in result.output


# T-17
def test_t17_a_missing_folder_is_no_verdict_and_no_crash(tmp_path: Path) -> None:
    room = VerifyRoom(
        tmp_path / "gone", run_id=RUN, snapshot=lambda: None, changed=lambda *_: ((), ())
    )
    (result,) = room.run(["true"], Policy(), tick=lambda: False)
    assert (result.passed, result.reran) == (None, True)
    assert result.detail.startswith("verify could not start: ")


# T-15
def test_t15_a_judge_that_changes_or_deletes_a_file_is_void(room: Room, repo: Repo) -> None:
    repo.write("old.py", "x\n")
    repo.commit()
    result = room.one("echo more >> app.py; rm old.py; echo ran >> ../count")
    assert result.passed is False
    assert sorted(result.drafted) == ["app.py", "old.py"]
    assert "app.py" in result.detail
    assert not result.reran
    assert (room.root.parent / "count").read_text() == "ran\n"


# T-15
def test_t15_a_change_to_work_that_is_not_committed_drafts_too(room: Room, repo: Repo) -> None:
    repo.write("new.py", "x\n")
    assert room.one("echo more >> new.py").drafted == ("new.py",)


# M-2
@pytest.mark.parametrize("path", ["poetry.lock", "web/package-lock.json", "out/seen/report.xml"])
def test_m2_lock_files_and_what_it_may_write_are_no_draft(
    room: Room, repo: Repo, path: str
) -> None:
    repo.write(path, "x\n")
    repo.commit()
    result = room.one(f"echo more >> {path}", may_write=("out/*.xml",))
    assert (result.passed, result.drafted) == (True, ())


# M-2
def test_m2_new_files_are_leftovers_of_both_runs_and_no_draft(room: Room) -> None:
    result = room.one("touch left.$$; exit 1")
    assert (result.passed, result.drafted, result.reran) == (False, (), True)
    assert sorted(result.leftovers) == sorted(path.name for path in room.root.glob("left.*"))
    assert len(result.leftovers) == 2


# M-2
def test_m2_ignored_files_are_neither(room: Room, repo: Repo) -> None:
    repo.write(".gitignore", "cache/\n")
    repo.write("cache/a", "x")
    repo.commit()
    result = room.one("echo more >> cache/a; touch cache/b")
    assert (result.passed, result.drafted, result.leftovers) == (True, (), ())


# M-2
def test_m2_the_output_is_the_last_4_kib_as_a_person_sees_it(room: Room) -> None:
    program = "seq 1 20000; printf '\\033[31mred\\033[0m \\303\\244\\377\\n' >&2"
    result = room.one(program)
    assert len(result.output.encode()) <= OUTPUT
    assert result.output.endswith("19999\n20000\nred ä\ufffd")
    assert len(result.output) > OUTPUT - 20
    assert "\x1b" not in result.output


# M-2
def test_m2_a_flood_of_output_is_kept_nowhere(room: Room) -> None:
    result = room.one("yes | head -c 60000000; echo end")
    assert result.passed
    assert result.output.endswith("y\nend")


def test_a8_nothing_of_a_command_runs_on(room: Room) -> None:
    assert room.one("sleep 300 & setsid sleep 300 & exit 0").passed
    assert marked(RUN) == []


# T-17
def test_t17_a_stop_ends_the_command_in_hand_and_those_behind_it(room: Room) -> None:
    asked = []

    def tick() -> bool:
        asked.append(1)
        return (room.root.parent / "up").exists()

    start = time.monotonic()
    results = room.run("true", "touch ../up; sleep 300", "touch ../third", tick=tick)
    assert time.monotonic() - start < 60
    assert [result.passed for result in results] == [True, None]
    assert (results[1].detail, results[1].reran) == (STOPPED, False)
    assert not (room.root.parent / "third").exists()
    assert asked


def test_a24_a_command_that_dies_of_a_signal_failed(room: Room) -> None:
    result = room.one("kill -SEGV $$")
    assert (result.passed, result.exit_code, result.detail) == (False, None, "died by signal 11")


# L-14
def test_l14_without_a_tree_nothing_can_draft(tmp_path: Path) -> None:
    room = VerifyRoom(tmp_path, run_id=RUN, snapshot=lambda: None, changed=lambda *_: ((), ()))
    (result,) = room.run(["touch new"], Policy(), tick=lambda: False)
    assert (result.passed, result.drafted, result.leftovers) == (True, (), ())
    assert os.listdir(tmp_path) == ["new"]  # noqa: PTH208
