"""``ralph status``: from the first and the last lines, cheap, and honest about the dead."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import timedelta

import pytest

from ralph.core.events import Paused, Requested, RequestKind
from ralph.core.outcome import resolved
from ralph.views.status import run_line, status, status_text
from tests.views.story import START, attempt, ended, judged, started, steering, waiting

NOW = START + timedelta(seconds=3902)


def test_everything_is_there_and_fits_json() -> None:
    facts = status(started(), [attempt(), steering()], live=True, now=NOW, folder="/runs/r")
    again = json.loads(json.dumps(facts))
    wanted = {
        "run_id": "20261130-120000-a1b2",
        "work_id": "w-77",
        "parent_run_id": None,
        "state": "running",
        "outcome": None,
        "iteration": 12,
        "max": 20,
        "tasks": {"done": 18, "total": 24},
        "no_progress": {"count": 2, "limit": 3, "exploring": 1},
        "same_error": {"count": 0, "limit": 5},
        "completion": {"count": 0, "required": 2},
        "calls": {"count": 12, "limit": 100},
        "level": "steering",
        "current_task": "INV-19 Reject a negative amount",
        "tokens": 1_234_567,
        "cost_usd": 3.42,
        "started_at": "2026-11-30T12:00:00+00:00",
        "ended_at": None,
        "log": ".ralph/runs/r/ralph_20261130_120000.log",
        "dir": "/runs/r",
        "seconds": 3902.0,
    }
    assert {key: again[key] for key in wanted} == wanted


# T-2
def test_t2_a_run_without_a_supervisor_and_without_an_end_is_crashed() -> None:
    facts = status(started(), [attempt()], live=False, now=NOW + timedelta(days=3))
    assert facts["state"] == "crashed"
    assert facts["seconds"] == 3700
    assert "supervisor is gone" in status_text(facts)


def test_waiting_paused_and_ended_are_told_apart() -> None:
    tail = [attempt(), judged(), waiting()]
    facts = status(started(), tail, live=True, now=NOW)
    assert facts["state"] == "waiting"
    assert "waiting (rate) until" in status_text(facts)
    assert status(started(), [*tail, Paused(at=NOW)], live=True, now=NOW)["state"] == "paused"
    asked = Requested(request=RequestKind.PAUSE, by="command", at=NOW)
    facts = status(started(), [attempt(), asked], live=True, now=NOW)
    assert (facts["state"], facts["pause_requested"]) == ("running", True)
    assert "pause requested" in status_text(facts)
    facts = status(started(), [*tail, ended()], live=False, now=NOW)
    assert facts["state"] == "ended"
    assert facts["outcome"] == {
        "state": "ESCALATED_TO_HUMAN",
        "reason": "no_progress",
        "detail": "No progress for 3 iterations",
        "exit_code": 3,
    }
    assert "ralph resume" in status_text(facts)


def test_a_run_that_has_not_done_anything_yet_has_a_status() -> None:
    facts = status(started(cap=None, max=None), [started()], live=True, now=NOW)
    assert (facts["iteration"], facts["max"], facts["tokens"], facts["cost_usd"]) == (
        0,
        None,
        None,
        None,
    )
    assert status_text(facts)


def test_text_is_aligned_and_one_line_a_run() -> None:
    facts = status(started(), [ended(resolved("completed"))], live=False, now=NOW)
    text = status_text(facts)
    assert "Iteration    12 / 20" in text
    assert "Tasks        18 / 24 (75%)" in text
    assert "No Progress  3 / 3" in text
    assert "Spent        1h 06m 40s, 1.2M tokens, $3.42" in text
    line = run_line(facts)
    assert "\n" not in line
    assert "RESOLVED/completed" in line
    assert "12 / 20" in line
    assert "Invoice service" in line


@pytest.mark.parametrize("module", ["status", "choose"])
def test_the_fast_path_stays_fast(module: str) -> None:
    program = (
        f"import sys, ralph.views.{module}; "
        "print(sorted({'rich', 'git', 'yaml', 'typer', 'asyncio', 'tenacity'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"
