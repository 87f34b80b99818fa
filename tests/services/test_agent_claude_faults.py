"""What Claude Code's output means when it is torn, huge, garbled or odd (A4, A12, A22, A23)."""

from __future__ import annotations

import json

import pytest

from ralph.core.facts import FailureClass
from ralph.services.agents.base import Reading
from tests.support.claude import (
    HAPPY,
    answers,
    calls,
    init,
    read,
    reader,
    result,
    says,
    stream,
    verdict,
)


def test_a12_one_line_of_five_megabytes_is_read_whole() -> None:
    seen = read(init(), says("x" * 5_000_000 + "\nRALPH_COMPLETE", "m1"), result("end"))
    assert seen.final_text == "end"
    long = read(result("y" * 5_000_000 + "\nRALPH_COMPLETE"))
    assert long.final_text.endswith("y\nRALPH_COMPLETE")
    assert len(long.final_text) == 256 << 10


def flooded(before: bytes, piece: bytes, after: bytes) -> Reading:
    listener = reader()
    listener.hear("stdout", before)
    for _ in range(36):
        listener.hear("stdout", piece * ((256 << 10) // len(piece)))
    listener.hear("stdout", after + b"\n" + stream(result("fine")))
    return listener.reading()


def test_a12_a_record_too_long_to_keep_is_noted_and_the_rest_is_read() -> None:
    seen = flooded(b'{"type":"user","x":[', b"1,", b"1]}")
    assert seen.final_text == "fine"
    assert seen.contradictions == ("records too long to read: 1",)


def test_a12_a_text_too_long_to_keep_loses_its_middle_and_is_read() -> None:
    seen = flooded(b'{"type":"assistant","message":{"content":"', b"z", b'"}}')
    assert seen.final_text == "fine"
    assert seen.contradictions == ()
    assert seen.api.succeeded


def test_a23_garbage_in_the_middle_is_text_and_the_rest_is_read() -> None:
    seen = read(
        "npm warn deprecated thing", init(), '{"type": "assis', "[1, 2", "null", "7", says("hi"),
        "{broken}", result("fine"),
    )  # fmt: skip
    assert seen.final_text == "fine"
    assert verdict(seen).klass is FailureClass.OK


def test_a23_a_torn_last_line_leaves_the_run_without_a_result() -> None:
    whole = stream(init(), says("half way"))
    listener = reader()
    listener.hear("stdout", whole + stream(result("never"))[:40])
    seen = listener.reading()
    assert (seen.record, seen.final_text) == (None, "half way")
    assert verdict(seen, exit_code=1).klass is FailureClass.CRASH


def test_a23_a_last_line_without_its_newline_counts() -> None:
    listener = reader()
    listener.hear("stdout", stream(init(), result("done"))[:-1])
    assert listener.reading().final_text == "done"


@pytest.mark.parametrize("indent", [None, 2])
def test_a23_one_array_or_one_object_is_read_like_lines(indent: int | None) -> None:
    array = json.dumps(list(HAPPY), indent=indent)
    assert read("(node) warning: old", array).final_text == "All done.\nRALPH_COMPLETE"
    alone = json.dumps(result("only this"), indent=indent)
    assert read(alone).final_text == "only this"


def test_a4_invalid_utf8_inside_a_record_does_not_lose_it() -> None:
    line = stream(result("gr\xfcn")).replace(b"\\u00fc", b"\xfc")
    assert read(line[:-1]).final_text == "gr\ufffdn"


def test_a22_escapes_are_gone_before_anything_is_searched() -> None:
    seen = read(result("\x1b[1;32mRALPH_COMPLETE\x1b[0m\x1b]0;title\x07"))
    assert seen.final_text == "RALPH_COMPLETE"
    listener = reader()
    listener.hear("stdout", stream(says("10%\r20%\r30% \x1b[2Kdone")))
    assert listener.live(0).tail == ("30% done",)


def test_a4_errors_before_any_record_are_the_error_channel() -> None:
    seen = read(stderr=b"error: unknown option '--x'\n")
    assert verdict(seen, exit_code=1).klass is FailureClass.BAD_INVOCATION
    plain = read("Not logged in · Please run /login")
    assert verdict(plain, exit_code=1).klass is FailureClass.AUTH


def test_e2_a_tool_result_or_assistant_text_is_no_evidence() -> None:
    words = "You've hit your 5-hour limit · resets 10:16pm (UTC)"
    seen = read(init(), calls("t", "Read", {}), answers("t", words), says(words))
    assert verdict(seen, exit_code=1).klass is FailureClass.CRASH


@pytest.mark.parametrize(
    "odd",
    [
        {"type": "assistant"},
        {"type": "assistant", "message": None},
        {"type": "assistant", "message": {"content": "plain string", "usage": 3}},
        {"type": "assistant", "message": {"content": [None, 3, {"type": "tool_use"}]}},
        {"type": "user", "message": {"content": [{"type": "tool_result", "content": 7}]}},
        {"type": "result"},
        {"type": "result", "result": 7, "usage": [], "modelUsage": 3, "total_cost_usd": "x"},
        {"type": "result", "total_cost_usd": True, "num_turns": -4},
        {"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "resetsAt": 1e300}},
        {"type": "rate_limit_event", "rate_limit_info": []},
        {"type": "stream_event"},
        {"type": "system", "subtype": "api_retry", "attempt": "x"},
        {"type": "system", "subtype": "background_tasks_changed", "tasks": {"a": 1}},
        {"type": 7},
        {"type": "of a later version", "anything": [1, {"deep": []}]},
        {},
    ],
)
def test_new_missing_and_odd_fields_never_raise(odd: dict[str, object]) -> None:
    seen = read(init(), odd, says("still here"))
    assert seen.model == "m-1"


def test_a_record_nested_without_end_does_not_raise() -> None:
    deep = b'{"type":"assistant","message":{"content":' + b"[" * 100_000
    assert read(deep, deep + b"]" * 100_000 + b"}}", result("ok")).final_text == "ok"
