"""The call window: exact under parallel processes, rolling, and hard to break (L-21 to L-23)."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ralph.core.policy import Policy, RatePolicy
from ralph.core.rate import HOUR, LONGEST_SLEEP, SKEW, next_sleep, window
from ralph.errors import StorageError
from ralph.services.clock import SystemClock
from ralph.services.ledger import CallWindow, Ledger, ledger_path

NOW = datetime(2026, 3, 1, 2, 0, tzinfo=UTC)
SECOND = timedelta(seconds=1)
TAKER = """
import sys
from datetime import datetime
from pathlib import Path
from ralph.core.policy import Policy, RatePolicy
from ralph.services.ledger import CallWindow

policy = Policy(rate=RatePolicy(calls_per_hour=int(sys.argv[1])))
window, now = CallWindow(Path.cwd()), datetime.fromisoformat(sys.argv[2])
sys.stdin.read()
print(sum(window.take("claude", policy, now).taken for _ in range(int(sys.argv[3]))))
print(*window.problems, sep="\\n")
"""


def rated(limit: int, **more: object) -> Policy:
    return Policy(rate=replace(RatePolicy(calls_per_hour=limit), **more))


def race(processes: int, limit: int, tries: int) -> tuple[int, list[str]]:
    """Calls granted to all processes together, and what they reported."""
    argv = [sys.executable, "-c", TAKER, str(limit), NOW.isoformat(), str(tries)]
    takers = [
        subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(processes)
    ]
    for taker in takers:
        assert taker.stdin
        taker.stdin.close()
        taker.stdin = None
    said = [taker.communicate(timeout=120)[0].splitlines() for taker in takers]
    assert [taker.returncode for taker in takers] == [0] * processes
    return sum(int(lines[0]) for lines in said), [line for lines in said for line in lines[1:]]


# L-23
@pytest.mark.parametrize("processes", [2, 4])
def test_l23_parallel_runs_never_exceed_the_limit_and_use_it_up(processes: int) -> None:
    granted, _ = race(processes, limit=30, tries=20)
    assert granted == 30


# L-23
def test_l23_parallel_runs_that_find_a_damaged_ledger_still_count_exactly() -> None:
    ledger_path().parent.mkdir(parents=True)
    ledger_path().write_bytes(b"this is not a database" * 400)
    granted, problems = race(3, limit=12, tries=8)
    assert granted == 12
    assert sum("was damaged" in line for line in problems) == 1


# L-21
def test_l21_a_call_is_free_again_exactly_an_hour_after_the_oldest(tmp_path: Path) -> None:
    calls, policy = CallWindow(tmp_path), rated(2)
    assert calls.take("claude", policy, NOW).count == 1
    assert calls.take("claude", policy, NOW + 10 * SECOND).count == 2
    full = calls.take("claude", policy, NOW + 20 * SECOND)
    assert (full.taken, full.count, full.free_at) == (False, 2, NOW + HOUR)
    assert not calls.take("claude", policy, NOW + HOUR - timedelta(microseconds=1)).taken
    assert calls.take("claude", policy, NOW + HOUR).taken
    assert not calls.take("claude", policy, NOW + HOUR).taken


# L-21
def test_l21_looking_counts_nothing(tmp_path: Path) -> None:
    calls, policy = CallWindow(tmp_path), rated(1)
    assert [calls.look("claude", policy, NOW).count for _ in range(3)] == [0, 0, 0]
    calls.take("claude", policy, NOW)
    looked = calls.look("claude", policy, NOW)
    assert (looked.taken, looked.count, looked.free_at) == (False, 1, NOW + HOUR)


# L-23
def test_l23_each_agent_has_its_window_and_repositories_share_it(tmp_path: Path) -> None:
    here, there, policy = CallWindow(tmp_path / "a"), CallWindow(tmp_path / "b"), rated(1)
    assert here.take("claude", policy, NOW).taken
    assert here.take("codex", policy, NOW).taken
    assert not there.take("claude", policy, NOW).taken
    assert there.take("claude", rated(1, scope="project"), NOW).taken


# L-23
def test_l23_without_a_limit_calls_are_counted_all_the_same(tmp_path: Path) -> None:
    calls = CallWindow(tmp_path)
    assert [calls.take("claude", rated(0), NOW).count for _ in range(3)] == [1, 2, 3]
    assert not calls.take("claude", rated(3), NOW).taken


# L-23
def test_l23_turns_count_only_when_asked_for(tmp_path: Path) -> None:
    calls, launches, turns = CallWindow(tmp_path), rated(100), rated(100, count="turns")
    calls.take("claude", launches, NOW)
    calls.settle("claude", 7, NOW)
    assert calls.look("claude", launches, NOW).count == 1
    calls.take("claude", turns, NOW)
    calls.settle("claude", 7, NOW)
    assert calls.look("claude", turns, NOW).count == 1 + 7


# L-23
def test_l23_a_clock_set_back_locks_nobody_out(tmp_path: Path) -> None:
    calls, policy = CallWindow(tmp_path), rated(1)
    assert calls.take("claude", policy, NOW + timedelta(days=400)).taken
    assert calls.look("claude", policy, NOW).taken
    assert calls.take("claude", policy, NOW).taken
    assert calls.look("claude", policy, NOW + timedelta(days=400)).count == 0


def test_a5_a_reset_is_known_to_every_run_until_it_passes_or_is_forgotten(tmp_path: Path) -> None:
    clock = Fixed(NOW)
    here, there = CallWindow(tmp_path, clock=clock), CallWindow(tmp_path / "b", clock=clock)
    here.remember_reset("claude", NOW + HOUR)
    here.remember_reset("claude", NOW + 2 * HOUR)
    assert there.reset_of("claude", NOW) == NOW + 2 * HOUR
    assert there.reset_of("codex", NOW) is None
    assert there.reset_of("claude", NOW + 2 * HOUR) is None
    there.forget_reset("claude")
    assert here.reset_of("claude", NOW) is None


def test_a5_a_reset_learnt_before_the_clock_was_set_back_is_not_believed(tmp_path: Path) -> None:
    later = NOW + timedelta(days=400)
    CallWindow(tmp_path, clock=Fixed(later)).remember_reset("claude", later + HOUR)
    assert CallWindow(tmp_path).reset_of("claude", NOW) is None


def test_a_ledger_deleted_between_two_calls_is_begun_anew(tmp_path: Path) -> None:
    calls = CallWindow(tmp_path)
    calls.take("claude", rated(5), NOW)
    for path in ledger_path().parent.iterdir():
        path.unlink()
    assert calls.take("claude", rated(5), NOW).count == 1


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_no_damage_anywhere_in_the_file_stops_the_counting(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("ledger") / "ledger.sqlite3"
    calls, policy = CallWindow(path.parent, path=path), rated(1000)
    for second in range(20):
        calls.take("claude", policy, NOW + second * SECOND)
    raw = bytearray(path.read_bytes())
    if data.draw(st.booleans()):
        del raw[data.draw(st.integers(1, len(raw) - 1)) :]
    else:
        at = data.draw(st.integers(20, len(raw) - 1))
        raw[at : at + 64] = data.draw(st.binary(min_size=1, max_size=64))
    path.write_bytes(raw)
    assert calls.take("claude", policy, NOW + HOUR - SECOND).taken


def test_a_damaged_ledger_is_kept_aside_and_reported(tmp_path: Path) -> None:
    calls = CallWindow(tmp_path)
    calls.take("claude", rated(5), NOW)
    ledger_path().write_bytes(b"\xff" * 9000)
    assert calls.take("claude", rated(5), NOW).count == 1
    kept = [path for path in ledger_path().parent.iterdir() if ".damaged-" in path.name]
    assert [path.read_bytes() for path in kept] == [b"\xff" * 9000]
    assert calls.problems
    assert kept[0].name in calls.problems[0]


def test_a_ledger_that_another_process_has_renewed_meanwhile_is_not_set_aside(
    tmp_path: Path,
) -> None:
    CallWindow(tmp_path).take("claude", rated(5), NOW)
    problems: list[str] = []
    tried: list[int] = []

    def work(db: sqlite3.Connection) -> int:
        tried.append(1)
        if len(tried) == 1:
            error = sqlite3.DatabaseError("database disk image is malformed")
            error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
            raise error
        return int(db.execute("SELECT count(*) FROM calls").fetchone()[0])

    assert Ledger(ledger_path(), SystemClock(), problems).do(work) == 1
    assert problems == []


def test_a_locked_ledger_is_waited_for_and_then_an_error_that_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ralph.services.ledger._BUSY_SECONDS", 0.05)
    calls = CallWindow(tmp_path)
    calls.take("claude", rated(5), NOW)
    with closing(sqlite3.connect(ledger_path(), isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageError, match=r"ledger\.sqlite3.*locked") as caught:
            calls.take("claude", rated(5), NOW)
        assert not caught.value.full
        other.execute("ROLLBACK")
    assert calls.take("claude", rated(5), NOW).count == 2


def test_f2_a_read_only_ledger_is_an_error_that_names_it_and_stays_as_it_is(tmp_path: Path) -> None:
    calls = CallWindow(tmp_path)
    calls.take("claude", rated(5), NOW)
    raw = bytearray(ledger_path().read_bytes())
    raw[18] = 3  # a format that SQLite reads and refuses to write, root or not
    ledger_path().write_bytes(raw)
    with pytest.raises(StorageError, match=r"ledger\.sqlite3.*readonly") as caught:
        calls.take("claude", rated(5), NOW)
    assert "owner and mode" in caught.value.hint
    assert ledger_path().read_bytes() == raw


def test_f2_a_state_home_that_cannot_be_made_is_an_error_that_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    with pytest.raises(StorageError, match=str(tmp_path / "file")):
        CallWindow(tmp_path).take("claude", rated(5), NOW)


# L-23
def test_l23_a_killed_process_leaves_no_lock_and_no_lost_count(tmp_path: Path) -> None:
    endless = TAKER[: TAKER.index("sys.stdin.read()")] + (
        'while True:\n    print(window.take("claude", policy, now).count, flush=True)\n'
    )
    argv = [sys.executable, "-c", endless, "0", NOW.isoformat()]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as taker:
        assert taker.stdout
        for _ in range(5):
            taker.stdout.readline()
        taker.kill()
        acknowledged = 5 + len(taker.stdout.readlines())
    counted = CallWindow(tmp_path).take("claude", rated(0), NOW).count - 1
    assert counted in (acknowledged, acknowledged + 1)


class Fixed:
    """A clock that stands."""

    def __init__(self, now: datetime) -> None:
        self._now = now

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return 0.0

    def pause(self, seconds: float) -> None:
        """No time passes."""


OFFSETS = st.lists(st.integers(-7200, 7200).map(lambda s: NOW + s * SECOND), max_size=40)


# L-21
@given(OFFSETS, st.integers(1, 20))
def test_l21_law_the_next_call_is_free_at_the_named_instant_and_not_before(
    launches: list[datetime], limit: int
) -> None:
    count, free_at = window(launches, NOW, limit)
    assert count == sum(NOW - HOUR < at <= NOW + SKEW for at in launches)
    assert (free_at is None) == (count < limit)
    if free_at is not None:
        known = [at for at in launches if at <= NOW + SKEW]
        assert NOW < free_at <= NOW + HOUR + SKEW
        assert window(known, free_at, limit)[1] is None
        assert window(known, free_at - timedelta(microseconds=1), limit)[1] is not None


# L-23
@given(OFFSETS)
def test_l23_law_a_limit_of_zero_never_waits(launches: list[datetime]) -> None:
    assert window(launches, NOW, 0)[1] is None


# L-21
@given(st.integers(-9000, 9000))
def test_l21_law_a_sleep_is_never_negative_nor_longer_than_five_minutes(seconds: int) -> None:
    slept = next_sleep(NOW + seconds * SECOND, NOW)
    assert slept == min(LONGEST_SLEEP, max(0, seconds))
