"""Worked examples of the loop's rules (L-E1 ...), as written."""

from __future__ import annotations

from datetime import timedelta

import pytest

from ralph.core import decide
from ralph.core.events import Carried, RequestKind, WaitReason
from ralph.core.facts import EndedBy, FailureClass, PlanDelta, Tools, Usage
from ralph.core.live import Slot
from ralph.core.outcome import TerminalState, follow_up
from ralph.core.terminal import terminal_record
from tests.support.history import CO, ST, START, H, Play, plan_of

TASKS = plan_of("A", "B", "C", "D")


def test_l_e1_three_iterations_without_progress_stop_in_the_fourth() -> None:
    play = Play(plan=TASKS)
    play.beat(tick="A", tree=True)
    for _ in range(3):
        play.beat()
    assert play.counts("no_progress") == [0, 1, 2, 3]
    assert play.levels == [H, H, ST, CO]
    ending = play.end()
    assert (ending.state, ending.reason) == (TerminalState.ESCALATED, "no_progress")
    assert ending.detail == "No progress for 3 iterations"
    assert ending.exit_code == 3
    assert play.state.ended is not None
    assert (play.state.ended.iteration, play.state.ended.max) == (4, 20)


# L-15
@pytest.mark.parametrize(("policy", "stops_in"), [("plan_or_tree", 6), ("plan", 3), ("tree", 6)])
def test_l_e2_tree_progress_resets_unless_the_policy_is_plan(policy: str, stops_in: int) -> None:
    play = Play(plan=TASKS, progress={"policy": policy})
    for tree in (False, False, True, False, False, False)[:stops_in]:
        play.beat(tree=tree)
    assert play.counts("no_progress")[-1] == 3
    assert play.end().reason == "no_progress"


def test_l_e3_two_markers_in_a_row_whatever_their_names_resolve() -> None:
    play = Play(plan=plan_of("A", done=("A",)))
    for signal in (0, 0, 0, 0, 1, 0, 1, 1):
        play.beat(tree=True, signal=bool(signal))
    assert play.counts("completion") == [0, 0, 0, 0, 1, 0, 1, 2]
    assert play.end().state is TerminalState.RESOLVED


# L-20
def test_l_e4_the_same_error_five_times_in_a_row_stops() -> None:
    play = Play(plan=TASKS)
    for error in ("E", "E", "E", None, "E", "E", "E", "E", "E"):
        play.beat(tree=True, error=error)
    assert play.counts("same_error") == [1, 2, 3, 0, 1, 2, 3, 4, 5]
    assert play.levels == [H, H, ST, H, H, H, ST, CO, CO]
    ending = play.end()
    assert (ending.reason, ending.detail) == ("same_error", "Same error in 5 iterations")


def test_l_e5_a_full_window_waits_at_most_five_minutes_at_a_time() -> None:
    play = Play()
    play.now = START + timedelta(minutes=25)
    full = Slot(taken=False, count=3, free_at=START + timedelta(minutes=60))
    step = play.step(slot=full)
    assert isinstance(step, decide.Wait)
    assert step.reason is WaitReason.RATE
    assert step.until == play.now + timedelta(minutes=5)
    play.now = START + timedelta(minutes=58)
    step = play.step(slot=full)
    assert isinstance(step, decide.Wait)
    assert step.until == START + timedelta(minutes=60)


def test_l_e6_one_signal_in_the_last_iteration_is_the_cap_not_the_end() -> None:
    play = Play(plan=plan_of("A", "B", "C"), cap=3)
    play.beat(tick="A", tree=True)
    play.beat(tick="B", tree=True)
    play.beat(tick="C", tree=True, signal=True)
    ending = play.end()
    assert (ending.state, ending.reason) == (TerminalState.FOLLOW_UP, "iteration_cap")
    assert "completion 1/2" in ending.detail


