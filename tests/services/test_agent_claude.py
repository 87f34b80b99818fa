"""What Claude Code's output means (A-1 to A-10)."""

from __future__ import annotations

import pytest

from ralph.core.facts import FailureClass, Usage
from ralph.core.failure import Verdict
from tests.support.claude import (
    HAPPY,
    answers,
    api_error,
    calls,
    fails,
    init,
    limit,
    read,
    reader,
    result,
    retry,
    says,
    stream,
    verdict,
)


def test_a_happy_run_tells_everything() -> None:
    seen = read(*HAPPY)
    assert verdict(seen) == Verdict(klass=FailureClass.OK)
    assert seen.final_text == "All done.\nRALPH_COMPLETE"
    assert (seen.model, seen.session_id, seen.turns) == ("m-1", "s-1", 3)
    assert seen.usage == Usage(input=100, output=50, cache_read=1000, cache_write=10, cost=12_500)
    assert seen.tools is not None
    assert (seen.tools.calls, seen.tools.writes, seen.tools.failed) == (2, 1, 0)
    assert seen.api.succeeded
    assert seen.contradictions == ()


def test_a2_only_assistant_text_can_become_final_text() -> None:
    seen = read(
        init(),
        calls("t1", "Bash", {"command": "cat PROMPT.md"}),
        answers("t1", "RALPH_COMPLETE"),
        says("A sub-agent says RALPH_COMPLETE", "s1", parent="t1"),
        says("Still 7 tasks.", "m2"),
        says("RALPH_COMPLETE", "s2", parent="t1"),
    )
    assert seen.final_text == "Still 7 tasks."


def test_a2_the_last_of_several_results_counts() -> None:
    seen = read(init(), says("one"), result("one RALPH"), init(), says("two"), result("two"))
    assert (seen.final_text, seen.turns) == ("two", 6)
    assert seen.usage is not None
    assert seen.usage.output == 100
    assert seen.usage.cost == 12_500  # cumulative: the last figure


def test_a2_text_of_one_message_may_come_in_several_records() -> None:
    seen = read(says("first", "m1"), says("second", "m1"))
    assert seen.final_text == "first\nsecond"


def test_a21_is_error_with_exit_0_and_subtype_success_is_a_failure() -> None:
    seen = read(
        init(), fails("API Error: 500 boom. This is a server-side issue, usually temporary")
    )
    found = verdict(seen)
    assert found.klass is FailureClass.OVERLOADED
    assert found.contradictions
    assert seen.record is not None
    assert seen.record.failed


def test_a21_exit_1_after_a_success_result_is_ok() -> None:
    found = verdict(read(*HAPPY), exit_code=1)
    assert found.klass is FailureClass.OK
    assert found.contradictions


ERRORS = [
    (fails("API Error: x", api_error_status=401), FailureClass.AUTH),
    (fails("API Error: x", api_error_status=403), FailureClass.AUTH),
    (fails("Credit balance is too low", api_error_status=400), FailureClass.BILLING),
    (fails("API Error: x", api_error_status=413), FailureClass.CONTEXT_FULL),
    (fails("Prompt is too long", terminal_reason="prompt_too_long"), FailureClass.CONTEXT_FULL),
    (fails("API Error: x", api_error_status=429), FailureClass.OVERLOADED),
    (fails("API Error: x", api_error_status=529), FailureClass.OVERLOADED),
    (
        fails("API Error: Connection refused — a firewall or proxy may be blocking it"),
        FailureClass.NETWORK,
    ),
    (fails("There's an issue with the selected model (n). Or"), FailureClass.BAD_INVOCATION),
    (fails("x", stop_reason="refusal"), FailureClass.REFUSED),
    (result(None, subtype="error_max_turns", is_error=False), FailureClass.MAX_TURNS),
    (result(None, subtype="error_max_budget_usd", errors=["spent"]), FailureClass.MAX_TURNS),
    (result(None, subtype="error_during_execution", errors=["odd"]), FailureClass.CRASH),
    (fails("You've hit your 5-hour limit · resets 10pm (UTC)"), FailureClass.USAGE_LIMIT),
    (fails("x", api_error="usage_limit_reached"), FailureClass.USAGE_LIMIT),
    (fails("x"), FailureClass.CRASH),
]


