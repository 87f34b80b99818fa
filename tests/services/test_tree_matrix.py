"""L-14: what is a change of the tree and what is none, one row a situation."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.trees import seen, watch
from tests.support.world import Repo

Step = Callable[[Repo], object]


def nothing(repo: Repo) -> None:
    """No step."""


def touch(repo: Repo, name: str = "app.py") -> None:
    os.utime(repo.root / name, (1, 1))


def dirty(repo: Repo) -> None:
    repo.write("app.py", "print('dirty')\n")
    repo.write("new.txt", "untracked\n")


def same_size_old_time(repo: Repo) -> None:
    path = repo.root / "app.py"
    before = path.stat()
    path.write_text("print('hellO')\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def commit_edit(repo: Repo) -> None:
    repo.write("app.py", "print('committed')\n")
    repo.commit()


def branch_and_back(repo: Repo) -> None:
    repo.git("switch", "-q", "-c", "side")
    repo.write("app.py", "print('side')\n")
    repo.commit()
    repo.git("switch", "-q", "main")


def rebased_to_the_same(repo: Repo) -> None:
    repo.commit("empty one")
    repo.git("commit", "-q", "--amend", "--allow-empty", "-m", "said better", "--reset-author")
    repo.git("reset", "-q", "--soft", "HEAD~1")
    repo.commit("again")


def nested_repo(repo: Repo, name: str = "inner") -> Repo:
    folder = repo.root / name
    folder.mkdir(parents=True)
    inner = Repo(folder)
    inner.git("init", "-q", "-b", "main")
    inner.write("lib.py", "one\n")
    return inner


def committed_nested(repo: Repo) -> None:
    nested_repo(repo).commit()


def submodule(repo: Repo) -> None:
    nested_repo(repo, "../other").commit()
    repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../other", "inner")
    repo.commit("with submodule")


def deep_submodule(repo: Repo) -> None:
    submodule(repo)
    nested_repo(repo, "inner/deep").commit()
    Repo(repo.root / "inner").commit()


def conflict(repo: Repo) -> None:
    branch_and_back(repo)
    repo.write("app.py", "print('main')\n")
    repo.commit()
    with pytest.raises(subprocess.CalledProcessError):
        repo.git("merge", "-q", "side")


def resolved(repo: Repo) -> None:
    repo.write("app.py", "print('both')\n")


def crlf(repo: Repo) -> None:
    repo.git("config", "core.autocrlf", "input")


def at(name: str, text: str | bytes = "changed\n") -> Step:
    return lambda repo: repo.write(name, text)


def drop(name: str) -> Step:
    return lambda repo: (repo.root / name).unlink()


def git(*args: str) -> Step:
    return lambda repo: repo.git(*args)


def both(*steps: Step) -> Step:
    return lambda repo: [step(repo) for step in steps]


def link(name: str, target: str) -> Step:
    def step(repo: Repo) -> None:
        (repo.root / name).unlink(missing_ok=True)
        (repo.root / name).symlink_to(target)

    return step


def mode(name: str, bits: int) -> Step:
    return lambda repo: (repo.root / name).chmod(bits)


class Row(NamedTuple):
    name: str
    setup: Step
    act: Step
    changed: bool


SKIPPED = git("update-index", "--skip-worktree", "app.py")
ASSUMED = git("update-index", "--assume-unchanged", "app.py")
IGNORED = both(at(".gitignore", "out/\n"), at("out/a.bin", "1\n"))

ROWS = [
    Row("nothing happens", nothing, nothing, False),
    Row("D3 dirty tree, nothing happens", dirty, nothing, False),
    Row("D1 edit and commit", nothing, commit_edit, True),
    Row("D1 commit of what was dirty before", dirty, lambda r: r.commit(), False),
    Row("edit, not committed", nothing, at("app.py"), True),
    Row("edit, staged", nothing, both(at("app.py"), git("add", "-A")), True),
    Row("staging what was dirty", dirty, git("add", "-A"), False),
    Row("D4 second edit of a dirty file", dirty, at("app.py"), True),
    Row("D4 second edit of an untracked file", dirty, at("new.txt"), True),
    Row("D4 touch", nothing, touch, False),
    Row("D4 touch of an untracked file", dirty, lambda r: touch(r, "new.txt"), False),
    Row("same size, time put back", nothing, same_size_old_time, True),
    Row("D2 new untracked file", nothing, at("src/new.py"), True),
    Row("new empty file", nothing, at("empty", ""), True),
    Row("new empty folder", nothing, lambda r: (r.root / "void").mkdir(), False),
    Row("untracked file gone", dirty, drop("new.txt"), True),
    Row("tracked file gone", nothing, drop("app.py"), True),
    Row("rename", nothing, git("mv", "app.py", "main.py"), True),
    Row("chmod +x", nothing, mode("app.py", 0o755), True),
    Row("chmod that git does not keep", nothing, mode("app.py", 0o600), False),
    Row("symlink made", nothing, link("ln", "app.py"), True),
    Row("untracked symlink to another place", link("ln", "a"), link("ln", "b"), True),
    Row("file becomes a symlink", nothing, link("app.py", "x"), True),
    Row("file becomes a folder", nothing, both(drop("app.py"), at("app.py/a")), True),
    Row(
        "folder becomes a file",
        at("d/a"),
        both(lambda r: shutil.rmtree(r.root / "d"), at("d")),
        True,
    ),
    Row("D5 empty commit", nothing, lambda r: r.commit("empty"), False),
    Row("D5 amended message", nothing, git("commit", "--amend", "-qm", "x"), False),
    Row("D5 branch switch and back", nothing, branch_and_back, False),
    Row("D5 rebase to the same content", nothing, rebased_to_the_same, False),
    Row("D5 new branch, same content", nothing, git("switch", "-qc", "two"), False),
    Row("branch with other content", branch_and_back, git("switch", "-q", "side"), True),
    Row("detached, same content", nothing, git("switch", "-q", "--detach"), False),
    Row(
        "amend with content",
        nothing,
        both(at("app.py"), git("commit", "-aq", "--amend", "-m", "x")),
        True,
    ),
    Row("stash of an edit", dirty, git("stash", "-q"), True),
    Row("hard reset of an edit", dirty, git("reset", "-q", "--hard"), True),
    Row("conflict marked, not resolved", conflict, nothing, False),
    Row("conflict resolved", conflict, resolved, True),
    Row("ignored file changes", IGNORED, at("out/a.bin", "2\n"), False),
    Row(
        "ignored file that is tracked",
        both(IGNORED, git("add", "-f", "out/a.bin")),
        at("out/a.bin", "2\n"),
        True,
    ),
    Row("ignored file gets tracked", IGNORED, both(at("out/b"), git("add", "-f", "out/b")), True),
    Row("tracked file gets untracked only", nothing, git("rm", "-q", "--cached", "app.py"), False),
    Row("skip-worktree file edited", SKIPPED, at("app.py"), True),
    Row("assume-unchanged file edited", ASSUMED, at("app.py"), True),
    Row("line ends under autocrlf", crlf, at("app.py", "print('hello')\r\n"), False),
    Row("nested repository appears", nothing, committed_nested, True),
    Row("nested repository, nothing happens", committed_nested, nothing, False),
    Row("edit in a nested repository", committed_nested, at("inner/lib.py"), True),
    Row("new file in a nested repository", committed_nested, at("inner/b.py"), True),
    Row(
        "commit of nothing in a nested repository",
        committed_nested,
        lambda r: Repo(r.root / "inner").commit(),
        False,
    ),
    Row("nested repository without a commit", nested_repo, at("inner/lib.py"), True),
    Row("nested repository without a commit, nothing", nested_repo, nothing, False),
    Row("submodule, nothing happens", submodule, nothing, False),
    Row("first edit in a submodule", submodule, at("inner/lib.py"), True),
    Row(
        "second edit in a submodule",
        both(submodule, at("inner/lib.py", "x\n")),
        at("inner/lib.py"),
        True,
    ),
    Row(
        "edit committed in a submodule",
        submodule,
        both(at("inner/lib.py"), lambda r: Repo(r.root / "inner").commit()),
        True,
    ),
    Row("submodule two floors down", deep_submodule, at("inner/deep/lib.py"), True),
    Row("D9 plan ticked", at("PLAN.md", "- [ ] a\n"), at("PLAN.md", "- [x] a\n"), False),
    Row("D9 plan appears", nothing, at("PLAN.md", "- [ ] a\n"), False),
    Row("D9 progress note in a folder", nothing, at("notes/progress.txt"), False),
    Row("D9 log grows", at("deep/build.log", "1\n"), at("deep/build.log", "2\n"), False),
    Row("D9 tracked log gone", both(at("a.log"), lambda r: r.commit()), drop("a.log"), False),
    Row("D9 ralph's folder", nothing, at(".ralph/runs/x/journal.jsonl"), False),
    Row("D9 log inside a nested repository", committed_nested, at("inner/x.log"), False),
]


# L-14
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_l14_a_change_of_content_is_seen_and_nothing_else(repo: Repo, row: Row) -> None:
    row.setup(repo)
    tree = watch(repo.root)
    before = seen(tree)
    assert seen(tree) == before

    row.act(repo)
    after = seen(tree)

    assert (after.id != before.id) is row.changed
    assert seen(watch(repo.root)).id == after.id
    if row.changed:
        delta = tree.delta(before, after)
        assert 1 <= delta.files == len(delta.paths)
        assert delta.hash


# L-14
def test_l14_going_back_gives_the_old_id(repo: Repo) -> None:
    tree = watch(repo.root)
    before = seen(tree)
    text = (repo.root / "app.py").read_text()
    repo.write("app.py", "other\n")
    assert seen(tree).id != before.id

    repo.write("app.py", text)

    assert seen(tree) == before


def test_d5_head_and_branch_are_told_beside_the_content(repo: Repo) -> None:
    tree = watch(repo.root)
    first = seen(tree)
    oid = repo.commit("empty")
    repo.git("pack-refs", "--all")
    second = seen(tree)
    repo.git("switch", "-q", "--detach")

    assert (first.branch, second.branch, seen(tree).branch) == ("main", "main", "")
    assert second.head == oid == seen(tree).head
    assert first.head != oid


# L-14
def test_l14_no_repository_has_the_same_eyes(tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    bare = Repo(folder)
    bare.write("a.py", "1\n")
    tree = watch(folder)
    before = seen(tree)

    bare.write("node_modules/x/y.js", "noise\n")
    bare.write(".ralph/state", "ours\n")
    bare.write("PLAN.md", "- [ ] a\n")
    assert seen(tree).id == before.id
    bare.write("a.py", "2\n")
    assert seen(tree).id != before.id
    assert not (folder / ".git").exists()
