"""The runs of a repository, found through their journals; dead ones get their end (C-1, T-2)."""

from __future__ import annotations

import os
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct, ValidationError
from msgspec.structs import replace

from ralph.core.events import AnyEvent, RunEnded, RunStarted
from ralph.errors import (
    JournalDamaged,
    NothingToDo,
    RalphError,
    StorageError,
    TreeLocked,
    UsageError,
)
from ralph.services import disk, journal, lines, locks, places
from ralph.services.clock import SystemClock
from ralph.services.journal import Journal, RunIsOver
from ralph.services.locks import this_host

_LAST = 4096
_PATIENCE = 1.0
_NOT_FROM_HERE = (JournalDamaged, StorageError, TreeLocked, RunIsOver, ValidationError)


class RunFolder(Struct, frozen=True):
    """One run on disk; each method reads what is there at that moment.

    All raise JournalDamaged and StorageError as ``journal.read`` does.
    """

    path: Path

    @property
    def run_id(self) -> str:
        """Id of the run: the name of its folder."""
        return self.path.name

    def started(self) -> RunStarted:
        """The opening event.

        Raises:
            NothingToDo: if the run has not got that far.
        """
        event = journal.first(self.path)
        if event is None:
            raise NothingToDo(f"run {self.run_id} has no event", hint="`ralph runs` lists the runs")
        return event

    def events(self) -> list[AnyEvent]:
        """All events; a torn last line is left out."""
        return journal.read(self.path)

    def tail(self) -> list[AnyEvent]:
        """The last events, at least one if there is one."""
        return journal.tail(self.path)

    def live(self) -> bool:
        """True while the run's supervisor holds its journal (T-2)."""
        return journal.is_live(self.path)

    def ended(self) -> RunEnded | None:
        """The terminal record; None as long as there is none (T-4)."""
        last = journal.tail(self.path, _LAST)[-1:]
        return last[0] if last and isinstance(last[0], RunEnded) else None

    def elsewhere(self) -> str:
        """Host whose ralph alone can tell whether this open run lives; empty for this one (T-2)."""
        host = self.started().host
        return host if host != this_host() and self.ended() is None else ""


def new_run_id(now: datetime) -> str:
    """An id no other run has and that sorts by time: ``YYYYMMDD-HHMMSS-`` and ten hex digits.

    The first five are the microseconds, the others chance; should it fail, ``Journal.create``
    refuses the second run.
    """
    utc = now.astimezone(UTC)
    return f"{utc:%Y%m%d-%H%M%S}-{utc.microsecond:05x}{os.urandom(3).hex()[:5]}"


def run_path(root: Path, run_id: str) -> Path:
    """Folder of run ``run_id`` of the repository at ``root``."""
    return places.runs(root) / run_id


def all_runs(root: Path) -> list[RunFolder]:
    """Runs that have begun, newest first; a folder without a readable opening event is none.

    Raises:
        StorageError: if a journal cannot be read.
    """
    return [run for run in _folders(root) if _begun(run)]


def find(root: Path, run: str | None) -> RunFolder:
    """The run called ``run``, or the only one that begins so; None or ``last``: the newest.

    Raises:
        NothingToDo: if there is none.
        UsageError: if ``run`` is the beginning of several ids.
    """
    if run in (None, "last"):
        newest = next((folder for folder in _folders(root) if _present(folder)), None)
        if newest is None:
            raise NothingToDo("no run here yet", hint="`ralph run PROMPT.md` starts one")
        return newest
    named = [folder for folder in _folders(root) if folder.run_id.startswith(run or "")]
    exact = [folder for folder in named if folder.run_id == run]
    if len(exact or named) > 1:
        names = ", ".join(folder.run_id for folder in named[:5])
        raise UsageError(
            f"{run!r} is the beginning of several runs: {names}", hint="say more of it"
        )
    if not named:
        raise NothingToDo(f"no run {run!r} here", hint="`ralph runs` lists the runs")
    return (exact or named)[0]


def newest_of_work(root: Path, work_id: str) -> RunFolder | None:
    """The newest run of the work ``work_id`` (T-6)."""
    runs = all_runs(root)
    return next((run for run in runs if run.started().work_id == work_id), None)


