"""``ralph config``: values with their sources, mistakes with their places."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from ralph.cli.app import app
from ralph.core import keys
from ralph.errors import ConfigError
from ralph.services import places
from tests.support.world import Repo


@pytest.fixture
def here(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> Repo:
    monkeypatch.chdir(repo.root)
    return repo


def config(*words: str) -> Result:
    return CliRunner().invoke(app, ["config", *words])


def test_f5_show_says_where_each_value_came_from(
    here: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    here.write("ralph.toml", 'max = 5\n[agent]\ntimeout = "5400s"\n')
    monkeypatch.setenv("RALPH__STALL__NO_PROGRESS", "7")
    lines = {line.split(" = ")[0]: line for line in config("show").stdout.splitlines()}
    assert lines["max"].split() == ["max", "=", "5", "#", f"{here.root}/ralph.toml:1"]
    assert '"1h30m"' in lines["agent.timeout"]
    assert lines["agent.timeout"].endswith(f"# {here.root}/ralph.toml:3")
    assert lines["stall.no_progress"].endswith("# environment RALPH__STALL__NO_PROGRESS")
    assert lines["rate.scope"].endswith("# built-in")


def test_show_prints_toml_with_every_key(here: Repo) -> None:
    here.write(
        "ralph.toml",
        'max = 5\n[agent]\nenv = { "A B" = "x\\"\\n", C = "é#" }\n[agents.mine]\ncommand = ["a"]\n',
    )
    result = config("show")
    assert result.exit_code == 0
    table = tomllib.loads(result.stdout)
    assert table["agent"]["env"] == {"A B": 'x"\n', "C": "é#"}
    assert table["agents"]["mine"]["command"] == ["a"]
    printed = {line.split(" = ")[0] for line in result.stdout.splitlines()}
    assert {keys.pattern(name) for name in printed} == set(keys.keys())


def test_show_for_programs(here: Repo) -> None:
    here.write("ralph.toml", "[stall]\nno_progress = 4\n")
    rows = json.loads(config("show", "--json").stdout)
    assert rows["stall.no_progress"] == {
        "value": 4,
        "source": f"{here.root}/ralph.toml:2",
    }
    assert rows["max"] == {"value": None, "source": "built-in"}
    assert rows["agent.timeout"]["value"] == "1h"


def test_the_front_matter_of_the_named_prompt_counts(here: Repo) -> None:
    path = here.write("other.md", "---\nralph:\n  max: 3\n---\nDo it.\n")
    rows = json.loads(config("show", "--json", "other.md").stdout)
    assert rows["max"]["value"] == 3
    assert rows["max"]["source"].endswith(f"{path.name}:3")
    assert rows["prompt"]["value"] == "other.md"


def test_older_spellings_are_told_on_stderr_and_not_among_the_values(here: Repo) -> None:
    here.write("ralph.toml", "repeatedToolLimit = 9\n")
    result = config("show")
    assert "is now spelled breaker.repeated_tool_limit" in result.stderr
    assert "spelled" not in result.stdout


def test_show_of_a_broken_file_is_a_configuration_error(here: Repo) -> None:
    here.write("ralph.toml", "[stall]\nno_progres = 4\n")
    error = config("show").exception
    assert isinstance(error, ConfigError)
    assert error.message.startswith(f"{here.root}/ralph.toml:2: ")
    assert error.exit_code == 2


def test_check_names_every_mistake_and_exits_2(here: Repo) -> None:
    here.write("ralph.toml", "maxx = 4\n\n[stall]\nno_progress = -1\n")
    result = config("check")
    assert result.exit_code == 2
    assert f"{here.root}/ralph.toml:1: maxx" in result.stderr
    assert f"{here.root}/ralph.toml:4: stall.no_progress" in result.stderr
    assert "hint: did you mean max?" in result.stderr
    assert result.stdout == ""


def test_check_of_a_valid_configuration_exits_0(here: Repo) -> None:
    here.write("ralph.toml", "max = 4\n")
    result = config("check")
    assert result.exit_code == 0
    assert result.stderr == ""


def test_path_names_the_files_lowest_first(here: Repo) -> None:
    here.write("ralph.toml", "max = 4\n")
    lines = config("path").stdout.splitlines()
    assert lines[0] == f"{places.user_config()}  (absent)"
    assert lines[1] == f"{here.root}/ralph.toml"
    assert lines[2] == f"{here.root}/pyproject.toml  (absent)"


def test_the_console_script_turns_a_mistake_into_two_lines_and_exit_2(here: Repo) -> None:
    here.write("ralph.toml", "maxx = 4\n")
    done = subprocess.run(
        [sys.executable, "-m", "ralph", "config", "show"],
        env=os.environ | {"PYTHONPATH": str(Path(keys.__file__).parents[2])},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    error, hint = done.stderr.splitlines()
    assert error.startswith(f"error: {here.root}/ralph.toml:1: maxx")
    assert hint == "hint: did you mean max?"
