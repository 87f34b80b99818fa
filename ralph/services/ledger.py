"""The user's ledger: agent launches of the last hour and known usage limits (L-23, A-5).

One small SQLite file is shared by all runs and repositories; each call opens it anew, so that a
ledger deleted or replaced meanwhile is noticed at once.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

from ralph.core.live import Slot
from ralph.core.policy import Policy
from ralph.core.rate import HOUR, SKEW, window
from ralph.errors import StorageError
from ralph.services import disk, locks, places
from ralph.services.clock import SystemClock

T = TypeVar("T")

_BUSY_SECONDS = 5.0
_ATTEMPTS = 4
_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_CORRUPT = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR})
_LEAST_SPACE = 64 << 10  # SQLite's shared index takes 32 KiB; short of it, it says "I/O error"
_HINTS = {
    sqlite3.SQLITE_FULL: "free some space",
    sqlite3.SQLITE_BUSY: "another program keeps it locked; end that one and try again",
    sqlite3.SQLITE_READONLY: "check the owner and mode of the file and its folder",
    sqlite3.SQLITE_CANTOPEN: "check the owner and mode of the file and its folder",
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TICK = timedelta(microseconds=1)
_SCHEMA = """
CREATE TABLE IF NOT EXISTS calls (at INTEGER NOT NULL, agent TEXT NOT NULL, root TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS calls_by_agent ON calls (agent, at);
CREATE TABLE IF NOT EXISTS resets (
    agent TEXT PRIMARY KEY, until INTEGER NOT NULL, learnt INTEGER NOT NULL
);
"""


def ledger_path() -> Path:
    """``$XDG_STATE_HOME/ralph/ledger.sqlite3``."""
    return places.state_home() / "ledger.sqlite3"


class CallWindow:
    """The rolling hour of agent launches; satisfies the loop's Calls.

    Exact with any number of processes: a call is counted and taken in one transaction. Every
    method raises StorageError, naming the file, if the ledger cannot be used; a damaged ledger is
    set aside, started anew and reported in ``problems``.
    """

    def __init__(
        self, root: Path, *, path: Path | None = None, clock: SystemClock | None = None
    ) -> None:
        self.problems: list[str] = []
        self._clock = clock or SystemClock()
        self._ledger = Ledger(path or ledger_path(), self._clock, self.problems)
        self._root = os.path.realpath(root)
        self._by_turns = False

    def look(self, agent: str, policy: Policy, now: datetime) -> Slot:
        """The window as it is: ``taken`` says that a call is free; nothing is counted (L-21)."""
        return self._ledger.do(lambda db: self._window(db, agent, policy, now))

    def take(self, agent: str, policy: Policy, now: datetime) -> Slot:
        """Count one launch, unless the window is at its limit (L-21, L-23).

        ``rate.calls_per_hour`` 0 sets no limit; launches are counted all the same.
        """
        self._by_turns = policy.rate.count == "turns"
        return self._ledger.do(lambda db: self._take(db, agent, policy, now))

    def settle(self, agent: str, turns: int, now: datetime) -> None:
        """Count the further turns of the launch just over, if ``rate.count`` is turns (L-23)."""
        if self._by_turns and turns > 1:
            rows = [(_micros(now), agent, self._root)] * (turns - 1)
            self._ledger.change("INSERT INTO calls VALUES (?, ?, ?)", *rows)

    def remember_reset(self, agent: str, until: datetime) -> None:
        """Keep the instant before which ``agent`` is at its limit; the latest word counts (A-5)."""
        row = (agent, _micros(until), _micros(self._clock.now()))
        self._ledger.change("REPLACE INTO resets VALUES (?, ?, ?)", row)

    def forget_reset(self, agent: str) -> None:
        """Drop that instant: a person wants to try (A-5)."""
        self._ledger.change("DELETE FROM resets WHERE agent = ?", (agent,))

    def reset_of(self, agent: str, now: datetime) -> datetime | None:
        """The instant that any run of this user has learnt; None when it has passed (A-5).

        None as well when it was learnt in the future: the clock was set back since.
        """
        ask = "SELECT until FROM resets WHERE agent = ? AND until > ? AND until < ? AND learnt <= ?"
        bounds = (agent, _micros(now), _micros(datetime.max.replace(tzinfo=UTC)))
        values = (*bounds, _micros(now + SKEW))
        rows = self._ledger.do(lambda db: db.execute(ask, values).fetchall())
        return _instant(rows[0][0]) if rows else None

    def _window(self, db: sqlite3.Connection, agent: str, policy: Policy, now: datetime) -> Slot:
        ask = "SELECT at FROM calls WHERE agent = ? AND at > ? AND at <= ?"
        values: tuple[object, ...] = (agent, *_span(now))
        if policy.rate.scope == "project":
            ask, values = f"{ask} AND root = ?", (*values, self._root)
        launches = (_instant(at) for (at,) in db.execute(ask, values))
        count, free_at = window(launches, now, policy.rate.calls_per_hour)
        return Slot(taken=free_at is None, count=count, free_at=free_at)

    def _take(self, db: sqlite3.Connection, agent: str, policy: Policy, now: datetime) -> Slot:
        with _transaction(db):
            db.execute("DELETE FROM calls WHERE at <= ? OR at > ?", _span(now))
            slot = self._window(db, agent, policy, now)
            if not slot.taken:
                return slot
            row = (_micros(now), agent, self._root)
            db.execute("INSERT INTO calls VALUES (?, ?, ?)", row)
            return Slot(taken=True, count=slot.count + 1)


class Ledger:
    """The file itself: opened for each piece of work, patient while busy, renewed if damaged."""

    def __init__(self, path: Path, clock: SystemClock, problems: list[str]) -> None:
        self._path = path
        self._clock = clock
        self._problems = problems

    def change(self, sql: str, *rows: tuple[object, ...]) -> None:
        """Execute ``sql`` for each of ``rows`` in one transaction.

        Raises:
            StorageError: as ``do``.
        """

        def write(db: sqlite3.Connection) -> None:
            with _transaction(db):
                db.executemany(sql, rows)

        self.do(write)

    def do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run ``work`` on the open ledger: again while it is busy, on a new one if damaged.

        Raises:
            StorageError: if it cannot be used; names the file, ``full`` when space ran out.
        """
        try:
            try:
                return self._patiently(work)
            except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
                if not _tells_of_damage(error):
                    raise
                self._set_aside(error)
            return self._patiently(work)
        except OSError as error:
            raise disk.failure(self._path, error) from error
        except sqlite3.Error as error:
            raise _unusable(self._path, error) from error

    def _patiently(self, work: Callable[[sqlite3.Connection], T]) -> T:
        from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_random

        attempts = Retrying(
            retry=retry_if_exception(lambda error: _code(error) in _BUSY),
            stop=stop_after_attempt(_ATTEMPTS),
            wait=wait_random(0.01, 0.2),
            sleep=self._clock.pause,
            reraise=True,
        )
        done: T = attempts(self._once, work)
        return done

    def _once(self, work: Callable[[sqlite3.Connection], T]) -> T:
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with closing(_connect(self._path)) as db:
            if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'resets'").fetchone():
                with self._alone():
                    db.execute("PRAGMA journal_mode = WAL")
                    db.executescript(_SCHEMA)
            db.execute("PRAGMA synchronous = FULL")
            return work(db)

    def _set_aside(self, error: Exception) -> None:
        """Rename the damaged file, unless another process has renewed it already."""
        with self._alone():
            if _sound(self._path):
                return
            stamp = self._clock.now().strftime("%Y%m%d-%H%M%S-%f")
            kept = self._path.with_name(f"{self._path.name}.damaged-{stamp}")
            for tail in ("-wal", "-shm", ""):  # a log left behind would be played into the new file
                with suppress(FileNotFoundError):
                    Path(f"{self._path}{tail}").rename(f"{kept}{tail}")
        self._problems.append(
            f"the call window {self._path} was damaged ({error}): counting starts anew, "
            f"the old file is kept as {kept.name}"
        )

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep every other process from creating or renaming the file meanwhile."""
        fd = os.open(f"{self._path}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if not locks.acquire(fd, patience=_BUSY_SECONDS, clock=self._clock):
                raise TimeoutError("another process keeps it locked")
            yield
        finally:
            os.close(fd)


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)


@contextmanager
def _transaction(db: sqlite3.Connection) -> Iterator[None]:
    """Hold the write lock from the first read on; all or nothing."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            db.execute("ROLLBACK")
        raise


def _sound(path: Path) -> bool:
    try:
        with closing(_connect(path)) as db:
            db.text_factory = bytes  # it may quote what is damaged
            return db.execute("PRAGMA integrity_check").fetchall() == [(b"ok",)]
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        if not _tells_of_damage(error):
            raise
        return False


def _tells_of_damage(error: Exception) -> bool:
    """True also for an error whose own text, quoted from the file, cannot be decoded."""
    return isinstance(error, UnicodeDecodeError) or _code(error) in _CORRUPT


def _code(error: BaseException) -> int:
    """Primary SQLite result code; 0 for anything else."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def _unusable(path: Path, error: sqlite3.Error) -> StorageError:
    code = _code(error)
    if code == sqlite3.SQLITE_IOERR and _space(path.parent) < _LEAST_SPACE:
        code = sqlite3.SQLITE_FULL
    hint = _HINTS.get(code, "move the file away: the call window then starts anew")
    return StorageError(
        f"cannot use the call window {path}: {error}", hint=hint, full=code == sqlite3.SQLITE_FULL
    )


def _space(folder: Path) -> int:
    """Free bytes where ``folder`` is."""
    try:
        status = os.statvfs(folder)
    except OSError:
        return _LEAST_SPACE
    return status.f_bavail * status.f_frsize


def _span(now: datetime) -> tuple[int, int]:
    """Launches after the first and up to the second instant count (L-21, L-23)."""
    return _micros(now - HOUR), _micros(now + SKEW)


def _micros(at: datetime) -> int:
    return (at - _EPOCH) // _TICK


def _instant(micros: int) -> datetime:
    return _EPOCH + micros * _TICK
