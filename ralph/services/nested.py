"""Repositories inside the working tree: what they track, what they ignore, where objects are."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from ralph.services.git import Git, GitFailed, lines, pattern

_GITLINK = b"160000 "


@dataclass(frozen=True)
class Nested:
    """One nested repository, every path already relative to the outer tree.

    ``entries`` are lines for ``update-index --index-info``; ``files`` are to be read from disk.
    """

    objects: Path
    excludes: list[str]
    entries: list[bytes]
    gitlinks: set[bytes]
    paths: set[bytes]
    files: set[bytes]


def look_into(top: Path, path: bytes, object_format: str) -> Nested:
    """Read the repository at ``path`` (with a slash at its end) below ``top``.

    Raises:
        GitFailed: if git refuses it, or it names objects in another way than the outer one.
    """
    folder = top / os.fsdecode(path)
    git = Git(folder, {"GIT_CEILING_DIRECTORIES": str(folder.parent)}, timeout=60.0)
    named = git.run("rev-parse", "--show-object-format").decode().strip()
    if named != object_format:
        raise GitFailed(f"its objects are named by {named}")
    entries, gitlinks, paths = [], set(), set()
    for line in lines(git.run("ls-files", "-s", "-z")):
        head, _, name = line.partition(b"\t")
        mode, oid, stage = head.split(b" ")
        if stage != b"0":
            continue
        entries.append(mode + b" " + oid + b"\t" + path + name)
        paths.add(path + name)
        if line.startswith(_GITLINK):
            gitlinks.add(path + name)
    others = lines(git.run("ls-files", "-o", "-z", "--exclude-standard"))
    files = {path + name for name in others if not name.endswith(b"/")}
    objects, exclude = _place(git, "objects"), _place(git, "info/exclude")
    return Nested(objects, _moved(exclude, path), entries, gitlinks, paths, files)


def _place(git: Git, name: str) -> Path:
    # One question a call: a folder's name may hold the line break that would end the answer.
    out = git.run("rev-parse", "--path-format=absolute", "--git-path", name)
    return Path(os.fsdecode(out.removesuffix(b"\n")))


def _moved(exclude: Path, path: bytes) -> list[str]:
    """The ignore patterns of a nested repository, rewritten for the outer one."""
    try:
        text = exclude.read_text("utf-8", "surrogateescape")
    except OSError:
        return []
    base = pattern(path)
    moved = []
    for line in text.split("\n"):
        if not line.strip() or line.startswith("#"):
            continue
        sign, rest = ("!", line[1:]) if line.startswith("!") else ("", line)
        anchored = "/" in rest.rstrip().rstrip("/")
        moved.append(f"{sign}{base}{'' if anchored else '**/'}{rest.lstrip('/')}")
    return moved
