"""All sources of requests as one: signals, the control file, the keyboard."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ralph.core.live import Request


class Source(Protocol):
    """Something that may have been asked of the loop since the last look."""

    def poll(self) -> Sequence[Request]:
        """New requests, oldest first."""
        ...


class AllRequests:
    """Ask each source in turn; satisfies the loop's Requests."""

    def __init__(self, *sources: Source | None) -> None:
        self._sources = [source for source in sources if source is not None]

    def poll(self) -> Sequence[Request]:
        """Requests of all sources since the last call, in the order of the sources."""
        return [request for source in self._sources for request in source.poll()]
