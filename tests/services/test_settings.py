"""Layers of the configuration: who wins, and where a mistake stands (section 11, B-22)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis
from hypothesis import strategies as st

from ralph.core import keys
from ralph.core.policy import CustomAgent, Policy
from ralph.errors import ConfigError, UsageError
from ralph.services import places, settings
from ralph.services.settings import Loaded

NOTHING: Mapping[str, object] = {}


def load(
    root: Path,
    *,
    prompt: Path | None = None,
    flags: Mapping[str, object] = NOTHING,
    environ: Mapping[str, str] | None = None,
) -> Loaded:
    return settings.load(root, prompt=prompt, flags=flags, environ=environ or {})


def project(root: Path, text: str | bytes, name: str = "ralph.toml") -> Path:
    path = root / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def user(text: str) -> Path:
    path = places.user_config()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def refused(root: Path, **given: object) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        load(root, **given)  # type: ignore[arg-type]
    return caught.value


def test_without_any_file_every_value_is_built_in(tmp_path: Path) -> None:
    loaded = load(tmp_path)
    assert loaded.policy == Policy()
    assert set(loaded.sources.values()) == {"built-in"}
    assert loaded.notes == ()


LAYERS = ("preset", "user", "project", "front matter", "environment", "command line")


def lay(root: Path, on: set[str]) -> Loaded:
    """Each layer of ``on`` sets stall.same_error to 10 + its place."""
    value = {layer: 10 + place for place, layer in enumerate(LAYERS)}
    flags: dict[str, object] = {}
    environ = {}
    top = 'preset = "trusting"\n' if "preset" in on else ""
    user(f"[stall]\nsame_error = {value['user']}\n" if "user" in on else "")
    inner = f"[stall]\nsame_error = {value['project']}\n" if "project" in on else ""
    project(root, top + inner)
    front = f"---\nralph:\n  stall:\n    same_error: {value['front matter']}\n---\n"
    project(root, (front if "front matter" in on else "") + "Do it.\n", "PROMPT.md")
    if "environment" in on:
        environ["RALPH__STALL__SAME_ERROR"] = str(value["environment"])
    if "command line" in on:
        flags["stall.same_error"] = value["command line"]
    return load(root, flags=flags, environ=environ)


@hypothesis(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(on=st.sets(st.sampled_from(LAYERS)))
def test_f5_the_highest_layer_wins_and_is_named_as_the_source(tmp_path: Path, on: set[str]) -> None:
    loaded = lay(tmp_path, on)
    got, source = loaded.policy.stall.same_error, loaded.sources["stall.same_error"]
    top = max((LAYERS.index(layer) for layer in on), default=-1)
    expected = {
        -1: (5, "built-in"),
        0: (8, "preset trusting"),
        1: (11, f"{places.user_config()}:2"),
        2: (12, f"{tmp_path / 'ralph.toml'}:{3 if 'preset' in on else 2}"),
        3: (13, f"{tmp_path / 'PROMPT.md'}:4"),
        4: (14, "environment RALPH__STALL__SAME_ERROR"),
        5: (15, "command line"),
    }
    assert (got, source) == expected[top]


def test_layers_mix_key_by_key(tmp_path: Path) -> None:
    user("[stall]\nno_progress = 7\nsame_error = 7\n")
    project(tmp_path, "[stall]\nsame_error = 9\n")
    stall = load(tmp_path).policy.stall
    assert (stall.no_progress, stall.same_error, stall.failing_streak) == (7, 9, 15)


# L-29
def test_l29_an_explicit_key_below_wins_over_a_preset_chosen_above(tmp_path: Path) -> None:
    user("[stall]\nsame_error = 4\n")
    loaded = load(tmp_path, flags={"preset": "cautious"})
    assert loaded.policy.stall.same_error == 4
    assert loaded.policy.max == 10
    assert loaded.sources["max"] == "preset cautious"


# L-4
def test_l4_a_flag_that_was_not_given_hides_nothing(tmp_path: Path) -> None:
    project(tmp_path, "max = 4\n")
    assert load(tmp_path, flags={"max": None}).policy.max == 4


def test_settings_in_pyproject(tmp_path: Path) -> None:
    path = project(
        tmp_path, "[project]\nname = 'x'\n\n[tool.ralph.stall]\nno_progress = 9\n", "pyproject.toml"
    )
    loaded = load(tmp_path)
    assert loaded.policy.stall.no_progress == 9
    assert loaded.sources["stall.no_progress"] == f"{path}:5"
    project(tmp_path, "max = 3\n")
    assert "both" in refused(tmp_path).message


def test_a_pyproject_of_someone_else_is_not_our_business(tmp_path: Path) -> None:
    project(tmp_path, "[tool.ralph\nbroken", "pyproject.toml")
    assert load(tmp_path).policy == Policy()


@pytest.mark.parametrize(
    ("text", "line", "words", "hint"),
    [
        (
            "max = 3\n[stall]\n# note\nno_progres = 4\n",
            4,
            "no_progres is not a known key",
            "no_progress",
        ),
        ("[brekaer]\nenabled = true\n", 1, "brekaer is not a known key", "breaker"),
        ("[stall]\nno_progress = -1\n", 2, "must not be negative", ""),
        ("max = 0\n", 1, "at least 1", "no cap"),
        ('[agent]\ntimeout = "15x"\n', 2, "length of time", ""),
        ('preset = "bold"\n', 1, "one of cautious, default, trusting", ""),
        ('[rate]\nscope = "projet"\n', 2, "one of user, project", 'did you mean "project"?'),
        ("[verify]\ncommands = 'pytest'\n", 2, "list of texts", '["pytest"]'),
        ("stall = 3\n", 1, "must be a table", ""),
        ("[agent]\nuse = 'nobody'\n", 2, "names no known agent: nobody", "claude, scripted"),
        ("[agents.mine]\nprompt = 'file'\n", 2, "agents.mine has no command", "command ="),
        ("[budget]\nusd = 5\n", 2, "is not a key of this version", "remove it"),
        ("max = 3\nmax = 4\n", 2, "", ""),
        ("max = \n", 1, "", ""),
        ('x = """\na\nb"""\nmaxx = 1\n', 1, "x is not a known key", ""),
    ],
)
def test_b22_a_mistake_is_named_with_file_and_line(
    tmp_path: Path, text: str, line: int, words: str, hint: str
) -> None:
    path = project(tmp_path, text)
    error = refused(tmp_path)
    assert error.message.startswith(f"{path}:{line}: ")
    assert words in error.message
    assert hint in error.hint
    assert error.exit_code == 2


def test_all_mistakes_of_all_layers_are_listed_and_counted(tmp_path: Path) -> None:
    user("maxx = 1\n")
    project(tmp_path, "[stall]\nno_progress = -1\nwhat = 2\n")
    found = settings.check(tmp_path, prompt=None, environ={"RALPH__MAX": "many"})
    assert [problem.text.partition(": ")[0] for problem in found] == [
        f"{places.user_config()}:1",
        f"{tmp_path / 'ralph.toml'}:2",
        f"{tmp_path / 'ralph.toml'}:3",
        "environment RALPH__MAX",
    ]
    assert "2 more: ralph config check" in refused(tmp_path).hint


def test_the_line_of_a_mistake_after_strings_over_several_lines(tmp_path: Path) -> None:
    work = 'work = """\n[stall]\nno_progress = 5\n"""\n'
    text = work + '\n[verify]\ncommands = [\n  "a = b", # ]\n]\n[stall]\nbad = 1\n'
    path = project(tmp_path, text)
    assert refused(tmp_path).message.startswith(f"{path}:11: stall.bad")


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_byte_order_mark_and_dos_line_ends_are_accepted(
    tmp_path: Path, mark: bytes, end: bytes
) -> None:
    path = project(tmp_path, mark + end.join((b"# x", b"[stall]", b"no_progress = 9", b"")))
    loaded = load(tmp_path)
    assert loaded.policy.stall.no_progress == 9
    assert loaded.sources["stall.no_progress"] == f"{path}:3"
    path = project(
        tmp_path, mark + end.join((b"---", b"ralph:", b"  max: 3", b"---", b"x")), "P.md"
    )
    loaded = load(tmp_path, prompt=path)
    assert loaded.sources["max"] == f"{path}:3"


def test_a_file_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    path = project(tmp_path, b'work = "caf\xe9"\n')
    assert refused(tmp_path).message == f"{path}: is not UTF-8 text"


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "ralph.toml"
    path.mkdir()
    assert refused(tmp_path).message.startswith(f"{path}: cannot be read: ")


def test_values_from_the_environment(tmp_path: Path) -> None:
    environ = {
        "RALPH__MAX": " 08 ",
        "RALPH__AGENT__TIMEOUT": "1h30m",
        "RALPH__VERIFY__COMMANDS": '["pytest -q", "ruff check"]',
        "RALPH__AGENT__ENV": '{ TOKEN = "x" }',
        "RALPH__BREAKER__CONSTRAIN": '{ delay = "5s" }',
        "RALPH__STALL__EXPLORING": "off",
        "RALPH__STALL__NO_PROGRESS": "",
        "RALPH_MAX": "3",
        "RALPH_RUN_ID": "x",
    }
    policy = load(tmp_path, environ=environ).policy
    assert (policy.max, policy.agent.timeout) == (8, 5400.0)
    assert policy.verify.commands == ("pytest -q", "ruff check")
    assert policy.agent.env == {"TOKEN": "x"}
    assert policy.breaker.constrain.delay == 5.0
    assert (policy.stall.exploring, policy.stall.no_progress) == (False, 3)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("RALPH__STALL__NO_PROGRES", "3", "is not a known key"),
        ("RALPH__MAX", "many", "whole number"),
        ("RALPH__VERIFY__COMMANDS", "pytest -q", "is not a TOML value"),
    ],
)
def test_a_mistake_in_the_environment_is_named(
    tmp_path: Path, name: str, text: str, words: str
) -> None:
    error = refused(tmp_path, environ={name: text})
    assert error.message.startswith(f"environment {name}: ")
    assert words in error.message


def test_older_spellings_are_accepted_and_told_once(tmp_path: Path) -> None:
    project(tmp_path, "repeatedToolLimit = 9\n[breaker]\nhardStop = false\n")
    loaded = load(tmp_path, environ={"MAX_NO_PROGRESS": "6", "MAX_CALLS_PER_HOUR": ""})
    assert loaded.policy.breaker.repeated_tool_limit == 9
    assert loaded.policy.breaker.hard_stop is False
    assert loaded.policy.stall.no_progress == 6
    assert loaded.policy.rate.calls_per_hour == 100
    assert len(loaded.notes) == 3
    assert "environment MAX_NO_PROGRESS is now spelled RALPH__STALL__NO_PROGRESS" in loaded.notes


def test_the_new_name_wins_in_the_environment_and_two_spellings_in_a_file_are_refused(
    tmp_path: Path,
) -> None:
    environ = {"MAX_NO_PROGRESS": "6", "RALPH__STALL__NO_PROGRESS": "4"}
    assert load(tmp_path, environ=environ).policy.stall.no_progress == 4
    project(tmp_path, "hardStop = false\n[breaker]\nhard_stop = true\n")
    assert "older spelling of breaker.hard_stop" in refused(tmp_path).message


def test_front_matter_only_the_ralph_mapping_is_read(tmp_path: Path) -> None:
    project(tmp_path, "---\nmax: 1\ntags: [a]\nralph:\n  agent:\n    args: [x]\n---\n", "PROMPT.md")
    loaded = load(tmp_path)
    assert loaded.policy.max is None
    assert loaded.policy.agent.args == ("x",)


@pytest.mark.parametrize(
    ("block", "line", "words"),
    [
        ("ralph:\n  maxx: 3\n", 3, "is not a known key"),
        ("ralph:\n  max: [\n", 0, ""),
        ("ralph: 5\n", 2, "must be a table"),
        ("ralph:\n  prompt: x.md\n", 3, "cannot be set in the prompt itself"),
    ],
)
def test_front_matter_mistakes_are_named(tmp_path: Path, block: str, line: int, words: str) -> None:
    path = project(tmp_path, f"---\n{block}---\nDo it.\n", "PROMPT.md")
    error = refused(tmp_path)
    assert error.message.startswith(f"{path}:{line}: " if line else f"{path}:")
    assert words in error.message


def test_the_front_matter_is_that_of_the_prompt_in_force(tmp_path: Path) -> None:
    project(tmp_path, "---\nralph: {max: 1}\n---\n", "PROMPT.md")
    project(tmp_path, "---\nralph: {max: 2}\n---\n", "a.md")
    named = project(tmp_path, "---\nralph: {max: 3}\n---\n", "b.md")
    assert load(tmp_path).policy.max == 1
    project(tmp_path, 'prompt = "a.md"\n')
    assert load(tmp_path).policy.max == 2
    loaded = load(tmp_path, prompt=named)
    assert (loaded.policy.max, loaded.policy.prompt) == (3, "b.md")


@pytest.mark.parametrize(
    ("written", "taken"),
    [
        ('"opus"', "opus"),
        ("'opus'", "opus"),
        ('"a" "b"', '"a" "b"'),
        ('"a', '"a'),
        ('"a"\nmax = 3', '"a"\nmax = 3'),
        ("true", "true"),
    ],
)
def test_a_text_may_be_quoted_as_in_the_file(tmp_path: Path, written: str, taken: str) -> None:
    assert load(tmp_path, flags={"agent.model": written}).policy.agent.model == taken


def test_flags_as_words_of_a_command_line(tmp_path: Path) -> None:
    flags = {
        "verify.commands": '["pytest -q"]',
        "stall.no_progress": "off",
        "agent.model": "",
        "breaker.agent_token_caps": '{ claude = "2m" }',
        "budget.duration": "8h",
    }
    policy = load(tmp_path, flags=flags).policy
    assert policy.verify.commands == ("pytest -q",)
    assert (policy.stall.no_progress, policy.agent.model) == (0, "")
    assert policy.breaker.agent_token_caps == {"claude": 2_000_000}
    assert policy.budget.duration == 28800.0
    error = refused(tmp_path, flags={"stall.no_progres": "3"})
    assert error.message.startswith("command line: stall.no_progres")
    assert "stall.no_progress" in error.hint


def test_an_agent_may_be_a_whole_command_line(tmp_path: Path) -> None:
    policy = load(tmp_path, flags={"agent.use": "/opt/my-agent --auto 'a b'"}).policy
    assert policy.agent.use == "my-agent"
    assert policy.agents == {"my-agent": CustomAgent(command=("/opt/my-agent", "--auto", "a b"))}
    assert settings.agent_from_flag("claude", policy) == ("claude", None)
    assert settings.agent_from_flag("my-agent", policy) == ("my-agent", None)
    for bad in ("", "  ", "agent 'open"):
        with pytest.raises(UsageError):
            load(tmp_path, flags={"agent.use": bad})


def test_a_configured_agent_is_chosen_by_its_name(tmp_path: Path) -> None:
    project(tmp_path, '[agents.mine]\ncommand = ["a", "-b"]\nprompt = "file"\n')
    policy = load(tmp_path, flags={"agent.use": "mine"}).policy
    assert policy.agent.use == "mine"
    assert policy.agents["mine"] == CustomAgent(command=("a", "-b"), prompt="file")


def test_each_key_can_be_written_in_a_file_and_read_back(tmp_path: Path) -> None:
    """What ``spelled`` writes, ``load`` reads: the way of values into ``--json`` and back."""
    flat = keys.flatten(Policy(max=7))
    words = {name: settings.spelled(name, value) for name, value in flat.items()}
    assert load(tmp_path, flags=words).policy == Policy(max=7)
