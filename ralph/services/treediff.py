"""Difference of two snapshots: files, lines, paths, and a hash that names the change (C-4)."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Collection
from dataclasses import dataclass

from ralph.core.facts import TreeDelta
from ralph.services.git import Git, GitFailed, lines

MAX_PATHS = 200


@dataclass(frozen=True)
class Change:
    """One file that differs; ``before`` and ``after`` are mode and object, "" for absent."""

    path: bytes
    before: str
    after: str
    added: int = 0
    deleted: int = 0


def changes(
    git: Git, before: str, after: str, *, renames: bool, bare: Collection[str] = ()
) -> list[Change]:
    """What differs between two ``Tree.full``, watched-only files included, sorted by path.

    Those in ``bare`` are known to have no watched-only files. Lines are counted where the
    contents are still there, 0 elsewhere and for binary files.

    Raises:
        GitFailed: if even the names cannot be read any more.
    """
    options = ("-r", "-z", "--no-abbrev", "-M" if renames else "--no-renames", "--raw")
    try:
        out = git.run("diff-tree", *options, "--numstat", before, after)
    except GitFailed:
        out = git.run(
            "diff-tree", "-r", "-z", "--no-abbrev", "--no-renames", "--raw", before, after
        )
    found = {change.path: change for change in _parsed(lines(out))}
    one, two = watched(git, before, after, bare=bare)
    for path in one.keys() | two.keys():
        if one.get(path) != two.get(path):
            old = found.pop(path, None)
            first = one.get(path) or (old.before if old else "")
            found[path] = Change(path, first, two.get(path) or (old.after if old else ""))
    return [found[path] for path in sorted(found)]


def summed(found: list[Change]) -> TreeDelta:
    """The figures of ``found``; the hash depends on paths, modes and contents alone."""
    digest = hashlib.sha1(usedforsecurity=False)
    for change in found:
        digest.update(change.path + f"\0{change.before}\0{change.after}\n".encode())
    return TreeDelta(
        files=len(found),
        added=sum(change.added for change in found),
        deleted=sum(change.deleted for change in found),
        hash=digest.hexdigest() if found else "",
        paths=tuple(sorted(printable(change.path) for change in found)[:MAX_PATHS]),
    )


def only(found: list[Change], wanted: Callable[[bytes], bool]) -> list[Change]:
    """Those of ``found`` whose path is ``wanted``."""
    return [change for change in found if wanted(change.path)]


def printable(path: bytes) -> str:
    """``path`` as text; bytes that are not UTF-8 and control characters as backslash escapes."""
    text = path.decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def seal(git: Git, tree: str, left_out: dict[bytes, str]) -> str:
    """The object that stands for ``tree`` and the signatures of files that are only watched.

    Raises:
        GitFailed: if git does.
    """
    if not left_out:
        return tree
    pairs = {os.fsdecode(path): sign for path, sign in sorted(left_out.items())}
    return git.run("commit-tree", tree, feed=json.dumps(pairs).encode()).decode().strip()


def watched(git: Git, *fulls: str, bare: Collection[str] = ()) -> list[dict[bytes, str]]:
    """For each snapshot, the files that were watched but not kept, with their signatures.

    Git is not asked about those that are in ``bare``: they have none.

    Raises:
        GitFailed: if git does.
    """
    ask = [full for full in fulls if full not in bare]
    feed = "\n".join(ask).encode()
    kinds = git.run("cat-file", "--batch-check=%(objecttype)", feed=feed) if ask else b""
    told = dict(zip(ask, kinds.splitlines(), strict=True))
    return [
        _signatures(git.run("cat-file", "commit", full)) if told.get(full) == b"commit" else {}
        for full in fulls
    ]


def _signatures(commit: bytes) -> dict[bytes, str]:
    pairs = json.loads(commit.partition(b"\n\n")[2])
    return {os.fsencode(path): sign for path, sign in pairs.items()}


def _parsed(records: list[bytes]) -> list[Change]:
    found: dict[bytes, Change] = {}
    rest = iter(records)
    for record in rest:
        if record.startswith(b":"):
            old_mode, new_mode, old, new, status = record[1:].decode().split(" ")
            path = next(rest)
            if status[0] in "RC":
                path = next(rest)
            before = "" if status[0] == "A" else f"{old_mode} {old}"
            found[path] = Change(path, before, "" if status[0] == "D" else f"{new_mode} {new}")
            continue
        added, deleted, path = record.split(b"\t", 2)
        if not path:
            next(rest)
            path = next(rest)
        first = found[path]
        found[path] = Change(path, first.before, first.after, _number(added), _number(deleted))
    return list(found.values())


def _number(text: bytes) -> int:
    return int(text) if text.isdigit() else 0
