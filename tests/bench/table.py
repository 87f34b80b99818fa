"""Rows of the benchmark table: ours and a baseline, measured side by side in one run."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Row:
    """``ours`` and ``baseline`` in ``unit``; ``goal`` in words, ``met`` by these figures."""

    name: str
    ours: float
    baseline: float
    unit: str
    goal: str
    met: bool

    @property
    def ratio(self) -> float:
        return self.ours / self.baseline if self.baseline else float("nan")


def installed(state: Path) -> dict[str, str]:
    """The environment of a ralph that pip installed, so compiled; it keeps all in ``state``."""
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return kept | {
        "XDG_STATE_HOME": str(state),
        "PYTHONPATH": os.pathsep.join(sys.path),
        "PYTHONPYCACHEPREFIX": str(state / "compiled"),
    }
