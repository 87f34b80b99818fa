"""The four terminal states, their reasons and exit codes (T-1)."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class TerminalState(StrEnum):
    """How a run ends; exactly one of these, once (T-1)."""

    RESOLVED = "RESOLVED"
    ESCALATED = "ESCALATED_TO_HUMAN"
    FOLLOW_UP = "FOLLOW_UP_TICKET"
    FALLBACK = "NO_ANSWER_SAFE_FALLBACK"


EXIT_CODES = {
    TerminalState.RESOLVED: 0,
    TerminalState.ESCALATED: 3,
    TerminalState.FOLLOW_UP: 4,
    TerminalState.FALLBACK: 1,
}

SIGNAL_EXITS = {"SIGINT": 130, "SIGTERM": 143, "SIGHUP": 129}


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """State, reason code and one sentence for a person; ``exit_code`` follows from them (T-1)."""

    state: TerminalState
    reason: str
    detail: str = ""
    exit_code: int = 0

    @property
    def resolved(self) -> bool:
        """True for RESOLVED."""
        return self.state is TerminalState.RESOLVED


def resolved(reason: str, detail: str = "") -> Ending:
    """The work is done on evidence; exit 0."""
    return _ending(TerminalState.RESOLVED, reason, detail)


def escalated(reason: str, detail: str = "") -> Ending:
    """A person has to look before anything goes on; exit 3."""
    return _ending(TerminalState.ESCALATED, reason, detail)


def follow_up(reason: str, detail: str = "") -> Ending:
    """Work remains and nothing is wrong with it; exit 4."""
    return _ending(TerminalState.FOLLOW_UP, reason, detail)


def fallback(reason: str, detail: str = "") -> Ending:
    """Nothing could be started or shown; exit 1."""
    return _ending(TerminalState.FALLBACK, reason, detail)


def interrupted(signal_name: str) -> Ending:
    """Ended by a signal: FOLLOW_UP_TICKET / interrupted with the shell's code for it (T-1)."""
    return Ending(
        state=TerminalState.FOLLOW_UP,
        reason="interrupted",
        detail=f"ended by {signal_name}",
        exit_code=SIGNAL_EXITS.get(signal_name, 130),
    )


def _ending(state: TerminalState, reason: str, detail: str) -> Ending:
    return Ending(state=state, reason=reason, detail=detail, exit_code=EXIT_CODES[state])
