"""Locks that the kernel releases when their holder dies, however it dies (F1, T-2)."""

from __future__ import annotations

import fcntl
import os
from datetime import datetime
from pathlib import Path

import msgspec

from ralph.errors import TreeLocked
from ralph.services import disk, places
from ralph.services.clock import SystemClock

_PATIENCE = 0.5
_PAUSE = 0.01


def this_host() -> str:
    """Name of this machine as runs and locks record it."""
    return os.uname().nodename


def acquire(fd: int, *, patience: float = _PATIENCE, clock: SystemClock | None = None) -> bool:
    """Take the exclusive lock on ``fd``; False while another process holds it.

    Waits up to ``patience`` seconds, since somebody who only looks (``held``) may touch the lock
    for a moment. The lock lives as long as any duplicate of ``fd``; raises OSError where the file
    system knows no locks.
    """
    clock = clock or SystemClock()
    deadline = clock.monotonic() + patience
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if clock.monotonic() >= deadline:
                return False
            clock.pause(_PAUSE)
        else:
            return True


def held(path: Path) -> bool:
    """True while a live process holds the lock on ``path``; False as well where no file is.

    Raises:
        StorageError: if the file cannot be opened, so that nobody can tell.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise disk.failure(path, error, "read") from error
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """Who wrote its name into a lock; the lock itself, not this, says whether it is taken."""

    pid: int = 0
    host: str = ""
    run_id: str = ""
    since: datetime | None = None


class TreeLock:
    """The right of one run to work in one tree; at most one live holder (F1)."""

    def __init__(self, fd: int, path: Path) -> None:
        self._fd = fd
        self.path = path

    @classmethod
    def take(cls, root: Path, run_id: str = "", *, clock: SystemClock | None = None) -> TreeLock:
        """Lock the tree at ``root``; the lock of a dead process is taken over.

        Raises:
            TreeLocked: if it is taken; names the holder's pid, run and, if foreign, host.
            StorageError: if the lock file cannot be written.
        """
        clock = clock or SystemClock()
        path = lock_path(root)
        try:
            fd = _locked(path, clock)
        except OSError as error:
            raise disk.failure(path, error, "lock") from error
        if fd is None:
            raise _taken(path)
        holder = Holder(pid=os.getpid(), host=this_host(), run_id=run_id, since=clock.now())
        try:
            os.ftruncate(fd, 0)
            os.pwrite(fd, msgspec.json.encode(holder) + b"\n", 0)
        except OSError as error:
            os.close(fd)
            raise disk.failure(path, error) from error
        return cls(fd, path)

    @property
    def fd(self) -> int:
        """Descriptor that carries the lock: who inherits it keeps the tree locked."""
        return self._fd

    def close(self) -> None:
        """Let go; the tree stays locked while another process has inherited ``fd``."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def lock_path(root: Path) -> Path:
    """Lock file of the tree at ``root``: outside of it, so that no cleaning removes it (A19)."""
    import hashlib  # not needed to look at a run, and slow to load

    real = os.path.realpath(root)
    key = hashlib.sha256(os.fsencode(real)).hexdigest()[:16]
    return places.state_home() / "locks" / key


def _locked(path: Path, clock: SystemClock) -> int | None:
    """Locked descriptor of the file that is at ``path`` now; None when the lock is taken."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    while True:
        fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            taken = not acquire(fd, patience=0.0, clock=clock)
            deleted = not disk.same(fd, path)
        except OSError:
            os.close(fd)
            raise
        if not taken and not deleted:
            return fd
        os.close(fd)
        if taken:
            return None


def _taken(path: Path) -> TreeLocked:
    try:
        holder = msgspec.json.decode(path.read_bytes(), type=Holder)
    except (OSError, ValueError):
        holder = Holder()
    who = f"pid {holder.pid}" if holder.pid else "pid unknown"
    who += f", run {holder.run_id}" if holder.run_id else ""
    if holder.host and holder.host != this_host():
        message = f"a ralph on another machine works in this tree: {who}, host {holder.host}"
        return TreeLocked(message, hint=f"stop it on {holder.host}")
    if holder.pid and not _runs(holder.pid):
        message = f"a ralph that died ({who}) left an agent in this tree that is being ended"
        return TreeLocked(message, hint="try again in some seconds")
    return another(who)


def another(who: str) -> TreeLocked:
    """The refusal that names ``who`` works in the tree."""
    return TreeLocked(
        f"another ralph works in this tree: {who}",
        hint="`ralph status` shows it, `ralph stop` ends it",
    )


def _runs(pid: int) -> bool:
    """For the wording only; a pid proves nothing about a lock."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
