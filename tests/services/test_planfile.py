"""C6, C7: whatever lies at the plan's path, reading it tells what it is and never raises."""

from __future__ import annotations

import hashlib
import json
import os
import socket
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.core.facts import PlanStatus
from ralph.services.planfile import MAX_BYTES, read_plan
from tests.support.trees import watch
from tests.support.world import Repo

PLAN = b"# Parser\n\n- [x] AB-1 read\n- [ ] AB-2 write\n"
PRD = {
    "userStories": [
        {"id": "US-1", "title": "read", "passes": True},
        {"id": "US-2", "title": "write", "passes": False},
    ]
}


def plan_with(folder: Path, raw: bytes, name: str = "PLAN.md") -> Path:
    path = folder / name
    path.write_bytes(raw)
    return path


# L-11
def test_l11_a_plan_comes_with_its_tasks_and_digest(tmp_path: Path) -> None:
    read = read_plan(plan_with(tmp_path, PLAN))

    assert (read.status, read.detail) == (PlanStatus.OK, "")
    assert read.digest == hashlib.sha256(PLAN).hexdigest()
    assert read.plan is not None
    assert read.plan.title == "Parser"
    assert [(task.id, task.done) for task in read.plan.tasks] == [("AB-1", True), ("AB-2", False)]


def test_a_known_digest_leaves_the_plan_out_and_another_one_does_not(tmp_path: Path) -> None:
    path = plan_with(tmp_path, PLAN)
    first = read_plan(path)

    again = read_plan(path, first.digest)
    path.write_bytes(PLAN.replace(b"[ ]", b"[x]"))
    ticked = read_plan(path, first.digest)

    assert (again.status, again.plan, again.digest) == (PlanStatus.OK, None, first.digest)
    assert ticked.digest != first.digest
    assert ticked.plan is not None
    assert ticked.plan.done == 2


# L-32
def test_l32_optional_sections_reach_the_parser(repo: Repo) -> None:
    path = plan_with(repo.root, b"- [x] a\n\n## Later\n\n- [ ] b\n")
    plan = read_plan(path, optional_sections=["later"]).plan
    assert plan is not None
    assert plan.open == ()
    through_the_tree = watch(repo.root).plan().plan
    assert through_the_tree is not None
    assert len(through_the_tree.open) == 1


@pytest.mark.parametrize(
    "raw",
    [b"", b"\n", b" \t\r\n\r\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n\n", b"\0" * 4096],
    ids=["empty", "newline", "spaces", "bom", "bom-newlines", "nul"],
)
@pytest.mark.parametrize("name", ["PLAN.md", "prd.json"])
def test_c6_a_blank_plan_is_blank_and_not_broken(tmp_path: Path, raw: bytes, name: str) -> None:
    path = plan_with(tmp_path, raw, name)
    read = read_plan(path)
    assert (read.status, read.plan) == (PlanStatus.BLANK, None)
    assert read.digest
    assert str(path) in read.detail


def test_c6_text_without_a_task_is_a_plan_without_tasks(tmp_path: Path) -> None:
    read = read_plan(plan_with(tmp_path, b"# Ideas\n\nWrite the parser.\n"))
    assert read.status is PlanStatus.NO_TASKS
    assert read.plan is not None
    assert read.plan.title == "Ideas"


@pytest.mark.parametrize("name", ["PLAN.md", "gone/PLAN.md", "dangling"])
def test_c6_a_plan_that_is_not_there_is_missing(tmp_path: Path, name: str) -> None:
    (tmp_path / "dangling").symlink_to("nowhere")
    read = read_plan(tmp_path / name)
    assert (read.status, read.digest, read.plan) == (PlanStatus.MISSING, "", None)
    assert name in read.detail


def test_c6_the_agent_deletes_the_plan_and_brings_it_back(repo: Repo) -> None:
    path = plan_with(repo.root, PLAN)
    tree = watch(repo.root)
    known = tree.plan().digest

    path.unlink()
    assert tree.plan(known).status is PlanStatus.MISSING
    plan_with(repo.root, PLAN)
    assert tree.plan(known).status is PlanStatus.OK


def folder(path: Path) -> None:
    path.mkdir()


def too_large(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(50_000_000)


def pipe(path: Path) -> None:
    os.mkfifo(path)


def listening(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def circle(path: Path) -> None:
    path.symlink_to(path)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (folder, "is a folder"),
        (too_large, "larger than 5 MB"),
        (pipe, "not a file"),
        (listening, ""),
        (device, "not a file"),
        (circle, "symbolic links"),
    ],
    ids=["folder", "50MB", "pipe", "socket", "device", "circle"],
)
def test_c6_what_cannot_be_read_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: object, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path("PLAN.md")
    assert callable(make)
    make(path)
    read = read_plan(path)
    assert (read.status, read.plan, read.digest) == (PlanStatus.UNREADABLE, None, "")
    assert read.detail.startswith("PLAN.md: ")
    assert said in read.detail


