"""C-8, L-5, L-6, L-15, group B: what counts as a claim, and what only looks like one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.core.completion import (
    find_claim,
    last_question,
    summary_line,
    text_digest,
    without_echo,
)
from ralph.core.facts import ClaimKind

MARKERS = ("IMPLEMENTATION_COMPLETE", "ALL_TASKS_COMPLETE", "RALPH_COMPLETE")


def kind(text: str, match: str = "line") -> ClaimKind:
    return find_claim(text, MARKERS, match).kind


# L-6
@pytest.mark.parametrize(
    "line",
    [
        "RALPH_COMPLETE",
        "  RALPH_COMPLETE  ",
        "**RALPH_COMPLETE**",
        "__RALPH_COMPLETE__",
        "*`RALPH_COMPLETE`*",
        "- RALPH_COMPLETE",
        "- **RALPH_COMPLETE**",
        "1. RALPH_COMPLETE",
        "<promise>RALPH_COMPLETE</promise>",
        "<promise> RALPH_COMPLETE </promise>.",
        "✅ RALPH_COMPLETE",
        "RALPH_COMPLETE 🎉🎉",
        "✅ **RALPH_COMPLETE**!",
        "RALPH_COMPLETE.",
        "RALPH_COMPLETE!!!",
        "All is done.\n\nRALPH_COMPLETE\n\nBye.",
        "Done.\r\nRALPH_COMPLETE\r\n",
        "```\nRALPH_COMPLETE\n```",
    ],
)
def test_l6_a_marker_alone_on_a_line_signals(line: str) -> None:
    assert kind(line) is ClaimKind.SIGNAL
    assert kind(line, "word") is ClaimKind.SIGNAL


# L-6
@pytest.mark.parametrize(
    "line",
    [
        "I will not print RALPH_COMPLETE yet",
        "RALPH_COMPLETE is not true yet",
        "RALPH_COMPLETE?",
        "~~RALPH_COMPLETE~~",
        "❌ RALPH_COMPLETE",
        "RALPH_COMPLETE 🚫",
        "- ⚠️ **RALPH_COMPLETE**",
        "<not>RALPH_COMPLETE</not>",
        "> RALPH_COMPLETE",
        "Status: RALPH_COMPLETE",
        "RALPH_COMPLETE: no",
        "not RALPH_COMPLETE",
        "<promise>RALPH_COMPLETE",
        "<a>RALPH_COMPLETE</b>",
        "RALPH_COMPLETE RALPH_COMPLETE",
        "echo RALPH_COMPLETE",
        "# RALPH_COMPLETE when done",
    ],
)
def test_l6_a_marker_among_words_is_a_mention(line: str) -> None:
    found = find_claim(line, MARKERS)
    assert (found.kind, found.markers) == (ClaimKind.MENTION, ("RALPH_COMPLETE",))


# L-5
@pytest.mark.parametrize(
    "text", ["", "ralph_complete", "Ralph_Complete", "RALPH_COMPLETED", "XRALPH_COMPLETE", "done"]
)
def test_l5_other_words_are_nothing(text: str) -> None:
    assert kind(text) is ClaimKind.NONE


# L-6
def test_l6_several_markers_are_one_claim_in_the_configured_order() -> None:
    found = find_claim("RALPH_COMPLETE\nALL_TASKS_COMPLETE\nRALPH_COMPLETE", MARKERS)
    assert found.markers == ("ALL_TASKS_COMPLETE", "RALPH_COMPLETE")


# L-6
def test_l6_word_takes_a_whole_word_outside_code() -> None:
    assert kind("so RALPH_COMPLETE it is", "word") is ClaimKind.SIGNAL
    assert kind("this is not RALPH_COMPLETE", "word") is ClaimKind.SIGNAL
    assert kind("run `echo RALPH_COMPLETE` now", "word") is ClaimKind.MENTION
    assert kind("```\necho RALPH_COMPLETE\n```", "word") is ClaimKind.MENTION
    assert kind("RALPH_COMPLETED", "word") is ClaimKind.NONE


# L-5
@pytest.mark.parametrize("marker", ["<done/>", "**DONE**", "All done.", "FERTIG!", "- x"])
def test_l5_a_marker_may_carry_its_own_decoration(marker: str) -> None:
    assert find_claim(f"text\n{marker}\n", (marker,)).kind is ClaimKind.SIGNAL


@given(st.text(max_size=400), st.sampled_from(["line", "word"]))
def test_any_text_is_judged(text: str, match: str) -> None:
    assert find_claim(text, MARKERS, match).kind in ClaimKind


# L-6
@given(st.text(alphabet="*_`-<>/p .!✅\n", max_size=60))
def test_l6_decoration_alone_never_hides_the_end(noise: str) -> None:
    find_claim(f"{noise}RALPH_COMPLETE{noise}", MARKERS)


PROMPT = "# Task\n\nDo the plan.\nPrint one of\n\nRALPH_COMPLETE\n\nwhen all is done.\nThanks.\n"


def test_c8_an_echo_of_three_lines_is_removed() -> None:
    said = without_echo(f"> start\n{PROMPT}\nworking\n", PROMPT)
    assert said.split() == [">", "start", "working"]
    assert kind(said) is ClaimKind.NONE


def test_c8_blank_lines_and_indent_do_not_hide_an_echo() -> None:
    said = without_echo("  Print one of\n  RALPH_COMPLETE\n\n\n  when all is done.\nreal", PROMPT)
    assert said.split() == ["real"]


@pytest.mark.parametrize("text", ["RALPH_COMPLETE\n", "Print one of\nRALPH_COMPLETE\nok\n"])
def test_c8_e13_one_or_two_equal_lines_are_no_echo(text: str) -> None:
    assert without_echo(text, PROMPT) == text
    assert kind(without_echo(text, PROMPT)) is ClaimKind.SIGNAL


def test_c8_a_shorter_prompt_is_an_echo_as_a_whole() -> None:
    assert without_echo("Do it.\nNow.\nfine\n", "Do it.\nNow.") == "fine\n"
    assert without_echo("Do it.\nfine\n", "Do it.\nNow.") == "Do it.\nfine\n"
    assert without_echo("text\n", "  \n") == "text\n"


@given(st.lists(st.sampled_from("abcd"), max_size=12), st.lists(st.sampled_from("abc"), max_size=8))
def test_c8_nothing_is_lost_but_whole_echoes(said: list[str], asked: list[str]) -> None:
    left = without_echo("\n".join(said), "\n".join(asked)).split("\n")
    rest = iter(said)
    assert all(any(line == other for other in rest) for line in left if line)


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("I looked.\nShould I go on?", "Should I go on?"),
        ("**Which one do you want?**\n\n1. this\n2. that", "Which one do you want?"),
        ("Why? Because.\nAll is written and tested.", ""),
        ("", ""),
    ],
)
def test_the_last_question(text: str, question: str) -> None:
    assert last_question(text) == question


# L-15
def test_l15_the_digest_ignores_spaces_and_nothing_else() -> None:
    assert text_digest("a  b\n") == text_digest(" a b")
    assert text_digest("a b") != text_digest("a c")
    assert text_digest(" \n ") == ""
    assert text_digest("\ud800") != ""


def test_the_summary_is_the_last_line_with_a_word() -> None:
    assert summary_line("first\n  last one  \n---\n") == "last one"
    assert summary_line("\n**\n") == ""
    assert len(summary_line("x" * 1000)) == 300
