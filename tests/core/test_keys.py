"""The table of keys, its neighbours, presets and what loosens (section 11, L-29, B-20, B-22)."""

from __future__ import annotations

import tomllib

import pytest

from ralph.core import keys, leash, values
from ralph.core.policy import Policy
from ralph.core.presets import names, preset
from ralph.services.assets import asset


def test_the_policy_survives_flattening() -> None:
    assert keys.build(keys.flatten(Policy())) == Policy()


def test_every_key_has_a_rule_of_b20_and_no_other_has_one() -> None:
    for name, key in keys.keys().items():
        for kind, sample in ((keys.Kind.LIST, ("x",)), (keys.Kind.TABLE, {"x": "y"})):
            if key.kind is kind:
                assert leash.loosens(name, sample, sample) is False
    assert set(leash._RULES) == set(keys.keys())


def test_no_key_is_both_known_and_of_a_later_version() -> None:
    assert not any(map(keys.later, keys.keys()))


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("stall.no_progres", "stall.no_progress"),
        ("no_progress", "stall.no_progress"),
        ("maxx", "max"),
        ("rate.calls_per_hr", "rate.calls_per_hour"),
        ("breaker.constrain.dealy", "breaker.constrain.delay"),
        ("agents.mine.comand", "agents.mine.command"),
        ("brekaer", "breaker"),
        ("timeout", "agent.timeout"),
        ("xyzzy.plugh", ""),
    ],
)
def test_the_nearest_key_is_named(wrong: str, meant: str) -> None:
    assert keys.nearest(wrong) == meant


def test_c8_defaults_agree_with_their_own_bounds() -> None:
    for name, value in keys.flatten(Policy()).items():
        key = keys.find(name)
        assert key is not None
        if value is not None:
            assert values.parse(key, list(value) if isinstance(value, tuple) else value) == value


@pytest.mark.parametrize(
    ("name", "raw", "words"),
    [
        ("max", 0, "at least 1"),
        ("completion.required", 0, "at least 1"),
        ("completion.markers", [], "empty"),
        ("completion.markers", ["ok", " "], "empty entry"),
        ("completion.markers", ["ALL DONE"], "white space"),
        ("breaker.repeated_tool_limit", 1, "0 (off) or at least 2"),
        ("stall.no_progress", -1, "negative"),
        ("stall.no_progress", True, "whole number"),
        ("stall.exploring", "maybe", "true or false"),
        ("agent.timeout", "soon", "length of time"),
        ("agent.timeout", ["1h"], "length of time"),
        ("verify.commands", "pytest", "list of texts"),
        ("verify.commands", [1], "list of texts"),
        ("agent.env", ["A=1"], "table of texts"),
        ("agent.env", {"A": 1}, "entry A must be a text, got 1"),
        ("breaker.agent_token_caps", {"claude": "many"}, "entry claude must be a whole number"),
        ("rate.scope", "usr", "one of user, project"),
        ("prompt", "", "empty"),
        ("agent.use", 5, "a text"),
    ],
)
def test_b22_a_value_outside_its_bounds_is_refused(name: str, raw: object, words: str) -> None:
    key = keys.find(name)
    assert key is not None
    with pytest.raises(values.BadValue) as caught:
        values.parse(key, raw)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("name", "raw", "expected"),
    [
        ("breaker.repeated_tool_limit", "off", 0),
        ("breaker.repeated_tool_limit", 2, 2),
        ("stall.exploring", "off", False),
        ("stall.exploring", "yes", True),
        ("agent.timeout", "1h30m", 5400.0),
        ("breaker.token_velocity_per_min", "200k", 200_000),
        ("breaker.agent_token_caps", {"claude": "2m"}, {"claude": 2_000_000}),
        ("verify.commands", ["a", "b"], ("a", "b")),
        ("verify.commands", [], ()),
    ],
)
def test_b22_values_as_people_write_them(name: str, raw: object, expected: object) -> None:
    key = keys.find(name)
    assert key is not None
    assert values.parse(key, raw) == expected


