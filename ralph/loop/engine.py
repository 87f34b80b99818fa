"""Ask core for the next step, do it, record what came of it."""

from __future__ import annotations

from datetime import timedelta

import msgspec

from ralph.core import decide, judge, observe
from ralph.core.events import (
    AnyEvent,
    AttemptStarted,
    IterationObserved,
    Noted,
    Paused,
    PolicyChanged,
    Requested,
    RequestKind,
    RunEnded,
    Verified,
    WaitEnded,
    WaitReason,
    WaitStarted,
)
from ralph.core.facts import FailureClass, Tree
from ralph.core.fold import evolve
from ralph.core.live import Launch, Live, Slot
from ralph.core.outcome import Ending
from ralph.core.state import RunState
from ralph.core.terminal import terminal_record
from ralph.loop.world import World

POLL = 0.2  # seconds between two looks at requests while nothing runs
FRESH = 0.5  # seconds for which a look at the tree holds while nothing of ours runs


class Loop:
    """One run: a journal, one mutable cell (``state``), and the world around them."""

    def __init__(self, world: World, state: RunState) -> None:
        self.world = world
        self.state = state
        self._agent_ran = False
        self._looked: tuple[float, Tree | None] | None = None
        self._accept = False
        self._slot = Slot(taken=True, count=0)
        self._restored = 0
        self._told: set[str] = set()

    def run(self) -> RunEnded:
        """Go on until the run ends; every step is durable before the next one acts (X-5)."""
        while True:
            step = self._next()
            match step:
                case decide.End():
                    return self.end(step.ending, step.also)
                case decide.Judge():
                    self._judge()
                case decide.Verify():
                    self._verify(step.commands)
                case decide.Pause():
                    self._pause()
                case decide.Wait():
                    self._wait(step)
                case decide.Launch():
                    self._launch(step)

    def end(self, ending: Ending, also: tuple[str, ...] = ()) -> RunEnded:
        """Write the terminal record; the run is over (T-4)."""
        ended = terminal_record(self.state, ending, also, at=self.world.clock.now())
        self._record(ended)
        return ended

    def note(self, text: str, *, warning: bool = False) -> None:
        """Record something worth knowing that decides nothing (X-6)."""
        self._record(Noted(at=self.world.clock.now(), text=text, warning=warning))

    def _next(self) -> decide.Step:
        now = self.world.clock.now()
        agent, policy = self.state.started.agent, self.state.policy
        idle = self.state.pending is None
        if idle:
            self._degraded()
            self._reread()
            self._listen()
            self._slot = self.world.calls.look(agent, policy, now)
        resets_at = self.world.calls.reset_of(agent, now) if idle else None
        return decide.next_step(self.state, now=now, slot=self._slot, resets_at=resets_at)

    def _launch(self, step: decide.Launch) -> None:
        world = self.world
        text = world.prompts.compose(step.notes)
        plan = world.workspace.plan(self.state.plan_digest)
        tree = self._before() if step.attempt == 1 else self.state.before
        slot = world.calls.take(step.agent, self.state.policy, world.clock.now())
        if not slot.taken:
            return
        name = f"iterations/{step.iteration:04d}" + (f".{step.attempt}" * (step.attempt > 1))
        folder = world.folders.open(name, text)
        current = plan.plan or self.state.plan
        task = current.current if current else None
        self._record(
            AttemptStarted(
                at=world.clock.now(),
                iteration=step.iteration,
                attempt=step.attempt,
                agent=step.agent,
                folder=name,
                blocks=tuple(note.name for note in step.notes),
                prompt_bytes=len(text.encode(errors="surrogateescape")),
                task=task.id if task else "",
                tree=tree,
                plan=plan,
                by_person=observe.by_person(self.state.plan, plan),
                calls=slot.count,
                calls_limit=self.state.policy.rate.calls_per_hour,
            )
        )
        order = Launch(
            agent=step.agent,
            iteration=step.iteration,
            attempt=step.attempt,
            prompt=text,
            folder=str(folder),
            env=self._facts(step.iteration),
            constrained=step.constrained,
        )
        result = world.agents.run(order, self.state.policy, tick=self._live, say=world.view.say)
        self._agent_ran = True
        plan_after = world.workspace.plan(self.state.plan_digest)
        tree_after = world.workspace.snapshot() or self._again()
        self._looked = world.clock.monotonic(), tree_after
        before = self.state.before
        seen = observe.observe(
            self.state,
            result,
            ended_at=world.clock.now(),
            plan_after=plan_after,
            tree_after=tree_after,
            delta=world.workspace.delta(before, tree_after) if before and tree_after else None,
            read_only=step.read_only,
        )
        self._record(IterationObserved(at=world.clock.now(), seen=seen))
        self._settle(step.agent)

    def _before(self) -> Tree | None:
        """The tree as the agent finds it: the look of a moment ago, or a new one."""
        looked, self._looked = self._looked, None
        if looked is not None and self.world.clock.monotonic() - looked[0] < FRESH:
            return looked[1]
        return self.world.workspace.snapshot()

    def _again(self) -> Tree | None:
        """A second look at the tree: an agent's own git may have been in the way of the first."""
        self.world.clock.pause(POLL)
        return self.world.workspace.snapshot()

    def _settle(self, agent: str) -> None:
        """Tell the shared ledger what the attempt showed: turns, a usage limit's end."""
        world, retry = self.world, self.state.retry
        turns = self.state.pending.result.turns if self.state.pending else None
        if turns:
            world.calls.settle(agent, turns, world.clock.now())
        limited = retry is not None and retry.klass is FailureClass.USAGE_LIMIT
        if retry is not None and limited and retry.resets_at:
            world.calls.remember_reset(agent, retry.resets_at + timedelta(seconds=60))

    def _facts(self, iteration: int) -> dict[str, str]:
        """RALPH_* variables of one attempt (A-11)."""
        started = self.state.started
        chain = f"{started.chain}:{started.run_id}".strip(":")
        return {
            "RALPH_RUN_ID": started.run_id,
            "RALPH_ITERATION": str(iteration),
            "RALPH_MAX": str(self.state.cap or ""),
            "RALPH_PLAN": started.plan_path,
            "RALPH_PHASE": self.state.policy.phase,
            "RALPH_CHAIN": chain,
            "RALPH_DISPATCH_CEILING": "none",
        }

    def _verify(self, commands: tuple[str, ...]) -> None:
        self._looked = None
        results = self.world.verifier.run(commands, self.state.policy, tick=self._stop_wanted)
        iteration = self.state.pending.iteration if self.state.pending else 0
        self._record(Verified(at=self.world.clock.now(), iteration=iteration, results=results))

    def _judge(self) -> None:
        verdict = judge.judge(self.state, self.world.clock.now())
        self._record(verdict)
        for task in verdict.counted:
            self._looked = None
            facts = self._facts(verdict.iteration) | {"RALPH_TASK": task}
            problem = self.world.effects.task_done(self.state.policy, facts, self._stop_wanted)
            if problem:
                self.note(problem, warning=True)

    def _wait(self, step: decide.Wait) -> None:
        clock, self._looked = self.world.clock, None
        self._record(
            WaitStarted(
                at=clock.now(),
                reason=step.reason,
                until=step.until,
                detail=step.detail,
                probe=step.probe,
            )
        )
        how = "time"
        while how == "time" and clock.now() < step.until:
            clock.pause(min(POLL, (step.until - clock.now()).total_seconds()))
            asked = self._listen()
            how = next((kind for kind in asked if _ends_wait(kind, step.reason)), "time")
            self.world.view.tick()
        if how == RequestKind.SKIP_WAIT:
            self.world.calls.forget_reset(self.state.started.agent)
        self._record(WaitEnded(at=clock.now(), reason=step.reason, how=how))

    def _pause(self) -> None:
        if not self.state.paused:
            self._looked = None
            self._record(Paused(at=self.world.clock.now()))
        while self.state.paused and self.state.stop is None:
            self.world.clock.pause(POLL)
            self._listen()
            self.world.view.tick()

    def _live(self, live: Live) -> bool:
        self.world.view.live(live)
        return self._stop_wanted()

    def _stop_wanted(self) -> bool:
        self._listen()
        self.world.view.tick()
        return self.state.stop_now

    def _listen(self) -> list[RequestKind]:
        """Record what was asked since the last look; acting on it is core's."""
        asked = self.world.requests.poll()
        for request in asked:
            now = self.world.clock.now()
            kind = request.request
            if kind is RequestKind.PAUSE and (self.state.pause_wanted or self.state.paused):
                kind = RequestKind.CONTINUE
            self._record(Requested(at=now, request=kind, by=request.by))
            self._accept = self._accept or kind is RequestKind.ACCEPT
        return [request.request for request in asked]

    def _degraded(self) -> None:
        """Say once what does not work as it should (D6, F2)."""
        world = self.world
        for problem in (*world.workspace.problems, *world.calls.problems):
            if problem not in self._told:
                self._told.add(problem)
                self.note(problem, warning=True)

    def _reread(self) -> None:
        news = self.world.settings.reread(
            self.state.policy, agent_ran=self._agent_ran, accept=self._accept
        )
        self._agent_ran = self._accept = False
        if news.problem:
            self.note(f"configuration not applied: {news.problem}", warning=True)
        if news.policy is not None or news.held or news.fixed:
            policy = news.policy or self.state.policy
            self._record(
                PolicyChanged(
                    at=self.world.clock.now(),
                    policy=msgspec.to_builtins(policy),
                    applied=news.applied,
                    held=news.held,
                    fixed=news.fixed,
                )
            )

    def _record(self, event: AnyEvent) -> None:
        written = self.world.recorder.append(event)
        self.state = evolve(self.state, written)
        self.world.view.event(written)
        if self.world.recorder.restored > self._restored:
            self._restored = self.world.recorder.restored
            self.note("the run folder had vanished and was written again", warning=True)


def _ends_wait(kind: RequestKind, reason: WaitReason) -> bool:
    if kind is RequestKind.SKIP_WAIT:
        return reason is not WaitReason.RATE
    return kind in (RequestKind.STOP_NOW, RequestKind.STOP_AFTER, RequestKind.PAUSE)
