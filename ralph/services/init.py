"""The first files of a repository that ralph is to work in (L-2)."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ralph.services import disk, stack
from ralph.services.assets import asset

PROMPT = "PROMPT.md"
PLAN = "IMPLEMENTATION_PLAN.md"
FILES = (PROMPT, PLAN, stack.PROJECT_FILE)


@dataclass(frozen=True)
class Found:
    """What a look around told: the agent to use, and a test command or ""."""

    agent: str
    test: str


NOTHING = Found("claude", "")


@dataclass(frozen=True)
class Made:
    """Names that were ``written`` and names that were ``kept`` as they are, with the reason."""

    written: Sequence[str]
    kept: Sequence[tuple[str, str]]


def write_templates(root: Path, *, force: bool, found: Found = NOTHING) -> Made:
    """Write prompt, plan and settings (``max = 20``, L-2) into ``root``; keep what is there.

    ``force`` overwrites them, through a symbolic link. Settings are not written where
    pyproject.toml has a table of its own for them: two places would be an error (section 11).

    ``found`` goes into the settings: the agent that is installed, the project's own tests.

    Raises:
        StorageError: if a file cannot be written; it names the path.
    """
    written: list[str] = []
    kept: list[tuple[str, str]] = []
    for name in FILES:
        if name == stack.PROJECT_FILE and stack.has_shared_table(root):
            kept.append((name, "[tool.ralph] of pyproject.toml configures this project"))
        elif _write(root / name, _content(name, found), force=force):
            written.append(name)
        else:
            kept.append((name, "it is there; --force overwrites it"))
    return Made(written, kept)


def untouched(prompt: Path) -> bool:
    """True while ``prompt`` says what the template says and nothing of this project."""
    try:
        return disk.contents(prompt) == asset(f"prompts/init/{PROMPT}").read_bytes()
    except (OSError, ValueError):
        return False


def look_around(root: Path, which: Callable[[str], str | None] = shutil.which) -> Found:
    """The first known agent on PATH, and the command by which the project seems to be tested."""
    agent = next((name for name in AGENTS if which(name)), AGENTS[0])
    return Found(agent, next((test for mark, test in TESTS if mark(root)), ""))


def _has(name: str, word: str = "") -> Callable[[Path], bool]:
    def holds(root: Path) -> bool:
        try:
            return word in (root / name).read_text("utf-8", "replace")
        except OSError:
            return False

    return holds


AGENTS = ("claude",)
TESTS: tuple[tuple[Callable[[Path], bool], str], ...] = (
    (_has("pytest.ini"), "pytest -q"),
    (_has("pyproject.toml", "pytest"), "pytest -q"),
    (_has("tox.ini", "pytest"), "pytest -q"),
    (_has("setup.cfg", "pytest"), "pytest -q"),
    (_has("package.json", '"test"'), "npm test"),
    (_has("Cargo.toml"), "cargo test"),
    (_has("go.mod"), "go test ./..."),
    (_has("Makefile", "\ntest:"), "make test"),
)


def _content(name: str, found: Found) -> bytes:
    content = asset(f"prompts/init/{name}").read_bytes()
    if name != stack.PROJECT_FILE:
        return content
    text = content.decode().replace('use = "claude"', f'use = "{found.agent}"')
    if found.test:
        text = text.replace("commands = []  ", f'commands = ["{found.test}"]  ')
    return text.encode()


def _write(path: Path, content: bytes, *, force: bool) -> bool:
    """True when ``path`` has ``content`` now; False when something else was there before."""
    try:
        if force and path.exists():
            path.write_bytes(content)
        else:
            _create(path, content)
    except FileExistsError:
        return False
    except OSError as error:
        raise disk.failure(path, error) from error
    return True


def _create(path: Path, content: bytes) -> None:
    with path.open("xb") as file:
        try:
            file.write(content)
            file.flush()
        except OSError:
            path.unlink()
            raise
