"""D9: whatever state the repository is in, a look at the tree leaves every byte of it alone."""

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


class Place(NamedTuple):
    """``root`` is looked at; nothing below any of ``all`` may change."""

    root: Path
    all: tuple[Path, ...]


def everything(places: tuple[Path, ...]) -> dict[str, tuple[object, ...]]:
    """Mode, time and content of every file and folder below ``places``, ``.git`` included."""
    found: dict[str, tuple[object, ...]] = {}
    for top in places:
        for path in (top, *top.rglob("*")):
            at = path.lstat()
            content: object = None
            if path.is_symlink():
                content = path.readlink()
            elif path.is_file():
                content = path.read_bytes()
            # Git marks objects and shared indexes that it finds useful as young, so gc spares them.
            timeless = "objects" in path.parts or path.name.startswith("sharedindex.")
            found[str(path)] = (at.st_mode, 0 if timeless else at.st_mtime_ns, content)
    return found


def plain(repo: Repo) -> Place:
    return Place(repo.root, (repo.root,))


def dirty_index(repo: Repo) -> Place:
    repo.write("staged.py", "1\n")
    repo.git("add", "staged.py")
    repo.write("staged.py", "2\n")
    repo.git("rm", "-q", "--cached", "app.py")
    repo.write("app.py", "not in the index\n")
    return plain(repo)


def stash_branch_tag_notes(repo: Repo) -> Place:
    repo.write("app.py", "stashed\n")
    repo.git("stash", "-q")
    repo.git("branch", "side")
    repo.git("tag", "-a", "v1", "-m", "one")
    repo.git("notes", "add", "-m", "note")
    repo.git("pack-refs", "--all")
    repo.git("gc", "-q")
    return plain(repo)


def intent_to_add(repo: Repo) -> Place:
    repo.write("soon.py", "1\n")
    repo.git("add", "-N", "soon.py")
    return plain(repo)


def two_sides(repo: Repo) -> None:
    repo.git("switch", "-qc", "side")
    repo.write("app.py", "side\n")
    repo.commit("side")
    repo.git("switch", "-q", "main")
    repo.write("app.py", "main\n")
    repo.commit("main")


def stops(repo: Repo, *args: str) -> Place:
    two_sides(repo)
    with pytest.raises(subprocess.CalledProcessError):
        repo.git(*args)
    return plain(repo)


def merge(repo: Repo) -> Place:
    return stops(repo, "merge", "-q", "side")


def rebase(repo: Repo) -> Place:
    return stops(repo, "rebase", "-q", "side")


def cherry_pick(repo: Repo) -> Place:
    return stops(repo, "cherry-pick", "side")


def locked(repo: Repo) -> Place:
    for name in ("index.lock", "HEAD.lock", "config.lock"):
        (repo.root / ".git" / name).write_text("another git\n")
    return plain(repo)


def sparse(repo: Repo) -> Place:
    repo.write("in/a", "1\n")
    repo.write("out/b", "1\n")
    repo.commit()
    repo.git("sparse-checkout", "set", "--sparse-index", "in")
    repo.write("out/b", "made again\n")
    return plain(repo)


def flags(repo: Repo) -> Place:
    repo.write("b.py", "1\n")
    repo.commit()
    repo.git("update-index", "--assume-unchanged", "app.py")
    repo.git("update-index", "--skip-worktree", "b.py")
    repo.write("app.py", "edited\n")
    return plain(repo)


def filter_without_program(repo: Repo) -> Place:
    repo.write("a.bin", "raw\n")
    repo.write("b.x", "raw\n")
    repo.commit()
    repo.write(".gitattributes", "*.bin filter=lfs\n*.x filter=gone\n")
    for name in ("lfs", "gone"):
        repo.git("config", f"filter.{name}.clean", "no-such-program %f")
        repo.git("config", f"filter.{name}.process", "no-such-program")
        repo.git("config", f"filter.{name}.required", "true")
    repo.write("a.bin", "other\n")
    repo.write("b.x", "other\n")
    return plain(repo)


def autocrlf(repo: Repo) -> Place:
    repo.git("config", "core.autocrlf", "true")
    repo.git("config", "core.safecrlf", "true")
    repo.write("mixed.txt", "a\r\nb\n")
    repo.write("app.py", "a\r\n")
    return plain(repo)


def no_file_mode(repo: Repo) -> Place:
    repo.git("config", "core.fileMode", "false")
    (repo.root / "app.py").chmod(0o755)
    return plain(repo)


def ignored(repo: Repo) -> Place:
    repo.write(".gitignore", "out/\n*.tmp\n")
    for name in ("out/a", "out/b/c", "x.tmp"):
        repo.write(name, "1\n")
    return plain(repo)


def monitors(repo: Repo) -> Place:
    repo.git("config", "core.untrackedCache", "true")
    repo.git("config", "core.splitIndex", "true")
    repo.git("config", "core.fsmonitor", "true")
    repo.git("config", "feature.manyFiles", "true")
    repo.git("config", "gc.auto", "1")
    repo.git("-c", "core.fsmonitor=false", "update-index", "--untracked-cache", "--split-index")
    return plain(repo)


