"""Tokens of Claude Code while it runs, message by message (A-9)."""

from __future__ import annotations

from msgspec.structs import replace

from ralph.core.facts import Usage
from ralph.services.agents.fields import Json, integer, mapping, string

_RECENT = 64  # messages whose figures may still grow


class Meter:
    """Sums the usage of messages; each counts once, with the highest figures it showed.

    Claude Code 2.1 opens a message with an output count of 1 and prints the real one only in
    partial events, so that without them the output is unknown.
    """

    def __init__(self) -> None:
        self.messages = 0
        self._closed = Usage()
        self._recent: dict[str, Usage] = {}
        self._exact = False

    def message(self, message: Json) -> None:
        """A record of a message; several records may belong to one."""
        self._note(string(message, "id"), tokens(mapping(message, "usage")))

    def start(self, message: Json) -> None:
        """A partial event opened a message."""
        self.message(message)

    def finish(self, ident: str, usage: Json) -> None:
        """A partial event closed the message ``ident``, the latest when "", with its real usage."""
        last = ident or next(reversed(self._recent), "")
        if last in self._recent and integer(usage, "output_tokens") is not None:
            self._exact = True
            self._note(last, tokens(usage))

    @property
    def usage(self) -> Usage:
        """What is known so far."""
        total = self._closed
        for usage in self._recent.values():
            total = total.plus(usage)
        return total

    @property
    def output(self) -> int:
        """Output tokens so far, as far as they were shown."""
        return self.usage.output or 0

    def usage_without_result(self) -> Usage | None:
        """Usage of an invocation that has no result record; output only where it was exact."""
        if not self.messages:
            return None
        return self.usage if self._exact else replace(self.usage, output=None)

    def _note(self, ident: str, usage: Usage) -> None:
        known = self._recent.get(ident) if ident else None
        if known is None:
            self.messages += 1
            known = Usage()
        self._recent[ident] = Usage(
            input=_most(known.input, usage.input),
            output=_most(known.output, usage.output),
            cache_read=_most(known.cache_read, usage.cache_read),
            cache_write=_most(known.cache_write, usage.cache_write),
        )
        if not ident or len(self._recent) > _RECENT:
            oldest = ident if not ident else next(iter(self._recent))
            self._closed = self._closed.plus(self._recent.pop(oldest))


def tokens(usage: Json) -> Usage:
    """The four counts of a usage object as the API spells them."""
    return Usage(
        input=integer(usage, "input_tokens"),
        output=integer(usage, "output_tokens"),
        cache_read=integer(usage, "cache_read_input_tokens"),
        cache_write=integer(usage, "cache_creation_input_tokens"),
    )


def model_tokens(usage: Json) -> Usage:
    """The four counts of one model in a result's ``modelUsage``."""
    return Usage(
        input=integer(usage, "inputTokens"),
        output=integer(usage, "outputTokens"),
        cache_read=integer(usage, "cacheReadInputTokens"),
        cache_write=integer(usage, "cacheCreationInputTokens"),
    )


def _most(one: int | None, two: int | None) -> int | None:
    return one if two is None else two if one is None else max(one, two)
