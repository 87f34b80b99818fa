"""The one place that reads a clock or sleeps (C-7)."""

from __future__ import annotations

import time
from datetime import UTC, datetime


class SystemClock:
    """Wall time for when, monotonic time for how long."""

    def now(self) -> datetime:
        """Current time, UTC-aware."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds from an arbitrary start; never runs backwards."""
        return time.monotonic()

    def pause(self, seconds: float) -> None:
        """Sleep ``seconds``; a negative length is none."""
        time.sleep(max(0.0, seconds))
