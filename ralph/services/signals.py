"""Signals become requests; a handler only notes, one place acts (house rule, T-1)."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from types import FrameType

from ralph.core.events import RequestKind
from ralph.core.live import Request

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")


class Signals:
    """Context manager that notes SIGINT, SIGTERM and SIGHUP while a run is open.

    The first Ctrl-C asks to stop after this iteration, the second to stop now; SIGTERM and SIGHUP
    ask to stop now. A signal that was ignored when ralph started (nohup) stays ignored.
    """

    def __init__(self) -> None:
        self._noted: list[str] = []
        self._interrupts = 0
        self._before: dict[int, object] = {}

    def __enter__(self) -> Signals:
        for name in _NAMES:
            number = getattr(signal, name)
            current = signal.getsignal(number)
            if current is not signal.SIG_IGN:
                self._before[number] = current
                signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def poll(self) -> Sequence[Request]:
        """Requests for the signals noted since the last call."""
        noted, self._noted = self._noted, []
        return [self._request(name) for name in noted]

    def _note(self, number: int, _frame: FrameType | None) -> None:
        self._noted.append(signal.Signals(number).name)

    def _request(self, name: str) -> Request:
        if name == "SIGINT":
            self._interrupts += 1
            if self._interrupts == 1:
                return Request(request=RequestKind.STOP_AFTER, by=name)
        return Request(request=RequestKind.STOP_NOW, by=name)
