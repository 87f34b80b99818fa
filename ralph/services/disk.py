"""Writing so that it is really there, or an error that names the path and the reason (F2)."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path

from ralph.errors import StorageError

FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
NO_LINKS = frozenset({errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EMLINK})
_CHUNK = 1 << 20
_flush = getattr(os, "fdatasync", os.fsync)


def failure(path: Path, error: OSError, doing: str = "write") -> StorageError:
    """Return the StorageError for ``error``: it names ``path`` and knows whether space ran out."""
    full = error.errno in FULL
    hint = "free some space" if full else "check the folder's owner, mode and mount"
    return StorageError(f"cannot {doing} {path}: {error.strerror or error}", hint=hint, full=full)


def contents(path: Path, most: int = 64_000_000) -> bytes:
    """Bytes of the regular file ``path``; never waits on a pipe or reads a device without end.

    Raises:
        OSError: if it cannot be read, is no file, or has more than ``most`` bytes.
        ValueError: if no file can have this name.
    """
    with os.fdopen(open_regular(path), "rb") as file:
        raw = file.read(most + 1)
    if len(raw) > most:
        raise OSError(errno.EFBIG, f"larger than {most // 1_000_000} MB")
    return raw


def open_regular(path: Path) -> int:
    """A descriptor to read ``path`` by; raises OSError also for a folder, a pipe, a device."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    mode = os.fstat(fd).st_mode
    if stat.S_ISREG(mode):
        return fd
    os.close(fd)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    raise OSError(errno.EINVAL, "not a file", str(path))


def set_aside(path: Path) -> None:
    """Rename what another program has put at ``path``, unopened; raises OSError."""
    number = 0
    while os.path.lexists(path):
        number += 1
        other = path.with_name(f"{path.name}.found-{number}")
        if not os.path.lexists(other):
            path.rename(other)


def sync(fd: int) -> None:
    """Return when everything written to ``fd`` survives a power cut; raises OSError."""
    _flush(fd)


def sync_folder(folder: Path) -> None:
    """Return when the names in ``folder`` survive a power cut; raises OSError."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def make_folder(folder: Path) -> None:
    """Create ``folder`` and its parents, each durable in the one above; raises OSError."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for path in missing:
        sync_folder(path.parent)


def same(fd: int, path: Path) -> bool:
    """True while ``path`` names the very file that ``fd`` is open on; raises OSError."""
    try:
        return os.path.samestat(os.fstat(fd), path.stat())
    except (FileNotFoundError, NotADirectoryError):
        return False


def write_all(fd: int, content: bytes) -> None:
    """Write ``content`` whole, as a rule in one call; raises the OSError that cut it short."""
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(fd, rest) :]


def copy(source: int, target: int, size: int) -> None:
    """Append the first ``size`` bytes of ``source`` to ``target``; raises OSError."""
    offset = 0
    while offset < size:
        chunk = os.pread(source, min(_CHUNK, size - offset), offset)
        if not chunk:
            raise OSError(errno.EIO, "its content is gone")
        write_all(target, chunk)
        offset += len(chunk)


def reserve(path: Path, size: int) -> None:
    """Make ``path`` a file that really occupies ``size`` bytes; raises OSError, leaving none."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        write_all(fd, bytes(size))
    except OSError:
        path.unlink(missing_ok=True)
        raise
    finally:
        os.close(fd)


def publish(path: Path, content: bytes) -> bool:
    """Create ``path`` with ``content``, whole or not at all; False if it was there before (T-4).

    Raises:
        OSError: if it cannot be written.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        write_all(fd, content)
        os.fsync(fd)
        _link(draft, path)
    except FileExistsError:
        return False
    finally:
        os.close(fd)
        with suppress(OSError):
            draft.unlink()
    sync_folder(path.parent)
    return True


def _link(draft: Path, path: Path) -> None:
    try:
        os.link(draft, path)
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        with path.open("xb") as plain:  # a file system without hard links
            plain.write(draft.read_bytes())
