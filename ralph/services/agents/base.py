"""The seam between ralph and an agent family: how to start it, and how to listen to it (A-1)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ralph.core.facts import ApiErrors, Limit, Tools, Usage
from ralph.core.failure import Record
from ralph.core.live import Live
from ralph.core.policy import Policy
from ralph.core.wording import is_retry, may_retry
from ralph.services.agents.lines import LineSplitter, Tail, decode
from ralph.services.clock import SystemClock

SHOWN = 20  # lines in ``Live.tail``
ERRORS = 64 << 10  # characters of stderr that are kept for the error channel
_SHOWN_WIDTH = 500


@dataclass(frozen=True, kw_only=True)
class Reading:
    """Everything that an agent's output told, before the exit status is looked at."""

    record: Record | None = None
    final_text: str = ""
    errors: str = ""  # the error channel of a failed invocation
    stderr: str = ""  # its last part, clean
    failing: str = ""  # output of the last failing tool call that no success followed (L-19)
    error_lines: str = ""  # of a plain-text agent (L-19)
    usage: Usage | None = None
    model: str = ""
    session_id: str = ""
    turns: int | None = None
    tools: Tools | None = None
    api: ApiErrors = field(default_factory=ApiErrors)
    velocity: float | None = None
    limit: Limit | None = None
    denied: tuple[str, ...] = ()
    last_seen: str = ""
    contradictions: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Session:
    """What a reader has to know of its attempt."""

    prompt: str
    say: Callable[[str], None]
    clock: SystemClock
    waiting_tools: tuple[str, ...] = ()
    resumed: bool = False  # the format's cumulative figures include earlier runs


class Reader(Protocol):
    """Listens to one attempt; an ``Ear`` of the process room that understands."""

    def hear(self, stream: str, chunk: bytes) -> bool:
        """Take bytes of ``stdout`` or ``stderr``; True when they are a sign of life (A-6)."""
        ...

    def settled(self) -> bool:
        """True once the agent's own result record was seen (A-7)."""
        ...

    def live(self, quiet: float) -> Live:
        """What the agent shows now; ``quiet`` seconds without a sign of life."""
        ...

    def endless(self, limit: int) -> str:
        """Why the iteration is to be ended as a loop, "" to let it go on (C-3)."""
        ...

    def reading(self) -> Reading:
        """Everything; called once, after the agent is gone."""
        ...


@dataclass(frozen=True, kw_only=True)
class Adapter:
    """One way to start one agent, and who listens to it.

    ``argv`` has no prompt in it. ``prompt`` is ``stdin``, ``file`` or ``argument``; the last two
    replace ``{prompt}`` in ``argv``, or come after it.
    """

    argv: tuple[str, ...]
    reader: Callable[[Session], Reader]
    prompt: str = "stdin"
    structured: bool = False  # only assistant text is in the final text: no echo (C-8)
    promised: bool = False  # every run of it ends with a result record
    resumed: bool = False
    trust_zero: bool = True  # exit 0 rules out a failure
    interrupt: str = "TERM"
    leave: tuple[str, ...] = ()  # processes that may outlive an iteration
    env: Mapping[str, str] = field(default_factory=dict)
    login: str = ""  # the command by which a person logs in


class Family(Protocol):
    """Makes the adapter of a built-in agent for a policy and the environment it will have."""

    def __call__(self, policy: Policy, environ: Mapping[str, str], *, constrained: bool) -> Adapter:
        """``constrained``: with the profile of ``breaker.constrain`` (B-17)."""
        ...


class Listener:
    """The part all readers share: cut, clean, show, and keep the last of stderr.

    A subclass takes stdout by ``lines``.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.out = LineSplitter()
        self.err = LineSplitter()
        self.stderr = Tail(ERRORS)
        self.shown: deque[str] = deque(maxlen=SHOWN)
        self.last_seen = ""

    def lines(self, raws: Sequence[bytes]) -> bool:
        """Take lines of stdout; True when one of them is a sign of life."""
        raise NotImplementedError

    def hear(self, stream: str, chunk: bytes) -> bool:
        """Take bytes as they come (see ``Reader``)."""
        if stream == "stderr":
            return self._listen(self.err, chunk, self._complaints)
        return self._listen(self.out, chunk, self.lines)

    def show(self, text: str) -> None:
        """Say clean text to the person and keep its lines for the view, but no blank ones."""
        lines = [line for line in text.split("\n") if line and not line.isspace()]
        if lines:
            self.shown.extend(line[:_SHOWN_WIDTH] for line in lines[-SHOWN:])
            self.session.say("\n".join(lines) + "\n")

    def flush(self) -> None:
        """Take what came without a last newline."""
        for splitter, take in ((self.out, self.lines), (self.err, self._complaints)):
            raw = splitter.rest()
            if raw:
                take([raw])

    def unfinished_is_life(self, splitter: LineSplitter) -> bool:
        """Whether bytes that complete no line are a sign of life."""
        return splitter.size > 0

    def plain(self, raws: Sequence[bytes], kept: Tail) -> bool:
        """Take lines of plain text; any that is not a retry is a sign of life (A-6)."""
        text = decode(b"\n".join(raws))
        kept.add(text)
        self.show(text)
        if not may_retry(text):
            return True
        return not all([self.retrying(line) for line in text.split("\n")])

    def _listen(
        self, splitter: LineSplitter, chunk: bytes, take: Callable[[Sequence[bytes]], bool]
    ) -> bool:
        raws = splitter.feed(chunk)
        alive = take(raws) if raws else False
        return alive or self.unfinished_is_life(splitter)

    def _complaints(self, raws: Sequence[bytes]) -> bool:
        return self.plain(raws, self.stderr)

    def retrying(self, line: str) -> bool:
        """True for a retry line, which is remembered as the last thing seen (A-6)."""
        if not is_retry(line):
            return False
        self.last_seen = line.strip()[:200]
        return True
