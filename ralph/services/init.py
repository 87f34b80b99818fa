"""The files a repository needs before its first run."""

from __future__ import annotations

import os
from pathlib import Path

from ralph.errors import StorageError, UsageError
from ralph.services.assets import asset

TEMPLATES = {
    "PROMPT.md": "prompts/init/PROMPT.md",
    "IMPLEMENTATION_PLAN.md": "prompts/init/IMPLEMENTATION_PLAN.md",
    "ralph.toml": "prompts/init/ralph.toml",
}


def write_templates(root: Path, *, force: frozenset[str] = frozenset()) -> list[Path]:
    """Write each template that ``root`` lacks, or that ``force`` names; return what was written.

    Raises:
        UsageError: if nothing is left to write.
        StorageError: if a file cannot be written.
    """
    wanted = [name for name in TEMPLATES if name in force or not os.path.lexists(root / name)]
    if not wanted:
        raise UsageError(
            f"{root} has all of {', '.join(TEMPLATES)} already", hint="--force writes them anew"
        )
    written = []
    for name in wanted:
        path = root / name
        try:
            path.write_bytes(asset(TEMPLATES[name]).read_bytes())
        except OSError as error:
            raise StorageError(f"cannot write {path}: {error.strerror}") from error
        written.append(path)
    return written