@pytest.mark.parametrize(("record", "klass"), ERRORS)
def test_a4_an_error_result_has_its_class(record: dict[str, object], klass: FailureClass) -> None:
    assert verdict(read(init(), record), exit_code=1).klass is klass


@pytest.mark.parametrize(
    ("error", "klass"),
    [
        ("authentication_failed", FailureClass.AUTH),
        ("billing_error", FailureClass.BILLING),
        ("model_not_found", FailureClass.BAD_INVOCATION),
        ("overloaded", FailureClass.OVERLOADED),
        ("rate_limit", FailureClass.OVERLOADED),
        ("max_output_tokens", FailureClass.CONTEXT_FULL),
        ("unknown", FailureClass.CRASH),
        ("of a later version", FailureClass.CRASH),
    ],
)
def test_a4_the_error_line_says_more_than_the_result(error: str, klass: FailureClass) -> None:
    seen = read(init(), api_error("API Error: x", error), fails("API Error: x"))
    assert verdict(seen, exit_code=1).klass is klass
    assert seen.final_text == ""


def test_an_error_that_was_overcome_says_nothing() -> None:
    seen = read(init(), api_error("x", "authentication_failed"), result("ok"), fails("odd"))
    assert verdict(seen, exit_code=1).klass is FailureClass.CRASH


def test_a_sub_agents_error_is_not_the_main_agents() -> None:
    failed = api_error("x", "billing_error", parent_tool_use_id="t1")
    assert verdict(read(init(), failed, fails("odd")), 1).klass is FailureClass.CRASH


def test_a5_a_rejected_limit_keeps_its_instant() -> None:
    sentence = "You've hit your 5-hour limit · resets 10:16pm (UTC)"
    seen = read(init(), limit(1_796_158_800), fails(sentence, api_error_status=429))
    assert verdict(seen, exit_code=1).klass is FailureClass.USAGE_LIMIT
    assert seen.limit is not None
    assert seen.limit.kind == "five_hour"
    assert seen.limit.resets_at is not None
    assert seen.limit.resets_at.timestamp() == 1_796_158_800


def test_a5_a_structured_limit_needs_no_sentence() -> None:
    seen = read(init(), limit(1_796_158_800), fails("some new words", api_error_status=429))
    assert verdict(seen, exit_code=1).klass is FailureClass.USAGE_LIMIT


def test_a5_a_429_without_a_limit_is_overload() -> None:
    words = "API Error: Request rejected (429) · you hit your limit"
    assert verdict(read(init(), fails(words, api_error_status=429)), 1).klass is (
        FailureClass.OVERLOADED
    )
    seen = read(init(), limit(None), fails("API Error: x", api_error_status=429))
    assert verdict(seen, exit_code=1).klass is FailureClass.OVERLOADED


def test_a_limit_warning_is_last_seen_and_no_limit() -> None:
    seen = read(init(), limit(1, "allowed_warning", utilization=0.93), result())
    assert (seen.limit, seen.last_seen) == (None, "five_hour limit 93% used")


def test_a6_retries_are_no_sign_of_life_and_count_as_api_errors() -> None:
    listener = reader()
    assert listener.hear("stdout", stream(init()))
    for attempt in range(1, 4):
        assert not listener.hear("stdout", stream(retry(attempt)))
    assert listener.live(5.0).last_seen == "retry 3/10, HTTP 529"
    assert listener.live(5.0).quiet == 5.0
    assert listener.hear("stdout", stream(says("on we go")))
    listener.hear("stdout", stream(retry(1, None), retry(2)))
    api = listener.reading().api
    assert (api.before_success, api.peak_after, api.at_end) == (3, 2, 2)


def test_a6_half_a_retry_line_is_no_sign_of_life_either() -> None:
    listener = reader()
    line = stream(retry(1))
    assert not listener.hear("stdout", line[:30])
    assert not listener.hear("stdout", line[30:])


def test_a7_a_result_settles_but_not_while_a_background_agent_works() -> None:
    listener = reader()
    busy = {"type": "system", "subtype": "background_tasks_changed"}
    task = {"task_id": "b1", "task_type": "local_agent"}
    listener.hear("stdout", stream(init(), {**busy, "tasks": [task]}, result()))
    assert not listener.settled()
    listener.hear("stdout", stream({**busy, "tasks": []}))
    assert listener.settled()