def submodule(repo: Repo) -> Place:
    other = Repo(repo.root.parent / "other")
    other.write("lib.py", "1\n")
    other.git("init", "-q")
    other.commit()
    repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../other", "sub")
    repo.commit()
    repo.write("sub/lib.py", "edited\n")
    return plain(repo)


def nested(repo: Repo) -> Place:
    inner = Repo(repo.root / "inner")
    inner.write("lib.py", "1\n")
    inner.git("init", "-q")
    inner.commit()
    inner.write("new.py", "1\n")
    return plain(repo)


def linked_worktree(repo: Repo) -> Place:
    linked = repo.root.parent / "linked"
    repo.git("worktree", "add", "-q", str(linked))
    Repo(linked).write("new.py", "1\n")
    return Place(linked, (repo.root, linked))


def git_file(repo: Repo) -> Place:
    apart = repo.root.parent / "apart"
    (repo.root / ".git").rename(apart)
    repo.write(".git", f"gitdir: {apart}\n")
    return Place(repo.root, (repo.root, apart))


def unborn(repo: Repo) -> Place:
    shutil.rmtree(repo.root / ".git")
    repo.git("init", "-q")
    repo.write("staged.py", "1\n")
    repo.git("add", "staged.py")
    return plain(repo)


def no_repository(repo: Repo) -> Place:
    shutil.rmtree(repo.root / ".git")
    return plain(repo)


def read_only(repo: Repo) -> Place:
    for folder, _, files in os.walk(repo.root / ".git"):
        for name in (".", *files):
            path = Path(folder, name)
            path.chmod(path.stat().st_mode & ~0o222)
    return plain(repo)


def old_times(repo: Repo) -> Place:
    os.utime(repo.root / "app.py", (1, 1))
    return plain(repo)


PLACES: list[Callable[[Repo], Place]] = [
    plain, dirty_index, stash_branch_tag_notes, intent_to_add, merge, rebase, cherry_pick, locked,
    sparse, flags, filter_without_program, autocrlf, no_file_mode, ignored, monitors, submodule,
    nested, linked_worktree, git_file, unborn, no_repository, read_only, old_times,
]  # fmt: skip


@pytest.mark.parametrize("make", PLACES, ids=lambda make: make.__name__)
def test_d9_a_look_leaves_every_byte_and_time_alone(
    repo: Repo, make: Callable[[Repo], Place]
) -> None:
    place = make(repo)
    work = place.root / "edited-by-the-agent"
    tree = watch(place.root)
    try:
        work.write_text("before\n")
        held = everything(place.all)
        first = seen(tree)
        tree.keep("run", 0, first)
        tree.dirty()
        tree.changed(first, seen(tree))
        assert everything(place.all) == held

        work.write_text("after\n")
        held = everything(place.all)
        second = seen(tree)
        tree.keep("run", 1, second)
        delta = tree.delta(first, second)
        tree.close()

        assert everything(place.all) == held
        assert delta.paths == ("edited-by-the-agent",)
        assert seen(watch(place.root)).id == second.id
    finally:
        for path in place.root.rglob("*") if make is read_only else ():
            path.chmod(path.stat().st_mode | 0o200)


def test_d9_the_persons_own_git_settings_do_not_run_programs(repo: Repo, own_world: Path) -> None:
    mark = repo.root.parent / "ran"
    program = repo.root.parent / "program"
    program.write_text(f"#!/bin/sh\ntouch {mark}\ncat\n")
    program.chmod(0o755)
    (own_world / ".gitconfig").write_text(
        f'[filter "evil"]\n\tclean = {program}\n\tsmudge = {program}\n'
        f"[core]\n\tfsmonitor = {program}\n\thooksPath = {repo.root.parent}\n\tpager = {program}\n"
        f"[diff]\n\texternal = {program}\n"
    )
    repo.write(".gitattributes", "*.py filter=evil\n")
    tree = watch(repo.root)
    before = seen(tree)
    repo.write("app.py", "changed\n")
    assert tree.delta(before, seen(tree)).paths == ("app.py",)
    assert not mark.exists()


# L-14
def test_l14_ignore_files_of_the_person_and_of_the_repository_hold(
    repo: Repo, own_world: Path
) -> None:
    (own_world / "config" / "git").mkdir(parents=True)
    (own_world / "config" / "git" / "ignore").write_text("by-person\n")
    (repo.root / ".git" / "info").mkdir(exist_ok=True)
    (repo.root / ".git" / "info" / "exclude").write_text("by-exclude\n")
    repo.write(".gitignore", "by-ignore\n")
    tree = watch(repo.root)
    before = seen(tree)
    for name in ("by-person", "by-exclude", "by-ignore"):
        repo.write(f"deep/{name}", "noise\n")
    assert seen(tree).id == before.id
    own = own_world / "mine"
    own.write_text("by-setting\nby-person\n")
    repo.git("config", "core.excludesFile", "~/mine")
    repo.write("by-setting", "noise\n")
    assert seen(watch(repo.root)).id == before.id
