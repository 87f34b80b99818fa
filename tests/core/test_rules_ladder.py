"""Worked examples of the ladder's rules (B-E1 ...), as written."""

from __future__ import annotations

import pytest

from ralph.core import decide
from ralph.core.breaker import Trip, climb
from ralph.core.events import Level
from ralph.core.facts import ApiErrors, EndedBy, FailureClass, Tools, Usage
from ralph.core.outcome import TerminalState
from tests.support.history import CO, ST, STOPPED, H, Play, plan_of

TASKS = plan_of("A", "B", "C")
TRIP = (Trip(letter="R", reason="looping", ceiling=Level.STOPPED),)


def walk(history: str, *, hard_stop: bool = True) -> list[tuple[str, str, bool]]:
    """T = a condition that may reach stopped, - = clear."""
    level, seen = Level.HEALTHY, []
    for beat in history:
        step = climb(level, TRIP if beat == "T" else (), fresh=True, hard_stop=hard_stop)
        level = step.level
        seen.append((step.level.value, step.action, step.changed))
    return seen


# B-4, B-18
def test_b_e1_three_trips_in_a_row_stop_and_stopped_absorbs() -> None:
    assert walk("TTT-") == [
        (ST, "steer", True),
        (CO, "constrain", True),
        (STOPPED, "stop", True),
        (STOPPED, "none", False),
    ]


# B-21
def test_b_e2_without_hard_stop_the_ladder_ends_at_constrained() -> None:
    assert walk("TTTT----", hard_stop=False)[:7] == [
        (ST, "steer", True),
        (CO, "constrain", True),
        (CO, "none", False),
        (CO, "none", False),
        (ST, "none", True),
        (H, "none", True),
        (H, "none", False),
    ]


# B-1, B-3
def test_b_e3_the_ladder_moves_one_level_a_beat_both_ways() -> None:
    assert [level for level, _, _ in walk("T-TT--")] == [ST, H, ST, CO, ST, H]


# B-5
def test_b5_a_fall_says_recovering() -> None:
    step = climb(Level.STEERING, (), fresh=True, hard_stop=True)
    assert (step.action, step.reason) == ("none", "recovering — signals cleared")


# B-3
def test_b3_a_beat_without_evidence_leaves_the_level() -> None:
    assert climb(Level.STEERING, (), fresh=False, hard_stop=True).level is Level.STEERING


def test_b13_a_condition_that_may_not_raise_further_holds_the_level() -> None:
    trip = (Trip(letter="N", reason="x", ceiling=Level.STEERING),)
    assert climb(Level.CONSTRAINED, trip, fresh=True, hard_stop=True).level is Level.CONSTRAINED


# B-6, C-9
def test_b_e4_seven_identical_calls_are_healthy_eight_steer() -> None:
    play = Play(plan=TASKS)
    for run in (7, 8, 1):
        tools = Tools(calls=9, longest_run=run, longest_run_name="Bash", keys=("a",))
        play.beat(tree=True, tools=tools)
    assert play.levels == [H, ST, H]
    assert play.verdicts[1].level_reason == "looping: 8× identical tool call (Bash)"


# B-6
def test_b6_plan_progress_excuses_a_repeat() -> None:
    play = Play(plan=TASKS)
    play.beat(tick="A", tree=True, tools=Tools(calls=9, longest_run=9))
    assert play.levels == [H]


# B-6
def test_b6_few_distinct_calls_raise_at_most_to_steering() -> None:
    play = Play(plan=TASKS)
    for _ in range(3):
        play.beat(tree=True, tools=Tools(calls=30, few_distinct=20))
    assert play.levels == [ST, ST, ST]


# C-3
def test_c3_a_live_repeat_is_latched_and_the_next_prompt_says_so() -> None:
    play = Play(plan=TASKS)
    verdict = play.beat(
        tree=True,
        klass=FailureClass.KILLED,
        ended_by=EndedBy.REPEAT,
        detail="looping: 50× identical tool call (Bash)",
    )
    assert play.levels == [ST]
    assert verdict.ending is None
    assert "repeat" in [note.name for note in play.launch().notes]


# B-10, C-9
@pytest.mark.parametrize(("velocity", "level"), [(60_000, H), (60_002, ST), (None, H)])
def test_b_e5_velocity_trips_above_the_limit(velocity: float | None, level: str) -> None:
    play = Play(plan=TASKS)
    play.beat(tree=True, velocity=velocity)
    assert play.levels == [level]


# B-8, B-14
def test_b_e6_the_agent_cap_stays_true_until_it_stops() -> None:
    play = Play(plan=TASKS, breaker={"agent_token_caps": {"claude": 1000}})
    for tokens in (1000, 1, 0, 0):
        play.beat(tree=True, usage=Usage(input=tokens))
    assert play.levels == [H, ST, CO, STOPPED]
    ending = play.end()
    assert (ending.state, ending.reason) == (TerminalState.ESCALATED, "breaker_stopped")


# B-11, B-13
def test_b_e7_stagnation_raises_to_constrained_and_the_stop_is_the_counters() -> None:
    play = Play(plan=TASKS, stall={"no_progress": 6})
    for _ in range(6):
        play.beat()
    assert play.levels == [H, ST, CO, CO, CO, CO]
    assert play.end().reason == "no_progress"


# C-5
def test_b_e8_calls_without_names_are_healthy() -> None:
    play = Play(plan=TASKS)
    play.beat(tree=True, tools=Tools(calls=8))
    assert play.levels == [H]


# B-7
def test_b7_five_api_errors_inside_an_iteration_trip() -> None:
    play = Play(plan=TASKS)
    play.beat(tree=True, api=ApiErrors(succeeded=True, peak_after=5))
    assert play.levels == [ST]


