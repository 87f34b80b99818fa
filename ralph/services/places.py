"""Where ralph keeps things: per user under XDG folders, per repository under .ralph/ (10.1)."""

from __future__ import annotations

import os
from pathlib import Path


def state_home() -> Path:
    """``$XDG_STATE_HOME/ralph``: call window, spend, locks, snapshots."""
    return _xdg("XDG_STATE_HOME", ".local/state") / "ralph"


def user_config() -> Path:
    """``$XDG_CONFIG_HOME/ralph/config.toml``."""
    return _xdg("XDG_CONFIG_HOME", ".config") / "ralph" / "config.toml"


def runs(root: Path) -> Path:
    """Folder of all runs of the repository at ``root``."""
    return root / ".ralph" / "runs"


def _xdg(name: str, default: str) -> Path:
    value = os.environ.get(name, "")
    return Path(value) if value.startswith("/") else Path.home() / default
