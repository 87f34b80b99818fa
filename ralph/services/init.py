"""The first files of a repository that ralph is to work in (L-2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ralph.services import disk, stack
from ralph.services.assets import asset

PROMPT = "PROMPT.md"
PLAN = "IMPLEMENTATION_PLAN.md"
FILES = (PROMPT, PLAN, stack.PROJECT_FILE)


@dataclass(frozen=True)
class Made:
    """Names that were ``written`` and names that were ``kept`` as they are, with the reason."""

    written: Sequence[str]
    kept: Sequence[tuple[str, str]]


def write_templates(root: Path, *, force: bool) -> Made:
    """Write prompt, plan and settings (``max = 20``, L-2) into ``root``; keep what is there.

    ``force`` overwrites them, through a symbolic link. Settings are not written where
    pyproject.toml has a table of its own for them: two places would be an error (section 11).

    Raises:
        StorageError: if a file cannot be written; it names the path.
    """
    written: list[str] = []
    kept: list[tuple[str, str]] = []
    for name in FILES:
        if name == stack.PROJECT_FILE and stack.has_shared_table(root):
            kept.append((name, "[tool.ralph] of pyproject.toml configures this project"))
        elif _write(root / name, asset(f"prompts/init/{name}").read_bytes(), force=force):
            written.append(name)
        else:
            kept.append((name, "it is there; --force overwrites it"))
    return Made(written, kept)


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
