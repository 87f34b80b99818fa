"""Writing whole or not at all, and saying plainly why not (F2, T-4)."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ralph.services import disk
from tests.support.mounts import own_mounts

FULL = """
import sys
from pathlib import Path
from ralph.core.policy import Policy
from ralph.errors import StorageError
from ralph.services import journal
from ralph.services.ledger import CallWindow
from tests.support.records import NOW, ended, noted, started

run = Path(sys.argv[1]) / "runs" / "a"
calls = CallWindow(Path("/"), path=Path(sys.argv[1]) / "ledger.sqlite3")
calls.take("claude", Policy(), NOW)
book = journal.Journal.create(run)
book.append(started("a"))
try:
    while True:
        book.append(noted("x" * 900))
except StorageError as error:
    assert error.full, error
    assert str(run / "journal.jsonl") in error.message
kept = journal.read(run)
try:
    for _ in range(200):
        calls.take("claude", Policy(), NOW)
except StorageError as error:
    assert error.full, error
    assert "ledger.sqlite3" in error.message
assert book.append(ended("a")).seq == len(kept) + 1
assert (run / "terminal.json").exists()
assert journal.read(run)[:-1] == kept
print(len(kept))
"""


def test_f2_on_a_full_disk_the_run_still_gets_its_terminal_record(tmp_path: Path) -> None:
    mount = 'mount -t tmpfs -o size=2m none "$1" && exec "$2" -c "$3" "$1"'
    argv = [*own_mounts(), "sh", "-c", mount, "sh", str(tmp_path), sys.executable, FULL]
    done = subprocess.run(
        argv, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 100


def test_a_file_is_published_whole_by_the_first_writer_only(tmp_path: Path) -> None:
    assert disk.publish(tmp_path / "record", b"first")
    assert not disk.publish(tmp_path / "record", b"second")
    assert [path.name for path in tmp_path.iterdir()] == ["record"]
    assert (tmp_path / "record").read_bytes() == b"first"
    assert (tmp_path / "record").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("code", [errno.EPERM, errno.EOPNOTSUPP])
def test_a_file_is_published_where_the_file_system_has_no_hard_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def refuse(source: object, target: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(disk.os, "link", refuse)
    assert disk.publish(tmp_path / "record", b"first")
    assert not disk.publish(tmp_path / "record", b"second")
    assert (tmp_path / "record").read_bytes() == b"first"


def test_short_writes_are_carried_on_to_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.write
    monkeypatch.setattr(disk.os, "write", lambda fd, content: real(fd, content[:3]))
    fd = os.open(tmp_path / "file", os.O_WRONLY | os.O_CREAT)
    disk.write_all(fd, b"0123456789")
    os.close(fd)
    assert (tmp_path / "file").read_bytes() == b"0123456789"


def test_a_reserve_really_occupies_its_size_and_a_failed_one_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk.reserve(tmp_path / "reserve", 1 << 16)
    assert (tmp_path / "reserve").stat().st_blocks * 512 >= 1 << 16

    def refuse(fd: int, content: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(disk.os, "write", refuse)
    with pytest.raises(OSError, match="No space"):
        disk.reserve(tmp_path / "other", 1 << 16)
    assert [path.name for path in tmp_path.iterdir()] == ["reserve"]


@pytest.mark.parametrize(
    ("code", "full"),
    [(errno.ENOSPC, True), (errno.EDQUOT, True), (errno.EFBIG, True), (errno.EROFS, False)],
)
def test_f2_a_failure_names_the_path_and_knows_whether_space_ran_out(code: int, full: bool) -> None:
    failure = disk.failure(Path("/a/b"), OSError(code, os.strerror(code)))
    assert "/a/b" in failure.message
    assert os.strerror(code) in failure.message
    assert failure.full is full
    assert failure.exit_code == 3
    assert failure.hint


def test_a_deep_folder_is_made_and_an_existing_one_is_no_error(tmp_path: Path) -> None:
    disk.make_folder(tmp_path / "a" / "b" / "c")
    disk.make_folder(tmp_path / "a" / "b" / "c")
    assert (tmp_path / "a" / "b" / "c").is_dir()


def test_a_file_is_told_from_another_one_at_its_place(tmp_path: Path) -> None:
    path = tmp_path / "file"
    fd = os.open(path, os.O_RDWR | os.O_CREAT)
    assert disk.same(fd, path)
    path.rename(tmp_path / "moved")
    assert not disk.same(fd, path)
    path.write_text("")
    assert not disk.same(fd, path)
    assert not disk.same(fd, path / "below")
    os.close(fd)


def test_a_copy_of_content_that_is_gone_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "source").write_bytes(b"12345")
    source = os.open(tmp_path / "source", os.O_RDONLY)
    target = os.open(tmp_path / "target", os.O_WRONLY | os.O_CREAT)
    disk.copy(source, target, 4)
    assert (tmp_path / "target").read_bytes() == b"1234"
    with pytest.raises(OSError, match="gone"):
        disk.copy(source, target, 6)
    os.close(source)
    os.close(target)
