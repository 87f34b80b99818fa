"""The journal of a run: written one durable line an event, read at any time by anybody (10.1).

The writer holds the lock on the journal file itself: whoever sees the journal at its place can
tell whether its writer lives, also after the folder was deleted and restored under it (A19).
"""

from __future__ import annotations

import errno
import os
import zlib
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from ralph.core.events import AnyEvent, RunEnded, RunStarted
from ralph.errors import JournalDamaged, RalphError, StorageError, TreeLocked
from ralph.services import disk, lines, locks

JOURNAL = "journal.jsonl"
TERMINAL = "terminal.json"
RESERVE = "reserve"
RESERVE_BYTES = 1 << 20
_FLAGS = os.O_RDWR | os.O_APPEND
_BLOCK = 1 << 16


class RunIsOver(RalphError):
    """The run has its terminal record; nothing can be added to it (T-5)."""


class Journal:
    """The one writer of a run's journal; satisfies the loop's Recorder."""

    def __init__(self, folder: Path, fd: int, past: list[AnyEvent]) -> None:
        self._folder = folder
        self._path = folder / JOURNAL
        self._fd = fd
        self._seq = len(past)
        self._size = os.fstat(fd).st_size
        self._ended = bool(past) and isinstance(past[-1], RunEnded)
        self._spent = False
        self._kept: list[bytes] | None = None if past else []  # compressed lines, while complete
        self.restored = 0

    @classmethod
    def create(cls, folder: Path) -> Journal:
        """Begin the journal of a new run, locked, with a megabyte put by for its end.

        Raises:
            StorageError: if the folder has a journal already or cannot be written.
        """
        path, fd = folder / JOURNAL, -1
        try:
            disk.make_folder(folder)
            fd = os.open(path, _FLAGS | os.O_CREAT | os.O_EXCL, 0o600)
            _lock(fd)
            disk.reserve(folder / RESERVE, RESERVE_BYTES)
            disk.sync_folder(folder)
        except OSError as error:
            if fd >= 0:
                os.close(fd)
            raise disk.failure(path, error, "create") from error
        return cls(folder, fd, [])

    @classmethod
    def reopen(cls, folder: Path) -> Journal:
        """Take over the journal of a dead run to close it; cuts a torn last line (X-5).

        Raises:
            TreeLocked: if its writer lives.
            JournalDamaged: if a line before the last is bad; nothing is changed then.
            StorageError: if it cannot be opened.
        """
        path = folder / JOURNAL
        try:
            fd = os.open(path, _FLAGS)
        except OSError as error:
            raise disk.failure(path, error, "open") from error
        try:
            past = _take_over(fd, path)
        except BaseException:
            os.close(fd)
            raise
        return cls(folder, fd, past)

    @property
    def folder(self) -> Path:
        """The run folder."""
        return self._folder

    def append(self, event: AnyEvent) -> AnyEvent:
        """Return ``event`` with its number, as any reader will read it, once it is durable.

        After an error the journal is as before and can be tried again. A journal deleted by the
        agent is put back first, and ``restored`` counts it (A19). A RunEnded frees the reserve,
        is copied to ``terminal.json`` (T-4), over whatever lies there, and closes the run (T-5).

        Raises:
            StorageError: if it cannot be written; ``full`` when space ran out.
            RunIsOver: if the run has ended before.
            ValueError: if it could not be read back; nothing is written then.
        """
        if self._ended:
            raise RunIsOver(f"run {self._folder.name} has ended; its record stays as it is")
        if isinstance(event, RunEnded):
            self.spend_reserve()
        line, written = lines.encode(replace(event, seq=self._seq + 1))
        try:
            self._mend()
            self._write(line)
        except OSError as error:
            raise disk.failure(self._path, error) from error
        self._seq += 1
        if self._kept is not None:
            self._kept.append(zlib.compress(line, 1))
        if isinstance(event, RunEnded):
            self._ended = True
            with suppress(OSError):
                disk.set_aside(self._folder / TERMINAL)
            publish(self._folder, line)
        return written

    def spend_reserve(self) -> None:
        """Give the megabyte back, so that the last events fit on a full disk (F2)."""
        self._spent = True
        with suppress(OSError):
            (self._folder / RESERVE).unlink()

    def close(self) -> None:
        """Release the journal and its lock."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _write(self, line: bytes) -> None:
        try:
            disk.write_all(self._fd, line)
            disk.sync(self._fd)
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._fd, self._size)
            raise
        self._size += len(line)

    def _mend(self) -> None:
        """Undo what others did to the file: deleted, replaced, written to, cut short."""
        size = os.fstat(self._fd).st_size
        if size < self._size and self._kept is not None:
            size = self._rewrite(self._kept)
        if size < self._size:
            hint = "something other than ralph wrote to it; start a new run"
            raise StorageError(f"{self._path} was cut short by another program", hint=hint)
        if size > self._size:
            os.ftruncate(self._fd, self._size)
        if not disk.same(self._fd, self._path):
            self._restore()

    def _rewrite(self, kept: list[bytes]) -> int:
        """Write every line again and return the size."""
        os.ftruncate(self._fd, 0)
        for line in kept:
            disk.write_all(self._fd, zlib.decompress(line))
        disk.sync(self._fd)
        self.restored += 1
        return os.fstat(self._fd).st_size

    def _restore(self) -> None:
        """Put the journal back, already locked when it appears, from the open descriptor."""
        disk.make_folder(self._folder)
        if self._path.is_dir():
            disk.set_aside(self._path)
        draft = self._folder / f".{JOURNAL}.{os.getpid()}"
        fd = os.open(draft, _FLAGS | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            _lock(fd)
            disk.copy(self._fd, fd, self._size)
            os.fsync(fd)
            draft.replace(self._path)
            disk.sync_folder(self._folder)
        except OSError:
            os.close(fd)
            draft.unlink(missing_ok=True)
            raise
        os.close(self._fd)
        self._fd = fd
        self.restored += 1
        if not self._spent:
            with suppress(OSError):
                disk.reserve(self._folder / RESERVE, RESERVE_BYTES)


def is_live(folder: Path) -> bool:
    """True while the process that writes this run's journal lives (T-2); touches nothing.

    Raises:
        StorageError: if the journal is there and cannot be opened.
    """
    return locks.held(folder / JOURNAL)


def publish(folder: Path, record: bytes) -> None:
    """Copy the terminal record for other programs; the first copy stays, an error is no matter."""
    with suppress(OSError):
        disk.publish(folder / TERMINAL, record)


def read(folder: Path) -> list[AnyEvent]:
    """All events; a torn last line is left out, a missing journal is empty.

    Raises:
        JournalDamaged: if another line is bad or a number is missing; names path and line.
        StorageError: if the file cannot be read.
    """
    return lines.decode(_bytes(folder, 0), folder / JOURNAL, first=1)


def first(folder: Path) -> RunStarted | None:
    """The opening event alone; None as long as it is not complete.

    Raises:
        JournalDamaged, StorageError: as ``read``.
    """
    size = _BLOCK
    while b"\n" not in (head := _bytes(folder, 0, size)):
        if len(head) < size:
            return None
        size *= 4
    event = lines.decode(head[: head.index(b"\n") + 1], folder / JOURNAL, first=1)[0]
    if not isinstance(event, RunStarted):
        raise lines.damaged(folder / JOURNAL, 1, "it is not run_started")
    return event


def tail(folder: Path, n_bytes: int = _BLOCK) -> list[AnyEvent]:
    """The last events: all that lie whole in the last ``n_bytes``, at least one if there is one.

    Raises:
        JournalDamaged, StorageError: as ``read``.
    """
    while True:
        raw = _bytes(folder, -n_bytes)
        whole = len(raw) < n_bytes
        part = raw if whole else raw[raw.find(b"\n") + 1 :]
        if whole or b"\n" in part:
            return _part(part, folder)
        n_bytes *= 4


def follow(folder: Path, from_offset: int = 0) -> tuple[list[AnyEvent], int]:
    """Events whole since ``from_offset``, and the offset to ask with next time (0 at first).

    Raises:
        JournalDamaged, StorageError: as ``read``.
    """
    raw = _bytes(folder, from_offset)
    return _part(raw, folder), from_offset + raw.rfind(b"\n") + 1


def _lock(fd: int) -> None:
    if not locks.acquire(fd):
        raise BlockingIOError(errno.EAGAIN, "another process has locked it")


def _take_over(fd: int, path: Path) -> list[AnyEvent]:
    try:
        if not locks.acquire(fd) or not disk.same(fd, path):
            hint = "`ralph status` shows it"
            raise TreeLocked(f"run {path.parent.name} is still running", hint=hint)
        raw = _bytes(path.parent, 0)
        past = lines.decode(raw, path, first=1)
        os.ftruncate(fd, raw.rfind(b"\n") + 1)
    except OSError as error:
        raise disk.failure(path, error) from error
    return past


def _bytes(folder: Path, start: int, size: int = -1) -> bytes:
    """Content from ``start`` (negative: from the end); empty where there is no journal."""
    path = folder / JOURNAL
    try:
        with os.fdopen(disk.open_regular(path), "rb") as file:
            end = file.seek(0, os.SEEK_END)
            file.seek(max(0, start if start >= 0 else end + start))
            return file.read(size)
    except (FileNotFoundError, NotADirectoryError):
        return b""
    except OSError as error:
        raise disk.failure(path, error, "read") from error


def _part(raw: bytes, folder: Path) -> list[AnyEvent]:
    """Decode lines from the middle; an error is told with its line number in the whole file."""
    try:
        return lines.decode(raw, folder / JOURNAL)
    except JournalDamaged:
        read(folder)
        raise
