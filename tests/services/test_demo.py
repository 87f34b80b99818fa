"""``ralph demo`` plays its scenarios in real repositories, each to the end that it promises."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ralph.errors import RalphError, UsageError
from ralph.services import demo
from ralph.services.settings import load as load_settings
from tests.support.cli import RALPH, Ended
from tests.support.world import Repo

NAMES = ("complete", "crash", "error", "liar", "silent", "stuck")
ENDS = {
    "complete": ("RESOLVED / completed", 0, 10),
    "crash": ("RESOLVED / completed", 0, 5),
    "error": ("ESCALATED_TO_HUMAN / same_error", 3, 5),
    "liar": ("FOLLOW_UP_TICKET / claimed_with_open_tasks", 4, 4),
    "silent": ("ESCALATED_TO_HUMAN / no_progress", 3, 3),
    "stuck": ("ESCALATED_TO_HUMAN / no_progress", 3, 3),
}


def play(scenario: str, folder: Path) -> Ended:
    """``ralph demo`` as a person starts it, at a speed nobody could watch."""
    argv = [*RALPH, "demo", "--scenario", scenario, "--dir", str(folder), "--plain"]
    done = subprocess.run(
        [*argv, "--speed", "50"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return Ended(folder, done.returncode, done.stdout, done.stderr)


def prove_real_work(root: Path) -> None:
    repo = Repo(root)
    assert repo.git("log", "--format=%s").splitlines() == [
        "Say how to use it",
        "Print a receipt",
        "Refuse a negative price",
        "Show cents as a price",
        "Give change",
        "Take a discount off",
        "Add up a basket",
        "Read a price",
        "Start: Everything goes well",
    ]
    assert repo.git("status", "--porcelain") == ""
    tested = subprocess.run(
        [sys.executable, "-B", "-m", "unittest", "-q"], cwd=root, capture_output=True
    )
    assert tested.returncode == 0, tested.stderr


def test_the_scenarios_are_those_of_the_readme() -> None:
    assert demo.scenarios() == NAMES
    readme = (Path(__file__).parents[2] / "examples" / "README.md").read_text()
    told = [line.split("|")[1:4] for line in readme.splitlines() if line.startswith("| ")]
    ends = {row[0].strip(): row[2] for row in told}
    for name, (state, code, _) in ENDS.items():
        assert state.removesuffix(" / completed") in ends[name]
        assert f"exit {code}" in ends[name]


@pytest.mark.parametrize("scenario", NAMES)
def test_a_scenario_sets_its_scene_and_is_a_valid_script(scenario: str, tmp_path: Path) -> None:
    script = demo.script_of(scenario)
    assert script.title
    assert script.about.count(".") == 1
    made = demo.prepare(scenario, tmp_path / "stage")
    loaded = load_settings(
        made.root, prompt=made.prompt, flags=dict(made.settings), environ=os.environ
    )
    assert loaded.policy.rate.scope == "project"
    assert loaded.policy.max == 12
    assert made.prompt.read_text() == script.prompt
    assert (made.root / "IMPLEMENTATION_PLAN.md").read_text() == script.plan
    assert Repo(made.root).git("status", "--porcelain") == ""


# T-1
@pytest.mark.parametrize("scenario", NAMES)
def test_t1_a_scenario_ends_as_it_promises(scenario: str, tmp_path: Path) -> None:
    ended = play(scenario, tmp_path / "stage")
    state, code, launches = ENDS[scenario]
    assert (ended.state, ended.code) == (state, code), ended.err
    count = json.loads((ended.root / ".ralph" / "player.json").read_text())
    assert count == {"launch": launches}
    failures = [e["seen"]["result"].get("klass", "ok") for e in ended.of("iteration_observed")]
    assert failures.count("crash") == {"crash": 1, "error": 5}.get(scenario, 0)
    assert failures.count("idle") == (3 if scenario == "silent" else 0)
    if scenario == "complete":
        prove_real_work(ended.root)


def test_a_demo_needs_no_git_identity_and_heeds_no_hook(
    tmp_path: Path, own_world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for role in ("AUTHOR", "COMMITTER"):
        for part in ("NAME", "EMAIL"):
            monkeypatch.delenv(f"GIT_{role}_{part}")
    hooks = own_world / "hooks"
    hooks.mkdir()
    for name in ("pre-commit", "post-commit", "prepare-commit-msg"):
        (hooks / name).write_text("#!/bin/sh\ntouch hook-ran\nexit 1\n")
        (hooks / name).chmod(0o755)
    (own_world / ".gitconfig").write_text(
        f"[core]\n\thooksPath = {hooks}\n[commit]\n\tgpgSign = true\n"
        "[user]\n\tuseConfigOnly = true\n"
    )
    made = demo.prepare("complete", tmp_path / "stage")
    assert Repo(made.root).git("log", "-1", "--format=%an") == "Ralph Demo"
    (made.root / "more").write_text("x")
    Repo(made.root).commit()
    assert not (made.root / "hook-ran").exists()


def test_a_missing_git_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    with pytest.raises(RalphError, match="git is not installed") as caught:
        demo.prepare("complete", tmp_path / "stage")
    assert caught.value.hint
    assert not (tmp_path / "stage").exists()


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    mine = tmp_path / "mine.txt"
    mine.write_text("mine")
    for folder in (tmp_path, mine):
        with pytest.raises(UsageError, match="is not empty"):
            demo.prepare("complete", folder)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    (tmp_path / "empty").mkdir()
    assert demo.prepare("liar", tmp_path / "empty").root == (tmp_path / "empty").resolve()


def test_an_unknown_scenario_is_refused_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no scenario 'paradise'") as caught:
        demo.prepare("paradise", tmp_path / "stage")
    assert "complete, crash" in caught.value.hint
    assert not (tmp_path / "stage").exists()
