"""Frames fit the terminal exactly, at every size, and say what L-26 wants."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from ralph.core.events import (
    Noted,
    Paused,
    PolicyChanged,
    Requested,
    RequestKind,
    WaitReason,
)
from ralph.core.live import Live
from ralph.core.outcome import resolved
from ralph.views.board import Board
from ralph.views.frame import Line, Scene, frame
from tests.views.story import (
    PLAN,
    START,
    attempt,
    board_of,
    counters,
    drawn,
    ended,
    judged,
    started,
    steering,
    waiting,
)

ROWS = ["Iteration", "Tasks", "No Progress", "Same Error", "API Calls", "Status"]
RUNNING = board_of(started(), attempt(11), steering(), attempt())
SAID = [f"line {n} 日本語 e\u0301 and so on and on and on and on" for n in range(60)]


def scene(board: Board = RUNNING, **changes: Any) -> Scene:
    fields: dict[str, Any] = {
        "board": board,
        "live": Live(tool="Bash: pytest -q"),
        "said": SAID,
        "elapsed": 3725.0,
        "now": START + timedelta(seconds=3902),
        "width": 80,
        "height": 24,
    }
    return Scene(**{**fields, **changes})


def text_of(lines: list[Line]) -> list[str]:
    return ["".join(text for text, _ in line) for line in lines]


def picture(board: Board = RUNNING, **changes: Any) -> str:
    return "\n".join(text_of(frame(scene(board, **changes))))


# L-26
@pytest.mark.parametrize(("width", "height"), [(80, 24), (40, 12), (200, 50)])
def test_l26_all_six_rows_in_order_at_every_usual_size(width: int, height: int) -> None:
    lines = drawn(frame(scene(width=width, height=height)), width, height)
    assert lines == [line.rstrip() for line in text_of(frame(scene(width=width, height=height)))]
    assert len(lines) == height
    assert lines[0].startswith("╭─ RALPH LOOP - Invoice service ─")
    labels = [line[2:15].strip() for line in lines[1:7]]
    assert labels == ROWS
    values = [line[15:].strip(" │") for line in lines[1:7]]
    assert [v.split("  ")[0] for v in values[:5]] == [
        "12 / 20",
        "18 / 24 (75%)",
        "2 / 3 (+1 exploring)",
        "0 / 5",
        "12 / 100 (hour)",
    ]
    assert values[5].startswith("Running (claude)")
    assert lines[-1].startswith(" p pause  q stop after this  Q stop now")


def test_f3_twenty_by_five_shows_what_matters_most() -> None:
    lines = text_of(frame(scene(width=20, height=5)))
    assert [line[:11].strip() for line in lines] == [r for r in ROWS if r != "API Calls"]
    assert lines[2].endswith("2 / 3")


@given(st.integers(1, 130), st.integers(1, 60), st.booleans(), st.booleans())
@settings(max_examples=150, deadline=None)
def test_f3_no_size_wraps_overflows_or_fails(
    width: int, height: int, utf8: bool, waits: bool
) -> None:
    board = RUNNING.after(waiting()) if waits else RUNNING
    board = board.after(Noted(at=START, text="⚠️ disk " * 30, warning=True))
    lines = text_of(frame(scene(board, width=width, height=height, utf8=utf8)))
    assert len(lines) <= height
    assert all(cell_len(line) <= width for line in lines)
    assert utf8 or all(line.isascii() for line in lines)


@given(st.text(max_size=80), st.text(max_size=300))
def test_a22_titles_tasks_and_tools_cannot_break_the_box(name: str, tool: str) -> None:
    board = board_of(started(title=name, started_plan=None), attempt(task=name, plan=None))
    lines = text_of(frame(scene(board, live=Live(tool=tool, last_seen=name), said=[])))
    box = [line for line in lines if line.startswith(("│", "╭", "╰"))]
    assert len(box) >= 8
    assert {cell_len(line) for line in box} == {80}


def test_without_a_cap_tasks_or_limits() -> None:
    board = board_of(
        started(cap=None, max=None, started_plan=None, sections={"stall": {"no_progress": 0}}),
        attempt(3),
    )
    shown = picture(board)
    assert "3 (no cap)" in shown
    assert "n/a" in shown
    assert "0 / off" in shown


def test_percent_is_rounded_down() -> None:
    board = board_of(started(), judged(counters=counters(tasks_done=23)))
    assert "23 / 24 (95%)" in picture(board)


def test_a_wait_counts_down_and_says_until_when() -> None:
    board = board_of(started(), attempt(), judged(), waiting())
    until = (START + timedelta(seconds=3902 + 192)).astimezone()
    assert f"Waiting (rate limit) - 3m 12s left, until {until:%H:%M}" in picture(board)
    later = START + timedelta(seconds=3902 + 192 + 60)
    assert "Waiting (rate limit) - 0s left" in picture(board, now=later)
    assert "Waiting - 3m 12s left" in picture(board, width=40, height=12)


def test_only_waits_that_a_key_can_end_offer_it() -> None:
    board = board_of(started(), attempt(), judged())
    assert "n skip the wait" not in picture(board.after(waiting()))
    reset = waiting(reason=WaitReason.RESET, probe=True)
    assert "n skip the wait" in picture(board.after(reset))
    assert "Waiting (usage limit) - 3m 12s left, next try" in picture(board.after(reset))


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (RequestKind.STOP_AFTER, "stopping after this iteration"),
        (RequestKind.STOP_NOW, "Stopping now"),
        (RequestKind.PAUSE, "pausing after this iteration"),
    ],
)
def test_requests_show_at_once(kind: RequestKind, words: str) -> None:
    assert words in picture(RUNNING.after(Requested(at=START, request=kind, by="key")))


def test_a_pause_says_how_to_go_on() -> None:
    shown = picture(RUNNING.after(Paused(at=START)))
    assert "Paused - press p to go on" in shown
    assert "p continue" in shown


def test_b20_held_configuration_asks_for_a_person() -> None:
    event = PolicyChanged(at=START, policy=started().policy, held={"stall.no_progress": [3, 9]})
    shown = picture(RUNNING.after(event))
    assert "config changed by the agent? press a to accept: stall.no_progress 3 → 9" in shown
    assert "a accept" in shown


def test_level_claim_money_and_silence_have_their_place() -> None:
    board = RUNNING.after(judged(counters=counters(completion=1))).after(attempt(13))
    shown = picture(board, live=Live(quiet=45, last_seen="retry 3/10, HTTP 429", tokens=10))
    assert "Completion   1 / 2" in shown
    assert "1,234,577  $3.42" in shown
    assert "Running (claude) - quiet for 45s, retry 3/10, HTTP 429" in shown
    assert "Ladder       steering - no progress in 2 iterations" in picture()


def test_the_last_frame_has_the_end_and_no_keys() -> None:
    lines = text_of(frame(scene(RUNNING.after(ended(resolved("completed"))), said=["bye"])))
    assert "RESOLVED (completed)" in "\n".join(lines)
    assert lines[-1] == "  bye"


def test_without_keys_the_footer_promises_none() -> None:
    assert "stop after this" not in picture(keys=False)


def test_rows_that_are_optional_go_first_when_height_is_small() -> None:
    shown = [
        {
            name
            for name in ("Ladder", "Task", "Elapsed", "Tool", "Tokens")
            if f"{name}  " in picture(height=h)
        }
        for h in range(9, 25)
    ]
    assert shown[0] == set()
    assert all(before <= after for before, after in pairwise(shown))
    assert shown[-1] == {"Ladder", "Task", "Elapsed", "Tool", "Tokens"}
    assert all(row in picture(height=9) for row in ROWS)


def test_title_falls_back_to_what_the_run_was_started_with() -> None:
    assert "RALPH LOOP - Invoice service" in picture(board_of(started(title="Goal")))
    untitled = started(title="Goal", started_plan=None)
    assert "RALPH LOOP - Goal" in picture(board_of(untitled))
    assert PLAN.title == "Invoice service"