def test_c6_a_file_where_a_folder_should_be_is_named(tmp_path: Path) -> None:
    read = read_plan(plan_with(tmp_path, PLAN) / "PLAN.md")
    assert read.status is PlanStatus.UNREADABLE
    assert "not a folder" in read.detail


@pytest.mark.parametrize("name", ["a\0b", "\ud800", "x" * 5000], ids=["nul", "surrogate", "long"])
def test_c6_a_name_that_no_file_can_have_is_named(tmp_path: Path, name: str) -> None:
    read = read_plan(tmp_path / name)
    assert read.status is PlanStatus.UNREADABLE
    assert read.detail


def test_c6_a_plan_without_permission_is_named(tmp_path: Path) -> None:
    path = plan_with(tmp_path, PLAN)
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user reads everything")
    read = read_plan(path)
    assert read.status is PlanStatus.UNREADABLE
    assert "ermission" in read.detail


def test_c6_the_largest_plan_is_read_and_one_byte_more_is_not(tmp_path: Path) -> None:
    filler = b"text\n" * ((MAX_BYTES - len(PLAN)) // 5)
    raw = PLAN + filler + b"x" * (MAX_BYTES - len(PLAN) - len(filler))
    assert read_plan(plan_with(tmp_path, raw)).status is PlanStatus.OK
    assert read_plan(plan_with(tmp_path, raw + b"x")).status is PlanStatus.UNREADABLE


@pytest.mark.parametrize(
    "raw",
    [
        b"\xef\xbb\xbf" + PLAN,
        PLAN.replace(b"\n", b"\r\n"),
        b"\xef\xbb\xbf" + PLAN.replace(b"\n", b"\r\n"),
        PLAN.rstrip(b"\n"),
    ],
    ids=["bom", "crlf", "bom-crlf", "no-last-newline"],
)
def test_c3_byte_order_mark_and_line_ends_change_nothing(tmp_path: Path, raw: bytes) -> None:
    read = read_plan(plan_with(tmp_path, raw))
    assert read.plan == read_plan(plan_with(tmp_path, PLAN)).plan
    assert read.detail == ""


@pytest.mark.parametrize("odd", [b"\xff\xfe", b"caf\xe9", b"\xed\xa0\x80"])
def test_c6_bytes_that_are_not_utf8_are_replaced_and_said(tmp_path: Path, odd: bytes) -> None:
    read = read_plan(plan_with(tmp_path, PLAN + b"- [ ] AB-3 " + odd + b" x\n"))
    assert read.status is PlanStatus.OK
    assert "not UTF-8" in read.detail
    assert read.plan is not None
    assert [task.id for task in read.plan.tasks] == ["AB-1", "AB-2", "AB-3"]
    read.plan.tasks[2].text.encode()


@pytest.mark.parametrize("name", ["prd.json", "PRD.JSON"])
def test_c7_prd_json_is_read_as_a_plan(tmp_path: Path, name: str) -> None:
    read = read_plan(plan_with(tmp_path, json.dumps(PRD).encode(), name))
    assert read.status is PlanStatus.OK
    assert read.plan is not None
    assert [(task.id, task.done) for task in read.plan.tasks] == [("US-1", True), ("US-2", False)]


@pytest.mark.parametrize(
    "raw",
    [b"{", json.dumps(PRD).encode()[:-3], b"[1, 2]", b'"text"', b"[" * 200_000, b"- [ ] task\n"],
    ids=["brace", "cut", "list", "string", "deep", "markdown"],
)
def test_c7_broken_json_is_broken_with_a_reason_and_a_digest(tmp_path: Path, raw: bytes) -> None:
    path = plan_with(tmp_path, raw, "prd.json")
    read = read_plan(path)
    assert (read.status, read.plan) == (PlanStatus.BROKEN, None)
    assert read.digest == hashlib.sha256(raw).hexdigest()
    assert len(read.detail) > len(f"{path}: ")


@given(st.binary(max_size=300), st.sampled_from(["PLAN.md", "prd.json"]))
def test_c6_any_bytes_are_read(
    tmp_path_factory: pytest.TempPathFactory, raw: bytes, name: str
) -> None:
    path = plan_with(tmp_path_factory.getbasetemp(), raw, name)
    read = read_plan(path)
    assert (read.plan is not None) == (read.status in (PlanStatus.OK, PlanStatus.NO_TASKS))
    assert read.digest == hashlib.sha256(raw).hexdigest()
    path.unlink()
