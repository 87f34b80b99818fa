"""Runs on disk: found, ordered, and closed truthfully when their supervisor died (C-1, T-2)."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest

from ralph.core.events import RunEnded
from ralph.core.outcome import TerminalState
from ralph.errors import JournalDamaged, NothingToDo, UsageError
from ralph.services import runs
from ralph.services.journal import JOURNAL, RESERVE, TERMINAL, Journal
from tests.support.records import NOW, attempt, ended, noted, started, writer, written

LATER = NOW + timedelta(hours=6)


def folder(root: Path, run_id: str) -> Path:
    return runs.run_path(root, run_id)


def test_ids_of_one_instant_differ_and_later_ones_sort_later() -> None:
    same = {runs.new_run_id(NOW) for _ in range(12)}
    ticks = [runs.new_run_id(NOW + timedelta(microseconds=n)) for n in (0, 1, 16, 4096, 999_999)]
    assert len(same) == 12
    assert ticks == sorted(ticks)
    assert all(run_id.startswith("20260301-020000-") for run_id in [*same, *ticks])


def test_runs_are_listed_newest_first_without_what_never_began(tmp_path: Path) -> None:
    for run_id in ("20260301-020000-aa", "20260302-020000-bb"):
        written(folder(tmp_path, run_id), [started(run_id)])
    written(folder(tmp_path, "20260303-020000-cc"), [])
    (folder(tmp_path, "20260304-020000-dd")).mkdir()
    folder(tmp_path, "stray").write_text("a file")
    assert [run.run_id for run in runs.all_runs(tmp_path)] == [
        "20260302-020000-bb",
        "20260301-020000-aa",
    ]
    assert runs.find(tmp_path, None).run_id == "20260302-020000-bb"


def test_f10_without_runs_there_is_a_clear_answer(tmp_path: Path) -> None:
    assert runs.all_runs(tmp_path) == []
    assert runs.close_crashed(tmp_path, LATER) == []
    with pytest.raises(NothingToDo, match="no run here"):
        runs.find(tmp_path, None)
    with pytest.raises(NothingToDo, match="2026"):
        runs.find(tmp_path, "2026")


def test_a_run_is_found_by_the_beginning_of_its_id_if_that_is_clear(tmp_path: Path) -> None:
    for run_id in ("20260301-aa", "20260301-aab", "20260302-bb"):
        written(folder(tmp_path, run_id), [started(run_id)])
    assert runs.find(tmp_path, "20260302").run_id == "20260302-bb"
    assert runs.find(tmp_path, "20260301-aa").run_id == "20260301-aa"
    with pytest.raises(UsageError, match="20260301-aab"):
        runs.find(tmp_path, "20260301")
    with pytest.raises(NothingToDo):
        runs.find(tmp_path, "../runs/20260302-bb")


# T-6
def test_t6_the_newest_run_of_a_work_is_found(tmp_path: Path) -> None:
    for run_id, work in (("1", "a.1"), ("2", "a.1"), ("3", "b.1")):
        written(folder(tmp_path, run_id), [started(run_id, work_id=work)])
    newest = runs.newest_of_work(tmp_path, "a.1")
    assert newest is not None
    assert newest.run_id == "2"
    assert runs.newest_of_work(tmp_path, "c.1") is None


def test_c1_the_work_is_named_by_root_prompt_and_plan_however_they_are_spelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "link").symlink_to(tmp_path)
    monkeypatch.chdir(tmp_path)
    base = runs.work_base(tmp_path, tmp_path / "P.md", tmp_path / "PLAN.md")
    assert runs.work_base(tmp_path / "link", Path("P.md"), tmp_path / "sub/../PLAN.md") == base
    assert runs.work_base(tmp_path, Path("Q.md"), Path("PLAN.md")) != base
    assert runs.work_base(tmp_path, Path("P.md"), Path("Q.md")) != base
    assert runs.work_base(tmp_path / "sub", tmp_path / "P.md", tmp_path / "PLAN.md") != base
    assert "." not in base


# T-2
def test_t2_a_run_whose_supervisor_was_killed_is_closed_once_as_crashed(tmp_path: Path) -> None:
    path = folder(tmp_path, "20260301-aa")
    with writer(path, 3) as supervisor:
        assert supervisor.stdout
        for _ in range(4):
            supervisor.stdout.readline()
        assert runs.RunFolder(path).live()
        assert runs.close_crashed(tmp_path, LATER) == []
        supervisor.kill()
    assert not runs.RunFolder(path).live()
    (closed,) = runs.close_crashed(tmp_path, LATER)
    assert closed.run_id == "20260301-aa"
    assert (closed.ending.state, closed.ending.reason) == (TerminalState.ESCALATED, "crashed")
    assert closed.ending.exit_code == 3
    assert runs.close_crashed(tmp_path, LATER) == []
    assert [e for e in runs.RunFolder(path).events() if isinstance(e, RunEnded)] == [closed]
    assert runs.RunFolder(path).ended() == closed
    assert json.loads((path / TERMINAL).read_bytes())["ending"]["reason"] == "crashed"
    assert not (path / RESERVE).exists()


#
def test_x5_the_iteration_in_flight_is_named_as_interrupted(tmp_path: Path) -> None:
    path = written(folder(tmp_path, "a"), [started("a"), attempt(7)])
    (closed,) = runs.close_crashed(tmp_path, LATER)
    assert (closed.interrupted_iteration, closed.iteration) == (7, 7)
    assert "iteration 7 was in flight" in closed.ending.detail
    assert "02:07:00 UTC" in closed.ending.detail
    assert closed.seconds == 7 * 60
    assert closed.at == LATER
    assert closed.resume == "ralph resume"
    assert runs.RunFolder(path).ended() == closed


# T-2
def test_t2_a_torn_last_line_is_cut_before_the_run_is_closed(tmp_path: Path) -> None:
    path = written(folder(tmp_path, "a"), [started("a"), attempt(1)])
    with (path / JOURNAL).open("ab") as file:
        file.write(b'{"kind":"iteration_obs')
    (closed,) = runs.close_crashed(tmp_path, LATER)
    assert [event.seq for event in runs.RunFolder(path).events()] == [1, 2, 3]
    assert closed.seq == 3


# T-2
def test_t2_a_run_of_another_host_is_left_alone_and_its_host_is_known(tmp_path: Path) -> None:
    path = written(folder(tmp_path, "a"), [started("a", host="far-away"), attempt(1)])
    before = (path / JOURNAL).read_bytes()
    assert runs.close_crashed(tmp_path, LATER) == []
    assert (path / JOURNAL).read_bytes() == before
    assert runs.RunFolder(path).elsewhere() == "far-away"


#
def test_x5_a_damaged_journal_is_left_alone_and_the_others_are_closed(tmp_path: Path) -> None:
    path = written(folder(tmp_path, "b"), [started("b"), noted(), noted()])
    raw = (path / JOURNAL).read_bytes().split(b"\n")
    damaged = b"\n".join([raw[0], b"###", *raw[2:]])
    (path / JOURNAL).write_bytes(damaged)
    for run_id in ("a", "c"):
        written(folder(tmp_path, run_id), [started(run_id)])
    assert [run.run_id for run in runs.close_crashed(tmp_path, LATER)] == ["a", "c"]
    assert (path / JOURNAL).read_bytes() == damaged


#
def test_x5_a_damaged_opening_hides_no_other_run_and_is_told_of_when_asked_for(
    tmp_path: Path,
) -> None:
    written(folder(tmp_path, "a"), [started("a")])
    path = written(folder(tmp_path, "b"), [started("b")])
    (path / JOURNAL).write_bytes(b"###\n")
    assert [run.run_id for run in runs.all_runs(tmp_path)] == ["a"]
    with pytest.raises(JournalDamaged, match="line 1"):
        runs.find(tmp_path, None).started()


# T-4
def test_t4_a_terminal_copy_that_was_never_written_is_made_up_for(tmp_path: Path) -> None:
    path = written(folder(tmp_path, "a"), [started("a"), ended("a")])
    copy = (path / TERMINAL).read_bytes()
    (path / TERMINAL).unlink()
    assert runs.close_crashed(tmp_path, LATER) == []
    assert (path / TERMINAL).read_bytes() == copy


def test_two_commands_that_see_the_same_dead_run_close_it_once(tmp_path: Path) -> None:
    path = written(folder(tmp_path, "a"), [started("a")])
    other = Journal.reopen(path)
    assert runs.close_crashed(tmp_path, LATER) == []
    other.close()
    assert len(runs.close_crashed(tmp_path, LATER)) == 1
