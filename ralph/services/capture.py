"""One stream of a process on disk: raw bytes, appended as they come."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from ralph.errors import StorageError

COPIED = 64 << 20  # bytes saved from a deleted file
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC


class Capture:
    """Appends to ``path`` (mode 0600), and never cuts what is there.

    A failing write does not raise: it is kept in ``problem`` and later bytes are dropped, so
    that the reader of a pipe can go on until the writer has been ended.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = 0
        self.problem: StorageError | None = None
        try:
            self.fd = self._open()
        except OSError as error:
            raise _storage_error(path, error) from error

    def write(self, chunk: bytes) -> None:
        """Append ``chunk`` whole; ``size`` counts it even when the disk refuses it."""
        self.size += len(chunk)
        rest = memoryview(chunk)
        while rest and self.problem is None:
            try:
                rest = rest[os.write(self.fd, rest) :]
            except OSError as error:
                self.problem = _storage_error(self.path, error)

    def restore(self) -> None:
        """Put the file back, folder included, if somebody deleted it (A19)."""
        if self.problem is not None or os.fstat(self.fd).st_nlink:
            return
        try:
            fresh = self._open()
            _copy(self.fd, fresh)
        except OSError as error:
            self.problem = _storage_error(self.path, error)
            return
        os.close(self.fd)
        self.fd = fresh

    def close(self) -> None:
        """Close the file; a late deletion is repaired first."""
        self.restore()
        os.close(self.fd)

    def _open(self) -> int:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(self.path, _FLAGS, 0o600)


def _copy(source: int, target: int) -> None:
    size = os.fstat(source).st_size
    offset = max(0, size - COPIED)
    while chunk := os.pread(source, 1 << 20, offset):
        offset += len(chunk)
        while chunk:
            chunk = chunk[os.write(target, chunk) :]


def _storage_error(path: Path, error: OSError) -> StorageError:
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    return StorageError(
        f"cannot write {path}: {error.strerror}",
        hint="free some disk space" if full else "check the folder and its permissions",
        full=full,
    )