# L-3
def test_l3_two_signals_that_end_in_the_last_iteration_resolve() -> None:
    play = Play(plan=plan_of("A", done=("A",)), cap=2)
    play.beat(signal=True)
    play.beat(signal=True)
    assert play.end().state is TerminalState.RESOLVED


# C-2, C-6
def test_l_e7_infrastructure_errors_repeat_the_iteration_and_move_nothing() -> None:
    play = Play(plan=TASKS)
    play.beat()
    numbers = [play.state.iteration]
    for _ in range(2):
        numbers.append(play.launch().iteration)
        play.observe(klass=FailureClass.OVERLOADED)
        assert play.state.counters.no_progress == 1
    for _ in range(2):
        numbers.append(play.launch().iteration)
        play.observe()
        play.judge()
    assert numbers == [1, 2, 2, 2, 3]
    assert play.counts("no_progress") == [1, 2, 3]
    assert play.end().reason == "no_progress"
    assert play.state.calls == 5


def test_l_e8_a_tick_counts_although_another_was_taken_back() -> None:
    play = Play(plan=plan_of("A", "B", done=("B",)))
    verdict = play.beat(tick="A", untick="B", tree=True)
    assert verdict.counters.no_progress == 0
    assert verdict.progress == ("plan", "tree")
    assert "Task un-ticked: B" in verdict.lines


def test_l_e11_no_progress_comes_before_same_error() -> None:
    play = Play(plan=TASKS)
    for _ in range(3):
        play.beat(error="E")
    assert play.end().reason == "no_progress"
    assert play.state.ended is not None
    assert play.state.ended.also == ("same_error 3/5",)


def test_l_e12_a_growing_plan_with_a_tick_each_time_is_healthy() -> None:
    play = Play(plan=plan_of(*"ABCDEFGHIJ", done=tuple("ABCDE")))
    more = (*"ABCDEFGHIJ", *(f"N{n}" for n in range(10)))
    for n, tick in enumerate("FGHIJ"):
        done = tuple("ABCDE" + "FGHIJ"[: n + 1])
        play.beat(plan=plan_of(*more, done=done), delta=PlanDelta(completed=(tick,)), tree=True)
    assert play.counts("no_progress") == [0] * 5


# L-8
def test_l8_a_signalling_iteration_never_counts_as_no_progress() -> None:
    play = Play(plan=plan_of("A", done=("A",)), completion={"required": 3})
    play.beat(signal=True)
    play.beat(signal=True)
    assert play.counts("no_progress") == [0, 0]


# L-7
def test_l7_a_signal_of_a_failed_iteration_resets_the_count() -> None:
    play = Play(plan=plan_of("A", done=("A",)))
    play.beat(signal=True)
    play.beat(signal=True, klass=FailureClass.CRASH)
    assert play.counts("completion") == [1, 0]


# L-7
def test_l7_an_infrastructure_error_leaves_the_count() -> None:
    play = Play(plan=plan_of("A", done=("A",)))
    play.beat(signal=True)
    play.launch()
    play.observe(klass=FailureClass.NETWORK)
    play.launch()
    play.observe(signal=True)
    play.judge()
    assert play.end().state is TerminalState.RESOLVED


# L-9
def test_l9_open_tasks_refute_once_and_the_second_claim_ends() -> None:
    play = Play(plan=TASKS)
    play.beat(signal=True, tree=True)
    second = play.beat(signal=True, tree=True)
    assert second.counters.completion == 0
    assert second.ending is None
    assert [note.name for note in second.notes] == ["open_tasks"]
    assert "A" in second.notes[0].values["tasks"]
    assert "open_tasks" in [note.name for note in play.launch().notes]
    play.observe(signal=True, tree=True)
    play.judge()
    play.beat(signal=True, tree=True)
    ending = play.end()
    assert (ending.state, ending.reason) == (TerminalState.FOLLOW_UP, "claimed_with_open_tasks")


