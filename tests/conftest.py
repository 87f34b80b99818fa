"""Every test gets state, config and git folders of its own; nothing of the person's is read."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.cli import Project
from tests.support.world import Repo, Script


def pytest_configure() -> None:
    """Programs under test meet signals as at a prompt, even where nohup or & ignores some.

    An ignored signal stays ignored over an exec, a caught one is reset to its default.
    """
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGQUIT):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


@pytest.fixture(autouse=True)
def own_world(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Separate HOME, XDG folders and git identity; no RALPH variable leaks in."""
    home = tmp_path_factory.mktemp("home")
    for name in [n for n in os.environ if n.startswith(("RALPH", "GIT_", "XDG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_AUTHOR_NAME", "dev")
    monkeypatch.setenv("GIT_AUTHOR_EMAIL", "dev@example.invalid")
    monkeypatch.setenv("GIT_COMMITTER_NAME", "dev")
    monkeypatch.setenv("GIT_COMMITTER_EMAIL", "dev@example.invalid")
    monkeypatch.setenv("LANG", "C.UTF-8")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return home


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """A real git repository with one commit."""
    root = tmp_path / "repo"
    root.mkdir()
    subprocess.run(["git", "init", "-q", "-b", "main", root], check=True)
    made = Repo(root)
    made.write("app.py", "print('hello')\n")
    made.commit("start")
    return made


@pytest.fixture
def script(tmp_path: Path) -> Callable[[str], list[str]]:
    """Write a Python program and return the argv that runs it."""
    return Script(tmp_path / "scripts")


@pytest.fixture
def project(repo: Repo) -> Project:
    """A repository with a prompt and a plan of two open tasks, all committed."""
    made = Project(repo.root)
    made.plan("AB-1 first", "AB-2 second")
    made.commit("plan")
    return made
