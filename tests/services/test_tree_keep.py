"""L-33: the start and the last 50 snapshots of a run are kept, and nothing of what is older."""

from __future__ import annotations

import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ralph.core.events import IterationObserved, RunStarted
from ralph.core.facts import AgentResult, FailureClass, Observation, Outcome, Tree
from ralph.errors import RalphError
from ralph.services import rescue, snapshots
from ralph.services.snapshots import Store
from ralph.services.tree import WorkTree
from tests.support.trees import seen, watch
from tests.support.world import Repo

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def objects(folder: Path) -> int:
    """Objects that the store holds itself, packed or not."""
    done = subprocess.run(
        ["git", "count-objects", "-v"],
        env={**os.environ, "GIT_DIR": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    pairs = dict(line.split(": ") for line in done.stdout.splitlines() if ": " in line)
    return int(pairs["count"]) + int(pairs["in-pack"])


def sweep(tree: WorkTree) -> None:
    Store(tree.folder, tree.root, None).sweep(older_than="now")


def numbered(repo: Repo, tree: WorkTree, run: str, numbers: range) -> list[Tree]:
    taken = []
    for number in numbers:
        repo.write("work.txt", f"{run} {number}\n")
        taken.append(seen(tree))
        tree.keep(run, number, taken[-1])
    return taken


# L-33
def test_l33_the_start_and_the_last_50_are_kept(repo: Repo) -> None:
    tree = watch(repo.root)
    taken = numbered(repo, tree, "run", range(58))
    tree.close()
    sweep(tree)

    there = snapshots.kept(tree.folder, "run")

    assert sorted(there) == [0, *range(8, 58)]
    assert all(there[number] == taken[number].full for number in there)
    for number in (0, 8, 57):
        to = repo.root.parent / f"back{number}"
        rescue.bring_back(repo.root, "run", number, ["work.txt"], to)
        assert (to / "work.txt").read_text() == f"run {number}\n"
    with pytest.raises(RalphError):
        rescue.restore(tree.folder, taken[7], ["work.txt"], repo.root.parent / "back7")


# L-33
def test_l33_what_is_not_kept_any_more_takes_no_room(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "KEEP", 3)
    tree = watch(repo.root)
    numbered(repo, tree, "run", range(10))
    assert objects(tree.folder) < 2 * 10
    sweep(tree)
    assert objects(tree.folder) == 2 * 4
    assert seen(tree) == seen(tree)


# L-33
def test_l33_a_sweep_spares_what_was_seen_a_moment_ago(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "KEEP", 1)
    tree = watch(repo.root)
    repo.write("work.txt", "not kept yet\n")
    pending = seen(tree)
    numbered(repo, tree, "run", range(4))
    tree.keep("run", 4, pending)
    to = repo.root.parent / "back"
    rescue.bring_back(repo.root, "run", 4, (), to)
    assert (to / "work.txt").read_text() == "not kept yet\n"


# L-33
def test_l33_snapshots_go_on_after_a_sweep_and_see_old_content_again(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "KEEP", 1)
    tree = watch(repo.root)
    taken = numbered(repo, tree, "run", range(4))
    sweep(tree)
    repo.write("work.txt", "run 1\n")
    again = seen(tree)
    assert again.id == taken[1].id
    tree.keep("run", 5, again)
    rescue.bring_back(repo.root, "run", 5, (), repo.root.parent / "back")
    assert (repo.root.parent / "back/work.txt").read_text() == "run 1\n"


# L-33
def test_l33_each_run_keeps_its_own(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "KEEP", 2)
    tree = watch(repo.root)
    folder = tree.folder
    odd = "odd/../run"
    for run in ("one", "two", odd):
        numbered(repo, tree, run, range(4))
    for run in ("one", "two", odd):
        assert sorted(snapshots.kept(folder, run)) == [0, 2, 3]

    snapshots.forget(folder, "one")

    assert snapshots.kept(folder, "one") == {}
    assert sorted(snapshots.kept(folder, odd)) == [0, 2, 3]
    snapshots.forget(folder, "two")
    snapshots.forget(folder, odd)
    assert not folder.exists()
    seen(tree)


# L-33
def test_l33_kept_twice_the_last_one_counts(repo: Repo) -> None:
    tree = watch(repo.root)
    first = seen(tree)
    repo.write("app.py", "second attempt\n")
    second = seen(tree)
    tree.keep("run", 1, first)
    tree.keep("run", 1, second)
    assert snapshots.kept(tree.folder, "run") == {1: second.full}


# L-33
def test_l33_the_events_of_a_run_keep_its_snapshots(repo: Repo) -> None:
    tree = watch(repo.root)
    start = seen(tree)
    repo.write("app.py", "after\n")
    after = seen(tree)
    tree.event(
        RunStarted(
            at=NOW,
            run_id="run",
            work_id="w",
            root=str(repo.root),
            prompt="PROMPT.md",
            plan_path="PLAN.md",
            agent="claude",
            started_tree=start,
        )
    )
    for iteration, tree_then in ((1, None), (2, after)):
        tree.event(
            IterationObserved(
                at=NOW,
                seen=Observation(
                    iteration=iteration,
                    attempt=1,
                    agent="claude",
                    started_at=NOW,
                    ended_at=NOW,
                    outcome=Outcome.OK,
                    result=AgentResult(klass=FailureClass.OK),
                    folder="f",
                    tree=tree_then,
                ),
            )
        )
    assert snapshots.kept(tree.folder, "run") == {0: start.full, 2: after.full}


def test_c5_what_cannot_be_kept_is_said_and_stops_nothing(repo: Repo) -> None:
    tree = watch(repo.root)
    taken = seen(tree)
    (tree.folder / "refs").rmdir()
    (tree.folder / "refs").write_text("a file where a folder should be\n")
    tree.keep("run", 1, taken)
    assert "refs" in tree.problems[0]
