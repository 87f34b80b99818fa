"""What the services report upward: frozen facts without opinion.

Times are UTC-aware ``datetime``, durations ``float`` seconds, sizes bytes, money integer
micro-dollars. ``None`` means unknown, which is never zero (C-5).
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

import msgspec


class Fact(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Base of every fact; values that equal their default are left out of the journal."""


class Outcome(StrEnum):
    """What came of one attempt, as the counters see it (C-4)."""

    OK = "ok"
    AGENT_ERROR = "agent_error"
    TIMEOUT = "timeout"
    INFRA_ERROR = "infra_error"
    KILLED = "killed"
    LAUNCH_ERROR = "launch_error"


class FailureClass(StrEnum):
    """One class per invocation (A-4)."""

    OK = "ok"
    USAGE_LIMIT = "usage_limit"
    OVERLOADED = "overloaded"
    NETWORK = "network"
    AUTH = "auth"
    BILLING = "billing"
    BAD_INVOCATION = "bad_invocation"
    CONTEXT_FULL = "context_full"
    REFUSED = "refused"
    NEEDS_INPUT = "needs_input"
    MAX_TURNS = "max_turns"
    TIMEOUT = "timeout"
    IDLE = "idle"
    KILLED = "killed"
    CRASH = "crash"
    EMPTY_FAST = "empty_fast"
    LAUNCH_ERROR = "launch_error"


class EndedBy(StrEnum):
    """Why the agent's process is gone; noted before any signal was sent (A-3)."""

    EXIT = "exit"  # by itself
    HARD = "hard"  # agent.timeout
    IDLE = "idle"  # agent.idle_timeout
    LINGER = "linger"  # outlived its result record
    STOP = "stop"  # a person or a signal asked for it
    REPEAT = "repeat"  # breaker.live_repeat (C-3)
    LAUNCH = "launch"  # could not be started


class Usage(Fact, frozen=True, kw_only=True):
    """Tokens and money of one attempt; each part unknown on its own (A-9)."""

    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    cost: int | None = None  # micro-dollars

    @property
    def total(self) -> int | None:
        """All four kinds of token, or None when none of them is known."""
        return _sum(self.input, self.output, self.cache_read, self.cache_write)

    @property
    def billed(self) -> int | None:
        """Input, output and cache writes, the tokens that limits count (K-5); None when unknown."""
        return _sum(self.input, self.output, self.cache_write)

    def plus(self, other: Usage | None) -> Usage:
        """Sum part by part; an unknown part adds nothing, and stays unknown only if both are."""
        if other is None:
            return self
        return Usage(
            **{
                name: _sum(getattr(self, name), getattr(other, name))
                for name in self.__struct_fields__
            }
        )


def _sum(*parts: int | None) -> int | None:
    known = [part for part in parts if part is not None]
    return sum(known) if known else None


class Tools(Fact, frozen=True, kw_only=True):
    """The tool calls of one attempt, condensed (B-6, L-16, A-10)."""

    calls: int = 0
    failed: int = 0
    writes: int = 0  # calls that can write files
    subagents: int = 0
    keys: tuple[str, ...] = ()  # distinct call keys without results, 12 hex digits, at most 1,000
    longest_run: int = 0  # identical consecutive calls, results included where seen
    longest_run_name: str = ""
    few_distinct: int = 0  # longest stretch from at most 3 keys without a writing call
    last_failed: str = ""  # name of a tool whose last call failed, "" when it recovered


class ApiErrors(Fact, frozen=True, kw_only=True):
    """Provider errors and retries inside one attempt, in order (B-7)."""

    before_success: int = 0  # errors before the first successful answer
    peak_after: int = 0  # longest run after it
    at_end: int = 0  # run still open at the end
    succeeded: bool = False  # at least one successful answer or tool call


class Limit(Fact, frozen=True, kw_only=True):
    """A provider's usage limit (A-5). ``resets_at`` is None when no instant was given."""

    kind: str
    resets_at: datetime | None = None
    sentence: str = ""


class AgentResult(Fact, frozen=True, kw_only=True):
    """Everything one invocation of an agent tells, before the tree is looked at (A-2 to A-10)."""

    klass: FailureClass
    ended_by: EndedBy = EndedBy.EXIT
    detail: str = ""
    exit_code: int | None = None
    signal: int | None = None  # from the wait status, never from a code above 128
    seconds: float = 0.0
    cpu_seconds: float | None = None
    structured: bool = False  # only assistant text is in final_text; nothing to un-echo
    final_text: str = ""  # of the last result; at most the last 256 KiB
    error_text: str = ""  # what L-19 normalises; "" when there is none
    usage: Usage | None = None
    model: str = ""
    session_id: str = ""
    turns: int | None = None
    tools: Tools | None = None
    api: ApiErrors = ApiErrors()
    velocity: float | None = None  # highest output tokens per minute seen (B-10)
    limit: Limit | None = None
    denied: tuple[str, ...] = ()  # commands or tools that the agent was refused
    contradictions: tuple[str, ...] = ()
    survivors: tuple[str, ...] = ()  # processes it left, ended by us: "name (pid)"
    last_seen: str = ""  # for silence: "retry 3/10, HTTP 429"
    stdout_bytes: int = 0
    stderr_bytes: int = 0


