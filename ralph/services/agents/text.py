"""Agents that print plain text (A-2, L-19)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ralph.core.completion import without_echo
from ralph.core.live import Live
from ralph.services.agents.base import Listener, Reading, Session
from ralph.services.agents.lines import Tail

KEPT = 256 << 10  # characters of stdout that are kept
FINAL_LINES = 40
CHANNEL_LINES = 10  # of stdout, that count as error channel when the command failed
ERROR_LINES = 20

_ERROR = re.compile(
    r"(?:Error|(?<![\w\"'])error): ?|(?<!\w)error\[|\bFAILED\b|Traceback|panic:|✗|fatal:"
)
_NOTHING = re.compile(
    r"\b0 FAILED|FAILED[:=]? *0\b|rror: *(?:0|null|None|false|\[\]|\"\"|'')\s*(?:[,;}\]]|$)"
)


class TextReader(Listener):
    """Reads an agent that prints its answer and nothing else that could be told apart.

    The final text is the last 40 lines of stdout that are not blank, clean and without an echo of
    the prompt. Output beyond the last 256 KiB is not searched.
    """

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._text = Tail(KEPT)

    def lines(self, raws: Sequence[bytes]) -> bool:
        """Lines of the answer, or of whatever the command prints."""
        return self.plain(raws, self._text)

    def settled(self) -> bool:
        """Never: plain text has no record."""
        return False

    def live(self, quiet: float) -> Live:
        """The last lines; nothing else is known."""
        return Live(tail=tuple(self.shown), quiet=quiet, last_seen=self.last_seen)

    def endless(self, limit: int) -> str:  # noqa: ARG002
        """Never known: tool calls are not visible."""
        return ""

    def reading(self) -> Reading:
        """The final text and the error channel."""
        self.flush()
        said = without_echo(self._text.text(), self.session.prompt)
        lines = [line for line in said.split("\n") if line.strip()]
        stderr = self.stderr.text()
        return Reading(
            final_text="\n".join(lines[-FINAL_LINES:]),
            errors="\n".join([*lines[-CHANNEL_LINES:], stderr]),
            stderr=stderr,
            error_lines="\n".join(error_lines(lines)),
            last_seen=self.last_seen,
        )


def error_lines(lines: list[str]) -> list[str]:
    """The last 20 lines that name an error in the words of L-19; zero counts and keys do not."""
    found = [line for line in lines if _ERROR.search(line) and not _NOTHING.search(line)]
    return found[-ERROR_LINES:]
