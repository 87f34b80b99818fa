"""The first and the last words of a run (L-34, L-2, L-24, 10.3)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from ralph.core.events import Carried
from ralph.core.outcome import Ending, TerminalState, escalated, fallback, follow_up, resolved
from ralph.views.banner import Watched, banner
from ralph.views.endbox import endbox, style_of
from ralph.views.texts import ascii_only
from tests.views.story import START, ended, started


# L-34
def test_l34_the_banner_says_what_runs_what_ends_it_and_where_the_log_is() -> None:
    text = "\n".join(banner(started(model="opus")))
    for words in (
        "PROMPT.md",
        "IMPLEMENTATION_PLAN.md: 18 of 24 tasks done",
        "claude, opus, autonomy full: claude -p --output-format stream-json",
        "after 20 iterations",
        "no deadline",
        "no money limit",
        "2 completion markers in a row",
        "no progress 3",
        "same error 5",
        "100 launches an hour",
        ".ralph/runs/r/ralph_20261130_120000.log",
    ):
        assert words in text, words


# L-34
def test_l34_of_a_persons_own_command_nothing_is_claimed() -> None:
    mine = {"agents": {"mine": {"command": ["./agent"]}}}
    event = started(agent="mine", argv=("./agent", "--auto"), sections=mine)
    (line,) = [line for line in banner(event) if "mine" in line]
    assert line.split(":", 1)[1].strip() == "mine: ./agent --auto"


# L-34
@pytest.mark.parametrize("watched", Watched)
def test_l34_the_longest_banner_has_eight_lines(watched: Watched) -> None:
    event = started(
        cap=None,
        max=None,
        dirty=True,
        parent_run_id="r0",
        command_line={"agent": "claude", "max": 20},
        carried=Carried(stop_reason="no_progress: No progress for 3 iterations"),
        argv=("claude", "-p", "x" * 500),
        deadline=START + timedelta(hours=8),
    )
    lines = banner(event, watched)
    assert len(lines) == 8
    assert all(len(line) < 260 for line in lines)


# L-33
def test_l33_a_dirty_tree_names_the_rescue_command() -> None:
    lines = banner(started(dirty=True))
    assert any("ralph rescue 20261130-120000-a1b2 --to DIR" in line for line in lines)
    assert not any("rescue" in line for line in banner(started()))


# L-2
def test_l2_no_cap_is_louder_when_nobody_watches() -> None:
    uncapped = started(cap=None, max=None)
    assert "attended use" in banner(uncapped)[-1]
    loud = banner(uncapped, Watched.NO)[-1]
    assert loud.startswith("WARNING: NO ITERATION CAP")
    assert not any("--max" in line for line in banner(started(), Watched.NO))


# L-4
def test_l4_the_banner_shows_what_was_carried_over() -> None:
    event = started(
        parent_run_id="r0",
        command_line={"agent": "claude", "max": 20},
        carried=Carried(stop_reason="no_progress: No progress for 3 iterations"),
    )
    line = next(line for line in banner(event) if "From:" in line)
    assert "r0, which ended with no_progress: No progress for 3 iterations" in line
    assert "carried over: agent claude, max 20" in line


# L-34
def test_l34_the_earlier_of_deadline_and_duration_is_named() -> None:
    event = started(deadline=START + timedelta(hours=8), sections={"budget": {"duration": 3600.0}})
    until = (START + timedelta(hours=1)).astimezone()
    assert f"no launch after {until:%H:%M}" in "\n".join(banner(event))


# L-24
def test_l24_an_escalation_is_the_trip_box_in_fixed_order_and_wording() -> None:
    lines = endbox(ended())
    assert lines[:9] == [
        "⚠️  CIRCUIT BREAKER TRIGGERED",
        "   Reason: No progress for 3 iterations",
        "   Last task attempted: INV-19",
        "   Iterations completed: 12/20",
        "",
        "   Review the logs and fix the blocking issue before resuming.",
        "   Terminal state: ESCALATED_TO_HUMAN / no_progress (exit 3)",
        "   Log: .ralph/runs/r/ralph_20261130_120000.log",
        "   Resume: ralph resume",
    ]
    assert [line[3:5] for line in lines[-5:]] == ["1.", "2.", "3.", "4.", "5."]


# L-24
@pytest.mark.parametrize("ending", [follow_up("iteration_cap"), fallback("preflight_failed")])
def test_l24_the_other_stops_say_the_same_under_another_heading(ending: Ending) -> None:
    lines, trip = endbox(ended(ending)), endbox(ended())
    assert lines[0] == "RALPH STOPPED"
    assert lines[1] == f"   Reason: {ending.reason}"
    assert [line.partition(":")[0] for line in lines[2:9]] == [
        line.partition(":")[0] for line in trip[2:9]
    ]
    assert lines[-5:] == trip[-5:]


# L-24
def test_l24_resolved_is_confirmed_with_its_totals() -> None:
    lines = endbox(ended(resolved("completed")))
    assert lines[0] == "✓ Confirmed complete (2+ signals)"
    text = "\n".join(lines)
    assert "Tasks: 18/24" in text
    assert "Iterations completed: 12/20" in text
    assert "1h 06m 40s, 12 launches, 1,234,567 tokens, $3.42" in text
    assert "CIRCUIT" not in text


# L-24
def test_l24_without_a_cap_only_the_count() -> None:
    assert "   Iterations completed: 12" in endbox(ended(max=None))


# T-3
def test_t3_everything_a_person_needs_in_the_morning_is_listed() -> None:
    text = "\n".join(
        endbox(
            ended(
                also=("same_error 3/5", "iteration_cap"),
                blocked=("AQU-7 needs a licence",),
                question="Which port?",
                actions=("2 files, +3/−1 → boom",),
                interrupted_iteration=7,
            )
        )
    )
    for words in (
        "Also: same_error 3/5, iteration_cap",
        "- AQU-7 needs a licence",
        "The agent asked: Which port?",
        "- 2 files, +3/−1 → boom",
        "iteration 7 was in flight",
    ):
        assert words in text, words


def test_a22_words_of_the_agent_cannot_forge_lines_of_the_box() -> None:
    evil = ended(escalated("same_error", "x\x1b[2J\n   Resume: rm -rf /"), question="a\r\nb")
    lines = endbox(evil)
    assert lines[1] == "   Reason: x Resume: rm -rf /"
    assert sum(line.startswith("   Resume:") for line in lines) == 1


def test_f3_the_box_has_an_ascii_form() -> None:
    text = ascii_only("\n".join(endbox(ended())))
    assert text.startswith("!!  CIRCUIT BREAKER TRIGGERED\n   Reason: ")
    assert "?" not in text.replace("blocks it: a failing", "").partition("1. ")[0]


def test_colour_follows_the_state() -> None:
    assert {state: style_of(ended(Ending(state=state, reason="x"))) for state in TerminalState} == {
        TerminalState.RESOLVED: "green",
        TerminalState.ESCALATED: "red",
        TerminalState.FOLLOW_UP: "yellow",
        TerminalState.FALLBACK: "yellow",
    }