def test_b12_claims_after_each_section_never_end_a_run_that_ticks_on() -> None:
    names = [f"T{n}" for n in range(8)]
    play = Play(plan=plan_of(*names), cap=None)
    for name in names[:-1]:
        play.beat(tick=name, tree=True)
        play.beat(signal=True, tree=True)
        play.beat(signal=True, tree=True)
        assert play.verdicts[-1].ending is None
    play.beat(tick=names[-1], tree=True)
    play.beat(signal=True)
    play.beat(signal=True)
    assert play.end().state is TerminalState.RESOLVED


# L-9
def test_l9_a_failing_verify_is_critique_once_then_judge_failed() -> None:
    play = Play(plan=plan_of("A", done=("A",)), verify={"commands": ["tests"]})
    play.beat(signal=True)
    first = play.beat(signal=True, verified={"tests": False})
    assert first.ending is None
    assert first.notes[0].name == "critique"
    assert "tests said" in first.notes[0].values["output"]
    play.beat(signal=True)
    play.beat(signal=True, verified={"tests": False})
    ending = play.end()
    assert (ending.state, ending.reason) == (TerminalState.ESCALATED, "judge_failed")


# L-9
def test_l9_more_passing_commands_go_on_but_five_verdicts_end() -> None:
    commands = [f"c{n}" for n in range(8)]
    play = Play(plan=plan_of("A", done=("A",)), verify={"commands": commands}, cap=None)
    for verdict in range(5):
        play.beat(signal=True)
        passing = {c: n < verdict for n, c in enumerate(commands)}
        play.beat(signal=True, verified=passing)
        assert (play.verdicts[-1].ending is not None) == (verdict == 4)
    assert play.end().reason == "judge_failed"


# T-17
def test_t17_a_verify_without_verdict_is_judge_failed_at_once() -> None:
    play = Play(plan=plan_of("A", done=("A",)), verify={"commands": ["slow"]})
    play.beat(signal=True)
    play.beat(signal=True, verified={"slow": None})
    assert play.end().reason == "judge_failed"


# L-9
def test_l9_without_plan_or_tasks_the_plan_check_is_skipped() -> None:
    play = Play(plan=None)
    play.beat(signal=True)
    play.beat(signal=True)
    assert play.end().state is TerminalState.RESOLVED


# L-9
def test_l9_require_plan_done_false_lets_open_tasks_pass() -> None:
    play = Play(plan=TASKS, completion={"require_plan_done": False})
    play.beat(signal=True)
    play.beat(signal=True)
    assert play.end().state is TerminalState.RESOLVED


# L-13
def test_l13_a_task_counts_once_however_often_it_is_ticked_again() -> None:
    play = Play(plan=TASKS)
    play.beat(tick="A", tree=True)
    play.beat(untick="A", tree=True)
    verdict = play.beat(tick="A", tree=True)
    assert verdict.progress == ("tree",)
    assert verdict.counters.ticks == 1


# L-14
def test_l14_going_back_to_an_earlier_content_is_not_progress() -> None:
    play = Play(plan=TASKS)
    play.beat(tree="one")
    play.beat(tree="two")
    verdict = play.beat(tree="one")
    assert verdict.progress == ()
    assert verdict.counters.no_progress == 1


# L-14
def test_l14_content_older_than_the_memory_is_new_again() -> None:
    play = Play(plan=TASKS, progress={"tree_memory": 2, "max_churn": 0})
    for name in ("one", "two", "three", "four"):
        play.beat(tree=name)
    assert play.beat(tree="one").progress == ("tree",)


# L-15, C-5
def test_l15_without_plan_and_tree_only_equal_output_is_no_progress() -> None:
    play = Play(plan=None, tree=None)
    play.beat(text="a")
    play.beat(text="a")
    play.beat(text="b")
    assert play.counts("no_progress") == [0, 1, 0]


def exploring(*keys: str) -> Tools:
    return Tools(calls=12, keys=keys)


