"""What passes between the loop and its services while an agent runs; never in the journal."""

from __future__ import annotations

from datetime import datetime

from ralph.core.events import RequestKind
from ralph.core.facts import Fact
from ralph.core.policy import Policy


class Live(Fact, frozen=True, kw_only=True):
    """What a running agent shows at this moment; unknown parts stay None."""

    tail: tuple[str, ...] = ()  # last lines of what it says, newest last, at most 20, clean text
    tool: str = ""  # what it is doing now: "Bash: pytest -q"
    calls: int | None = None
    tokens: int | None = None
    turns: int | None = None
    quiet: float = 0.0  # seconds without output
    last_seen: str = ""  # retry line, limit warning


class Request(Fact, frozen=True, kw_only=True):
    """One thing asked of the running loop, by key, command or signal name."""

    request: RequestKind
    by: str


class Launch(Fact, frozen=True, kw_only=True):
    """Everything the agents room needs to start one attempt."""

    agent: str
    iteration: int
    attempt: int
    prompt: str
    folder: str  # absolute; exists; output.log and stderr.log go there
    env: dict[str, str]  # RALPH_* facts
    constrained: bool = False  # use breaker.constrain's args or command (B-17)


class Slot(Fact, frozen=True, kw_only=True):
    """Answer of the call window (L-21): taken, or full until ``free_at``."""

    taken: bool
    count: int  # calls in the window, this one included when taken
    free_at: datetime | None = None


class PolicyNews(Fact, frozen=True, kw_only=True):
    """What a re-read of the configuration found (B-20); dotted keys, ``[old, new]`` values."""

    policy: Policy | None = None  # None when nothing is to change now
    applied: dict[str, list[object]] = {}
    held: dict[str, list[object]] = {}
    fixed: dict[str, list[object]] = {}
    problem: str = ""  # the file is invalid: old values stay