# L-29
def test_l29_presets_have_known_keys_and_the_stated_values() -> None:
    assert names() == ("cautious", "default", "trusting")
    for name in names():
        built = keys.build(preset(name))
        assert set(preset(name)) <= set(keys.keys())
        assert built.breaker.same_error_steer <= built.stall.same_error - 1  # B-22
        assert built.breaker.no_progress_beats <= built.stall.no_progress - 1  # B-22
    careful, bold = keys.build(preset("cautious")), keys.build(preset("trusting"))
    assert (careful.max, careful.stall.same_error, careful.rate.calls_per_hour) == (10, 3, 50)
    assert (careful.stall.exploring, careful.progress.max_churn) == (False, 5)
    assert (bold.stall.no_progress, bold.stall.same_error) == (5, 8)
    assert (bold.rate.calls_per_hour, bold.progress.max_churn) == (200, 25)
    assert keys.build(preset("default")) == Policy()


@pytest.mark.parametrize(
    ("name", "tight", "loose"),
    [
        ("stall.no_progress", 3, 4),
        ("stall.no_progress", 3, 0),
        ("max", 20, 21),
        ("max", 20, None),
        ("budget.duration", 3600.0, 0.0),
        ("rate.calls_per_hour", 100, 200),
        ("rate.scope", "user", "project"),
        ("breaker.enabled", True, False),
        ("breaker.hard_stop", True, False),
        ("breaker.waiting_tools", ("wait",), ("wait", "Bash")),
        ("breaker.agent_token_caps", {"claude": 5}, {"claude": 6}),
        ("breaker.agent_token_caps", {"claude": 5}, {}),
        ("completion.required", 2, 1),
        ("completion.require_plan_done", True, False),
        ("verify.commands", ("pytest",), ()),
        ("progress.ignore", ("*.log",), ()),
        ("plan.optional_sections", ("Optional",), ("Optional", "Now")),
        ("stall.exploring", False, True),
    ],
)
def test_b20_what_loosens_does_not_loosen_the_other_way(
    name: str, tight: object, loose: object
) -> None:
    assert leash.loosens(name, tight, loose)
    assert not leash.loosens(name, loose, tight)
    assert not leash.loosens(name, tight, tight)


def test_b20_any_other_hook_or_command_is_taken_for_looser() -> None:
    assert leash.loosens("hooks.on_task_done", "", "curl example.invalid")
    assert leash.loosens("agents.mine.command", ("a",), ("b",))
    assert leash.loosens("agent.env", {}, {"A": "1"})


def test_the_example_file_has_exactly_the_defaults_and_names_every_key() -> None:
    text = asset("ralph.toml").read_text("utf-8")
    table = tomllib.loads(text)
    flat = {}

    def walk(node: dict[str, object], prefix: str) -> None:
        for name, value in node.items():
            dotted = f"{prefix}{name}"
            if isinstance(value, dict) and keys.find(dotted) is None:
                walk(value, f"{dotted}.")
            else:
                key = keys.find(dotted)
                assert key is not None, dotted
                flat[dotted] = values.parse(key, value)

    walk(table, "")
    assert keys.build(flat) == Policy()
    commented = {"max", "agents.*.command", "agents.*.prompt", "agents.*.output"}
    assert set(flat) | commented == set(keys.keys())
    for name in commented:
        assert f"# {name.rpartition('.')[2]} = " in text
    assert "# [agents." in text


def test_every_line_of_the_example_file_that_sets_a_key_explains_it() -> None:
    lines = asset("ralph.toml").read_text("utf-8").splitlines()
    setting = [line for line in lines if " = " in line and not line.startswith("# Length")]
    assert all(len(line.removeprefix("#").rpartition("# ")[2].split()) >= 2 for line in setting)
    assert not [
        line for line in setting if "  # " not in line.removeprefix("#") and "command =" not in line
    ]