def fresh(n: int) -> Tools:
    return exploring(*(f"k{n}-{m}" for m in range(12)))


def test_e15_three_exploring_iterations_are_left_uncounted() -> None:
    play = Play(plan=TASKS)
    for n in range(5):
        play.beat(tools=fresh(n))
    play.beat(tree=True, tools=fresh(9))
    assert play.counts("no_progress") == [0, 0, 0, 1, 2, 0]


# L-16
def test_l16_a_sixth_exploring_iteration_without_progress_stops() -> None:
    play = Play(plan=TASKS)
    for n in range(6):
        play.beat(tools=fresh(n))
    assert play.end().reason == "no_progress"
    assert len(play.verdicts) == 6


# L-16
def test_l16_spinning_on_the_same_files_stops_in_three() -> None:
    play = Play(plan=TASKS)
    play.beat(tree=True, tools=fresh(0))
    for _ in range(3):
        play.beat(tools=fresh(0))
    assert play.end().reason == "no_progress"


# L-16
@pytest.mark.parametrize(
    ("tools", "counted"),
    [
        (Tools(calls=9, keys=tuple(f"n{m}" for m in range(9))), 1),
        (exploring("k0-0", "k0-1", "new"), 1),
        (exploring("k0-0", "new1", "new2"), 0),
        (None, 1),
    ],
)
def test_l16_exploring_needs_ten_calls_and_new_keys(tools: Tools | None, counted: int) -> None:
    play = Play(plan=TASKS)
    play.beat(tree=True, tools=fresh(0))
    assert play.beat(tools=tools).counters.no_progress == counted


# L-16
def test_l16_exploring_can_be_switched_off() -> None:
    play = Play(plan=TASKS, stall={"exploring": False})
    assert play.beat(tools=fresh(0)).counters.no_progress == 1


# L-17
def test_l17_churn_steers_at_fifteen_and_stops_at_thirty() -> None:
    play = Play(plan=TASKS, cap=None)
    for _ in range(29):
        play.beat(tree=True)
    assert play.levels[13:16] == [H, ST, ST]
    assert set(play.levels[15:]) == {ST}
    play.beat(tree=True)
    ending = play.end()
    assert ending.detail == "No task completed in 30 iterations"
    assert (ending.state, ending.reason) == (TerminalState.ESCALATED, "no_progress")


# L-17
def test_l17_zero_switches_churn_off() -> None:
    play = Play(plan=TASKS, cap=None, progress={"max_churn": 0})
    for _ in range(40):
        assert play.beat(tree=True).ending is None


# L-18
def test_b13_ticks_without_changes_are_no_progress() -> None:
    play = Play(plan=TASKS)
    for task in "ABC":
        verdict = play.beat(tick=task)
        assert f"ticked without changes: {task}" in verdict.lines
    assert play.end().reason == "no_progress"


# L-18
def test_l18_tree_progress_since_the_last_tick_is_evidence() -> None:
    play = Play(plan=TASKS)
    play.beat(tree=True)
    assert play.beat(tick="A").progress == ("plan",)
    assert play.beat(tick="B").progress == ()


# L-18
def test_l18_a_later_change_proves_a_tick_that_is_still_no_progress() -> None:
    play = Play(plan=TASKS)
    play.beat(tick="A")
    verdict = play.beat(tree=True)
    assert verdict.unproven == ()
    assert verdict.progress == ("tree",)
    assert verdict.counters.ticks == 0


# L-18
def test_l18_unproven_ticks_refute_a_claim_and_the_second_one_ends() -> None:
    play = Play(plan=plan_of("A"), stall={"no_progress": 0})
    play.beat(tick="A")
    play.beat(signal=True)
    first = play.beat(signal=True)
    assert first.ending is None
    assert first.notes[0].name == "unproven"
    play.beat(signal=True)
    play.beat(signal=True)
    ending = play.end()
    assert ending.reason == "claimed_without_evidence"
    assert ending.state is TerminalState.FOLLOW_UP


