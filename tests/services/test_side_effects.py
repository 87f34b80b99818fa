"""The hook for a task that became done (L-28): told everything, and never in the way."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Mapping
from pathlib import Path

import pytest

from ralph.core.policy import HookPolicy, Policy
from ralph.services.side_effects import TaskHook
from tests.support.world import Script, marked

FACTS = {"RALPH_TASK": 'Write "the" docs; ünï `x` $HOME', "RALPH_RUN_ID": uuid.uuid4().hex}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


def done(
    folder: Path, command: str, facts: Mapping[str, str] = FACTS, timeout: float = 60.0
) -> str:
    policy = Policy(hooks=HookPolicy(on_task_done=command))
    return TaskHook(folder, timeout=timeout).task_done(policy, facts)


# L-28
def test_l28_no_hook_is_no_failure(folder: Path) -> None:
    assert done(folder, "") == ""


# L-28
def test_l28_the_facts_come_as_variables_and_as_json_on_stdin(folder: Path, script: Script) -> None:
    program = script("""
    import json, os, sys
    said = json.load(sys.stdin)
    json.dump([said, {name: os.environ[name] for name in said}, os.getcwd()], open("seen", "w"))
    """)
    assert done(folder, " ".join(program)) == ""
    assert json.loads((folder / "seen").read_text()) == [FACTS, FACTS, str(folder)]


# L-28
def test_l28_a_failure_is_one_sentence_that_says_what(folder: Path) -> None:
    said = done(folder, "echo first >&2; printf '\\033[31mno such ticket\\n' >&2; exit 4")
    assert said == f"hooks.on_task_done for {FACTS['RALPH_TASK']} failed: exit 4: no such ticket"


# L-28
@pytest.mark.parametrize(
    ("command", "ending"),
    [
        ("exit 9", "failed: exit 9"),
        ("kill -KILL $$", "failed: signal 9"),
        ("no-such-program-here", "not found"),
        ("yes | head -c 3000000; exit 1", "failed: exit 1: y"),
    ],
)
def test_l28_every_way_to_fail_is_told(folder: Path, command: str, ending: str) -> None:
    said = done(folder, command)
    assert said.endswith(ending)
    assert "\n" not in said


# L-28
def test_l28_a_hook_that_hangs_is_ended_in_time(folder: Path) -> None:
    assert done(folder, "sleep 300 & sleep 300", timeout=0.5).endswith("failed: no end after 0.5 s")
    assert marked(FACTS["RALPH_RUN_ID"]) == []


# L-28
def test_l28_nothing_of_a_hook_runs_on(folder: Path) -> None:
    assert done(folder, "setsid sleep 300 & sleep 300 & exit 0") == ""
    assert marked(FACTS["RALPH_RUN_ID"]) == []


# L-28
def test_l28_a_hook_that_reads_nothing_is_no_failure(folder: Path) -> None:
    facts = {f"RALPH_FACT_{n}": "x" * 100_000 for n in range(10)}
    assert done(folder, "exec <&-; exit 0", facts) == ""


# L-28
@pytest.mark.parametrize("task", ["nul \0 inside", "half \ud800 pair", "x" * 5_000_000])
def test_l28_facts_that_cannot_be_passed_are_a_failure_not_an_error(
    folder: Path, task: str
) -> None:
    said = done(folder, "true", {"RALPH_TASK": task})
    assert " failed: /bin/sh: " in said
    assert said.isprintable()
    assert len(said) < 300


# L-28
def test_l28_a_missing_folder_is_a_failure_not_an_error(folder: Path) -> None:
    folder.rmdir()
    assert "folder to start it in is missing" in done(folder, "true")


# L-28
def test_l28_no_free_descriptor_is_a_failure_not_an_error(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> tuple[int, int]:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(os, "pipe", refuse)
    assert "Too many open files" in done(folder, "true")
