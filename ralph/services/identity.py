"""What of a snapshot counts as progress, and one id for exactly that (L-14)."""

from __future__ import annotations

import fnmatch
import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence

from ralph.services.capped import fingerprint
from ralph.services.git import Git

_OWN = ("ralph_*.log",)


class Excluded:
    """Tells which paths never count: ``.ralph/``, ralph's logs, the plan, the ignore globs.

    A glob is matched against the path below the top of the tree and against the file's name.
    """

    def __init__(self, ignore: Sequence[str], plans: Iterable[bytes] = ()) -> None:
        globs = [fnmatch.translate(glob) for glob in (*_OWN, *ignore)]
        self._globs = re.compile("|".join(globs))
        self._plans = frozenset(plans)

    def __call__(self, path: bytes) -> bool:
        """True when changes to ``path`` are no progress."""
        return path in self._plans or self.noise(path)

    def noise(self, path: bytes) -> bool:
        """True for all of the above but the plan."""
        if path.startswith(b".ralph/") or b"/.ralph/" in path:
            return True
        text = os.fsdecode(path)
        name = text.rpartition("/")[2]
        return bool(self._globs.match(text) or self._globs.match(name))


def progress_id(
    git: Git, tree: str, excluded: Iterable[bytes], capped: Iterable[tuple[bytes, str]]
) -> str:
    """Id of the tree object ``tree`` as if the ``excluded`` paths were not in it.

    ``capped`` files, which are in no object, are part of it. Equal contents give equal ids,
    whatever excluded files there are.

    Raises:
        GitFailed: if git does.
    """
    drop = set(excluded)
    folders = sorted(_folders(drop))
    texts = _read(git, tree, folders) if folders else {}
    bare = _pruned(b"", texts, drop, len(tree) // 2) if b"" in texts else tree
    mark = fingerprint(capped)
    return hashlib.sha1((bare + mark).encode()).hexdigest() if mark else bare


def _pruned(folder: bytes, texts: dict[bytes, bytes], drop: set[bytes], width: int) -> str:
    """Object id of ``folder`` without the files to drop and the folders left empty by that."""
    kept = bytearray()
    for mode, name, oid in _entries(texts[folder], width):
        path = folder + name
        if path in drop:
            continue
        if mode == b"40000" and path + b"/" in texts:
            inner = _pruned(path + b"/", texts, drop, width)
            if inner == _tree_oid(b"", width):
                continue
            oid = bytes.fromhex(inner)
        kept += mode + b" " + name + b"\0" + oid
    return _tree_oid(bytes(kept), width)


def _entries(text: bytes, width: int) -> Iterator[tuple[bytes, bytes, bytes]]:
    at = 0
    while at < len(text):
        space = text.index(b" ", at)
        end = text.index(b"\0", space)
        yield text[at:space], text[space + 1 : end], text[end + 1 : end + 1 + width]
        at = end + 1 + width


def _tree_oid(text: bytes, width: int) -> str:
    digest = hashlib.new("sha1" if width == 20 else "sha256", usedforsecurity=False)
    digest.update(b"tree %d\0" % len(text) + text)
    return digest.hexdigest()


def _folders(paths: Iterable[bytes]) -> set[bytes]:
    """Every folder above one of ``paths``, with a slash at its end; the top is empty."""
    found: set[bytes] = set()
    for path in paths:
        above = path.split(b"/")[:-1]
        # cat-file takes one name a line, so below such a folder nothing can be left out.
        if b"\n" not in b"".join(above):
            found.update(b"".join(part + b"/" for part in above[:n]) for n in range(len(above) + 1))
    return found


def _read(git: Git, tree: str, folders: Sequence[bytes]) -> dict[bytes, bytes]:
    """Raw tree objects of those of ``folders`` that exist in ``tree``."""
    names = [tree.encode() + b":" + folder.rstrip(b"/") for folder in folders]
    out = git.run("cat-file", "--batch", feed=b"\n".join(names) + b"\n")
    found, at = {}, 0
    for folder, name in zip(folders, names, strict=True):
        if out.startswith(name + b" missing\n", at):
            at += len(name) + 9
            continue
        end = out.index(b"\n", at)
        _, kind, size = out[at:end].split(b" ")
        at = end + 2 + int(size)
        if kind == b"tree":
            found[folder] = out[end + 1 : at - 1]
    return found
