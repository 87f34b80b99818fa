"""One ralph in one tree: the kernel's lock decides, never a number in a file (F1, T-2)."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from ralph.errors import StorageError, TreeLocked
from ralph.services import locks, places
from ralph.services.locks import Holder, TreeLock, lock_path, this_host
from tests.support.world import alive, eventually

HOLDER = """
import subprocess, sys
from pathlib import Path
from ralph.services.locks import TreeLock

lock = TreeLock.take(Path(sys.argv[1]), "run-7")
if sys.argv[2:]:
    heir = subprocess.Popen(["sleep", "301"], pass_fds=[lock.fd], stdout=subprocess.DEVNULL)
    print(heir.pid, flush=True)
else:
    print("taken", flush=True)
sys.stdin.read()
"""


def holder(root: Path, *more: str) -> subprocess.Popen[str]:
    argv = [sys.executable, "-c", HOLDER, str(root), *more]
    return subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_f1_a_live_holder_is_named_with_its_pid_and_run_and_a_hint(tmp_path: Path) -> None:
    with holder(tmp_path) as other:
        assert other.stdout
        other.stdout.readline()
        with pytest.raises(TreeLocked, match=f"pid {other.pid}, run run-7") as caught:
            TreeLock.take(tmp_path)
        assert "ralph stop" in caught.value.hint
        other.kill()
    TreeLock.take(tmp_path).close()


def test_f1_the_lock_of_a_dead_process_is_free_whatever_is_written_in_it(tmp_path: Path) -> None:
    path = lock_path(tmp_path)
    path.parent.mkdir(parents=True)
    path.write_bytes(msgspec.json.encode(Holder(pid=os.getpid(), host=this_host())))
    lock = TreeLock.take(tmp_path, "mine")
    written = msgspec.json.decode(path.read_bytes(), type=Holder)
    assert (written.pid, written.run_id, written.host) == (os.getpid(), "mine", this_host())
    lock.close()


def test_f1_a_tree_is_one_however_its_path_is_spelled(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "tree")
    lock = TreeLock.take(tmp_path / "tree")
    with pytest.raises(TreeLocked):
        TreeLock.take(tmp_path / "link")
    TreeLock.take(tmp_path).close()
    lock.close()


def test_a19_the_lock_survives_the_deletion_of_everything_in_the_tree(tmp_path: Path) -> None:
    (tmp_path / ".ralph" / "runs").mkdir(parents=True)
    lock = TreeLock.take(tmp_path)
    shutil.rmtree(tmp_path / ".ralph")
    with pytest.raises(TreeLocked):
        TreeLock.take(tmp_path)
    lock.close()
    assert not lock_path(tmp_path).is_relative_to(tmp_path)
    TreeLock.take(tmp_path).close()


def test_a9_who_inherited_the_lock_keeps_the_tree_locked_until_it_is_gone(tmp_path: Path) -> None:
    with holder(tmp_path, "heir") as other:
        assert other.stdout
        heir = int(other.stdout.readline())
        other.kill()
    with pytest.raises(TreeLocked, match=r"that died.*left an agent") as caught:
        TreeLock.take(tmp_path)
    assert "try again" in caught.value.hint
    os.kill(heir, signal.SIGKILL)
    assert eventually(lambda: not alive(heir))
    TreeLock.take(tmp_path).close()


def test_a_holder_of_another_machine_is_named_with_its_host(tmp_path: Path) -> None:
    lock = TreeLock.take(tmp_path)
    foreign = Holder(pid=1, host="far-away", run_id="r", since=datetime(2026, 3, 1, tzinfo=UTC))
    lock_path(tmp_path).write_bytes(msgspec.json.encode(foreign))
    with pytest.raises(TreeLocked, match=r"another machine.*host far-away"):
        TreeLock.take(tmp_path)
    lock.close()


@pytest.mark.parametrize("content", [b"", b"garbage", b'{"pid":"x"}'])
def test_a_lock_with_unreadable_content_is_still_a_lock(tmp_path: Path, content: bytes) -> None:
    lock = TreeLock.take(tmp_path)
    lock_path(tmp_path).write_bytes(content)
    with pytest.raises(TreeLocked, match="pid unknown"):
        TreeLock.take(tmp_path)
    lock.close()


def test_f1_of_many_that_start_at_once_one_gets_the_tree(tmp_path: Path) -> None:
    program = (
        "import sys\nfrom pathlib import Path\nfrom ralph.errors import TreeLocked\n"
        "from ralph.services.locks import TreeLock\n"
        "sys.stdin.readline()\n"
        "try: lock = TreeLock.take(Path(sys.argv[1])); print('mine', flush=True)\n"
        "except TreeLocked: print('taken', flush=True)\n"
        "sys.stdin.readline()\n"
    )
    argv = [sys.executable, "-c", program, str(tmp_path)]
    pipe = subprocess.PIPE
    rivals = [subprocess.Popen(argv, stdin=pipe, stdout=pipe, text=True) for _ in range(5)]
    for rival in rivals:
        assert rival.stdin
        rival.stdin.write("go\n")
        rival.stdin.flush()
    said = [rival.stdout.readline().strip() for rival in rivals if rival.stdout]
    for rival in rivals:
        rival.communicate(timeout=60)
    assert sorted(said) == ["mine", *["taken"] * 4]


def test_looking_at_a_lock_takes_nothing_and_a_missing_file_is_free(tmp_path: Path) -> None:
    path = tmp_path / "file"
    assert not locks.held(path)
    path.write_text("")
    assert not locks.held(path)
    lock = TreeLock.take(tmp_path)
    assert locks.held(lock.path)
    lock.close()
    lock.close()
    assert not locks.held(lock.path)


def test_f2_a_lock_that_cannot_be_written_is_an_error_that_names_it(tmp_path: Path) -> None:
    places.state_home().parent.mkdir(parents=True, exist_ok=True)
    places.state_home().write_text("a file where the folder belongs")
    with pytest.raises(StorageError, match=str(places.state_home())):
        TreeLock.take(tmp_path)
