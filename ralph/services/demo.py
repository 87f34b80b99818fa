"""The stages of ``ralph demo``: throw-away repositories for the scenarios of this package."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ralph.errors import RalphError, UsageError
from ralph.services import git
from ralph.services.assets import asset
from ralph.services.player_script import Script, load

PROMPT = "PROMPT.md"
_FOLDER = "examples/scenarios"
_ALWAYS: dict[str, object] = {"rate.scope": "project"}  # a demo uses up no call of real work
_CONFIG = {
    "user.name": "Ralph Demo",
    "user.email": "demo@example.invalid",
    "commit.gpgSign": "false",
    "core.hooksPath": os.devnull,
    "core.excludesFile": os.devnull,
    "core.autocrlf": "false",
}


@dataclass(frozen=True)
class Demo:
    """A repository that is ready for a run.

    ``args`` are for the agent ``scripted``; ``settings`` are dotted keys of ralph.toml.
    """

    root: Path
    prompt: Path
    args: tuple[str, ...]
    settings: dict[str, Any]


def scenarios() -> tuple[str, ...]:
    """Names of the scenarios of this installation, in alphabetical order.

    Raises:
        RalphError: if this installation lacks them.
    """
    return tuple(sorted(path.stem for path in asset(_FOLDER).glob("*.yaml")))


def script_of(scenario: str) -> Script:
    """The script of ``scenario``, checked.

    Raises:
        UsageError: if there is no such scenario, or its script is wrong.
    """
    known = scenarios()
    if scenario not in known:
        raise UsageError(f"no scenario {scenario!r}", hint="there are: " + ", ".join(known))
    return load(asset(f"{_FOLDER}/{scenario}.yaml").resolve())


def prepare(scenario: str, folder: Path) -> Demo:
    """Make a git repository with the plan and the prompt of ``scenario`` in ``folder``.

    ``folder`` is made if it is missing. The repository has a committer and no hooks of its own,
    whatever the person's git is configured to.

    Raises:
        UsageError: if there is no such scenario, or something is in ``folder`` already.
        RalphError: if git is missing or fails, or the folder cannot be written.
    """
    script = script_of(scenario)
    if not git.installed():
        raise RalphError(
            "git is not installed, and a demo is a run in a git repository",
            hint="install git and try again",
        )
    try:
        _lay_out(script, folder)
        root = folder.resolve()
        _commit(root, script)
    except OSError as error:
        raise RalphError(f"cannot write {error.filename or folder}: {error.strerror}") from None
    except git.GitFailed as error:
        raise RalphError(f"no repository for the demo: {error}") from None
    return Demo(
        root=root,
        prompt=root / PROMPT,
        args=(str(script.path), "--format", "claude"),
        settings={**_ALWAYS, **script.settings},
    )


def _lay_out(script: Script, folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(
            f"{folder} is not empty", hint="name a folder that is empty or does not exist"
        )
    scene = {script.plan_file: script.plan, PROMPT: script.prompt, **script.files}
    for name, text in scene.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(str(text), encoding="utf-8")


def _commit(root: Path, script: Script) -> None:
    run = git.Git(root).run
    run("init", "--quiet", "--template=")
    for key, value in _CONFIG.items():
        run("config", "--local", key, value)
    run("add", "--all")
    run("commit", "--quiet", "-m", f"Start: {script.title}")
