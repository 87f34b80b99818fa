"""A view that fails is dropped and named once; the run goes on without it (F2, F3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from ralph.core.events import AnyEvent
from ralph.core.live import Live


class Shown(Protocol):
    """What every view can do."""

    def event(self, event: AnyEvent) -> None:
        """Show what has happened."""
        ...

    def live(self, live: Live) -> None:
        """Show what the running agent does at this moment."""
        ...

    def say(self, text: str) -> None:
        """Show a piece of the agent's words, cut anywhere."""
        ...

    def tick(self) -> None:
        """Time has passed; draw what is due."""
        ...

    def close(self) -> None:
        """Leave the terminal or file in order; the last picture stays."""
        ...


class Guarded:
    """``view`` until its first error; then ``report`` hears of it once and nothing is shown."""

    def __init__(self, view: Shown, report: Callable[[str], None]) -> None:
        self._view: Shown | None = view
        self._report = report

    def event(self, event: AnyEvent) -> None:
        """Pass on, never raise."""
        self._try(lambda view: view.event(event))

    def live(self, live: Live) -> None:
        """Pass on, never raise."""
        self._try(lambda view: view.live(live))

    def say(self, text: str) -> None:
        """Pass on, never raise."""
        self._try(lambda view: view.say(text))

    def tick(self) -> None:
        """Pass on, never raise."""
        self._try(lambda view: view.tick())

    def close(self) -> None:
        """Pass on, never raise."""
        self._try(lambda view: view.close())
        self._view = None

    def _try(self, act: Callable[[Shown], None]) -> None:
        view = self._view
        if view is None:
            return
        try:
            act(view)
        except Exception as error:  # noqa: BLE001 - a bug in a picture must not end a night's work
            self._view = None
            self._let_go(view)
            name = type(view).__name__
            self._report(f"{name} is off after an error: {type(error).__name__}: {error}")

    def _let_go(self, view: Shown) -> None:
        try:
            view.close()
        except Exception:  # noqa: BLE001 - it has failed already; only the tidying is lost
            return


class Views:
    """Several views as one, in order; each guarded on its own."""

    def __init__(self, views: Iterable[Shown], report: Callable[[str], None]) -> None:
        self._views = [Guarded(view, report) for view in views]

    def event(self, event: AnyEvent) -> None:
        """Tell all."""
        for view in self._views:
            view.event(event)

    def live(self, live: Live) -> None:
        """Tell all."""
        for view in self._views:
            view.live(live)

    def say(self, text: str) -> None:
        """Tell all."""
        for view in self._views:
            view.say(text)

    def tick(self) -> None:
        """Tell all."""
        for view in self._views:
            view.tick()

    def close(self) -> None:
        """Close all, last one first."""
        for view in reversed(self._views):
            view.close()
