"""Prompts: blocks before the file, the file as it is, no claim by echo."""

from __future__ import annotations

import re
import shutil
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.core.completion import find_claim
from ralph.core.events import Note
from ralph.core.facts import ClaimKind
from ralph.core.policy import Policy
from ralph.errors import RalphError, UsageError
from ralph.services.assets import asset
from ralph.services.prompts import PromptFile, block, heading

MARKERS = Policy().completion.markers
NAMES = {
    *("resume", "how_to_claim", "all_done", "open_tasks", "unproven", "critique", "steering"),
    *("constrained", "read_only", "nobody", "smaller", "denied", "plan_broken", "plan_gone"),
    *("failed_claim_mention", "repeat"),
}


def prompt(tmp_path: Path, content: bytes | str, markers: tuple[str, ...] = MARKERS) -> PromptFile:
    path = tmp_path / "PROMPT.md"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return PromptFile(path, markers)


def test_a_prompt_that_tells_how_to_claim_goes_out_as_it_is(tmp_path: Path) -> None:
    text = "# Task\r\n\r\nBuild it.\tThen say RALPH_COMPLETE.\r\n\r\n"
    assert prompt(tmp_path, text).compose(()) == text


# L-30
def test_l30_how_to_claim_is_told_when_the_prompt_does_not(tmp_path: Path) -> None:
    composed = prompt(tmp_path, "Build it.\n").compose(())
    assert composed.endswith("\n\nBuild it.\n")
    assert "`IMPLEMENTATION_COMPLETE`" in composed


# L-30
def test_l30_part_of_a_longer_word_names_no_marker(tmp_path: Path) -> None:
    assert "`DONE`" in prompt(tmp_path, "UNDONE_WORK\n", ("DONE",)).compose(())


# L-30
def test_l30_a_block_that_tells_it_is_enough(tmp_path: Path) -> None:
    composed = prompt(tmp_path, "Build it.\n").compose(
        (Note(name="all_done", values={"marker": "RALPH_COMPLETE"}),)
    )
    assert composed.count("RALPH_COMPLETE") == 1
    assert "IMPLEMENTATION_COMPLETE" not in composed


# L-30
def test_l30_a_marker_in_the_output_of_a_check_tells_nobody_how_to_claim(tmp_path: Path) -> None:
    critique = Note(name="critique", values={"output": "looked for RALPH_COMPLETE"})
    composed = prompt(tmp_path, "Build it.\n").compose((critique,))
    assert "`IMPLEMENTATION_COMPLETE`" in composed


#
def test_x1_blocks_come_in_order_then_how_to_claim_then_the_prompt(tmp_path: Path) -> None:
    notes = (
        Note(name="resume", values={"reason": "RSN-1"}),
        Note(name="critique", values={"output": "OUT-2"}),
        Note(name="steering", values={"reason": "WHY-3", "repeated": "- REP-4"}),
    )
    composed = prompt(tmp_path, "THE-PROMPT\n").compose(notes)
    words = ["<ralph>", "RSN-1", "OUT-2", "WHY-3", "REP-4", "`IMPLEMENTATION_COMPLETE`", "</ralph>"]
    places = [composed.index(word) for word in [*words, "THE-PROMPT"]]
    assert places == sorted(places)


def test_the_prompt_file_is_never_changed_and_read_anew_each_time(tmp_path: Path) -> None:
    file = prompt(tmp_path, "one RALPH_COMPLETE\n")
    path = tmp_path / "PROMPT.md"
    path.chmod(stat.S_IRUSR)
    before = path.stat()
    file.compose((Note(name="smaller"),))
    after = path.stat()
    assert (before.st_mtime_ns, before.st_ino) == (after.st_mtime_ns, after.st_ino)
    path.chmod(stat.S_IRUSR | stat.S_IWUSR)
    path.write_text("two RALPH_COMPLETE\n")
    assert file.compose(()) == "two RALPH_COMPLETE\n"


@given(st.binary(max_size=200))
def test_every_byte_of_a_prompt_arrives(
    tmp_path_factory: pytest.TempPathFactory, raw: bytes
) -> None:
    folder = tmp_path_factory.mktemp("prompt")
    body = b"Task: " + raw
    composed = prompt(folder, body).compose((Note(name="smaller"),))
    shutil.rmtree(folder)
    assert composed.encode("utf-8", "surrogateescape").endswith(b"\n\n" + body)


def test_a8_a_large_prompt_is_delivered_whole(tmp_path: Path) -> None:
    text = "RALPH_COMPLETE " + "x" * 200_000
    assert prompt(tmp_path, text).compose(()) == text


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_settings_in_the_front_matter_are_not_sent(tmp_path: Path, mark: bytes, end: str) -> None:
    text = end.join(("---", "ralph:", "  max: 3", "---", "Do it. RALPH_COMPLETE", ""))
    composed = prompt(tmp_path, mark + text.encode()).compose(())
    assert composed == f"Do it. RALPH_COMPLETE{end}"


def test_other_front_matter_stays(tmp_path: Path) -> None:
    text = "---\ntitle: x\nralph:\n  max: 3\nowner: me\n---\nDo it. RALPH_COMPLETE\n"
    kept = "---\ntitle: x\nowner: me\n---\nDo it. RALPH_COMPLETE\n"
    assert prompt(tmp_path, text).compose(()) == kept
    foreign = "---\n: [not: yaml\n---\nRALPH_COMPLETE\n"
    assert prompt(tmp_path, foreign).compose(()) == foreign


