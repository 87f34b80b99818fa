"""D6: every kind of place works, or degrades by name."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from ralph.services.repository import locate
from ralph.services.tree import prepare
from tests.support.trees import seen, watch
from tests.support.world import Repo


def sees_an_edit(root: Path) -> None:
    tree = watch(root)
    before = seen(tree)
    assert seen(tree).id == before.id
    (root / "fresh.txt").write_text("new\n")
    assert seen(tree).id != before.id


def test_d6_repository_without_a_commit(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path / "r"], check=True)
    sees_an_edit(tmp_path / "r")
    taken = seen(watch(tmp_path / "r"))
    assert (taken.head, bool(taken.branch)) == ("", True)


def test_d6_detached_head(repo: Repo) -> None:
    repo.git("switch", "-q", "--detach")
    sees_an_edit(repo.root)


def test_d6_linked_worktree(repo: Repo, tmp_path: Path) -> None:
    repo.git("worktree", "add", "-q", str(tmp_path / "linked"))
    sees_an_edit(tmp_path / "linked")
    assert watch(tmp_path / "linked").problems == ()
    assert seen(watch(tmp_path / "linked")).branch == "linked"


def test_d6_stale_index_lock(repo: Repo) -> None:
    (repo.root / ".git" / "index.lock").touch()
    sees_an_edit(repo.root)
    assert (repo.root / ".git" / "index.lock").exists()


def test_d6_git_file_that_leads_nowhere_is_named(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("gitdir: /nowhere\n")
    (tmp_path / "a.py").write_text("1\n")
    sees_an_edit(tmp_path)
    [problem] = watch(tmp_path).problems
    assert ".git" in problem
    assert "without git's history" in problem


def test_d6_git_file_with_nonsense_is_named(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("nonsense\n")
    sees_an_edit(tmp_path)
    assert "invalid gitfile" in watch(tmp_path).problems[0]


def test_d6_no_repository_is_named(tmp_path: Path) -> None:
    sees_an_edit(tmp_path)
    assert "no git repository" in watch(tmp_path).problems[0]


def test_d6_bare_repository_is_named(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "--bare", tmp_path / "b.git"], check=True)
    sees_an_edit(tmp_path / "b.git")
    assert "bare repository" in watch(tmp_path / "b.git").problems[0]


def test_d6_safe_directory_refusal_is_named_and_respected(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")

    assert locate(repo.root)[0] is None
    sees_an_edit(repo.root)
    assert "safe.directory" in watch(repo.root).problems[0]


def test_d6_without_git_there_is_no_check_and_no_crash(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    tree = watch(repo.root)

    assert tree.snapshot() is None
    assert not tree.dirty()
    prepare(repo.root)
    assert tree.problems == ("git is not installed: changes to the tree cannot be seen",)


def test_d6_from_a_folder_inside_the_repository(repo: Repo) -> None:
    repo.write("sub/plan.md", "- [ ] a\n")
    tree = watch(repo.root / "sub", plan="plan.md")
    before = seen(tree)
    repo.write("sub/plan.md", "- [x] a\n")
    assert seen(tree).id == before.id
    repo.write("app.py", "changed\n")
    assert seen(tree).id != before.id


def test_d6_folder_that_the_outer_repository_ignores_is_on_its_own(repo: Repo) -> None:
    repo.write(".gitignore", "*\n")
    repo.write("mine/a.py", "1\n")
    sees_an_edit(repo.root / "mine")
    assert "ignored by the repository" in watch(repo.root / "mine").problems[0]


def test_d6_inherited_git_variables_do_not_lead_astray(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    subprocess.run(["git", "init", "-q", other], check=True)
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / "ix"))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.worktree")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", str(other))

    found, _ = locate(repo.root)

    assert found is not None
    assert found.top == repo.root
    sees_an_edit(repo.root)


@pytest.mark.parametrize("options", [(), ("--cone",)], ids=["plain", "cone"])
def test_d6_sparse_checkout(repo: Repo, options: tuple[str, ...]) -> None:
    repo.write("in/a", "1\n")
    repo.write("out/b", "1\n")
    repo.commit()
    sparse = ("--sparse-index",) if options else ()
    repo.git("sparse-checkout", "init", *options, *sparse)
    repo.git("sparse-checkout", "set", "in")
    assert not (repo.root / "out").exists()

    sees_an_edit(repo.root)
    (repo.root / "fresh.txt").unlink()
    tree = watch(repo.root)
    before = seen(tree)
    assert not tree.dirty()
    repo.write("out/b", "made by the agent\n")
    assert seen(tree).id != before.id


def test_d6_split_index(repo: Repo) -> None:
    repo.git("update-index", "--split-index")
    repo.write("b.py", "1\n")
    repo.git("add", "-A")
    sees_an_edit(repo.root)


def test_d6_sha256_repository(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "--object-format=sha256", tmp_path / "r"], check=True)
    made = Repo(tmp_path / "r")
    made.write("a", "1\n")
    made.write("PLAN.md", "x\n")
    made.commit()
    sees_an_edit(made.root)
    tree = watch(made.root)
    before = seen(tree)
    made.write("PLAN.md", "y\n")
    assert seen(tree).id == before.id


def test_d6_damaged_index_falls_back_to_head(repo: Repo) -> None:
    good = seen(watch(repo.root)).id
    (repo.root / ".git" / "index").write_bytes(b"DIRC garbage")
    tree = watch(repo.root)
    assert seen(tree).id == good
    assert any("index" in problem for problem in tree.problems)


def test_d6_lfs_files_are_compared_as_they_are_on_disk(repo: Repo) -> None:
    repo.write(".gitattributes", "*.bin filter=lfs diff=lfs -text\n")
    for key, value in (("clean", "cut -c1-3"), ("smudge", "cat"), ("required", "true")):
        repo.git("config", f"filter.lfs.{key}", value)
    repo.write("big.bin", "123456\n")
    repo.commit()
    tree = watch(repo.root)
    before = seen(tree)

    os.utime(repo.root / "big.bin", (1, 1))
    assert seen(tree).id == before.id
    repo.write("big.bin", "123999\n")
    assert seen(tree).id != before.id


def test_d6_a_state_folder_inside_the_tree_is_not_part_of_it(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(repo.root / "home" / "state"))
    tree = watch(repo.root)
    before = seen(tree)
    tree.keep("run", 0, before)
    assert seen(tree) == before


def test_d6_the_repository_is_deleted_in_the_middle(repo: Repo) -> None:
    repo.write("src/a.py", "1\n")
    repo.commit()
    tree = watch(repo.root)
    before = seen(tree)
    shutil.rmtree(repo.root / ".git")
    assert seen(tree).id == before.id
    repo.write("src/a.py", "2\n")
    after = seen(tree)
    assert after.id != before.id
    assert after.head == ""
    tree.delta(before, after)


def test_10_1_prepare_writes_the_private_exclude_file_once(repo: Repo, tmp_path: Path) -> None:
    repo.git("worktree", "add", "-q", str(tmp_path / "linked"))
    exclude = repo.root / ".git" / "info" / "exclude"
    exclude.write_text("mine")
    prepare(repo.root)
    prepare(tmp_path / "linked")

    assert exclude.read_text() == "mine\n.ralph/\n"
    repo.write(".ralph/runs/x", "ours\n")
    assert repo.git("status", "--porcelain") == ""
    assert not (repo.root / ".gitignore").exists()


def test_10_1_prepare_is_harmless_where_it_cannot_write(tmp_path: Path, repo: Repo) -> None:
    prepare(tmp_path)
    assert list(tmp_path.iterdir()) == [repo.root]
    info = repo.root / ".git" / "info"
    shutil.rmtree(info)
    info.write_text("a file")
    prepare(repo.root)


# L-33
def test_l33_dirty_is_what_git_lists(repo: Repo, tmp_path: Path) -> None:
    assert not watch(repo.root).dirty()
    repo.write("new.txt", "1\n")
    assert watch(repo.root).dirty()
    repo.commit()
    assert not watch(repo.root).dirty()
    repo.write("app.py", "edited\n")
    assert watch(repo.root).dirty()
    plain = tmp_path / "plain"
    plain.mkdir()
    assert not watch(plain).dirty()
    (plain / "a").write_text("1\n")
    assert watch(plain).dirty()
