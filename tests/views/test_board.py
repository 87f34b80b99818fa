"""The board is a fold over events (10.1)."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest

from ralph.core.events import (
    Level,
    Noted,
    Paused,
    PolicyChanged,
    Requested,
    RequestKind,
    WaitEnded,
    WaitReason,
)
from ralph.core.facts import Plan, PlanRead, PlanStatus, Task, Usage
from ralph.core.outcome import resolved
from ralph.core.policy import Policy, StallPolicy
from ralph.views.board import Board, Doing
from tests.support.history import Play, plan_of
from tests.views.story import (
    START,
    attempt,
    board_of,
    ended,
    judged,
    observed,
    started,
    steering,
    waiting,
)


def requested(kind: RequestKind) -> Requested:
    return Requested(at=START, request=kind, by="key")


def test_a_run_is_followed_from_start_to_end() -> None:
    steps = [
        (started(), Doing.STARTING),
        (attempt(), Doing.RUNNING),
        (observed(), Doing.CHECKING),
        (judged(), Doing.BETWEEN),
        (waiting(), Doing.WAITING),
        (WaitEnded(at=START, reason=WaitReason.RATE), Doing.BETWEEN),
        (Paused(at=START), Doing.PAUSED),
        (requested(RequestKind.CONTINUE), Doing.BETWEEN),
        (ended(), Doing.ENDED),
    ]
    board = Board()
    for event, doing in steps:
        board = board.after(event)
        assert board.doing is doing


def test_the_same_events_through_the_real_core_give_its_counters() -> None:
    play = Play(plan=plan_of("A", "B", done=("A",)))
    play.beat(tree=True, tick="B")
    play.beat()
    play.beat()
    board = board_of(*play.events)
    assert board.counters == play.state.counters
    assert (board.iteration, board.max, board.level) == (3, 20, play.state.counters.level)
    assert board.plan == play.state.plan


def test_the_first_and_the_last_events_are_enough() -> None:
    whole = board_of(started(), attempt(11), observed(11), judged(11), attempt(), steering())
    tail = board_of(started(), steering())
    assert tail.counters == whole.counters
    assert tail.level is Level.STEERING
    assert tail.task_text == "INV-19 Reject a negative amount"


def test_tasks_are_known_before_the_first_verdict_and_stay_when_the_plan_is_lost() -> None:
    board = board_of(started())
    assert (board.counters.tasks_done, board.counters.tasks_total) == (18, 24)
    blank = PlanRead(status=PlanStatus.NO_TASKS, plan=Plan())
    assert board.after(attempt(plan=blank)).counters.tasks_total == 24
    longer = PlanRead(status=PlanStatus.OK, plan=Plan(tasks=(Task(id="X", text="X"),)))
    assert board.after(attempt(plan=longer)).counters.tasks_total == 1


# L-26
def test_l26_limits_come_from_the_policy_in_force() -> None:
    board = board_of(started(sections={"stall": {"no_progress": 7}}))
    assert board.policy.stall.no_progress == 7
    policy = msgspec.to_builtins(Policy(max=30, stall=StallPolicy(no_progress=2)))
    board = board.after(PolicyChanged(at=START, policy=policy))
    assert (board.policy.stall.no_progress, board.max) == (2, 30)


def test_b20_held_changes_show_until_a_person_accepts_them() -> None:
    policy = msgspec.to_builtins(Policy())
    held = {"stall.no_progress": [3, 9]}
    board = board_of(started(), PolicyChanged(at=START, policy=policy, held=held))
    assert board.held == held
    assert board.after(requested(RequestKind.ACCEPT)).held == {}


def test_a_stop_now_is_not_softened_by_a_later_request() -> None:
    board = board_of(started(), requested(RequestKind.STOP_NOW), requested(RequestKind.STOP_AFTER))
    assert board.stop is RequestKind.STOP_NOW


def test_the_level_keeps_its_reason_until_it_is_healthy_again() -> None:
    board = board_of(started(), steering())
    assert board.level_reason == "no progress in 2 iterations"
    assert board.after(judged(level_reason="recovering")).level_reason == ""


@pytest.mark.parametrize(("warning", "shown"), [(True, "disk is nearly full"), (False, "")])
def test_only_warnings_are_shown_and_only_to_the_next_verdict(warning: bool, shown: str) -> None:
    board = board_of(started(), Noted(at=START, text="disk is nearly full", warning=warning))
    assert board.warning == shown
    assert board.after(attempt()).warning == shown
    assert board.after(judged()).warning == ""


def test_c5_spending_adds_up_and_unknown_stays_unknown() -> None:
    board = board_of(started(), attempt())
    assert board.usage.billed is None
    board = board.after(observed(usage=Usage(output=10)))
    assert (board.usage.output, board.usage.cost) == (10, None)


def test_a_repeated_attempt_keeps_the_task_of_the_iteration() -> None:
    board = board_of(started(), attempt(), attempt(attempt=2, task="INV-20"))
    assert (board.attempt, board.task) == (2, "INV-19")


def test_the_end_brings_its_own_totals() -> None:
    board = board_of(started(), ended(resolved("completed"), at=START + timedelta(hours=1)))
    assert board.ended is not None
    assert board.counters.no_progress == 3
