"""L-33: what an iteration destroyed comes back, into a new folder and nowhere else."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from ralph.core.facts import Tree
from ralph.errors import RalphError, StorageError
from ralph.services import capped, rescue
from ralph.services.places import state_home
from ralph.services.snapshots import Store, forget
from tests.support.trees import listing, seen, watch
from tests.support.world import Repo

RUN = "20260101-000000-abcd"


def kept(root: Path, *iterations: int) -> Tree:
    """Snapshot the tree and keep it as the state after each of ``iterations``."""
    tree = watch(root)
    taken = seen(tree)
    for iteration in iterations:
        tree.keep(RUN, iteration, taken)
    tree.close()
    return taken


def back(repo: Repo, iteration: int, *paths: str) -> Path:
    to = repo.root.parent / "back"
    rescue.bring_back(repo.root, RUN, iteration, paths, to)
    return to


# L-33
def test_l33_files_that_a_later_iteration_deleted_come_back(repo: Repo) -> None:
    repo.write("src/new.py", "work of a night\n")
    repo.write("app.py", "edited, not committed\n")
    kept(repo.root, 0)
    repo.write("src/more.py", "second\n")
    kept(repo.root, 1)
    shutil.rmtree(repo.root / "src")
    repo.git("reset", "-q", "--hard")
    kept(repo.root, 2)
    before = listing(repo.root)

    to = repo.root.parent / "back"
    count = rescue.bring_back(repo.root, RUN, 1, (), to)

    assert count == 3
    assert (to / "src/new.py").read_text() == "work of a night\n"
    assert (to / "src/more.py").read_text() == "second\n"
    assert (to / "app.py").read_text() == "edited, not committed\n"
    assert sorted(listing(to)) == ["app.py", "src/more.py", "src/new.py"]
    assert listing(repo.root) == before


# L-33
def test_l33_the_start_is_iteration_0(repo: Repo) -> None:
    repo.write("draft.txt", "the person's\n")
    kept(repo.root, 0)
    repo.write("draft.txt", "the agent's\n")
    kept(repo.root, 1)
    assert (back(repo, 0) / "draft.txt").read_text() == "the person's\n"


# L-33
def test_l33_only_the_named_files_and_folders_come_back(repo: Repo) -> None:
    for name in ("a/one", "a/two", "ab/three", "b/four", "[a]*"):
        repo.write(name, f"{name}\n")
    kept(repo.root, 1)
    to = back(repo, 1, "a", "./b/four", "[a]*")
    assert sorted(listing(to)) == ["[a]*", "a/one", "a/two", "b/four"]


# L-33
def test_l33_nothing_that_exists_is_written_over(repo: Repo, tmp_path: Path) -> None:
    kept(repo.root, 1)
    full = tmp_path / "full"
    full.mkdir()
    (full / "app.py").write_text("newer\n")
    file = tmp_path / "file"
    file.write_text("newer\n")
    link = tmp_path / "link"
    link.symlink_to(full)
    (tmp_path / "empty").mkdir()
    to_empty = tmp_path / "to-empty"
    to_empty.symlink_to("empty")
    dangling = tmp_path / "dangling"
    dangling.symlink_to("nowhere")
    before = listing(tmp_path)

    for place in (full, file, link, to_empty, dangling, repo.root):
        with pytest.raises(RalphError, match="not an empty folder"):
            rescue.bring_back(repo.root, RUN, 1, (), place)
    with pytest.raises(StorageError):
        rescue.bring_back(repo.root, RUN, 1, (), file / "below")
    assert listing(tmp_path) == before


# L-33
def test_l33_an_empty_folder_and_folders_that_are_not_there_are_taken(repo: Repo) -> None:
    kept(repo.root, 1)
    empty = repo.root.parent / "empty"
    empty.mkdir()
    assert rescue.bring_back(repo.root, RUN, 1, (), empty) == 1
    deep = repo.root / "in/the/tree"
    assert rescue.bring_back(repo.root, RUN, 1, ["app.py"], deep) == 1
    assert (deep / "app.py").read_text() == "print('hello')\n"


# L-33
@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/etc/passwd", "leads out"),
        ("../x", "leads out"),
        ("a/../../x", "leads out"),
        ("gone.py", "not in"),
        ("app", "not in"),
    ],
)
def test_l33_a_path_outside_or_not_there_is_refused_and_nothing_written(
    repo: Repo, path: str, said: str
) -> None:
    kept(repo.root, 1)
    with pytest.raises(RalphError) as refused:
        back(repo, 1, "app.py", path)
    assert refused.value.message.startswith(said)
    assert path in refused.value.message
    assert not (repo.root.parent / "back").exists()


# L-33
def test_l33_a_snapshot_that_is_not_kept_is_refused_with_what_is(repo: Repo) -> None:
    kept(repo.root, 0, 3, 4)
    with pytest.raises(RalphError) as refused:
        back(repo, 2)
    assert "0, 3, 4" in refused.value.hint
    with pytest.raises(RalphError):
        rescue.bring_back(repo.root, "another-run", 0, (), repo.root.parent / "back")


def test_d8_odd_names_come_back(repo: Repo) -> None:
    names = [
        "with space", "line\nbreak", 'qu"ote', "tab\t", "back\\slash", os.fsdecode(b"\xff\xfe"),
        "sch\u00f6n", "-dash", ":(glob)*", "#hash", "!no", "d/\n/e",
    ]  # fmt: skip
    for name in names:
        repo.write(name, f"{name!a}\n")
    kept(repo.root, 1)
    to = back(repo, 1, *names)
    assert sorted(listing(to)) == sorted(names)
    assert all((to / name).read_text() == f"{name!a}\n" for name in names)


# L-33
def test_l33_modes_and_links_come_back_and_no_link_is_followed(repo: Repo) -> None:
    repo.write("run.sh", "#!/bin/sh\n").chmod(0o755)
    (repo.root / "link").symlink_to("/etc/passwd")
    (repo.root / "folder").symlink_to("..")
    kept(repo.root, 1)
    to = back(repo, 1)
    assert (to / "run.sh").stat().st_mode & 0o111
    assert not (to / "app.py").stat().st_mode & 0o111
    assert str((to / "link").readlink()) == "/etc/passwd"
    assert str((to / "folder").readlink()) == ".."


# L-33
def test_l33_a_folder_without_a_repository_is_rescued_too(tmp_path: Path) -> None:
    folder = Repo(tmp_path / "plain")
    folder.write("notes/a.txt", "one\n")
    kept(folder.root, 0)
    shutil.rmtree(folder.root / "notes")
    kept(folder.root, 1)
    assert (back(folder, 0) / "notes/a.txt").read_text() == "one\n"
    assert list(folder.root.iterdir()) == []


# L-33
def test_l33_files_of_a_nested_repository_and_of_a_sparse_tree_come_back(repo: Repo) -> None:
    repo.write("in/a", "1\n")
    repo.write("out/b", "1\n")
    repo.commit()
    repo.git("sparse-checkout", "set", "in")
    inner = Repo(repo.root / "in/inner")
    inner.write("lib.py", "committed\n")
    inner.git("init", "-q")
    inner.commit()
    inner.write("lib.py", "not committed\n")
    repo.write("out/b", "made again\n")
    kept(repo.root, 1)
    shutil.rmtree(repo.root / "out")
    shutil.rmtree(inner.root)
    to = back(repo, 1, "in", "out")
    assert (to / "in/inner/lib.py").read_text() == "not committed\n"
    assert (to / "out/b").read_text() == "made again\n"


# L-33
def test_l33_filters_do_not_run_on_the_way_back(repo: Repo) -> None:
    mark = repo.root.parent / "ran"
    repo.write(".gitattributes", "*.bin filter=lfs\n*.x filter=evil\n")
    for name in ("lfs", "evil"):
        for kind in ("clean", "smudge"):
            repo.git("config", f"filter.{name}.{kind}", f"touch {mark}; cat")
    repo.write("a.bin", "raw\n")
    repo.write("b.x", "raw\n")
    kept(repo.root, 1)
    to = back(repo, 1)
    assert (to / "a.bin").read_text() == (to / "b.x").read_text() == "raw\n"
    assert not mark.exists()


# L-33
def test_l33_a_file_that_was_only_watched_is_named_not_passed_over(repo: Repo) -> None:
    with repo.write("video.bin", "").open("wb") as file:
        file.truncate(capped.MAX_FILE + 1)
    kept(repo.root, 1)
    store, tree = rescue.find(repo.root, RUN, 1)

    assert rescue.not_kept(store, tree) == ("video.bin",)
    assert sorted(listing(back(repo, 1))) == ["app.py"]
    with pytest.raises(RalphError, match=r"never kept: video\.bin"):
        rescue.restore(store, tree, ["video.bin"], repo.root.parent / "other")
    assert not (repo.root.parent / "other").exists()


# L-33
def test_l33_the_repository_is_gone_and_what_was_never_committed_comes_back(repo: Repo) -> None:
    repo.write("notes/draft.txt", "never committed\n")
    kept(repo.root, 1)
    shutil.rmtree(repo.root)
    repo.root.mkdir()
    assert (back(repo, 1, "notes") / "notes/draft.txt").read_text() == "never committed\n"


# L-33
def test_l33_a_lost_object_is_told_and_the_rest_is_written(repo: Repo) -> None:
    repo.write("draft.txt", "never committed\n")
    kept(repo.root, 1)
    shutil.rmtree(repo.root / ".git")
    with pytest.raises(StorageError) as told:
        back(repo, 1)
    assert "not everything" in told.value.message
    assert (repo.root.parent / "back/draft.txt").read_text() == "never committed\n"


# L-33
def test_l33_a_damaged_snapshot_is_one_error_with_a_hint(repo: Repo) -> None:
    kept(repo.root, 1)
    store, _ = rescue.find(repo.root, RUN, 1)
    for full in ("1" * 40, "nonsense", ""):
        with pytest.raises(RalphError) as told:
            rescue.restore(store, Tree(id="", full=full), (), repo.root.parent / "back")
        assert "last 50" in told.value.hint


# L-33
def test_l33_staged_work_comes_back_after_a_hard_reset_and_a_gc(repo: Repo) -> None:
    repo.write("draft.txt", "staged, never committed\n")
    repo.git("add", "draft.txt")
    tree = watch(repo.root)
    tree.keep(RUN, 0, seen(tree))
    Store(tree.folder, repo.root, None).sweep(older_than="now")
    repo.git("reset", "-q", "--hard")
    repo.git("gc", "-q", "--prune=now")
    assert (back(repo, 0) / "draft.txt").read_text() == "staged, never committed\n"
    forget(tree.folder, RUN)
    assert not list(state_home().rglob("*.keep"))
