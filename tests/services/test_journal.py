"""The journal: nothing acknowledged is ever lost, nothing half-written is ever read (X-5, F2)."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import random
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ralph.core.events import RunEnded
from ralph.errors import JournalDamaged, StorageError, TreeLocked
from ralph.services import disk, journal
from ralph.services.journal import JOURNAL, RESERVE, RESERVE_BYTES, TERMINAL, Journal, RunIsOver
from ralph.services.lines import NewerJournal
from tests.support.records import attempt, ended, noted, started, writer, written


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return tmp_path / ".ralph" / "runs" / "a"


def test_events_come_back_as_they_were_returned_numbered_without_a_gap(run: Path) -> None:
    book = Journal.create(run)
    returned = [book.append(event) for event in (started("a"), attempt(1), noted("ü\n☃"))]
    assert [event.seq for event in returned] == [1, 2, 3]
    assert journal.read(run) == returned
    assert journal.first(run) == returned[0]
    assert journal.tail(run) == returned
    book.close()


def test_a_text_that_is_no_unicode_is_written_with_question_marks(run: Path) -> None:
    with contextlib.closing(Journal.create(run)) as book:
        written_event = book.append(started("a", prompt="caf\udce9.md"))
    assert journal.first(run) == written_event
    assert written_event.prompt == "caf?.md"  # type: ignore[union-attr]


#
def test_x5_a_last_line_torn_at_any_byte_is_ignored_on_reading_and_cut_on_writing(
    run: Path,
) -> None:
    written(run, [started("a"), attempt(1)])
    whole = (run / JOURNAL).read_bytes()
    last = noted("the last words")
    with contextlib.closing(Journal.reopen(run)) as book:
        book.append(last)
    full = (run / JOURNAL).read_bytes()
    for end in range(len(whole), len(full)):
        (run / JOURNAL).write_bytes(full[:end])
        assert [event.seq for event in journal.read(run)] == [1, 2]
        assert journal.tail(run, 10)[-1].seq == 2
        with contextlib.closing(Journal.reopen(run)) as book:
            assert (run / JOURNAL).read_bytes() == whole
            book.append(last)
        assert (run / JOURNAL).read_bytes() == full


#
@pytest.mark.parametrize("bad", [b"", b"###", b"{}", b'{"kind":"unheard_of"}', b"[" * 5000])
def test_x5_a_bad_line_in_the_middle_is_named_with_its_number_and_nothing_is_changed(
    run: Path, bad: bytes
) -> None:
    written(run, [started("a"), *(noted(str(n)) for n in range(6))])
    raw = (run / JOURNAL).read_bytes().split(b"\n")
    damaged = b"\n".join([*raw[:4], bad, *raw[5:]]) + b"torn"
    (run / JOURNAL).write_bytes(damaged)
    readers: list[Callable[[Path], object]] = [journal.read, journal.tail, journal.follow]
    for reader in [*readers, Journal.reopen]:
        with pytest.raises(JournalDamaged, match=rf"{run / JOURNAL}, line 5 ") as caught:
            reader(run)
        assert not isinstance(caught.value, NewerJournal)
    assert (run / JOURNAL).read_bytes() == damaged


#
def test_x5_a_missing_line_is_named(run: Path) -> None:
    written(run, [started("a"), noted("1"), noted("2"), noted("3")])
    raw = (run / JOURNAL).read_bytes().splitlines(keepends=True)
    (run / JOURNAL).write_bytes(b"".join([*raw[:2], raw[3]]))
    with pytest.raises(JournalDamaged, match="event 3 is missing"):
        journal.read(run)


#
def test_x5_a_journal_of_a_newer_ralph_is_said_to_be_one(run: Path) -> None:
    written(run, [started("a")])
    newer = b'{"kind":"of_the_future","v":2,"seq":2,"at":"2026-03-01T02:00:00Z"}\n'
    with (run / JOURNAL).open("ab") as file:
        file.write(newer)
    with pytest.raises(NewerJournal, match="newer ralph"):
        journal.read(run)


def test_one_writer_the_second_is_refused_while_the_first_lives(run: Path) -> None:
    with writer(run, 0) as first:
        assert first.stdout
        first.stdout.readline()
        assert journal.is_live(run)
        with pytest.raises(TreeLocked, match="still running"):
            Journal.reopen(run)
        with pytest.raises(StorageError):
            Journal.create(run)
        first.kill()
    assert not journal.is_live(run)
    Journal.reopen(run).close()


def test_f2_whatever_was_acknowledged_before_a_sigkill_is_there_afterwards(tmp_path: Path) -> None:
    chance = random.Random(7)
    for number in range(60):
        run = tmp_path / str(number)
        with writer(run, 100_000) as child:
            assert child.stdout
            for _ in range(chance.randrange(1, 60)):
                child.stdout.readline()
            child.send_signal(signal.SIGKILL)
            rest = child.stdout.read()
        whole = rest[: rest.rfind("\n") + 1].split()
        acknowledged = int(whole[-1]) if whole else 1
        seqs = [event.seq for event in journal.read(run)]
        assert seqs == list(range(1, len(seqs) + 1))
        assert len(seqs) >= acknowledged
        with contextlib.closing(Journal.reopen(run)) as book:
            assert book.append(noted()).seq == len(seqs) + 1


# T-4, T-5
def test_t4_t5_a_terminal_record_is_the_last_word(run: Path) -> None:
    book = Journal.create(run)
    book.append(started("a"))
    last = book.append(ended("a"))
    for event in (noted(), ended("a")):
        with pytest.raises(RunIsOver):
            book.append(event)
    book.close()
    with contextlib.closing(Journal.reopen(run)) as again, pytest.raises(RunIsOver):
        again.append(ended("a"))
    assert journal.read(run)[-1] == last
    assert (run / TERMINAL).read_bytes() == (run / JOURNAL).read_bytes().splitlines(True)[-1]


# T-4
@pytest.mark.parametrize("planted", ["file", "folder", "link"])
def test_t4_a_planted_terminal_record_is_moved_aside(run: Path, planted: str) -> None:
    book = Journal.create(run)
    book.append(started("a"))
    path = run / TERMINAL
    if planted == "file":
        path.write_bytes(b'{"ending": {"state": "RESOLVED"}}')
    elif planted == "folder":
        (path / "deep").mkdir(parents=True)
    else:
        path.symlink_to(run / "elsewhere")
    book.append(ended("a"))
    assert json.loads(path.read_bytes())["run_id"] == "a"
    assert not (run / "elsewhere").exists()
    book.close()


@pytest.mark.parametrize("gone", ["run", "ralph", "journal", "replaced"])
def test_a19_a_vanished_journal_is_put_back_whole_and_counted(run: Path, gone: str) -> None:
    book = Journal.create(run)
    before = [book.append(started("a")), book.append(attempt(1))]
    if gone == "replaced":
        (run / JOURNAL).rename(run / "elsewhere")
        (run / JOURNAL).write_bytes(b"forged\n")
    elif gone == "journal":
        (run / JOURNAL).unlink()
    else:
        shutil.rmtree(run if gone == "run" else run.parents[1])
    after = [book.append(noted()), book.append(noted())]
    assert book.restored == 1
    assert journal.read(run) == before + after
    assert (run / RESERVE).stat().st_size == RESERVE_BYTES
    assert journal.is_live(run)
    with pytest.raises(TreeLocked):
        Journal.reopen(run)
    book.close()
    assert not journal.is_live(run)


def test_a19_what_another_program_added_is_cut_and_what_it_cut_is_put_back(run: Path) -> None:
    book = Journal.create(run)
    book.append(started("a"))
    with (run / JOURNAL).open("ab") as file:
        file.write(b"scribbled\n")
    book.append(noted())
    assert len(journal.read(run)) == 2
    before = journal.read(run)
    os.truncate(run / JOURNAL, 10)
    last = book.append(noted())
    assert journal.read(run) == [*before, last]
    assert book.restored == 1
    book.close()
    over = Journal.reopen(run)
    os.truncate(run / JOURNAL, 10)
    with pytest.raises(StorageError, match="cut short by another program"):
        over.append(noted())
    over.close()


def test_a19_a_folder_in_the_place_of_the_journal_is_moved_aside(run: Path) -> None:
    book = Journal.create(run)
    first = book.append(started("a"))
    (run / JOURNAL).unlink()
    (run / JOURNAL / "deep").mkdir(parents=True)
    last = book.append(noted())
    assert journal.read(run) == [first, last]
    book.close()


@pytest.mark.parametrize("failing", ["write", "sync"])
def test_f2_a_full_disk_leaves_the_journal_as_it_was_and_the_reserve_carries_the_end(
    run: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    book = Journal.create(run)
    book.append(started("a"))
    before = (run / JOURNAL).read_bytes()
    real_write, real_sync, free = os.write, disk.sync, [40]

    def write(fd: int, content: bytes) -> int:
        if failing == "sync" or not (run / RESERVE).exists():
            return real_write(fd, content)
        if free[0] == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        taken = real_write(fd, content[: free[0]])  # the kernel writes what fits, then refuses
        free[0] -= taken
        return taken

    def sync(fd: int) -> None:
        if failing == "sync" and (run / RESERVE).exists():
            raise OSError(errno.ENOSPC, "No space left on device")
        real_sync(fd)

    monkeypatch.setattr(disk.os, "write", write)
    monkeypatch.setattr(disk, "sync", sync)
    with pytest.raises(StorageError, match=str(run / JOURNAL)) as caught:
        book.append(noted("too much"))
    assert caught.value.full
    assert (run / JOURNAL).read_bytes() == before
    assert book.append(ended("a")).seq == 2
    assert not (run / RESERVE).exists()
    assert isinstance(journal.read(run)[-1], RunEnded)
    book.close()


def test_f2_a_folder_that_cannot_be_made_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match=str(tmp_path / "file")):
        Journal.create(tmp_path / "file" / "run")


def test_a_missing_journal_has_no_events(tmp_path: Path) -> None:
    assert journal.read(tmp_path / "none") == []
    assert journal.first(tmp_path / "none") is None
    assert journal.tail(tmp_path / "none") == []
    assert journal.follow(tmp_path / "none") == ([], 0)
    assert not journal.is_live(tmp_path / "none")


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(0, 500), max_size=30), st.integers(1, 3000), st.data())
def test_law_tail_and_follow_agree_with_reading_everything(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], n_bytes: int, data: st.DataObject
) -> None:
    run = tmp_path_factory.mktemp("runs") / "a"
    written(run, [started("a"), *(noted("x" * size) for size in sizes)])
    everything = journal.read(run)
    last = journal.tail(run, n_bytes)
    assert last
    assert last == everything[-len(last) :]
    raw = (run / JOURNAL).read_bytes()
    seen, offset = [], 0
    cuts = data.draw(st.lists(st.integers(0, len(raw)), max_size=5).map(sorted))
    for end in [*cuts, len(raw)]:
        (run / JOURNAL).write_bytes(raw[:end])
        more, offset = journal.follow(run, offset)
        seen += more
    assert seen == everything
