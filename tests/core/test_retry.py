"""Failures outside the work: waits, second chances, ends (A-4, A-5, C-6)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from ralph.core import decide
from ralph.core.events import RequestKind, WaitEnded, WaitReason, WaitStarted
from ralph.core.facts import EndedBy, FailureClass
from ralph.core.outcome import TerminalState
from tests.support.history import START, Play, plan_of

TASKS = plan_of("A", "B")


def fail(play: Play, klass: FailureClass, **seen: object) -> decide.Step:
    play.launch()
    play.observe(klass=klass, **seen)  # type: ignore[arg-type]
    return play.step()


def waits(play: Play, klass: FailureClass, times: int) -> list[float]:
    found = []
    for _ in range(times):
        step = fail(play, klass)
        assert isinstance(step, decide.Wait)
        found.append((step.until - play.now).total_seconds())
    return found


#
def test_a4_outages_back_off_with_jitter_up_to_half_an_hour() -> None:
    expected = [5, 15, 60, 120, 300, 600, 1200, 1800, 1800]
    found = waits(Play(plan=TASKS), FailureClass.OVERLOADED, 9)
    for seconds, base in zip(found, expected, strict=True):
        assert base <= seconds <= base * 1.1
    assert found != expected


#
def test_a4_network_and_overloaded_are_one_outage() -> None:
    play = Play(plan=TASKS)
    fail(play, FailureClass.OVERLOADED)
    step = fail(play, FailureClass.NETWORK)
    assert isinstance(step, decide.Wait)
    assert (step.until - play.now).total_seconds() >= 15


#
def test_a4_an_outage_beyond_its_bound_ends_provider_unavailable() -> None:
    play = Play(plan=TASKS)
    for _ in range(40):
        step = fail(play, FailureClass.NETWORK)
        if isinstance(step, decide.End):
            break
    assert isinstance(step, decide.End)
    assert step.ending.reason == "provider_unavailable"
    assert step.ending.state is TerminalState.FOLLOW_UP
    assert timedelta(hours=5) < play.now - START < timedelta(hours=7)
    assert play.state.counters.iterations == 0


def test_e6_two_failures_then_success_move_no_counter() -> None:
    play = Play(plan=TASKS)
    for _ in range(2):
        fail(play, FailureClass.OVERLOADED)
    verdict = play.beat(tick="A", tree=True)
    assert verdict.iteration == 1
    assert (verdict.counters.no_progress, verdict.counters.same_error) == (0, 0)


def test_a7_a_stated_reset_is_waited_for_plus_a_minute() -> None:
    play = Play(plan=TASKS)
    reset = START + timedelta(hours=3)
    step = fail(play, FailureClass.USAGE_LIMIT, resets_at=reset)
    assert step == decide.Wait(reset + timedelta(seconds=60), WaitReason.RESET, "")


def test_e3_a_reset_that_has_just_passed_means_now() -> None:
    play = Play(plan=TASKS)
    step = fail(play, FailureClass.USAGE_LIMIT, resets_at=START - timedelta(minutes=1))
    assert isinstance(step, decide.Wait)
    assert step.until == play.now + timedelta(seconds=60)


def test_e4_a_reset_too_far_ends_at_once_with_the_time() -> None:
    step = fail(Play(plan=TASKS), FailureClass.USAGE_LIMIT, resets_at=START + timedelta(days=3))
    assert isinstance(step, decide.End)
    assert step.ending.reason == "limit_reset_too_far"
    assert "2026-12-03T22:00" in step.ending.detail


#
def test_a5_a_reset_after_the_deadline_ends_at_once() -> None:
    play = Play(plan=TASKS, budget={"duration": 3600.0})
    step = fail(play, FailureClass.USAGE_LIMIT, resets_at=START + timedelta(hours=2))
    assert isinstance(step, decide.End)
    assert step.ending.reason == "limit_reset_too_far"


#
def test_a5_without_an_instant_it_probes_within_a_bound() -> None:
    play = Play(plan=TASKS, rate={"max_reset_wait": 7200.0})
    minutes = [round(seconds / 60) for seconds in waits(play, FailureClass.USAGE_LIMIT, 4)]
    assert minutes == [5, 10, 20, 30]
    for _ in range(4):
        step = fail(play, FailureClass.USAGE_LIMIT)
        if isinstance(step, decide.End):
            break
    assert isinstance(step, decide.End)
    assert step.ending.reason == "limit_reset_too_far"


#
def test_a5_a_limit_met_by_another_run_costs_no_call() -> None:
    play = Play(plan=TASKS)
    until = START + timedelta(hours=1)
    step = play.step(resets_at=until)
    assert isinstance(step, decide.Wait)
    assert (step.until, step.reason) == (until, WaitReason.RESET)


#
def test_a5_a_person_ends_the_wait() -> None:
    play = Play(plan=TASKS)
    step = fail(play, FailureClass.USAGE_LIMIT, resets_at=START + timedelta(hours=3))
    assert isinstance(step, decide.Wait)
    play.record(WaitStarted(at=play.now, reason=step.reason, until=step.until))
    play.request(RequestKind.SKIP_WAIT)
    play.record(WaitEnded(at=play.now, reason=step.reason, how=RequestKind.SKIP_WAIT))
    assert isinstance(play.step(), decide.Launch)


#
@pytest.mark.parametrize(
    ("klass", "state", "reason"),
    [
        (FailureClass.AUTH, TerminalState.ESCALATED, "agent_auth"),
        (FailureClass.BAD_INVOCATION, TerminalState.FALLBACK, "agent_unavailable"),
        (FailureClass.LAUNCH_ERROR, TerminalState.FALLBACK, "agent_unavailable"),
    ],
)
def test_a4_in_the_first_iteration_it_ends_at_once(
    klass: FailureClass, state: TerminalState, reason: str
) -> None:
    step = fail(Play(plan=TASKS), klass)
    assert isinstance(step, decide.End)
    assert (step.ending.state, step.ending.reason) == (state, reason)


#
@pytest.mark.parametrize(
    ("klass", "reason"),
    [
        (FailureClass.AUTH, "agent_auth"),
        (FailureClass.BAD_INVOCATION, "agent_unavailable"),
        (FailureClass.LAUNCH_ERROR, "agent_unavailable"),
    ],
)
def test_a4_after_work_was_done_there_are_two_more_chances(
    klass: FailureClass, reason: str
) -> None:
    play = Play(plan=TASKS)
    play.beat(tree=True)
    assert waits(play, klass, 2) == [60, 600]
    step = fail(play, klass)
    assert isinstance(step, decide.End)
    assert (step.ending.state, step.ending.reason) == (TerminalState.ESCALATED, reason)


def test_e5_billing_stops_at_once_and_never_waits() -> None:
    play = Play(plan=TASKS)
    play.beat(tree=True)
    play.beat(klass=FailureClass.BILLING)
    ending = play.end()
    assert (ending.state, ending.reason) == (TerminalState.ESCALATED, "agent_billing")


#
def test_a4_a_refusal_is_steered_once_and_ends_the_second_time() -> None:
    play = Play(plan=TASKS)
    first = play.beat(klass=FailureClass.REFUSED)
    assert [note.name for note in first.notes] == ["denied"]
    play.beat(klass=FailureClass.REFUSED)
    assert play.end().reason == "agent_refused"


# T-1
def test_t1_a_stop_during_an_outage_is_the_end() -> None:
    play = Play(plan=TASKS)
    fail(play, FailureClass.NETWORK)
    play.request(RequestKind.STOP_AFTER)
    step = play.step()
    assert isinstance(step, decide.End)
    assert step.ending.reason == "stopped_by_user"


# T-1
@pytest.mark.parametrize(
    ("kind", "by", "reason", "exit_code"),
    [
        (RequestKind.STOP_AFTER, "SIGINT", "stopped_by_user", 4),
        (RequestKind.STOP_AFTER, "key", "stopped_by_user", 4),
        (RequestKind.STOP_NOW, "command", "stopped_by_user", 4),
        (RequestKind.STOP_NOW, "SIGINT", "interrupted", 130),
        (RequestKind.STOP_NOW, "SIGTERM", "interrupted", 143),
        (RequestKind.STOP_NOW, "SIGHUP", "interrupted", 129),
    ],
)
def test_t1_requests_and_their_exit_codes(
    kind: RequestKind, by: str, reason: str, exit_code: int
) -> None:
    play = Play(plan=TASKS)
    play.launch()
    play.request(kind, by)
    ended_by = EndedBy.STOP if kind is RequestKind.STOP_NOW else EndedBy.EXIT
    klass = FailureClass.KILLED if kind is RequestKind.STOP_NOW else FailureClass.OK
    play.observe(klass=klass, ended_by=ended_by, tree=True)
    play.judge()
    ending = play.end()
    assert (ending.reason, ending.exit_code) == (reason, exit_code)


def test_pause_holds_until_a_person_continues() -> None:
    play = Play(plan=TASKS)
    play.request(RequestKind.PAUSE)
    assert isinstance(play.step(), decide.Pause)
    play.request(RequestKind.CONTINUE)
    assert isinstance(play.step(), decide.Launch)
