"""Which class an invocation gets, and what outcome follows from it (A-3, A-4, C-4)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.core.facts import AgentResult, EndedBy, FailureClass, Outcome
from ralph.core.failure import Evidence, Record, asks, classify, outcome_of, settle

SUCCESS = Record(failed=False)
LIMIT = "You've hit your 5-hour limit · resets 10:16pm (UTC)"


def evidence(**changes: object) -> Evidence:
    values: dict[str, object] = {"ended_by": EndedBy.EXIT, "exit_code": 0, **changes}
    return Evidence(**values)  # type: ignore[arg-type]


def result(**changes: object) -> AgentResult:
    values: dict[str, object] = {
        "klass": FailureClass.OK,
        "exit_code": 0,
        "seconds": 30.0,
        "final_text": "Wrote the parser.",
        **changes,
    }
    return AgentResult(**values)  # type: ignore[arg-type]


def failed(message: str, klass: FailureClass | None = None) -> Record:
    return Record(failed=True, klass=klass, message=message)


# the order of judgement


@pytest.mark.parametrize(
    ("ended_by", "klass"),
    [
        (EndedBy.HARD, FailureClass.TIMEOUT),
        (EndedBy.IDLE, FailureClass.IDLE),
        (EndedBy.STOP, FailureClass.KILLED),
        (EndedBy.REPEAT, FailureClass.KILLED),
    ],
)
def test_a3_ended_by_us_wins_over_every_other_evidence(
    ended_by: EndedBy, klass: FailureClass
) -> None:
    for record in (None, failed(LIMIT)):
        seen = classify(evidence(ended_by=ended_by, record=record, errors=LIMIT, exit_code=1))
        assert seen.klass is klass


def test_e2_a_limit_sentence_in_the_output_is_no_limit_when_our_timeout_fired() -> None:
    seen = classify(evidence(ended_by=EndedBy.HARD, errors="5-hour limit reached", promised=True))
    assert seen.klass is FailureClass.TIMEOUT


@pytest.mark.parametrize("ended_by", [EndedBy.HARD, EndedBy.IDLE, EndedBy.STOP, EndedBy.LINGER])
def test_a7_after_a_success_record_the_record_decides_and_the_end_is_noted(
    ended_by: EndedBy,
) -> None:
    seen = classify(evidence(ended_by=ended_by, signal=15, exit_code=None, record=SUCCESS))
    assert seen.klass is FailureClass.OK
    assert len(seen.contradictions) == 1


def test_a15_a_lingering_agent_is_flagged() -> None:
    seen = classify(evidence(ended_by=EndedBy.LINGER, signal=9, exit_code=None, record=SUCCESS))
    assert "lingered" in seen.contradictions[0]


def test_a21_exit_0_with_an_error_record_is_a_failure_and_a_contradiction() -> None:
    seen = classify(evidence(record=failed("API Error: 500 boom")))
    assert seen.klass is not FailureClass.OK
    assert seen.contradictions


def test_a21_exit_1_after_a_success_record_is_ok_and_a_contradiction() -> None:
    seen = classify(evidence(exit_code=1, record=SUCCESS, errors="Invalid API key"))
    assert seen.klass is FailureClass.OK
    assert seen.contradictions == ("exit 1, but its record says success",)


def test_an_agreeing_record_contradicts_nothing() -> None:
    assert classify(evidence(record=SUCCESS)).contradictions == ()
    assert classify(evidence(record=failed("no"), exit_code=1)).contradictions == ()


def test_a3_exit_0_without_the_promised_record_is_a_crash_and_said_so() -> None:
    seen = classify(evidence(promised=True))
    assert seen.klass is FailureClass.CRASH
    assert "no result record" in seen.detail
    assert seen.contradictions


def test_a3_a_missing_record_with_a_vendor_sentence_has_the_class_of_the_sentence() -> None:
    seen = classify(evidence(promised=True, exit_code=1, errors=f"some noise\n{LIMIT}"))
    assert seen.klass is FailureClass.USAGE_LIMIT
    assert seen.sentence == LIMIT


def test_e1_a_sentence_says_nothing_after_exit_0_of_a_plain_agent() -> None:
    assert classify(evidence(errors=LIMIT)).klass is FailureClass.OK


def test_a_plain_agent_whose_exit_0_means_nothing_is_judged_by_its_sentence() -> None:
    assert classify(evidence(errors=LIMIT, trust_zero=False)).klass is FailureClass.USAGE_LIMIT
    assert classify(evidence(errors="all well", trust_zero=False)).klass is FailureClass.OK


def test_a24_death_by_a_signal_is_a_crash_shown_as_a_signal() -> None:
    seen = classify(evidence(signal=11, exit_code=None, errors="Invalid API key"))
    assert seen.klass is FailureClass.CRASH
    assert "signal 11" in seen.detail


def test_a24_an_exit_code_above_128_is_no_signal() -> None:
    seen = classify(evidence(exit_code=139))
    assert seen.klass is FailureClass.CRASH
    assert "exit 139" in seen.detail


def test_a18_a_command_that_does_not_start_is_a_launch_error_with_its_reason() -> None:
    seen = classify(evidence(ended_by=EndedBy.LAUNCH, problem="nope: not found on PATH"))
    assert (seen.klass, seen.detail) == (FailureClass.LAUNCH_ERROR, "nope: not found on PATH")


def test_fields_of_the_record_win_over_its_message() -> None:
    seen = classify(evidence(exit_code=1, record=failed(LIMIT, FailureClass.AUTH)))
    assert seen.klass is FailureClass.AUTH


def test_an_error_record_without_a_known_sentence_is_a_crash_with_its_own_words() -> None:
    seen = classify(evidence(exit_code=1, record=failed("something odd\nmore")))
    assert (seen.klass, seen.detail) == (FailureClass.CRASH, "something odd")


@given(
    ended_by=st.sampled_from(EndedBy),
    exit_code=st.none() | st.integers(0, 255),
    signal=st.none() | st.integers(1, 31),
    record=st.none() | st.builds(Record, failed=st.booleans(), message=st.text()),
    promised=st.booleans(),
    errors=st.text(),
    trust_zero=st.booleans(),
)
def test_every_evidence_has_one_class_and_a_detail_of_one_line(**parts: object) -> None:
    seen = classify(Evidence(**parts))  # type: ignore[arg-type]
    assert len(seen.detail.splitlines()) <= 1
    assert len(seen.detail) <= 300
    if parts["ended_by"] is not EndedBy.LAUNCH and parts["record"] == SUCCESS:
        assert seen.klass is FailureClass.OK


# settle: what only the tree can tell


def settled(
    seen: AgentResult, *, changed: bool = False, progressed: bool = False, claimed: bool = False
) -> tuple[FailureClass, Outcome]:
    return settle(seen, changed=changed, progressed=progressed, claimed=claimed)


def test_a13_exit_0_at_once_with_nothing_to_show_is_empty_fast() -> None:
    nothing = result(final_text=" \n", seconds=0.05)
    assert settled(nothing) == (FailureClass.EMPTY_FAST, Outcome.AGENT_ERROR)
    assert settled(nothing, changed=True)[0] is FailureClass.OK
    assert settled(result(final_text="", seconds=2.0))[0] is FailureClass.OK
    assert settled(result(final_text="done", seconds=0.05))[0] is FailureClass.OK


def test_a4_a_last_question_with_nothing_changed_needs_input_and_is_no_error() -> None:
    asking = result(final_text="I looked at it.\n\nShall I go on?")
    assert settled(asking) == (FailureClass.NEEDS_INPUT, Outcome.OK)
    assert settled(asking, changed=True)[0] is FailureClass.OK
    assert settled(asking, claimed=True)[0] is FailureClass.OK


def test_a4_denied_commands_are_a_refusal_unless_there_was_progress() -> None:
    denied = result(denied=("rm -rf /",))
    assert settled(denied) == (FailureClass.REFUSED, Outcome.AGENT_ERROR)
    assert settled(denied, changed=True)[0] is FailureClass.REFUSED
    assert settled(denied, changed=True, progressed=True)[0] is FailureClass.OK


def test_a4_max_turns_is_ok_only_with_progress() -> None:
    capped = result(klass=FailureClass.MAX_TURNS)
    assert settled(capped) == (FailureClass.MAX_TURNS, Outcome.AGENT_ERROR)
    assert settled(capped, changed=True, progressed=True)[1] is Outcome.OK


OUTCOMES = {
    Outcome.OK: "ok needs_input",
    Outcome.INFRA_ERROR: "usage_limit overloaded network",
    Outcome.TIMEOUT: "timeout idle",
    Outcome.KILLED: "killed",
    Outcome.LAUNCH_ERROR: "launch_error",
    Outcome.AGENT_ERROR: (
        "auth billing bad_invocation context_full refused max_turns crash empty_fast"
    ),
}


def test_c4_every_class_has_the_outcome_of_the_table() -> None:
    named = {FailureClass(name): one for one, names in OUTCOMES.items() for name in names.split()}
    assert set(named) == set(FailureClass)
    assert {klass: outcome_of(klass) for klass in FailureClass} == named


@pytest.mark.parametrize("klass", [k for k in FailureClass if k is not FailureClass.OK])
def test_a_failure_stays_what_it_is_whatever_the_tree_says(klass: FailureClass) -> None:
    seen = result(klass=klass, final_text="Why?", denied=("ls",), seconds=0.1)
    for flag in (True, False):
        assert settled(seen, changed=flag, progressed=flag, claimed=flag)[0] is klass


# what is a question


@pytest.mark.parametrize(
    "text",
    [
        "Shall I go on?",
        "**May I?**",
        "Which one?\n\n- a\n- b",
        "どうしますか？",
        '"Really?")',
        "ok?  ",
    ],
)
def test_a_text_that_ends_by_asking(text: str) -> None:
    assert asks(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Why? Because.",
        "Shall I?\n" + "line\n" * 6,
        "Query:\n```\nSELECT ?\n```\n",
        "see https://example.org/?q=1",
    ],
)
def test_a_text_that_does_not(text: str) -> None:
    assert not asks(text)
