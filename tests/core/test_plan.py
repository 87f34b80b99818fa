"""L-11, L-32, 10.5, C1 to C4: which lines are tasks, and what they are called."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.core.facts import Plan
from ralph.core.plan import parse_markdown

OPTIONAL = ("Optional", "Low priority", "Nice to have")


def read(text: str) -> Plan:
    return parse_markdown(text, OPTIONAL)


def ids(text: str) -> list[str]:
    return [task.id for task in read(text).tasks]


# L-11
@pytest.mark.parametrize(
    "line",
    [
        "- [ ] task",
        "* [ ] task",
        "+ [ ] task",
        "1. [ ] task",
        "12) [ ] task",
        "\t- [ ] task",
        "        - [ ] task",
        "### - [ ] task",
        "-   [ ]   task",
        "- - [ ] task",
        "-\t[ ]\ttask",
        "- [ ] task\r",
        "\ufeff- [ ] task",
    ],
)
def test_l11_c3_open_task_lines(line: str) -> None:
    (task,) = read(line).tasks
    assert (task.id, task.text, task.done, task.blocked) == ("task", "task", False, False)


# L-11
@pytest.mark.parametrize(
    ("box", "done", "blocked"),
    [("[ ]", 0, 0), ("[x]", 1, 0), ("[X]", 1, 0), ("[!]", 0, 1)],
)
def test_l11_boxes(box: str, done: bool, blocked: bool) -> None:
    (task,) = read(f"* {box} a").tasks
    assert (task.done, task.blocked) == (done, blocked)


# L-11
@pytest.mark.parametrize(
    "line",
    [
        "- [2026-01-29] note",
        "- [v1.0]",
        "- [#12] issue",
        "[link](x)",
        "- [link](x)",
        "- [-] dropped",
        "- [~] half",
        "- [x](url) a link",
        "- [x]no space",
        "- []  empty",
        "- [  ] wide",
        "- [ ]",
        "[ ] no marker",
        "-[ ] no space",
        "| - [ ] cell |",
        "> - [ ] quoted",
        "  > - [x] quoted",
        "- > [ ] quoted in a list",
        "`- [ ] code`",
        "- `[ ] code`",
        "<!-- - [ ] hidden -->",
        "text - [ ] middle",
    ],
)
def test_l11_c1_c2_not_tasks(line: str) -> None:
    assert ids(line) == []


# L-11
@pytest.mark.parametrize(
    "text",
    [
        "```\n- [ ] x\n```",
        "```md\n- [ ] x\n```",
        "~~~\n- [ ] x\n```\n- [ ] y\n~~~",
        "````\n```\n- [ ] x\n```\n- [ ] y\n````",
        "- item\n  ```\n  - [ ] x\n  ```",
        "- ```\n  - [ ] x\n  ```",
        "1. item\n\n   ~~~yaml\n   - [ ] x\n   ~~~",
        "    ```\n    - [ ] x\n    ```",
        "```\n- [ ] x\n``` not closed by text\n- [ ] y\n```",
        "<!--\n- [ ] x\n-->",
        "text <!-- begin\n- [ ] x\nend -->",
        "<!--\n```\n- [ ] x\n-->",
        "```\nnever closed\n- [ ] x",
        "<!-- never closed\n- [ ] x",
        "> quote\n> - [ ] x",
    ],
)
def test_l11_c2_hidden_blocks(text: str) -> None:
    assert ids(text) == []
    if "never" not in text:
        assert ids(text + "\n\n- [ ] after") == ["after"]


# L-11
def test_l11_a_fence_left_open_in_a_list_item_ends_with_the_item() -> None:
    assert ids("- [ ] one\n  ```\n  code\n- [ ] two\n## Next\n- [ ] three") == [
        "one",
        "two",
        "three",
    ]


# L-11
def test_l11_code_outdented_in_a_list_item_does_not_hide_what_follows() -> None:
    assert ids("- [ ] one\n  ```\ncode\n  ```\n- [ ] two") == ["one", "two"]
    assert ids("- [ ] one\n  ```\n  code\n```\n- [ ] two") == ["one", "two"]


# L-11
def test_l11_inline_code_is_no_fence_and_opens_no_comment() -> None:
    text = "- [ ] explain the `<!--` marker\n- [ ] use ``` `x` ``` here\n``` `x` ```\n- [ ] last"
    assert len(ids(text)) == 3


# L-11
def test_l11_a_comment_is_cut_out_of_its_line() -> None:
    text = "- [ ] one <!-- note --> more\n<!-- a --> <!-- b\n- [ ] no\n-->\n- [ ] two"
    assert ids(text) == ["one more", "two"]
    assert ids("- [ ] a <!-- never closed\n- [ ] b") == ["a <!-- never closed", "b"]


# L-11
@pytest.mark.parametrize(
    "text",
    [
        "AQU-103 Add login",
        "AQU-103: Add login",
        "**AQU-103** Add login",
        "**AQU-103: Add login**",
        "[AQU-103] Add login",
        "[AQU-103](https://example.org) Add login",
        "`AQU-103` Add login",
        "(AQU-103) Add login",
        "BLOCKED: AQU-103 Add login",
        "**BLOCKED** - [AQU-103] Add login",
        "BLOCKED — AQU-103",
    ],
)
def test_l11_leading_token_is_the_id(text: str) -> None:
    assert ids(f"- [ ] {text}") == ["AQU-103"]


# L-11
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Add login", "Add login"),
        ("**Add** _login_ ~~now~~", "Add login now"),
        ("Add login ✅", "Add login"),
        ("Add login (done) (w=3)", "Add login"),
        ("Add login ✅ 2026-01-29", "Add login"),
        ("Add login — 2026-01-29.", "Add login"),
        ("BLOCKED: Add login", "Add login"),
        ("Add  \t login", "Add login"),
        ("keep snake_case and f(x) here", "keep snake_case and f(x) here"),
        ("(2026-01-29)", "(2026-01-29)"),
        ("fix AQU-103 later", "fix AQU-103 later"),
        ("A-1 short", "A-1 short"),
        ("AQU-103b odd", "AQU-103b odd"),
        ("BLOCKED", "BLOCKED"),
    ],
)
def test_l11_normalised_text_is_the_id(text: str, expected: str) -> None:
    assert ids(f"- [ ] {text}") == [expected]


# L-11
def test_l11_duplicates_get_an_ordinal() -> None:
    assert ids("- [ ] same\n- [x] same\n- [ ] **same**\n- [ ] AQU-1 a\n- [ ] AQU-1 b") == [
        "same",
        "same (2)",
        "same (3)",
        "AQU-1",
        "AQU-1 (2)",
    ]


# L-32
@pytest.mark.parametrize(
    "text", ["BLOCKED: no key", "**BLOCKED** no key", "⛔ BLOCKED", "[BLOCKED] x"]
)
def test_l32_text_that_begins_blocked(text: str) -> None:
    (task,) = read(f"- [ ] {text}").tasks
    assert task.blocked
    assert not read(f"- [x] {text}").tasks[0].blocked


# L-32
@pytest.mark.parametrize("text", ["BLOCKEDNESS", "Blocked: x", "not BLOCKED", "BLOCKED-12 x"])
def test_l32_other_text_is_not_blocked(text: str) -> None:
    assert not read(f"- [ ] {text}").tasks[0].blocked


# L-32
def test_l32_blocked_tasks_are_open_but_never_current() -> None:
    plan = read("- [!] one\n- [ ] two")
    assert [task.id for task in plan.open] == ["one", "two"]
    assert plan.current is not None
    assert plan.current.id == "two"


# L-11
@pytest.mark.parametrize(
    "heading",
    [
        "## Optional",
        "## optional:",
        "## **Optional**",
        "## 4. Optional",
        "### Phase 4: Optional",
        "## Optional (later)",
        "## Optional tasks ##",
        "## ✨ Nice-to-have",
        "## Nice to haves",
        "Low priority\n------------",
        "Optional\n===",
    ],
)
def test_l11_c4_optional_section(heading: str) -> None:
    plan = read(f"- [ ] must\n\n{heading}\n\n- [ ] may")
    assert [task.id for task in plan.open] == ["must"]
    assert [task.optional for task in plan.tasks] == [False, True]


# L-11
@pytest.mark.parametrize(
    "heading", ["## Optional parameters", "## Not optional", "**Optional**", "text\n\n---"]
)
def test_l11_other_sections_are_not_optional(heading: str) -> None:
    assert not read(f"{heading}\n- [ ] must").tasks[0].optional


# L-11
def test_l11_a_subsection_inherits_and_a_later_section_does_not() -> None:
    plan = read(
        "# Plan\n## Optional\n- [ ] a\n### Deep\n- [ ] b\n#### Deeper\n- [ ] c\n"
        "## Core\n- [ ] d\n## Nice to have\n### - [ ] e\n- [ ] f\n## - [ ] g\n- [ ] h"
    )
    assert {task.id: task.optional for task in plan.tasks} == {
        "a": True,
        "b": True,
        "c": True,
        "d": False,
        "e": True,
        "f": True,
        "g": False,
        "h": False,
    }
    assert [task.section for task in plan.tasks][:3] == ["Optional", "Deep", "Deeper"]


def test_10_5_kill_report_boxes_are_not_tasks() -> None:
    plan = read(
        "- [ ] real\n\n## Circuit Breaker Triggered\n\n**Agent**: a\n\n### What Happened\n\nx\n\n"
        "### Suggested Actions\n\n- [ ] Review output\n- [ ] Split the task\n\n"
        "## More\n\n- [ ] also real\n\n## Suggested Actions\n- [ ] real too"
    )
    assert [task.id for task in plan.tasks] == ["real", "also real", "real too"]


def test_title_is_the_first_heading() -> None:
    assert read("intro\n\n# **Login** plan ##\n\n## Two").title == "Login plan"
    assert read("```\n# no\n```\nShop\n====\n# Later").title == "Shop"
    assert read("- [ ] a\n---\n- [ ] b").title == ""
    assert read("#hashtag\n# C#").title == "C#"


@given(st.text(alphabet="-*+[]x!X `~#<>12. \t\nabOptional", max_size=300))
def test_any_text_is_read_with_unique_ids(text: str) -> None:
    plan = read(text)
    found = [task.id for task in plan.tasks]
    assert len(set(found)) == len(found)
    assert all(found)


@given(st.text(alphabet="-*+[]x!X `~#<>12. \tab\n", max_size=200))
def test_line_ends_make_no_difference(text: str) -> None:
    assert read(text) == read(text.replace("\n", "\r\n")) == read("\ufeff" + text)


@pytest.mark.parametrize(
    "unit",
    [
        "- [ ] AQU-7: write the **next** part of the parser (w=3)\n",
        "<!-- a\n",
        "- [ ] a `` ` ``` ```` <!-- ",
        "((((",
        "- ",
        "``` x ` `` \n",
        "- [ ] same\n",
        "  - a\n```\n",
        "a_*`",
    ],
)
def test_a_megabyte_of_anything_is_read(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    for big in (text, "- [ ] " + text):
        assert len(read(big).tasks) <= big.count("[ ]")
