"""Drive the pure core through a history of iterations, without any process or file."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
from msgspec.structs import replace

from ralph.core import decide
from ralph.core.events import (
    AnyEvent,
    AttemptStarted,
    Carried,
    IterationJudged,
    IterationObserved,
    Requested,
    RequestKind,
    RunStarted,
    Verified,
    WaitEnded,
    WaitStarted,
)
from ralph.core.facts import (
    AgentResult,
    ApiErrors,
    Claim,
    ClaimKind,
    EndedBy,
    FailureClass,
    Limit,
    Observation,
    Outcome,
    Plan,
    PlanDelta,
    PlanRead,
    PlanStatus,
    Task,
    Tools,
    Tree,
    TreeDelta,
    Usage,
    VerifyResult,
)
from ralph.core.fold import evolve
from ralph.core.judge import judge
from ralph.core.live import Slot
from ralph.core.outcome import Ending
from ralph.core.policy import Policy
from ralph.core.state import RunState, begin
from ralph.core.terminal import terminal_record

START = datetime(2026, 11, 30, 22, 0, tzinfo=UTC)
FREE = Slot(taken=True, count=0)

INFRA = {FailureClass.OVERLOADED, FailureClass.NETWORK, FailureClass.USAGE_LIMIT}


def plan_of(*names: str, done: tuple[str, ...] = (), blocked: tuple[str, ...] = ()) -> Plan:
    """A plan whose task ids are its texts."""
    return Plan(
        title="Plan",
        tasks=tuple(
            Task(id=n, text=n, done=n in done, blocked=n in blocked, section="") for n in names
        ),
    )


def read_of(plan: Plan | None) -> PlanRead:
    if plan is None:
        return PlanRead(status=PlanStatus.MISSING)
    digest = str(hash(plan))
    status = PlanStatus.OK if plan.tasks else PlanStatus.NO_TASKS
    return PlanRead(status=status, digest=digest, plan=plan)


def outcome_of(klass: FailureClass) -> Outcome:
    if klass in INFRA:
        return Outcome.INFRA_ERROR
    if klass in (FailureClass.TIMEOUT, FailureClass.IDLE):
        return Outcome.TIMEOUT
    if klass is FailureClass.LAUNCH_ERROR:
        return Outcome.LAUNCH_ERROR
    if klass is FailureClass.KILLED:
        return Outcome.KILLED
    good = (FailureClass.OK, FailureClass.NEEDS_INPUT)
    return Outcome.OK if klass in good else Outcome.AGENT_ERROR


class Play:
    """One run, judged by the real core, observed by the test."""

    def __init__(
        self,
        *,
        plan: Plan | None = None,
        cap: int | None = 20,
        carried: Carried | None = None,
        tree: str | None = "t0",
        **sections: dict[str, object],
    ) -> None:
        spelled = msgspec.to_builtins(Policy())
        for name, values in sections.items():
            spelled[name].update(values)
        spelled["max"] = cap
        self.now = START
        self.serial = 0
        self.plan = plan
        self.tree = tree
        self.events: list[AnyEvent] = []
        self.state: RunState = begin(
            self._written(
                RunStarted(
                    at=START,
                    run_id="r1",
                    work_id="w1",
                    root="/r",
                    prompt="PROMPT.md",
                    plan_path="IMPLEMENTATION_PLAN.md",
                    agent="claude",
                    max=cap,
                    policy=spelled,
                    started_plan=read_of(plan),
                    started_tree=Tree(id=tree) if tree else None,
                    carried=carried or Carried(),
                )
            )
        )
        self.verdicts: list[IterationJudged] = []

    def _written(self, event: AnyEvent) -> AnyEvent:
        self.serial += 1
        event = replace(event, seq=self.serial)
        self.events.append(event)
        return event

    def record(self, event: AnyEvent) -> None:
        self.state = evolve(self.state, self._written(event))

    def later(self, seconds: float) -> datetime:
        self.now += timedelta(seconds=seconds)
        return self.now

    def step(self, slot: Slot = FREE, resets_at: datetime | None = None) -> decide.Step:
        return decide.next_step(self.state, now=self.now, slot=slot, resets_at=resets_at)

    def skip_delay(self) -> decide.Step:
        """The next step after any wait is over."""
        step = self.step()
        while isinstance(step, decide.Wait):
            self.record(WaitStarted(at=self.now, reason=step.reason, until=step.until))
            self.now = step.until
            self.record(WaitEnded(at=self.now, reason=step.reason))
            step = self.step()
        return step

    def request(self, kind: RequestKind, by: str = "key") -> None:
        self.record(Requested(at=self.now, request=kind, by=by))

    def launch(self) -> decide.Launch:
        step = self.skip_delay()
        assert isinstance(step, decide.Launch), step
        self.record(
            AttemptStarted(
                at=self.later(1),
                iteration=step.iteration,
                attempt=step.attempt,
                agent=step.agent,
                folder=f"iterations/{step.iteration:04d}",
                blocks=tuple(note.name for note in step.notes),
                task=self.plan.current.id if self.plan and self.plan.current else "",
                tree=Tree(id=self.tree) if self.tree else None,
                plan=read_of(self.plan),
            )
        )
        return step

    def observe(
        self,
        *,
        tick: tuple[str, ...] | str = (),
        untick: tuple[str, ...] | str = (),
        plan: Plan | None = None,
        delta: PlanDelta | None = None,
        tree: str | bool = False,
        klass: FailureClass = FailureClass.OK,
        ended_by: EndedBy = EndedBy.EXIT,
        signal: bool = False,
        mention: bool = False,
        error: str | None = None,
        text: str = "worked",
        tools: Tools | None = None,
        api: ApiErrors | None = None,
        usage: Usage | None = None,
        velocity: float | None = None,
        resets_at: datetime | None = None,
        question: str = "",
        detail: str = "",
        read_only: bool = False,
        seconds: float = 30,
    ) -> Observation:
        """One attempt's observation; ``tree=True`` is new content, a string names a content."""
        ticks = (tick,) if isinstance(tick, str) else tick
        unticks = (untick,) if isinstance(untick, str) else untick
        if plan is not None:
            self.plan = plan
        elif (ticks or unticks) and self.plan:
            done = ({t.id for t in self.plan.tasks if t.done} | set(ticks)) - set(unticks)
            blocked = tuple(t.id for t in self.plan.tasks if t.blocked)
            self.plan = plan_of(*(t.id for t in self.plan.tasks), done=tuple(done), blocked=blocked)
        if tree is True:
            self.tree = f"t{len(self.events)}"
        elif isinstance(tree, str):
            self.tree = tree
        kind = ClaimKind.SIGNAL if signal else ClaimKind.MENTION if mention else ClaimKind.NONE
        flight = self.state.flight
        assert flight is not None
        seen = Observation(
            iteration=flight.iteration,
            attempt=flight.attempt,
            agent=flight.agent,
            started_at=flight.at,
            ended_at=self.later(seconds),
            outcome=outcome_of(klass),
            result=AgentResult(
                klass=klass,
                ended_by=ended_by,
                tools=tools,
                api=api or ApiErrors(succeeded=True),
                usage=usage,
                velocity=velocity,
                detail=detail,
                limit=Limit(kind="session", resets_at=resets_at)
                if klass is FailureClass.USAGE_LIMIT
                else None,
            ),
            folder=flight.folder,
            claim=Claim(kind=kind),
            text_digest=text,
            had_text=bool(text),
            plan=read_of(self.plan),
            plan_delta=delta or PlanDelta(completed=ticks, unticked=unticks),
            tree=Tree(id=self.tree) if self.tree else None,
            delta=TreeDelta(files=1, added=10) if tree else TreeDelta(),
            signature=error,
            error=error or "",
            question=question,
            read_only=read_only,
        )
        self.record(IterationObserved(at=self.now, seen=seen))
        return seen

    def judge(self, verified: dict[str, bool | None] | None = None) -> IterationJudged:
        step = self.step()
        if isinstance(step, decide.Verify):
            results = tuple(
                VerifyResult(command=c, passed=(verified or {}).get(c, True), output=f"{c} said")
                for c in step.commands
            )
            self.record(
                Verified(at=self.now, iteration=self.state.pending.iteration, results=results)
            )
            step = self.step()
        assert isinstance(step, decide.Judge), step
        verdict = judge(self.state, self.now)
        self.record(verdict)
        self.verdicts.append(verdict)
        return verdict

    def beat(
        self, verified: dict[str, bool | None] | None = None, **seen: object
    ) -> IterationJudged:
        """Launch, observe and judge one iteration."""
        self.launch()
        self.observe(**seen)  # type: ignore[arg-type]
        return self.judge(verified)

    def end(self) -> Ending:
        """The end that comes next; fails when the run would go on."""
        step = self.skip_delay()
        assert isinstance(step, decide.End), step
        self.record(terminal_record(self.state, step.ending, step.also, at=self.now))
        return step.ending

    @property
    def levels(self) -> list[str]:
        return [verdict.counters.level.value for verdict in self.verdicts]

    def counts(self, name: str) -> list[int]:
        return [getattr(verdict.counters, name) for verdict in self.verdicts]


H, ST, CO, STOPPED = "healthy", "steering", "constrained", "stopped"
