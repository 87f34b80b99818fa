"""Requests through files: whole, once, in order, and never a nuisance for the run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.core.events import RequestKind
from ralph.core.live import Request
from ralph.errors import StorageError
from ralph.services import inbox
from ralph.services.inbox import CONTROL, Inbox
from tests.support.world import eventually


def test_requests_arrive_once_and_oldest_first(tmp_path: Path) -> None:
    box = Inbox(tmp_path)
    kinds = [RequestKind.PAUSE, RequestKind.CONTINUE, RequestKind.SKIP_WAIT, RequestKind.STOP_NOW]
    for kind in kinds:
        inbox.post(tmp_path, kind, "command")
    assert box.poll() == [Request(request=kind, by="command") for kind in kinds]
    assert box.poll() == []
    assert list((tmp_path / CONTROL).iterdir()) == []


def test_a_request_of_another_process_arrives_while_this_one_polls(tmp_path: Path) -> None:
    box, got = Inbox(tmp_path), []
    program = (
        "import sys; from pathlib import Path\n"
        "from ralph.core.events import RequestKind; from ralph.services import inbox\n"
        "for _ in range(50): inbox.post(Path(sys.argv[1]), RequestKind.PAUSE, 'command')\n"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(tmp_path)]) as poster:
        assert eventually(lambda: got.extend(box.poll()) or len(got) == 50, 30)
    assert poster.returncode == 0
    assert box.poll() == []


def test_what_is_no_request_is_ignored_and_removed(tmp_path: Path) -> None:
    control = tmp_path / CONTROL
    control.mkdir()
    (control / "0-empty").write_bytes(b"")
    (control / "1-text").write_bytes(b"stop, please")
    (control / "2-kind").write_bytes(b'{"request":"explode","by":"command"}')
    (control / "3-large").write_bytes(b'{"request":"pause","by":"' + b"x" * 9000 + b'"}')
    (control / "4-deep").write_bytes(b"[" * 4000)
    os.mkfifo(control / "5-pipe")
    (control / "6-link").symlink_to("/etc/hostname")
    inbox.post(tmp_path, RequestKind.PAUSE, "command")
    box = Inbox(tmp_path)
    assert [request.request for request in box.poll()] == [RequestKind.PAUSE]
    assert list(control.iterdir()) == []
    assert box.poll() == []


def test_what_cannot_be_removed_is_read_once_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, *, missing_ok: bool = False) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    inbox.post(tmp_path, RequestKind.PAUSE, "command")
    (tmp_path / CONTROL / "a-folder").mkdir()
    monkeypatch.setattr(Path, "unlink", refuse)
    box = Inbox(tmp_path)
    assert len(box.poll()) == 1
    assert box.poll() == []


def test_a19_a_vanished_folder_holds_nothing_and_takes_requests_again(tmp_path: Path) -> None:
    folder = tmp_path / ".ralph" / "runs" / "a"
    box = Inbox(folder)
    assert box.poll() == []
    inbox.post(folder, RequestKind.PAUSE, "command")
    shutil.rmtree(tmp_path / ".ralph")
    assert box.poll() == []
    inbox.post(folder, RequestKind.STOP_AFTER, "command")
    assert box.poll() == [Request(request=RequestKind.STOP_AFTER, by="command")]


def test_f2_a_request_that_cannot_be_written_is_an_error_that_names_the_path(
    tmp_path: Path,
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match=str(tmp_path / "file")):
        inbox.post(tmp_path / "file", RequestKind.PAUSE, "command")


@given(st.binary(max_size=200))
def test_law_no_content_of_a_file_is_an_error(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    control = tmp_path_factory.mktemp("run") / CONTROL
    control.mkdir()
    (control / "request").write_bytes(content)
    assert Inbox(control.parent).poll() == []