def work_base(root: Path, prompt: Path, plan: Path) -> str:
    """Name of the work of these three paths, without its ordinal: twelve hex digits (C-1).

    Paths inside ``root`` count relative to it; however a path is spelled, its file decides.
    """
    import hashlib  # costs more than all else that ``status`` needs

    top = os.path.realpath(root)
    real = (os.path.relpath(os.path.realpath(path), top) for path in (prompt, plan))
    key = b"\0".join(os.fsencode(part) for part in (top, *real))
    return hashlib.sha256(key).hexdigest()[:12]


def refuse_beside(root: Path, *, clock: SystemClock | None = None) -> None:
    """Make sure that no run of this tree is alive, also where locks are kept in other places (F1).

    The tree's lock lies in the user's state folder; a ralph with another one, or whose lock file
    was deleted, is known by the journal that it holds. Somebody who only closes a dead run holds
    it for a moment.

    Raises:
        TreeLocked: naming the pid and run.
        StorageError: if a journal cannot be opened.
    """
    clock = clock or SystemClock()
    deadline = clock.monotonic() + _PATIENCE
    while (live := next((run for run in _folders(root) if run.live()), None)) is not None:
        if clock.monotonic() > deadline:
            raise _beside(live)
        clock.pause(_PATIENCE / 10)


def _beside(live: RunFolder) -> TreeLocked:
    with suppress(RalphError):
        who = live.started()
        if who.host != this_host():
            message = f"a ralph on another machine works in this tree: run {live.run_id}"
            return TreeLocked(f"{message}, host {who.host}", hint=f"stop it on {who.host}")
        return locks.another(f"pid {who.pid}, run {live.run_id}")
    return locks.another(f"run {live.run_id}")


def close_crashed(root: Path, now: datetime) -> list[RunEnded]:
    """Close every run whose supervisor died without a word: ESCALATED / crashed (T-2).

    Dead means: no terminal record and nobody holds the journal; the iteration in flight is named
    as interrupted (X-5). What cannot be judged from here is left as it is: a run of another host,
    a damaged journal, a folder that cannot be written. Returns the records, oldest first.
    """
    closed: list[RunEnded] = []
    for run in reversed(_folders(root)):
        with suppress(*_NOT_FROM_HERE):
            ended = _close(run, now)
            closed += [ended] if ended else []
    return closed


def _close(run: RunFolder, now: datetime) -> RunEnded | None:
    if not _begun(run) or run.live():
        return None
    ended = run.ended()
    if ended is not None:
        _publish_missing(run, ended)
    if ended is not None or run.elsewhere():
        return None
    with closing(Journal.reopen(run.path)) as writer:
        record = writer.append(_crashed(run.events(), now))
    return record if isinstance(record, RunEnded) else None


def _crashed(events: list[AnyEvent], now: datetime) -> RunEnded:
    # Few runs end so, and ``status`` is to be quick.
    from ralph.core.fold import fold
    from ralph.core.outcome import escalated
    from ralph.core.terminal import terminal_record

    state, last = fold(events), events[-1]
    detail = f"the supervisor died without a word after {last.at:%Y-%m-%d %H:%M:%S} UTC"
    if state.flight is not None:
        detail += f", iteration {state.flight.iteration} was in flight"
    record = terminal_record(state, escalated("crashed", detail), (), at=now)
    lived = (last.at - state.started.at).total_seconds()
    return replace(record, seconds=max(0.0, lived))


def _publish_missing(run: RunFolder, ended: RunEnded) -> None:
    """The supervisor died between its last line and the copy of it (T-4)."""
    if not (run.path / journal.TERMINAL).exists():
        journal.publish(run.path, lines.encode(ended)[0])


def _folders(root: Path) -> list[RunFolder]:
    """Folders that may be runs by their name, from the newest."""
    try:
        paths = sorted(places.runs(root).iterdir(), reverse=True)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise disk.failure(places.runs(root), error, "read") from error
    return [RunFolder(path) for path in paths]


def _begun(run: RunFolder) -> bool:
    with suppress(JournalDamaged):
        return journal.first(run.path) is not None
    return False


def _present(run: RunFolder) -> bool:
    """True also for a damaged journal: to leave it out would show an older run as the last."""
    try:
        return journal.first(run.path) is not None
    except JournalDamaged:
        return True
