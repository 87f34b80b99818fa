"""Everything a run shows and keeps while it goes on: banner, dashboard or lines, log, snapshots."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from ralph.core.events import AnyEvent, RunEnded, RunStarted
from ralph.core.live import Live
from ralph.services.clock import SystemClock
from ralph.services.keys import Keys
from ralph.views.banner import Watched, banner
from ralph.views.endbox import endbox
from ralph.views.guard import Shown, Views
from ralph.views.log import LogView, name_for
from ralph.views.plain import Plain
from ralph.views.terminal import Printer, in_foreground, looks


class Screen(Views):
    """Context manager over all views of one run; an error in one of them ends that one only."""

    def __init__(self, views: list[Shown], keys: Keys | None) -> None:
        super().__init__(views, self.say_aloud)
        self.keys = keys

    @classmethod
    def of(cls, started: RunStarted, keep: Callable[[AnyEvent], None], *, plain: bool) -> Screen:
        """Print the banner and open the views; ``keep`` puts the snapshots by (L-33).

        The dashboard and its keys need a terminal that ralph owns; ``plain`` does without.
        """
        look = looks(sys.stderr, os.environ)
        live = look.terminal and not plain and in_foreground(sys.stderr.fileno())
        printer = Printer(sys.stderr, look)
        printer.block(banner(started, Watched.YES if look.terminal else Watched.NO))
        clock = SystemClock()
        behind: list[Shown] = [LogView(Path(started.log), clock, cls.say_aloud), Kept(keep)]
        if not live:
            return cls([*behind, Plain(printer)], None)
        from ralph.views.dashboard import Dashboard
        from ralph.views.terminal import Screen as Terminal

        picture = Dashboard(Terminal(sys.stderr), look, clock)
        keys = Keys(on_suspend=picture.suspend, on_resume=picture.resume)
        return cls([*behind, picture], keys)

    def __enter__(self) -> Screen:
        if self.keys is not None:
            self.keys.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leave the last picture, close the log, and give the terminal back."""
        super().close()
        if self.keys is not None:
            self.keys.close()

    def finish(self, ended: RunEnded) -> None:
        """Close, and print how the run ended and what a person does next (10.3, T-4)."""
        self.close()
        Printer(sys.stderr, looks(sys.stderr, os.environ)).block(endbox(ended))

    @staticmethod
    def say_aloud(text: str) -> None:
        """One line on stderr; a stream that is gone loses it."""
        Printer(sys.stderr, looks(sys.stderr, os.environ)).line(f"ralph: {text}")


class Kept:
    """Hands events to whoever keeps snapshots; shows nothing."""

    def __init__(self, keep: Callable[[AnyEvent], None]) -> None:
        self.event = keep

    def live(self, live: Live) -> None:
        """Nothing to keep."""

    def say(self, text: str) -> None:
        """Nothing to keep."""

    def tick(self) -> None:
        """Nothing to keep."""

    def close(self) -> None:
        """Nothing to close."""


def log_path(root: Path, now: datetime) -> Path:
    """Where the log of a run that starts now goes: ``ralph_YYYYMMDD_HHMMSS.log`` (L-25)."""
    return name_for(root, now)