# B-7
def test_b7_errors_of_repeated_attempts_steer_at_most() -> None:
    play = Play(plan=TASKS)
    for _ in range(4):
        play.launch()
        play.observe(klass=FailureClass.OVERLOADED, api=ApiErrors(before_success=1))
    play.launch()
    play.observe(tree=True, api=ApiErrors(before_success=1, succeeded=True))
    play.judge()
    assert play.levels == [ST]
    play.beat(tree=True)
    assert play.levels == [ST, H]


# B-7
def test_b7_a_carried_count_ends_with_the_first_success() -> None:
    play = Play(plan=TASKS)
    for _ in range(6):
        play.launch()
        play.observe(klass=FailureClass.OVERLOADED, api=ApiErrors(before_success=1))
    play.beat(tree=True)
    assert play.levels == [H]


# B-7
def test_b7_usage_limits_count_for_nothing() -> None:
    play = Play(plan=TASKS)
    for _ in range(6):
        play.launch()
        play.observe(klass=FailureClass.USAGE_LIMIT, api=ApiErrors(before_success=1))
    play.launch()
    play.observe(tree=True, api=ApiErrors(before_success=1, succeeded=True))
    assert play.judge().trips == ()


# B-11
def test_b11_only_beats_with_output_count_for_stagnation() -> None:
    play = Play(plan=TASKS, stall={"no_progress": 9})
    for text in ("", "", "said", "said"):
        play.beat(text=text)
    assert play.counts("beats") == [0, 0, 1, 2]
    assert play.levels == [H, H, H, ST]


# B-12
def test_b12_zero_switches_the_same_error_condition_off() -> None:
    play = Play(plan=TASKS, breaker={"same_error_steer": 0})
    for _ in range(4):
        play.beat(tree=True, error="E")
    assert play.levels == [H] * 4


# B-17
def test_b17_constrained_waits_a_minute_and_asks_for_one_small_task() -> None:
    play = Play(plan=TASKS, stall={"no_progress": 9})
    for _ in range(3):
        play.beat()
    step = play.step()
    assert getattr(step, "reason", None) == "delay"
    launch = play.launch()
    assert launch.constrained
    assert [note.name for note in launch.notes] == ["steering", "constrained"]


# B-17
def test_b17_a_read_only_iteration_counts_for_nothing_and_the_next_one_may_write() -> None:
    play = Play(plan=TASKS, stall={"no_progress": 9}, breaker={"constrain": {"read_only": True}})
    for _ in range(3):
        play.beat()
    assert play.launch().read_only
    play.observe(read_only=True)
    verdict = play.judge()
    assert verdict.counters.no_progress == 3
    assert verdict.counters.level is Level.CONSTRAINED
    assert not play.launch().read_only


# B-19
def test_b19_disabled_reports_healthy_whatever_happens() -> None:
    play = Play(plan=TASKS, breaker={"enabled": False}, stall={"no_progress": 9})
    for _ in range(5):
        play.beat(tools=Tools(calls=99, longest_run=99))
    assert play.levels == [H] * 5
    assert play.verdicts[-1].trips


#
def test_x4_the_ladder_ticks_in_the_last_iteration_without_its_action() -> None:
    play = Play(plan=TASKS)
    for _ in range(3):
        verdict = play.beat()
    assert (verdict.counters.level, verdict.level_action) == (Level.CONSTRAINED, "none")


# B-1, B-2
def test_every_verdict_carries_one_decision_of_the_ladder() -> None:
    play = Play(plan=TASKS)
    for run in (8, 8, 1):
        play.beat(tree=True, tools=Tools(calls=9, longest_run=run, keys=("a",)))
    seen = [(v.level_before.value, v.counters.level.value, v.level_action) for v in play.verdicts]
    assert seen == [(H, ST, "steer"), (ST, CO, "constrain"), (CO, ST, "none")]


# B-14
def test_old_counts_do_not_trip_again() -> None:
    play = Play(plan=TASKS)
    play.beat(tree=True, tools=Tools(calls=9, longest_run=9, keys=("a",)))
    play.beat(tree=True, tools=Tools(calls=1, longest_run=1, keys=("b",)))
    assert play.levels == [ST, H]
    assert play.verdicts[1].trips == ()


# B-16
def test_the_steering_block_is_in_every_prompt_while_the_level_is_up() -> None:
    play = Play(plan=TASKS)
    names = []
    for run in (9, 9, 1, 1, 1):
        play.beat(tree=True, tools=Tools(calls=9, longest_run=run, keys=("a",)))
        step = play.skip_delay()
        assert isinstance(step, decide.Launch)
        names.append([note.name for note in step.notes])
    assert names == [["steering"], ["steering", "constrained"], ["steering"], [], []]


# B-18
def test_at_stopped_nothing_is_launched_any_more() -> None:
    play = Play(plan=TASKS)
    for _ in range(3):
        play.beat(tree=True, tools=Tools(calls=9, longest_run=9, keys=("a",)))
    ending = play.end()
    assert (ending.state, ending.reason) == (TerminalState.ESCALATED, "breaker_stopped")


#
def test_a_hard_limit_ends_the_run_and_leaves_the_ladder_where_it_is() -> None:
    play = Play(plan=TASKS)
    for _ in range(3):
        play.beat()
    assert play.end().reason == "no_progress"
    assert play.levels[-1] in (ST, CO)


# B-8, K-5
def test_the_agent_cap_counts_billed_tokens_only() -> None:
    play = Play(plan=TASKS, breaker={"agent_token_caps": {"claude": 1000}})
    play.beat(tree=True, usage=Usage(input=400, output=100, cache_write=500, cache_read=900_000))
    play.beat(tree=True, usage=Usage(output=1))
    assert play.levels == [H, ST]
