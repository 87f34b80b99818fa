"""Which view fits the stream: the dashboard on a terminal, plain lines elsewhere (L-26, F3)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol, TextIO

from ralph.views.guard import Shown
from ralph.views.plain import Plain
from ralph.views.terminal import Printer, in_foreground, looks


class Clock(Protocol):
    """Wall time and monotonic time (C-7)."""

    def now(self) -> datetime:
        """Current time, UTC-aware."""
        ...

    def monotonic(self) -> float:
        """Seconds from an arbitrary start."""
        ...


def view_for(
    stream: TextIO, environ: Mapping[str, str], clock: Clock, *, keys: bool = True
) -> Shown:
    """The dashboard when ``stream`` is a terminal that ralph owns, else plain lines on it.

    ``stream`` is meant to be stderr: stdout is for data. ``keys``: whether keys are read, so that
    the footer promises nothing that is not there.
    """
    look = looks(stream, environ)
    if not look.terminal or not in_foreground(stream.fileno()):
        return Plain(Printer(stream, look))
    from ralph.views.dashboard import Dashboard
    from ralph.views.terminal import Screen

    return Dashboard(Screen(stream), look, clock, keys=keys)
