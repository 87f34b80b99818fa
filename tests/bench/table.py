"""Rows of the benchmark table: ours and a baseline, measured side by side in one run."""

from __future__ import annotations

from dataclasses import dataclass


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