def test_a7_a_background_command_does_not_hold_the_run() -> None:
    listener = reader()
    task = {"task_id": "b1", "task_type": "local_bash"}
    listener.hear(
        "stdout",
        stream(
            {"type": "system", "subtype": "background_tasks_changed", "tasks": [task]}, result()
        ),
    )
    assert listener.settled()


#
def test_a9_sub_agents_are_in_the_usage_and_their_calls_are_counted() -> None:
    models = {
        "m-1": {"inputTokens": 300, "outputTokens": 50, "cacheReadInputTokens": 5},
        "m-2": {"inputTokens": 9000, "outputTokens": 70, "cacheCreationInputTokens": 6},
    }
    seen = read(
        init(),
        calls("t1", "Task", {"prompt": "look"}),
        calls("t2", "Bash", {"command": "ls"}, parent="t1"),
        answers("t2", "a", parent_tool_use_id="t1"),
        answers("t1", "done"),
        result(modelUsage=models),
    )
    assert seen.usage == Usage(input=9300, output=120, cache_read=5, cache_write=6, cost=12_500)
    assert seen.tools is not None
    assert (seen.tools.calls, seen.tools.subagents) == (2, 1)


def test_a9_a_resumed_sessions_cumulative_figures_are_left_out() -> None:
    seen = read(result(modelUsage={"m": {"inputTokens": 10**6}}), resumed=True)
    assert seen.usage == Usage(input=100, output=50, cache_read=1000, cache_write=10)


def test_a9_without_a_result_the_output_is_unknown_and_never_zero() -> None:
    seen = read(init(), says("a", "m1"), says("b", "m1"), says("c", "m2"))
    assert seen.usage == Usage(input=200, output=None, cache_read=2000, cache_write=20)
    assert read(init()).usage is None


def test_a9_partial_events_make_the_output_exact() -> None:
    def event(kind: str, **fields: object) -> dict[str, object]:
        return {"type": "stream_event", "event": {"type": kind, **fields}}

    opened = {"id": "m1", "model": "m", "usage": {"input_tokens": 7, "output_tokens": 1}}
    seen = read(
        event("message_start", message=opened),
        event("content_block_delta", delta={"type": "text_delta", "text": "x"}),
        event("message_delta", usage={"output_tokens": 321}),
    )
    assert seen.usage is not None
    assert (seen.usage.input, seen.usage.output) == (7, 321)


def test_a10_a_failing_tool_keeps_its_output_until_it_succeeds() -> None:
    call = calls("t1", "Bash", {"command": "make"})
    seen = read(call, answers("t1", "Exit code 2\nno rule", failed=True))
    assert seen.failing == "Exit code 2\nno rule"
    assert seen.tools is not None
    assert (seen.tools.failed, seen.tools.last_failed) == (1, "Bash")
    healed = read(
        call, answers("t1", "bad", failed=True), calls("t2", "Bash", {}), answers("t2", "")
    )
    assert healed.failing == ""


def test_a10_a_non_zero_exit_code_is_a_failed_call_without_is_error() -> None:
    for answer in (
        answers("t1", "Exit code 1\nboom"),
        answers("t1", "boom", tool_use_result={"exitCode": 3}),
        answers("t1", "boom", tool_use_result={"interrupted": True}),
    ):
        tools = read(calls("t1", "Bash", {"command": "x"}), answer).tools
        assert tools is not None
        assert tools.failed == 1


def test_denied_commands_are_named_once_each() -> None:
    denials = [
        {"tool_name": "Bash", "tool_input": {"command": "rm -rf build\nls"}},
        {"tool_name": "Bash", "tool_input": {"command": "rm -rf build\nls"}},
        {"tool_name": "Write", "tool_input": {"file_path": "a"}},
        "of another version",
    ]
    assert read(result(permission_denials=denials)).denied == ("rm -rf build", "Write")


def test_c3_identical_calls_are_told_while_the_agent_runs() -> None:
    listener = reader()
    for number in range(50):
        ident = f"t{number}"
        listener.hear(
            "stdout", stream(calls(ident, "Bash", {"command": "ls"}), answers(ident, "a"))
        )
    assert "50× identical" in listener.endless(50)
    assert listener.endless(51) == ""
    assert listener.live(0).calls == 50
    assert listener.live(0).tool == "Bash: ls"
