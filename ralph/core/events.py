"""What can happen to a run, as frozen facts in the past tense; one journal line each (10.1).

``seq`` is given by the journal: 0 before it is written, then 1, 2, 3 ... without a gap.
Unknown fields of a newer ralph are ignored on reading; unknown kinds are an error (X-5).
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

import msgspec

from ralph.core.facts import Fact, Observation, PlanRead, Tree, Usage, VerifyResult
from ralph.core.outcome import Ending

JOURNAL_VERSION = 1


class Level(StrEnum):
    """The ladder, in order (B-1)."""

    HEALTHY = "healthy"
    STEERING = "steering"
    CONSTRAINED = "constrained"
    STOPPED = "stopped"

    @property
    def rank(self) -> int:
        """0 for healthy to 3 for stopped."""
        return _ORDER.index(self)

    @classmethod
    def of(cls, rank: int) -> Level:
        """The level with this rank, clamped to 0..3."""
        return _ORDER[min(max(rank, 0), len(_ORDER) - 1)]


_ORDER = tuple(Level)


class Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", gc=False):
    """Base of every event: version, sequence number and UTC time."""

    at: datetime
    v: int = JOURNAL_VERSION
    seq: int = 0


class Carried(Fact, frozen=True, kw_only=True):
    """What one run of a work hands to the next (T-6, M-8)."""

    counted: tuple[str, ...] = ()  # task ids whose tick has counted in this work
    known: tuple[str, ...] = ()  # every task id ever seen in this work
    unproven: tuple[str, ...] = ()
    tree_since_tick: bool = False
    stop_reason: str = ""  # goes into the first prompt of a resumed run


class RunStarted(Event, frozen=True, kw_only=True, tag="run_started"):
    """A run exists: who, where, with what (C-1, L-4, L-34)."""

    run_id: str
    work_id: str
    parent_run_id: str | None = None
    root: str
    prompt: str  # path as given, relative to root where inside it
    plan_path: str
    agent: str
    argv: tuple[str, ...] = ()  # shown in the banner; no prompt text in it
    model: str = ""
    max: int | None = None
    phase: str = ""
    title: str = ""  # plan title, else first heading of the prompt (10.4)
    command_line: dict[str, Any] = {}  # values that carry over to a resume (L-4)
    policy: dict[str, Any] = {}  # the whole effective policy, as ralph.toml spells it
    started_plan: PlanRead | None = None
    started_tree: Tree | None = None
    dirty: bool = False
    carried: Carried = Carried()
    deadline: datetime | None = None  # no launch after it (L-34)
    log: str = ""
    host: str = ""
    pid: int = 0
    version: str = ""
    chain: str = ""  # RALPH_CHAIN of a run started inside an agent (T-14)


class AttemptStarted(Event, frozen=True, kw_only=True, tag="attempt_started"):
    """A launch was counted and paid for; written before the agent starts (X-1, C-2)."""

    iteration: int
    attempt: int
    agent: str
    folder: str  # relative to the run folder: iterations/0007 or iterations/0007.2
    blocks: tuple[str, ...] = ()  # names of the blocks put before the prompt
    prompt_bytes: int = 0
    task: str = ""
    tree: Tree | None = None
    plan: PlanRead | None = None  # ``plan.plan`` None when unchanged since last seen
    by_person: tuple[str, ...] = ()  # plan changes made while no agent was running (B10)
    calls: int = 0  # of the hour, this one included
    calls_limit: int = 0


class IterationObserved(Event, frozen=True, kw_only=True, tag="iteration_observed"):
    """An attempt is over; facts only."""

    seen: Observation


class Verified(Event, frozen=True, kw_only=True, tag="verified"):
    """The verify commands ran for one iteration (T-17)."""

    iteration: int
    results: tuple[VerifyResult, ...]


class Counters(Fact, frozen=True, kw_only=True):
    """Every counter of a run, carried whole by each verdict so that a reader needs one line."""

    iterations: int = 0  # judged
    calls: int = 0  # launches of this run
    no_progress: int = 0
    exploring: int = 0  # uncounted since the last progress (L-16)
    same_error: int = 0
    signature: str | None = None  # of the last evaluated iteration
    error_text: str = ""  # its first line
    failing_streak: int = 0
    churn: int = 0
    completion: int = 0
    refuted: int = 0  # refuted confirmations since the last plan or marker progress (L-9)
    verdicts: int = 0  # failing verify verdicts since that progress (L-9)
    told: tuple[str, ...] = ()  # tasks | evidence | verify: what refuted since that progress
    refuted_passing: int = 0  # verify commands that passed at the last refutation
    beats: int = 0  # no_progress_beats (B-11)
    api_errors: int = 0  # consecutive, carried (B-7)
    refusals: int = 0  # iterations in a row with class refused
    ticks: int = 0  # tasks that became done and counted, in this run
    tree_changes: int = 0  # iterations with tree progress, in this run
    verifies: int = 0  # verify commands that passed, in this run
    contradictions: int = 0
    usage: Usage = Usage()  # sum of what is known
    turns: int = 0
    tasks_done: int = 0
    tasks_total: int = 0
    tasks_open: int = 0
    task: str = ""  # current task after this iteration
    level: Level = Level.HEALTHY


class Note(Fact, frozen=True, kw_only=True):
    """One thing the next prompt has to say (X-1): ``name`` of the block and its values."""

    name: str
    values: dict[str, str] = {}


class IterationJudged(Event, frozen=True, kw_only=True, tag="iteration_judged"):
    """The one verdict on an iteration: counters, level, reasons, and the end if it is one."""

    iteration: int
    counters: Counters
    progress: tuple[str, ...] = ()  # plan, tree, marker
    counted: tuple[str, ...] = ()  # task ids whose tick counts now
    unproven: tuple[str, ...] = ()  # all that are unproven now
    tree_since_tick: bool = False
    exploring: bool = False
    level_before: Level = Level.HEALTHY
    level_action: str = "none"  # none | steer | constrain | stop (B-5)
    level_reason: str = ""
    trips: tuple[str, ...] = ()  # every true condition, first one is the reason
    notes: tuple[Note, ...] = ()  # for the next prompt
    lines: tuple[str, ...] = ()  # what the log says of it, in order
    ending: Ending | None = None
    also: tuple[str, ...] = ()


class WaitReason(StrEnum):
    """Why nothing runs at the moment (X-1)."""

    RATE = "rate"  # L-21
    BACKOFF = "backoff"
    RESET = "reset"
    DELAY = "delay"  # B-17


class WaitStarted(Event, frozen=True, kw_only=True, tag="wait_started"):
    """A pause with a known end; a restarted run goes on with it (A-5)."""

    reason: WaitReason
    until: datetime
    detail: str = ""
    probe: bool = False  # no instant was stated: ``until`` is a guess


class WaitEnded(Event, frozen=True, kw_only=True, tag="wait_ended"):
    """``how``: time, or the kind of request that ended it."""

    reason: WaitReason
    how: str = "time"


class RequestKind(StrEnum):
    """What a person or the machine asks of a running ralph."""

    STOP_AFTER = "stop_after"
    STOP_NOW = "stop_now"
    PAUSE = "pause"
    CONTINUE = "continue"
    SKIP_WAIT = "skip_wait"
    ACCEPT = "accept"  # confirm held configuration changes (B-20)


class Requested(Event, frozen=True, kw_only=True, tag="requested"):
    """``by``: key, command, or the signal's name (SIGINT, SIGTERM, SIGHUP)."""

    request: RequestKind
    by: str


