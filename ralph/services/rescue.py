"""Bring files of a snapshot back into a new folder, and touch nothing else (L-33, F12)."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ralph.core.facts import Tree
from ralph.errors import RalphError, StorageError
from ralph.services.git import Git, GitFailed, joined, lines
from ralph.services.places import state_home
from ralph.services.repository import locate
from ralph.services.snapshots import kept, store_folder, store_git
from ralph.services.treediff import printable, watched


@dataclass(frozen=True)
class Contents:
    """Paths of one snapshot: ``kept`` can be written, ``not_kept`` were only watched."""

    kept: tuple[bytes, ...]
    not_kept: tuple[bytes, ...]


def contents(store: Path, tree: Tree, paths: Sequence[str] = ()) -> Contents:
    """What the snapshot ``tree`` in the folder ``store`` has of ``paths`` (files or folders).

    No paths means everything. Paths are relative to the top of the tree.

    Raises:
        RalphError: if the snapshot is not there, a path leads out of the tree, or nothing of the
            snapshot is at a path.
    """
    wanted = [_inner(path) for path in paths]
    try:
        git = _git(store)
        listed = lines(git.run("ls-tree", "-r", "-z", "--name-only", tree.full))
        left_out = watched(git, tree.full)[0]
    except (GitFailed, ValueError) as error:
        raise RalphError(
            f"the snapshot {tree.full[:12]} cannot be read: {error}",
            hint="ralph keeps the start and the last 50 snapshots of a run until ralph clean",
        ) from None
    both = {*listed, *left_out}
    for path, want in zip(paths, wanted, strict=True):
        if not any(_below(name, want) for name in both):
            raise RalphError(f"not in this snapshot: {path}", hint="name a path below its top")
    chosen = sorted(n for n in both if not wanted or any(_below(n, w) for w in wanted))
    return Contents(
        tuple(name for name in chosen if name not in left_out),
        tuple(name for name in chosen if name in left_out),
    )


def not_kept(store: Path, tree: Tree, paths: Sequence[str] = ()) -> tuple[str, ...]:
    """Printable paths that ``restore`` cannot bring back, for they were only watched.

    Raises:
        RalphError: as ``contents`` does.
    """
    return tuple(printable(name) for name in contents(store, tree, paths).not_kept)


def restore(store: Path, tree: Tree, paths: Sequence[str], to: Path) -> int:
    """Write the files of ``paths`` (none: all) below the new folder ``to``; return how many.

    Modes and symbolic links are restored, and only ``to`` is written.

    Raises:
        RalphError: if ``to`` exists and is not an empty folder, if nothing at ``paths`` was kept,
            and as ``contents`` does.
        StorageError: if files cannot be written, or an object is gone; names ``to``.
    """
    if not _is_new(to):
        raise RalphError(f"not an empty folder: {to}", hint="name a new folder with --to")
    chosen = contents(store, tree, paths)
    names = chosen.kept
    if chosen.not_kept and not names:
        raise RalphError(
            f"only watched, never kept: {printable(chosen.not_kept[0])}",
            hint="there is no copy of files above 5 MB, nor of those beyond 2,000 new ones at once",
        )
    try:
        to.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as scratch:
            _write(store, tree, names, to.resolve(), Path(scratch) / "index")
    except (GitFailed, OSError) as error:
        raise StorageError(f"not everything was written to {to}: {error}") from None
    return sum(os.path.lexists(os.fsencode(to) + b"/" + name) for name in names)


def bring_back(root: Path, run_id: str, iteration: int, paths: Sequence[str], to: Path) -> int:
    """Write the files of one kept snapshot of a run below ``to``; return how many.

    ``iteration`` 0 is the start of the run; N is the tree after iteration N.

    Raises:
        RalphError: if that snapshot is not kept, and as ``restore`` does.
    """
    store, tree = find(root, run_id, iteration)
    return restore(store, tree, paths, to)


def find(root: Path, run_id: str, iteration: int) -> tuple[Path, Tree]:
    """The store of the tree at ``root`` and the snapshot kept there after ``iteration``.

    Raises:
        RalphError: if that snapshot is not kept; the hint says which are.
    """
    repository, _ = locate(root)
    store = store_folder(state_home(), repository.top if repository else root)
    there = kept(store, run_id)
    if iteration not in there:
        names = ", ".join(map(str, there)) or "none"
        raise RalphError(
            f"no snapshot of iteration {iteration} of run {run_id}",
            hint=f"kept are (0 is the start): {names}",
        )
    return store, Tree(id="", full=there[iteration])


def _is_new(to: Path) -> bool:
    """True for an empty folder and for nothing at all; a link is neither."""
    try:
        return not os.path.lexists(to) or (not to.is_symlink() and not any(to.iterdir()))
    except OSError:
        return False


def _write(store: Path, tree: Tree, names: Sequence[bytes], to: Path, index: Path) -> None:
    git = _git(store)
    git.env |= {"GIT_INDEX_FILE": str(index), "GIT_WORK_TREE": str(to)}
    git.cwd = to
    git.run("read-tree", tree.full)
    git.run("checkout-index", "-q", "-z", "--stdin", feed=joined(names))


def _git(store: Path) -> Git:
    if not (store / "objects").is_dir():
        raise GitFailed(f"no snapshots in {store}")
    return store_git(store, store)


def _inner(path: str) -> bytes:
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts:
        raise RalphError(f"leads out of the tree: {path}", hint="name a path below its top")
    return os.fsencode(str(pure)) if pure.parts else b""


def _below(name: bytes, want: bytes) -> bool:
    return not want or name == want or name.startswith(want + b"/")