# L-18
def test_l18_passing_verify_commands_prove_a_tick() -> None:
    play = Play(plan=plan_of("A", "B"), verify={"commands": ["t"], "every": "iteration"})
    assert play.beat(tick="A", verified={"t": True}).progress == ("plan",)


# L-20
def test_l20_plan_progress_resets_the_same_error() -> None:
    play = Play(plan=plan_of(*"ABCDEFG"))
    for task in "ABCDEF":
        assert play.beat(tick=task, tree=True, error="E").counters.same_error == 0


def test_e8_different_errors_are_never_the_same() -> None:
    play = Play(plan=TASKS)
    for n in range(5):
        play.beat(tree=True, error=f"E{n}")
    assert play.counts("same_error") == [1] * 5


# L-35
def test_l35_fifteen_failures_of_any_kind_stop() -> None:
    play = Play(plan=TASKS, progress={"max_churn": 0})
    for n in range(15):
        play.beat(tree=True, error=f"E{n}")
    ending = play.end()
    assert (ending.reason, ending.detail) == ("failing_streak", "No success in 15 iterations")


# L-30
def test_l30_every_task_done_but_no_claim_ends_unconfirmed() -> None:
    play = Play(plan=plan_of("A", done=("A",)))
    assert [n.name for n in play.launch().notes] == ["all_done"]
    play.observe()
    play.judge()
    play.beat()
    play.beat()
    ending = play.end()
    assert (ending.state, ending.reason) == (TerminalState.FOLLOW_UP, "plan_done_unconfirmed")


# L-32
def test_l32_only_blocked_tasks_end_the_run() -> None:
    play = Play(plan=plan_of("A", "B", blocked=("B",)))
    play.beat(tick="A", tree=True)
    ending = play.end()
    assert (ending.state, ending.reason) == (TerminalState.FOLLOW_UP, "blocked")
    assert play.state.ended is not None
    assert play.state.ended.blocked == ("B",)


# L-1
def test_l1_no_launch_after_the_cap() -> None:
    play = Play(plan=TASKS, cap=2)
    play.beat(tree=True)
    play.beat(tree=True)
    ending = play.end()
    assert (ending.reason, ending.exit_code) == ("iteration_cap", 4)


# L-1
def test_l1_a_repeated_attempt_is_not_checked_against_the_cap() -> None:
    play = Play(plan=TASKS, cap=1)
    play.launch()
    play.observe(klass=FailureClass.NETWORK)
    assert play.launch().attempt == 2


# T-1
def test_t1_nothing_verified_when_nothing_came_of_a_run() -> None:
    play = Play(plan=TASKS, cap=2, stall={"no_progress": 0})
    play.beat()
    play.beat()
    ending = play.end()
    assert (ending.state, ending.reason) == (TerminalState.FALLBACK, "nothing_verified")


# L-34
def test_l34_no_launch_after_the_deadline() -> None:
    play = Play(plan=TASKS, budget={"duration": 100.0})
    play.beat(tree=True, seconds=200)
    ending = play.end()
    assert (ending.state, ending.reason) == (TerminalState.FOLLOW_UP, "budget_exhausted")


# L-22
def test_l22_a_wait_beyond_its_bound_ends_rate_limited() -> None:
    play = Play(rate={"max_wait": 600.0})
    full = Slot(taken=False, count=100, free_at=START + timedelta(hours=1))
    step = play.step(slot=full)
    assert isinstance(step, decide.End)
    assert step.ending.reason == "rate_limited"


# T-6, L-27
def test_t6_a_resume_keeps_what_counted_and_resets_the_rest() -> None:
    carried = Carried(
        counted=("A",), known=("A", "B"), unproven=("B",), stop_reason="no_progress: x"
    )
    play = Play(plan=plan_of("A", "B", "C", done=("B",)), carried=carried)
    assert play.state.unproven == {"B"}
    launch = play.launch()
    assert launch.notes[0].name == "resume"
    play.observe(tick="A", tree=True)
    assert play.judge().counters.ticks == 0
    assert "resume" not in [n.name for n in play.launch().notes]


