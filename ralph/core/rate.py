"""Launch times in, an answer out: may another call go now, and if not, when (L-21)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

HOUR = timedelta(seconds=3600)
SKEW = timedelta(seconds=60)
LONGEST_SLEEP = 300.0


def window(launches: Iterable[datetime], now: datetime, limit: int) -> tuple[int, datetime | None]:
    """Count the launches after ``now`` - 1 h and say when the next one is free (L-21, L-23).

    Returns the count and the instant, None when one more may go now.
    A launch exactly one hour old counts no more. One further ahead of ``now`` than a minute is
    dropped: the clock was set back since; a smaller lead is another process that was quicker.
    ``limit`` 0 is no limit.
    """
    recent = sorted(at for at in launches if now - HOUR < at <= now + SKEW)
    if not limit or len(recent) < limit:
        return len(recent), None
    return len(recent), recent[len(recent) - limit] + HOUR


def next_sleep(free_at: datetime, now: datetime) -> float:
    """Seconds to sleep before looking again: to ``free_at``, at most five minutes (L-21)."""
    return min(LONGEST_SLEEP, max(0.0, (free_at - now).total_seconds()))