def test_settings_go_out_of_a_prompt_that_is_not_utf8(tmp_path: Path) -> None:
    raw = b"---\nralph: {max: 3}\nowner: J\xe9r\n---\nRALPH_COMPLETE \xff\n"
    sent = prompt(tmp_path, raw).compose(()).encode("utf-8", "surrogateescape")
    assert sent == b"---\nowner: J\xe9r\n---\nRALPH_COMPLETE \xff\n"


def test_b20_front_matter_that_breaks_during_a_run_does_not_end_it(tmp_path: Path) -> None:
    text = "---\nralph: [\n---\nRALPH_COMPLETE\n"
    assert prompt(tmp_path, text).compose(()) == text


@pytest.mark.parametrize("kind", ["gone", "folder", "unreachable"])
def test_a_prompt_file_that_cannot_be_read_is_named(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "PROMPT.md"
    if kind == "folder":
        path.mkdir()
    if kind == "unreachable":
        (tmp_path / "file").write_text("")
        path = tmp_path / "file" / "PROMPT.md"
    with pytest.raises(UsageError, match=re.escape(str(path))):
        PromptFile(path, MARKERS).compose(())


def test_every_block_that_the_loop_names_is_there_and_no_other() -> None:
    texts = {path.stem for path in asset("prompts/blocks").glob("*.md")}
    assert texts == NAMES
    listed = re.findall(r"^\| `(\w+)` \|", asset("prompts/README.md").read_text(), re.M)
    assert set(listed) == NAMES


def test_every_name_that_core_uses_has_a_text() -> None:
    core = Path(find_claim.__code__.co_filename).parent
    used = re.findall(r'Note\(\s*name="(\w+)"', "".join(p.read_text() for p in core.glob("*.py")))
    assert used
    assert set(used) | {"how_to_claim"} == NAMES


def test_an_unknown_block_is_an_error() -> None:
    with pytest.raises(RalphError, match="no_such_block"):
        block(Note(name="no_such_block"), MARKERS)


def values(name: str, value: str) -> dict[str, str]:
    text = asset(f"prompts/blocks/{name}.md").read_text()
    return dict.fromkeys(re.findall(r"\{(\w+)\}", text), value)


@pytest.mark.parametrize("name", sorted(NAMES))
def test_values_are_taken_literally(name: str) -> None:
    value = "{marker} {0} {} {{x}} %s \\1 \\g<0>"
    text = block(Note(name=name, values=values(name, value)), MARKERS)
    assert value in text or not values(name, "")
    assert "\n\n\n" not in text


@pytest.mark.parametrize("name", sorted(NAMES))
@pytest.mark.parametrize("value", [*MARKERS, "- RALPH_COMPLETE", "a\n**RALPH_COMPLETE** ✅\nb"])
def test_c8_no_line_of_a_block_is_a_claim(name: str, value: str) -> None:
    text = block(Note(name=name, values=values(name, value)), MARKERS)
    assert all(find_claim(line, MARKERS).kind is not ClaimKind.SIGNAL for line in text.splitlines())


@given(st.text(max_size=40), st.sampled_from(MARKERS))
def test_c8_whatever_a_value_is_the_block_claims_nothing(noise: str, marker: str) -> None:
    value = f"{noise}\n{marker}\r{noise}{marker}"
    text = block(Note(name="critique", values={"output": value}), MARKERS)
    assert find_claim(text, MARKERS).kind is not ClaimKind.SIGNAL


def test_a_value_with_half_a_surrogate_pair_can_be_sent(tmp_path: Path) -> None:
    note = Note(name="constrained", values={"task": "bad \ud800 task"})
    composed = prompt(tmp_path, "x\n").compose((note,))
    assert b"bad ? task" in composed.encode("utf-8", "surrogateescape")


def test_a_paragraph_without_its_value_is_left_out() -> None:
    with_it = block(Note(name="steering", values={"reason": "R", "repeated": "- x"}), MARKERS)
    without = block(Note(name="steering", values={"reason": "R", "repeated": ""}), MARKERS)
    assert "- x" in with_it
    assert "{" not in without
    assert "repeated:" not in without


def test_b16_steering_says_what_the_rule_demands() -> None:
    text = block(Note(name="steering", values={"reason": "R", "repeated": "- x"}), MARKERS).lower()
    for words in ("stop repeating", "what you have tried", "another approach", "into the plan"):
        assert words in text


def test_b17_constrained_asks_for_a_plan_and_one_smallest_task() -> None:
    text = block(Note(name="constrained", values={"task": "AB-1 x"}), MARKERS).lower()
    assert "plan" in text
    assert "smallest" in text
    assert "ab-1 x" in text


def test_e12_nobody_will_answer() -> None:
    text = block(Note(name="nobody", values={"question": "Which one?"}), MARKERS)
    assert "Nobody will answer" in text
    assert "blocker into the plan" in text
    assert "Which one?" in text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# Build a parser #\nmore\n", "Build a parser"),
        ("intro line\n\n## Later heading\n", "Later heading"),
        ("\n\n  Just do it  \nsecond\n", "Just do it"),
        ("---\nralph:\n  max: 3\n---\n# Title\n", "Title"),
        ("\ufeff# Title\r\nx\r\n", "Title"),
        ("```sh\n# not a title\n```\n# Title\n", "Title"),
        ("#hashtag is no heading\n", "#hashtag is no heading"),
        ("", ""),
        ("---\n***\n", ""),
        ("# " + "x" * 500, "x" * 120),
    ],
)
def test_heading(text: str, expected: str) -> None:
    assert heading(text) == expected