def test_x_e1_totals_of_a_finished_iteration_do_not_stop_a_confirmed_claim() -> None:
    play = Play(plan=plan_of("A", done=("A",)))
    play.beat(signal=True)
    play.beat(signal=True, usage=Usage(input=120_000))
    assert play.end().state is TerminalState.RESOLVED


#
def test_x_e2_a_claim_of_a_killed_iteration_does_not_count() -> None:
    play = Play(plan=plan_of("A", done=("A",)))
    play.beat(signal=True)
    play.launch()
    play.request(RequestKind.STOP_NOW)
    play.observe(signal=True, klass=FailureClass.KILLED, ended_by=EndedBy.STOP)
    assert play.judge().counters.completion == 0
    assert play.end().reason == "stopped_by_user"


def test_x_e3_the_first_reason_ends_and_the_cap_is_also_named() -> None:
    play = Play(plan=TASKS, cap=5)
    for tree in (True, True, False, False, False):
        play.beat(tree=tree)
    assert play.end().reason == "no_progress"
    assert play.state.ended is not None
    assert "iteration_cap" in play.state.ended.also


def test_x_e4_counts_ladder_and_steered_prompts() -> None:
    play = Play(plan=TASKS)
    steered = []
    for tick in ((), (), "A", (), (), ()):
        names = [note.name for note in play.launch().notes]
        steered.append("steering" in names)
        play.observe(tick=tick, tree=bool(tick))
        play.judge()
    assert play.counts("no_progress") == [1, 2, 0, 1, 2, 3]
    assert play.levels == [H, ST, H, H, ST, CO]
    assert steered == [False, False, True, False, False, True]


# T-17
def test_t17_verify_runs_only_for_a_confirmed_claim_by_default() -> None:
    play = Play(plan=plan_of("A", done=("A",)), verify={"commands": ["t"]})
    play.launch()
    play.observe(tree=True, signal=True)
    assert isinstance(play.step(), decide.Judge)
    play.judge()
    play.launch()
    play.observe(signal=True)
    assert play.step() == decide.Verify(("t",))


#
def test_x2_a_stop_by_a_person_counts_against_nothing() -> None:
    play = Play(plan=plan_of("A", "B"))
    play.beat(klass=FailureClass.CRASH, error="boom")
    before = play.state.counters
    play.launch()
    play.observe(klass=FailureClass.KILLED, ended_by=EndedBy.STOP, error="killed")
    after = play.judge().counters
    assert (after.no_progress, after.same_error) == (before.no_progress, before.same_error)


#
def test_before_a_launch_a_stop_comes_first_then_a_pause_the_cap_and_the_deadline() -> None:
    play = Play(cap=1, budget={"duration": 60.0})
    play.beat(tree=True)
    play.later(120)
    assert play.step() == decide.End(follow_up("iteration_cap", "1 iteration used"))
    play.request(RequestKind.PAUSE)
    assert isinstance(play.step(), decide.Pause)
    play.request(RequestKind.STOP_AFTER)
    assert play.end().reason == "stopped_by_user"


# C-7
def test_a_clock_set_back_makes_no_negative_times() -> None:
    play = Play()
    ended = terminal_record(
        play.state, follow_up("stopped_by_user"), (), at=START - timedelta(hours=3)
    )
    assert ended.seconds == 0


# L-12, M-8
def test_a_task_is_known_by_its_id_and_progress_is_an_id_that_was_never_done() -> None:
    play = Play(plan=plan_of("A", "B", done=("A",)))
    assert not play.beat(untick="A").progress
    assert not play.beat(tick="A").progress
    assert play.beat(tick="B", tree=True).progress == ("plan", "tree")
    assert {"A", "B"} <= play.state.counted
