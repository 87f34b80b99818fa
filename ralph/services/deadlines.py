"""When a running process has to be ended; none of it waits for output (A1, A16, A-7)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from ralph.core.facts import EndedBy

IDLE_SHARE = 0.01  # of one core, over the window
_SAMPLES = 10  # CPU samples within one idle window


class Silence:
    """The idle timer: due after ``limit`` seconds without a sign of life and without CPU.

    ``cpu`` tells the CPU seconds of the whole tree so far, None when unknown (then output alone
    decides). It is asked at most ten times a window, and only in silence. ``limit`` 0 is off.
    """

    def __init__(self, limit: float, cpu: Callable[[], float | None], *, start: float) -> None:
        self.limit = limit
        self.cpu = cpu
        self.since = start
        self._samples: deque[tuple[float, float | None]] = deque()

    def heard(self, now: float) -> None:
        """Note a sign of life."""
        self.since = now
        self._samples.clear()

    def due(self, now: float) -> bool:
        """True when the window is over and the tree used under 1 % of one core in it."""
        if not self.limit or now - self.since < min(1.0, self.limit / _SAMPLES):
            return False
        if self._samples and now - self._samples[-1][0] < self.limit / _SAMPLES:
            return False
        self._samples.append((now, self.cpu()))
        window = self.limit * (1 - 1 / _SAMPLES)
        while len(self._samples) > 2 and now - self._samples[1][0] >= window:
            self._samples.popleft()
        return now - self.since >= self.limit and self._idle(window)

    def _idle(self, window: float) -> bool:
        (then, used), (now, total) = self._samples[0], self._samples[-1]
        if now - then < window:
            return False
        if used is None or total is None:
            return True
        return total - used < IDLE_SHARE * (now - then)


class Deadlines:
    """Hard, idle and linger limits of one process, in seconds of a monotonic clock."""

    def __init__(self, *, hard: float, linger: float, silence: Silence, start: float) -> None:
        self.hard = hard
        self.linger = linger
        self.silence = silence
        self.start = start
        self.settled_at: float | None = None

    def settle(self, now: float) -> None:
        """The result record was seen: from now on only lingering ends the process (A-3, A-7)."""
        if self.settled_at is None:
            self.settled_at = now

    def due(self, now: float) -> EndedBy | None:
        """Return which limit is over, None while none is."""
        if self.settled_at is not None:
            return EndedBy.LINGER if now - self.settled_at >= self.linger else None
        if self.hard and now - self.start >= self.hard:
            return EndedBy.HARD
        return EndedBy.IDLE if self.silence.due(now) else None
