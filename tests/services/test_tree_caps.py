"""Large and very many files are watched, not kept; the check stays right and quick."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ralph.services import capped
from ralph.services.private_index import PrivateIndex
from tests.support.trees import seen, watch
from tests.support.world import Repo

LARGE = capped.MAX_FILE + 1


def large(path: Path, fill: bytes = b"a", size: int = LARGE) -> None:
    path.write_bytes(fill * size)


def stored(folder: Path) -> int:
    return sum(path.stat().st_size for path in (folder / "objects").rglob("*") if path.is_file())


def test_a_large_file_is_watched_and_not_stored(repo: Repo) -> None:
    tree = watch(repo.root)
    path = repo.root / "video.bin"
    path.write_bytes(os.urandom(LARGE))
    before = seen(tree)

    os.utime(path, (1, 1))
    assert seen(tree).id == before.id
    path.write_bytes(os.urandom(LARGE))
    after = seen(tree)
    assert after.id != before.id
    assert tree.delta(before, after).paths == ("video.bin",)
    assert tree.changed(before, after) == (("video.bin",), ())
    path.unlink()
    gone = seen(tree)
    assert gone.id not in (before.id, after.id)
    assert tree.changed(after, gone) == (("video.bin",), ())
    assert stored(tree.folder) < 100_000


def test_a_large_file_that_shrinks_is_kept_from_then_on(repo: Repo) -> None:
    tree = watch(repo.root)
    large(repo.root / "data.txt")
    before = seen(tree)
    repo.write("data.txt", "small\n")
    after = seen(tree)
    assert tree.delta(before, after).files == 1
    assert tree._store is not None
    assert b"data.txt" in tree._store.git.run("ls-tree", "--name-only", after.full)


def test_a_large_tracked_file_costs_nothing_until_it_changes(repo: Repo) -> None:
    large(repo.root / "asset.bin")
    repo.commit()
    tree = watch(repo.root)
    before = seen(tree)

    os.utime(repo.root / "asset.bin", (1, 1))
    assert seen(tree).id == before.id
    large(repo.root / "asset.bin", b"b")
    assert seen(tree).id != before.id
    large(repo.root / "asset.bin", b"a")
    assert seen(tree).id == before.id
    assert stored(tree.folder) < 100_000


def test_too_many_new_files_are_watched_and_stay_watched(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capped.Capped.__init__, "__kwdefaults__", {
        "max_file": 1000, "max_new": 10, "max_new_bytes": 1000,
    })  # fmt: skip
    for number in range(30):
        repo.write(f"many/f{number:02}", f"{number}\n")
    tree = watch(repo.root)
    before = seen(tree)
    assert seen(tree).id == before.id

    os.utime(repo.root / "many/f29", (1, 1))
    assert seen(tree).id == before.id
    repo.write("many/f29", "edited\n")
    after = seen(tree)
    assert after.id != before.id
    assert tree.delta(before, after).paths == ("many/f29",)
    (repo.root / "many/f28").unlink()
    assert tree.changed(after, seen(tree)) == (("many/f28",), ())


# L-14
def test_l14_above_the_size_cap_there_is_no_check_and_it_is_said(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PrivateIndex.__init__, "__kwdefaults__", {"max_listed": 5})
    for number in range(9):
        repo.write(f"f{number}", "1\n")
    tree = watch(repo.root)

    assert tree.snapshot() is None
    assert "more than 5" in tree.problems[0]
    for number in range(9):
        (repo.root / f"f{number}").unlink()
    seen(tree)


def test_pipes_and_sockets_do_not_stop_the_check(repo: Repo) -> None:
    tree = watch(repo.root)
    before = seen(tree)
    os.mkfifo(repo.root / "pipe")
    assert seen(tree).id == before.id
    (repo.root / "app.py").unlink()
    os.mkfifo(repo.root / "app.py")
    assert seen(tree).id != before.id