class Paused(Event, frozen=True, kw_only=True, tag="paused"):
    """The pause took effect: no launch until a continue or stop request."""


class PolicyChanged(Event, frozen=True, kw_only=True, tag="policy_changed"):
    """ralph.toml changed during the run (B-20); each value is ``[old, new]`` as spelled there."""

    policy: dict[str, Any]  # in force from now on
    applied: dict[str, list[Any]] = {}
    held: dict[str, list[Any]] = {}  # loosened while the agent ran: waits for a person
    fixed: dict[str, list[Any]] = {}  # takes effect with the next run


class Noted(Event, frozen=True, kw_only=True, tag="noted"):
    """A degraded check, a warning or a side effect's failure, for log and report (X-6)."""

    text: str
    warning: bool = False


class RunEnded(Event, frozen=True, kw_only=True, tag="run_ended"):
    """The terminal record: last, once (T-3, T-4)."""

    run_id: str
    work_id: str
    ending: Ending
    counters: Counters
    iteration: int = 0
    max: int | None = None
    interrupted_iteration: int | None = None  # was in flight when the supervisor died
    last_task: str = ""
    also: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()
    question: str = ""
    actions: tuple[str, ...] = ()  # last three, "action -> outcome" (T-3)
    resume: str = ""  # the command to go on with
    log: str = ""
    seconds: float = 0.0


AnyEvent = (
    RunStarted
    | AttemptStarted
    | IterationObserved
    | Verified
    | IterationJudged
    | WaitStarted
    | WaitEnded
    | Requested
    | Paused
    | PolicyChanged
    | Noted
    | RunEnded
)
