"""Tool calls condensed: repeats, stretches, failures (B-6, L-16, C-3, A-10)."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from ralph.core.meters import Storm, Velocity, overall_velocity
from ralph.core.toolcalls import ENDLESS, MOST_KEYS, ToolCalls, call_key


def told(*calls: tuple[str, object, str], waiting: tuple[str, ...] = ()) -> ToolCalls:
    """Calls with their answers, one after the other."""
    tools = ToolCalls(waiting=waiting)
    for number, (name, arguments, answer) in enumerate(calls):
        tools.call(f"c{number}", name, arguments)
        tools.result(f"c{number}", ok=not answer.startswith("!"), text=answer)
    return tools


def test_b6_the_same_call_with_the_same_answer_repeats_and_another_starts_anew() -> None:
    same = ("Bash", {"command": "ls"}, "a b")
    facts = told(same, same, same, ("Bash", {"command": "pwd"}, "/"), same).facts()
    assert (facts.longest_run, facts.longest_run_name, facts.calls) == (3, "Bash", 5)


def test_b6_a_changing_answer_is_no_repeat_but_a_changing_time_is() -> None:
    changing = [("Bash", {"command": "c"}, f"{word} left") for word in ("ten", "nine", "six")]
    assert told(*changing).facts().longest_run == 1
    ticking = [("Bash", {"command": "c"}, f"FAILED in {n}.{n}s, pid {n}") for n in range(1, 5)]
    assert told(*ticking).facts().longest_run == 4


def test_b6_the_key_is_the_whole_input_whatever_its_order() -> None:
    long = "x" * 100_000
    assert call_key("Edit", {"a": 1, "b": long}) == call_key("Edit", {"b": long, "a": 1})
    assert call_key("Edit", {"b": long + "y"}) != call_key("Edit", {"b": long + "z"})
    assert call_key("Edit", {}) != call_key("Read", {})


def test_b6_unknown_calls_and_waiting_tools_are_counted_and_never_compared() -> None:
    unknown = ToolCalls(waiting=("BashOutput", "wait"))
    for number in range(20):
        unknown.call(f"a{number}", None, {"x": 1})
        unknown.call(f"b{number}", "Bash", None)
        unknown.call(f"c{number}", "bash_output", {"id": 1})
        unknown.call(f"d{number}", "write_stdin", {"chars": "", "session_id": 4})
    facts = unknown.facts()
    assert (facts.calls, facts.longest_run, facts.few_distinct) == (80, 0, 0)
    assert unknown.endless(1) == ""


def test_a10_failures_are_counted_and_a_success_of_the_same_tool_heals() -> None:
    bad = ("Bash", {"command": "make"}, "!error: no rule")
    tools = told(bad, ("Read", {"path": "a"}, "text"))
    assert tools.failing == ("Bash", "!error: no rule")
    facts = told(bad, ("Bash", {"command": "true"}, "")).facts()
    assert (facts.failed, facts.last_failed) == (1, "")


def test_the_same_id_twice_is_one_call_and_a_stray_answer_is_none() -> None:
    tools = ToolCalls()
    tools.call("a", "Bash", {})
    tools.call("a", "Bash", {})
    tools.result("zzz", ok=False, text="!")
    assert (tools.facts().calls, tools.facts().failed) == (1, 0)


def test_writing_and_dispatching_calls_are_told_apart() -> None:
    facts = told(
        ("Edit", {}, ""),
        ("write_file", {}, ""),
        ("Task", {}, ""),
        ("Agent", {}, ""),
        ("Bash", {}, ""),
    ).facts()
    assert (facts.writes, facts.subagents) == (2, 2)


def test_c3_identical_calls_with_identical_answers_end_the_iteration_at_the_limit() -> None:
    same = ("Bash", {"command": "ls"}, "same")
    assert told(*[same] * 49).endless(50) == ""
    assert "50× identical tool call (Bash)" in told(*[same] * 50).endless(50)
    assert told(*[same] * 500).endless(0) == ""


def test_c3_a_hundred_calls_among_three_end_it_too_unless_a_file_is_written() -> None:
    def spin(count: int) -> list[tuple[str, object, str]]:
        return [("Bash", {"command": f"c{n % 3}"}, "same") for n in range(count)]

    assert told(*spin(ENDLESS - 1)).endless(50) == ""
    assert "among at most 3" in told(*spin(ENDLESS)).endless(50)
    write: tuple[str, object, str] = ("Edit", {"file": "a"}, "ok")
    assert told(*spin(60), write, *spin(60)).endless(50) == ""
    four = [("Bash", {"command": f"c{n % 4}"}, "same") for n in range(200)]
    assert told(*four).endless(50) == ""
    assert told(*four).facts().few_distinct == 3


# L-16
def test_l16_keys_are_distinct_taken_without_answers_and_bounded() -> None:
    tools = told(*[("Bash", {"n": n % 1500}, str(n)) for n in range(3000)])
    assert len(set(tools.facts().keys)) == len(tools.facts().keys) == MOST_KEYS
    assert {len(key) for key in tools.facts().keys} == {12}


def test_a_format_without_answers_is_judged_by_its_calls() -> None:
    tools = ToolCalls(results=False)
    for _ in range(8):
        tools.call("", "shell", {"command": "ls"})
    assert tools.facts().longest_run == 8


def test_calls_that_never_got_an_answer_count_as_made() -> None:
    tools = ToolCalls()
    for number in range(5):
        tools.call(f"c{number}", "Bash", {"command": "ls"})
    assert (tools.facts().longest_run, tools.endless(5) != "") == (5, True)


_CALLS = st.lists(
    st.tuples(
        st.sampled_from(["Bash", "Edit", "Read", "wait"]),
        st.sampled_from([{}, {"a": 1}, None]),
        st.sampled_from(["", "one", "!two"]),
    ),
    max_size=60,
)


@given(_CALLS)
def test_the_longest_run_is_what_a_plain_count_says(calls: list[tuple[str, object, str]]) -> None:
    seen = [c for c in calls if c[1] is not None and c[0] != "wait"]
    best = run = 0
    last = ""
    for call in seen:
        run = run + 1 if json.dumps(call) == last else 1
        last, best = json.dumps(call), max(best, run)
    facts = told(*calls, waiting=("wait",)).facts()
    assert facts.longest_run == best
    assert facts.calls == len(calls)
    assert facts.failed == sum(answer.startswith("!") for _, _, answer in calls)


# meters


@given(st.lists(st.booleans(), max_size=40))
def test_b7_a_storm_is_the_longest_row_of_errors(answers: list[bool]) -> None:
    storm = Storm()
    for ok in answers:
        (storm.success if ok else storm.error)()
    rows = "".join("s" if ok else "e" for ok in answers).split("s")
    facts = storm.facts()
    assert facts.at_end == len(rows[-1])
    assert facts.before_success == len(rows[0])
    assert facts.peak_after == max(map(len, rows[1:]), default=0)
    assert facts.succeeded == any(answers)


# B-10
def test_b10_velocity_wants_a_window_of_30_seconds_and_a_rise() -> None:
    speed = Velocity()
    for seconds, tokens in ((0, 0), (10, 9_000), (29, 20_000)):
        speed.sample(seconds, tokens)
    assert speed.highest is None
    speed.sample(60, 30_000)
    assert speed.highest == 30_000
    speed.sample(61, 10)  # a restart sets a new baseline
    speed.sample(121, 1_010)
    assert speed.highest == 30_000


def test_b10_without_samples_the_whole_attempt_counts() -> None:
    assert overall_velocity(6_000, 60) == 6_000
    assert overall_velocity(6_000, 29) is None
    assert overall_velocity(None, 60) is None
