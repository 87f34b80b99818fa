"""Agents that print plain text, and how each agent is started (A-1, A-2, A-6, L-19, C-8)."""

from __future__ import annotations

import os

import pytest

from ralph.core.policy import AgentPolicy, BreakerPolicy, Constrain, CustomAgent, Policy
from ralph.errors import UsageError
from ralph.services.agents.base import Reading
from ralph.services.agents.claude_stream import ClaudeReader
from ralph.services.agents.registry import adapter
from ralph.services.agents.text import TextReader, error_lines
from tests.support.claude import session


def read(out: str | bytes, err: str = "", prompt: str = "") -> Reading:
    reader = TextReader(session(prompt))
    reader.hear("stdout", out if isinstance(out, bytes) else out.encode())
    reader.hear("stderr", err.encode())
    return reader.reading()


def test_a2_the_final_text_is_the_last_40_lines_that_are_not_blank() -> None:
    seen = read("".join(f"line {n}\n\n" for n in range(100)))
    assert seen.final_text.split("\n") == [f"line {n}" for n in range(60, 100)]


def test_a22_colours_and_progress_bars_are_gone_before_any_search() -> None:
    seen = read("\x1b]0;t\x07 10%\r 90%\rdone\n\x1b[32m**RALPH_COMPLETE**\x1b[0m\n")
    assert seen.final_text == "done\n**RALPH_COMPLETE**"


def test_c8_an_echo_of_the_prompt_is_no_answer() -> None:
    prompt = "Do the work.\nWhen done print\n\nRALPH_COMPLETE\nalone on a line.\n"
    seen = read(f"> agent 1.0\n{prompt}\nI began.\n", prompt=prompt)
    assert seen.final_text == "> agent 1.0\nI began."
    assert read("RALPH_COMPLETE\n", prompt=prompt).final_text == "RALPH_COMPLETE"


def test_a4_invalid_utf8_is_replaced() -> None:
    assert read(b"gr\xfcn\n").final_text == "gr\ufffdn"


def test_a4_the_error_channel_is_the_last_ten_lines_and_stderr() -> None:
    out = "Invalid API key\n" + "".join(f"{n}\n" for n in range(10))
    assert read(out, "oh\n").errors.split("\n") == [*map(str, range(10)), "oh"]


def test_memory_stays_flat_whatever_is_printed() -> None:
    reader = TextReader(session())
    for _ in range(64):
        reader.hear("stdout", b"0123456789abcdef" * (8 << 10))
    reader.hear("stdout", b"\n" + b"word\n" * 200_000 + b"end")
    seen = reader.reading()
    assert len(seen.final_text) < 256 << 10
    assert seen.final_text.endswith("word\nend")


def test_a6_retry_lines_are_no_sign_of_life_on_either_stream() -> None:
    reader = TextReader(session())
    for stream in ("stdout", "stderr"):
        assert not reader.hear(stream, b"Reconnecting... 2/5 (waiting for network)\n")
        assert reader.hear(stream, b"thinking\n")
    assert reader.hear("stdout", b"a prompt without a newline")
    assert reader.live(3.0).last_seen.startswith("Reconnecting... 2/5")
    assert reader.live(3.0).tail[-1] == "thinking"
    assert not reader.settled()


# L-19
@pytest.mark.parametrize(
    "line",
    [
        "Error: no such table",
        "error: could not compile",
        "error[E0308]: mismatched types",
        "FAILED tests/test_a.py::test_b",
        "Traceback (most recent call last):",
        "panic: nil map",
        "fatal: not a git repository",
        "✗ adds two numbers",
        "ValueError: bad",
    ],
)
def test_l19_error_lines_of_plain_text_are_found(line: str) -> None:
    assert error_lines(["all is well", line, "0 FAILED", "the end"]) == [line]


# L-19
@pytest.mark.parametrize(
    "line",
    ['"is_error": false', "errors were fixed", "Failed before", "no panic", "0 FAILED, 3 passed",
     '"error": null', "FAILED: 0", "ERROR handling was added"],
)  # fmt: skip
def test_l19_words_about_errors_and_keys_are_none(line: str) -> None:
    assert error_lines([line]) == []


# how agents are started


def policy(**agent: object) -> Policy:
    return Policy(agent=AgentPolicy(**agent))  # type: ignore[arg-type]


# L-34
def test_l34_claude_is_started_headless_with_a_record_a_line_and_its_prompt_on_stdin() -> None:
    how = adapter(
        "claude", policy(model="m", args=("--x",)), {"IS_SANDBOX": "1"}, constrained=False
    )
    assert how.argv[:5] == ("claude", "-p", "--output-format", "stream-json", "--verbose")
    assert how.argv[5:] == ("--dangerously-skip-permissions", "--model", "m", "--x")
    assert (how.prompt, how.structured, how.promised, how.resumed) == ("stdin", True, True, False)
    assert how.login == "claude auth login"


# L-34
def test_l34_autonomy_edit_only_accepts_edits() -> None:
    argv = adapter("claude", policy(autonomy="edit"), {}, constrained=False).argv
    assert argv[5:] == ("--permission-mode", "acceptEdits")


# L-34
def test_l34_root_gets_the_permissions_that_claude_grants_to_root(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    argv = adapter("claude", policy(), {}, constrained=False).argv
    assert "--dangerously-skip-permissions" not in argv
    assert argv[-1].startswith("--allowedTools=Bash,")


def test_a_persons_own_output_format_decides_who_listens() -> None:
    for args in (("--output-format", "text"), ("--output-format=text",)):
        how = adapter("claude", policy(args=args), {}, constrained=False)
        assert (how.reader, how.structured, how.promised) == (TextReader, False, False)
    for args in (("--resume", "x"), ("--continue",), ("--resume=x",)):
        assert adapter("claude", policy(args=args), {}, constrained=False).resumed


def test_b17_the_profile_adds_arguments_or_replaces_the_command() -> None:
    own = CustomAgent(command=("mine", "-q"))
    for profile, argv in (
        (Constrain(args=("--plan",)), ("mine", "-q", "--plan")),
        (Constrain(command=("careful",)), ("careful",)),
        (Constrain(), ("mine", "-q")),
    ):
        strict = Policy(agents={"mine": own}, breaker=BreakerPolicy(constrain=profile))
        assert adapter("mine", strict, {}, constrained=True).argv == argv
        assert adapter("mine", strict, {}, constrained=False).argv == ("mine", "-q")


def test_a1_an_own_agent_wins_over_a_built_in_and_has_its_own_output() -> None:
    for output, reader in (("text", TextReader), ("claude", ClaudeReader)):
        own = CustomAgent(command=("x",), prompt="file", output=output)
        how = adapter("claude", Policy(agents={"claude": own}), {}, constrained=False)
        assert (how.argv, how.prompt, how.reader) == (("x",), "file", reader)


def test_the_scripted_agent_is_heard_in_the_format_it_plays() -> None:
    plain = adapter("scripted", policy(args=("a.yaml",)), {}, constrained=False)
    assert plain.argv[1:] == ("-m", "ralph.services.player", "a.yaml")
    assert plain.reader is TextReader
    for args in (("a.yaml", "--format=claude"), ("a.yaml", "--format", "claude")):
        assert adapter("scripted", policy(args=args), {}, constrained=False).reader is ClaudeReader


def test_an_unknown_agent_is_an_error_that_names_the_known_ones() -> None:
    with pytest.raises(UsageError, match="no such agent: nope") as error:
        adapter("nope", policy(), {}, constrained=False)
    assert "claude, scripted" in error.value.hint
