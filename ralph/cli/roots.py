"""Which folder a command is about: the top of the git working tree, else the current one."""

from __future__ import annotations

from pathlib import Path


def root_of(here: Path) -> Path:
    """Return the nearest folder at or above ``here`` that holds ``.git``; else ``here``."""
    here = here.resolve()
    for folder in (here, *here.parents):
        if (folder / ".git").exists():
            return folder
    return here
