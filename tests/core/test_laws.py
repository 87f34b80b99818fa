"""Laws over all histories, not examples."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from ralph.core import decide
from ralph.core.events import IterationJudged, IterationObserved, RequestKind, RunEnded
from ralph.core.facts import EndedBy, FailureClass, Tools
from ralph.core.fold import fold
from ralph.core.live import Slot
from ralph.core.seen import Seen
from tests.support.history import Play, plan_of

beats = st.fixed_dictionaries(
    {
        "tree": st.one_of(st.booleans(), st.sampled_from(["x", "y"])),
        "signal": st.booleans(),
        "error": st.sampled_from([None, "E1", "E2"]),
        "text": st.sampled_from(["", "said"]),
        "klass": st.sampled_from(
            [
                FailureClass.OK,
                FailureClass.OK,
                FailureClass.OK,
                FailureClass.CRASH,
                FailureClass.TIMEOUT,
                FailureClass.OVERLOADED,
                FailureClass.USAGE_LIMIT,
                FailureClass.NEEDS_INPUT,
                FailureClass.LAUNCH_ERROR,
                FailureClass.AUTH,
            ]
        ),
        "tools": st.one_of(
            st.none(),
            st.builds(
                Tools,
                calls=st.integers(0, 40),
                longest_run=st.integers(0, 12),
                few_distinct=st.integers(0, 30),
                keys=st.tuples(st.sampled_from("abcdefgh"), st.sampled_from("ijklm")),
            ),
        ),
    }
)
histories = st.lists(st.tuples(beats, st.sampled_from([None, None, "A", "B", "C"])), max_size=40)


def play_out(history: list, cap: int | None, stop_at: int | None = None) -> Play:
    play = Play(plan=plan_of("A", "B", "C"), cap=cap)
    for number, (beat, tick) in enumerate(history):
        if not isinstance(play.skip_delay(), decide.Launch):
            break
        play.launch()
        if number == stop_at:
            play.request(RequestKind.STOP_NOW, "SIGTERM")
            beat = beat | {"klass": FailureClass.KILLED, "ended_by": EndedBy.STOP}
        done = {t.id for t in play.plan.tasks if t.done} if play.plan else set()
        play.observe(tick=(tick,) if tick and tick not in done else (), **beat)
        if play.state.pending is not None:
            play.judge()
    if isinstance(play.skip_delay(), decide.End):
        play.end()
    return play


@given(histories, st.one_of(st.none(), st.integers(1, 12)), st.integers(0, 40))
@settings(max_examples=150, deadline=None)
def test_every_ended_run_has_one_terminal_record_and_it_is_last(
    history: list, cap: int | None, stop_at: int
) -> None:
    play = play_out(history, cap, stop_at)
    ends = [event for event in play.events if isinstance(event, RunEnded)]
    assert len(ends) <= 1
    assert not ends or ends == [play.events[-1]]
    assert bool(ends) == (play.state.ended is not None)


# B-3
@given(histories)
@settings(max_examples=150, deadline=None)
def test_b3_the_ladder_moves_at_most_one_level_a_beat(history: list) -> None:
    rank = 0
    for verdict in play_out(history, None).verdicts:
        assert abs(verdict.counters.level.rank - rank) <= 1
        rank = verdict.counters.level.rank


# L-1
@given(histories, st.integers(1, 10))
@settings(max_examples=150, deadline=None)
def test_l1_never_more_iterations_than_the_cap(history: list, cap: int) -> None:
    assert play_out(history, cap).state.iteration <= cap


@given(histories)
@settings(max_examples=50, deadline=None)
def test_never_a_launch_while_the_window_is_full(history: list) -> None:
    play = play_out(history, None)
    if play.state.ended is None and play.state.retry is None:
        full = Slot(taken=False, count=100, free_at=play.now)
        assert not isinstance(play.step(slot=full), decide.Launch)


@given(histories)
@settings(max_examples=150, deadline=None)
def test_the_fold_of_the_journal_is_the_state(history: list) -> None:
    play = play_out(history, 15)
    assert fold(play.events).counters == play.state.counters
    assert fold(play.events).counted == play.state.counted


@given(histories)
@settings(max_examples=150, deadline=None)
def test_counters_equal_a_naive_recount(history: list) -> None:
    play = play_out(history, 15)
    observed = {e.seen.iteration: e.seen for e in play.events if isinstance(e, IterationObserved)}
    completion = same = 0
    last = None
    for verdict in (e for e in play.events if isinstance(e, IterationJudged)):
        seen = observed[verdict.iteration]
        good = seen.result.klass in (FailureClass.OK, FailureClass.NEEDS_INPUT)
        signal = seen.claim.kind == "signal" and good
        completion = completion + 1 if signal else 0
        moved = "plan" in verdict.progress or "tree" in verdict.progress
        error = None if seen.result.klass is FailureClass.TIMEOUT and moved else seen.signature
        same = (
            0 if error is None or "plan" in verdict.progress else same + 1 if error == last else 1
        )
        last = error
        refuted = any("refuted" in line for line in verdict.lines)
        assert verdict.counters.completion == (0 if refuted else completion)
        completion = verdict.counters.completion
        assert verdict.counters.same_error == same


@given(st.lists(st.lists(st.text(max_size=3), max_size=20), max_size=20))
def test_seen_is_a_set_whose_older_versions_stay_valid(rounds: list[list[str]]) -> None:
    seen, truth, versions = Seen(), set(), []
    for keys in rounds:
        versions.append((seen, set(truth)))
        seen = seen.plus(keys)
        truth |= set(keys)
        assert len(seen) == len(truth)
        assert all(key in seen for key in truth)
    for older, expected in versions:
        assert len(older) == len(expected)
