"""Files that are watched but not kept: too large, too many at once, or not readable.

Each has a signature made of its size, its executable bit and a hash of its first, middle and last
64 KiB, so a touch is no change. An edit of a large file that keeps its size and lies between the
three samples is not seen.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterable
from pathlib import Path

MAX_FILE = 5_000_000  # bytes of one file
MAX_NEW = 2_000  # new files a snapshot takes in
MAX_NEW_BYTES = 50_000_000  # bytes of new files a snapshot takes in
_SAMPLE = 65_536

Stamp = tuple[int, int, int, int, int]


class Capped:
    """Decides which changed files go into the snapshot; remembers the others by signature.

    A file that was left out stays out until it changes, whatever room there is later: the same
    content must give the same snapshot.
    """

    def __init__(
        self,
        work: Path,
        *,
        max_file: int = MAX_FILE,
        max_new: int = MAX_NEW,
        max_new_bytes: int = MAX_NEW_BYTES,
    ) -> None:
        self._work = os.fsencode(work)
        self._max_file = max_file
        self._max_new = max_new
        self._max_new_bytes = max_new_bytes
        self._stamps: dict[bytes, Stamp] = {}
        self._same: dict[bytes, Stamp] = {}
        self.entries: dict[bytes, str] = {}

    def sort(
        self,
        changed: set[bytes],
        new: set[bytes],
        differ: Callable[[list[bytes]], set[bytes]],
    ) -> list[bytes]:
        """Return, sorted, which paths to take in; ``entries`` is then what was left out.

        ``changed`` are known files whose stat data moved or that are gone, ``new`` are unknown
        ones. ``differ`` tells which of the large known files have other content than before.
        """
        taken: list[bytes] = []
        left: dict[bytes, str] = {}
        room = [self._max_new, self._max_new_bytes]
        for path in sorted(self._without_touched(changed, differ) | new):
            found = self._lstat(path)
            if found is None:
                taken.append(path)
            elif self._still_out(path, found):
                left[path] = self.entries[path]
            elif self._fits(path, found, room if path in new else None):
                taken.append(path)
            else:
                left[path] = self._remember(path, found)
        self._stamps = {path: self._stamps[path] for path in left}
        self.entries = left
        return taken

    def _without_touched(
        self, changed: set[bytes], differ: Callable[[list[bytes]], set[bytes]]
    ) -> set[bytes]:
        """``changed`` less the large files whose content is what it was."""
        large: dict[bytes, Stamp] = {}
        for path in changed:
            found = self._lstat(path)
            if found is not None and found.st_size > self._max_file:
                large[path] = _stamp(found)
        known = {path: mark for path, mark in large.items() if self._same.get(path) == mark}
        ask = [p for p, mark in large.items() if p not in known and self._stamps.get(p) != mark]
        moved = differ(ask) if ask else set()
        self._same = {**known, **{path: large[path] for path in ask if path not in moved}}
        return changed - self._same.keys()

    def _still_out(self, path: bytes, found: os.stat_result) -> bool:
        if path not in self.entries:
            return False
        if self._stamps[path] == _stamp(found):
            return True
        if self._signature(path, found) != self.entries[path]:
            return False
        self._stamps[path] = _stamp(found)
        return True

    def _fits(self, path: bytes, found: os.stat_result, room: list[int] | None) -> bool:
        if stat.S_ISLNK(found.st_mode):
            size = 0
        elif stat.S_ISREG(found.st_mode) and os.access(self._full(path), os.R_OK):
            size = found.st_size
        else:
            return False
        if size > self._max_file:
            return False
        if room is None:
            return True
        if room[0] < 1 or room[1] < size:
            return False
        room[0] -= 1
        room[1] -= size
        return True

    def _remember(self, path: bytes, found: os.stat_result) -> str:
        self._stamps[path] = _stamp(found)
        return self._signature(path, found)

    def _signature(self, path: bytes, found: os.stat_result) -> str:
        mark = f"{found.st_size}{'x' if found.st_mode & 0o100 else '-'}"
        if not stat.S_ISREG(found.st_mode):
            return f"{stat.S_IFMT(found.st_mode):o}"
        try:
            with open(self._full(path), "rb") as file:  # noqa: PTH123 - the path is bytes
                digest = hashlib.sha1(usedforsecurity=False)
                for start in _samples(found.st_size):
                    file.seek(start)
                    digest.update(file.read(_SAMPLE))
        except OSError:
            return f"{mark}:unreadable"
        return f"{mark}:{digest.hexdigest()}"

    def _lstat(self, path: bytes) -> os.stat_result | None:
        """None for what is gone or has become a folder."""
        try:
            found = os.lstat(self._full(path))
        except OSError:
            return None
        return None if stat.S_ISDIR(found.st_mode) else found

    def _full(self, path: bytes) -> bytes:
        return self._work + b"/" + path


def fingerprint(entries: Iterable[tuple[bytes, str]]) -> str:
    """One stable hash of paths and signatures; "" for none."""
    pairs = sorted(entries)
    if not pairs:
        return ""
    text = b"".join(path + b"\0" + sign.encode() + b"\n" for path, sign in pairs)
    return hashlib.sha1(text, usedforsecurity=False).hexdigest()


def _samples(size: int) -> list[int]:
    if size <= 3 * _SAMPLE:
        return [0, _SAMPLE, 2 * _SAMPLE]
    return [0, size // 2, size - _SAMPLE]


def _stamp(found: os.stat_result) -> Stamp:
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_mode