class Task(Fact, frozen=True, kw_only=True):
    """One checkbox (L-11). ``id`` is unique within its plan."""

    id: str
    text: str
    section: str = ""
    done: bool = False
    blocked: bool = False
    optional: bool = False


class Plan(Fact, frozen=True, kw_only=True):
    """A parsed plan: title and tasks in order of appearance (L-11)."""

    title: str = ""
    tasks: tuple[Task, ...] = ()

    @property
    def done(self) -> int:
        """Number of done tasks."""
        return sum(task.done for task in self.tasks)

    @property
    def open(self) -> tuple[Task, ...]:
        """Tasks that stand against a claim: not done, not optional; blocked ones count (L-32)."""
        return tuple(task for task in self.tasks if not task.done and not task.optional)

    @property
    def current(self) -> Task | None:
        """First open task that is not blocked, optional ones last; None when there is none."""
        ready = [task for task in self.tasks if not task.done and not task.blocked]
        return next((task for task in ready if not task.optional), ready[0] if ready else None)


class PlanStatus(StrEnum):
    """What was found at the plan's path (C6, C7, L-31)."""

    OK = "ok"
    NO_TASKS = "no_tasks"
    BLANK = "blank"
    MISSING = "missing"
    UNREADABLE = "unreadable"  # a directory, no permission, too large
    BROKEN = "broken"  # prd.json that does not parse


class PlanRead(Fact, frozen=True, kw_only=True):
    """One look at the plan file. ``plan`` is None unless status is OK or NO_TASKS."""

    status: PlanStatus
    digest: str = ""  # of the bytes; "" when nothing was read
    plan: Plan | None = None
    detail: str = ""


class PlanDelta(Fact, frozen=True, kw_only=True):
    """What changed between two plans, by task id of the later one (L-11, L-13, C5)."""

    completed: tuple[str, ...] = ()  # matched, was open, is done
    unticked: tuple[str, ...] = ()  # matched, was done, is open
    added: tuple[str, ...] = ()  # new and open
    added_done: tuple[str, ...] = ()  # first seen ticked: never progress
    removed: tuple[str, ...] = ()  # ids of the earlier plan
    renamed: dict[str, str] = {}  # earlier id -> later id, where they differ


class Tree(Fact, frozen=True, kw_only=True):
    """One content snapshot of the working tree (L-14).

    ``id`` covers what counts as progress; ``full`` is the object to restore files from (L-33).
    """

    id: str
    full: str = ""
    head: str = ""
    branch: str = ""


class TreeDelta(Fact, frozen=True, kw_only=True):
    """Difference of two snapshots, excluded files left out; lines of binary files count 0."""

    files: int = 0
    added: int = 0
    deleted: int = 0
    hash: str = ""
    paths: tuple[str, ...] = ()  # at most 200, sorted


class VerifyResult(Fact, frozen=True, kw_only=True):
    """One verify command run to its verdict; ``passed`` None means no verdict (M-2, T-17)."""

    command: str
    passed: bool | None
    exit_code: int | None = None
    seconds: float = 0.0
    detail: str = ""
    output: str = ""  # last 4 KiB, ANSI removed
    reran: bool = False
    drafted: tuple[str, ...] = ()  # existing files it changed: verdict void
    leftovers: tuple[str, ...] = ()  # new untracked files it left


class ClaimKind(StrEnum):
    """What the final text says about being done (L-6)."""

    NONE = "none"
    MENTION = "mention"
    SIGNAL = "signal"


class Claim(Fact, frozen=True, kw_only=True):
    """Completion markers found in one final text (L-6)."""

    kind: ClaimKind = ClaimKind.NONE
    markers: tuple[str, ...] = ()


class Observation(Fact, frozen=True, kw_only=True):
    """One attempt as it was observed: facts only, no opinion (C-4)."""

    iteration: int
    attempt: int
    agent: str
    started_at: datetime
    ended_at: datetime
    outcome: Outcome
    result: AgentResult  # final_text and error_text emptied: output lives in the folder
    folder: str
    claim: Claim = Claim()
    summary: str = ""  # the agent's last line
    question: str = ""
    text_digest: str = ""  # of the normalised final text (L-15)
    had_text: bool = False
    task: str = ""  # id of the first open task when it began
    plan: PlanRead | None = None  # after; ``plan.plan`` is None when the digest did not change
    plan_delta: PlanDelta = PlanDelta()
    tree: Tree | None = None  # after
    delta: TreeDelta | None = None
    signature: str | None = None
    error: str = ""  # first line of the error text, at most 300 characters
    read_only: bool = False
