"""Small counters that run beside an agent: API errors in a row, tokens a minute (B-7, B-10)."""

from __future__ import annotations

from ralph.core.facts import ApiErrors

WINDOW = 30.0  # seconds a velocity sample must span


class Storm:
    """API errors and retries of one attempt, in order (B-7)."""

    def __init__(self) -> None:
        self._before = self._peak = self._run = 0
        self._succeeded = False

    def error(self) -> None:
        """The provider failed, or the agent announced a retry."""
        self._run += 1
        if self._succeeded:
            self._peak = max(self._peak, self._run)
        else:
            self._before = self._run

    def success(self) -> None:
        """The provider answered."""
        self._succeeded = True
        self._run = 0

    def facts(self) -> ApiErrors:
        """Errors before the first answer, the longest run after it, the run still open."""
        return ApiErrors(
            before_success=self._before,
            peak_after=self._peak,
            at_end=self._run,
            succeeded=self._succeeded,
        )


class Velocity:
    """Highest output tokens a minute between cumulative samples at least 30 s apart (B-10)."""

    def __init__(self) -> None:
        self._base: tuple[float, int] | None = None
        self.highest: float | None = None

    def sample(self, seconds: float, tokens: int) -> None:
        """Note the cumulative count at a monotonic time; a fall sets a new baseline."""
        if self._base is None or tokens < self._base[1]:
            self._base = (seconds, tokens)
            return
        span = seconds - self._base[0]
        if span < WINDOW:
            return
        if tokens > self._base[1]:
            speed = (tokens - self._base[1]) * 60.0 / span
            self.highest = max(speed, self.highest or 0.0)
        self._base = (seconds, tokens)


def overall_velocity(output: int | None, seconds: float) -> float | None:
    """Output tokens a minute over a whole attempt; None when unknown or shorter than 30 s."""
    return output * 60.0 / seconds if output and seconds >= WINDOW else None
