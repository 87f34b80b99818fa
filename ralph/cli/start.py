"""Start a run: check, lock, record, wire the rooms together, loop, and end in one state."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import msgspec

from ralph import __version__
from ralph.cli.asks import Ask, clock_time
from ralph.cli.screen import Screen, log_path
from ralph.core.events import RunEnded, RunStarted
from ralph.core.facts import PlanRead, PlanStatus
from ralph.core.fold import fold
from ralph.core.outcome import Ending, escalated, fallback
from ralph.core.policy import Policy
from ralph.core.state import begin
from ralph.core.terminal import terminal_record
from ralph.errors import RalphError, StorageError, UsageError
from ralph.loop.engine import Loop
from ralph.loop.world import World
from ralph.services import agent_room, runs, tree
from ralph.services.clock import SystemClock
from ralph.services.inbox import Inbox
from ralph.services.init import untouched
from ralph.services.iterations import IterationFolders
from ralph.services.journal import Journal
from ralph.services.ledger import CallWindow
from ralph.services.leftovers import end_leftovers
from ralph.services.locks import TreeLock, this_host
from ralph.services.places import state_home
from ralph.services.prompts import PromptFile, heading
from ralph.services.requests import AllRequests
from ralph.services.settings import LiveSettings, Loaded, load
from ralph.services.side_effects import TaskHook
from ralph.services.signals import Signals
from ralph.services.verify import VerifyRoom
from ralph.services.works import Work, work_of


@dataclass(frozen=True)
class Grounds:
    """What a run stands on once everything that can be refused has been checked."""

    root: Path
    loaded: Loaded
    prompt: Path
    plan_path: Path
    worktree: tree.WorkTree
    plan: PlanRead
    work: Work
    now: datetime
    deadline: datetime | None

    @property
    def policy(self) -> Policy:
        """The effective policy at the start."""
        return self.loaded.policy


def start(ask: Ask, root: Path) -> int:
    """Run the loop as asked and return the exit code of its one terminal state (T-1).

    Raises:
        RalphError: what is refused before a run exists: usage, configuration, a locked tree, a
            nested run (exit 2).
    """
    clock = SystemClock()
    refuse_nested(ask)
    run_id = runs.new_run_id(clock.now())
    with ExitStack() as stack:
        lock = TreeLock.take(root, run_id)
        stack.callback(lock.close)
        runs.refuse_beside(root)
        for crashed in runs.close_crashed(root, clock.now()):
            Screen.say_aloud(f"run {crashed.run_id} had died; closed as {crashed.ending.state}")
        if left := end_leftovers(root):
            Screen.say_aloud(f"a run that died had left processes, ended now: {', '.join(left)}")
        grounds = prepare(ask, root, clock.now())
        stack.callback(grounds.worktree.close)
        journal = Journal.create(runs.run_path(root, run_id))
        stack.callback(journal.close)
        signals = stack.enter_context(Signals())
        started = _started(ask, grounds, run_id, journal.folder)
        journal.append(started)
        screen = stack.enter_context(Screen.of(started, grounds.worktree.event, plain=ask.plain))
        screen.event(started)
        loop = _loop(started, grounds, journal, signals, screen, lock)
        ended = finish(loop, grounds, ask)
        screen.finish(ended)
    return ended.ending.exit_code


def refuse_nested(ask: Ask) -> None:
    """Refuse a run inside an agent of a run (T-14, A20).

    Raises:
        UsageError: unless it was allowed.
    """
    outer = os.environ.get("RALPH_RUN_ID", "")
    if outer and not ask.allow_nested:
        raise UsageError(
            f"this is inside run {outer}: a run does not start another one",
            hint="--allow-nested lets it, and counts against the same call window",
        )


def prepare(ask: Ask, root: Path, now: datetime) -> Grounds:
    """Check everything that is refused before a run exists (T-1, L-31)."""
    deadline = clock_time(ask.until, now) if ask.until else None
    loaded = load(root, prompt=ask.prompt, flags=ask.flags, environ=os.environ)
    policy = loaded.policy
    prompt = ask.prompt or root / policy.prompt
    if not prompt.is_file():
        raise UsageError(f"no prompt file at {prompt}", hint="ralph init writes one")
    plan_path = root / policy.plan.file
    worktree = tree.WorkTree(
        root,
        state=state_home(),
        plan=plan_path,
        ignore=policy.progress.ignore,
        optional_sections=policy.plan.optional_sections,
    )
    plan = worktree.plan()
    named = loaded.sources.get("plan.file", "built-in") != "built-in"
    if plan.status is PlanStatus.NO_TASKS and named and not ask.allow_no_tasks:
        raise UsageError(
            f"{plan_path} has text but not one task",
            hint='a task is a line like "- [ ] AB-1 write the parser"; --allow-no-tasks runs it',
        )
    if plan.status in (PlanStatus.UNREADABLE, PlanStatus.BROKEN) and named:
        raise UsageError(f"{plan_path}: {plan.detail}", hint="mend the plan, or name another")
    base = policy.work or runs.work_base(root, prompt, plan_path)
    work = work_of(root, base, plan.plan)
    return Grounds(root, loaded, prompt, plan_path, worktree, plan, work, now, deadline)


def _started(ask: Ask, grounds: Grounds, run_id: str, folder: Path) -> RunStarted:
    policy, root = grounds.policy, grounds.root
    tree.prepare(root)
    snapshot = grounds.worktree.snapshot()
    title = grounds.plan.plan.title if grounds.plan.plan else ""
    return RunStarted(
        at=grounds.now,
        run_id=run_id,
        work_id=grounds.work.work_id,
        parent_run_id=ask.parent,
        root=str(root),
        prompt=_short(grounds.prompt, root),
        plan_path=_short(grounds.plan_path, root),
        agent=policy.agent.use,
        argv=agent_room.describe(policy),
        model=policy.agent.model,
        max=policy.max,
        phase=policy.phase,
        title=title or heading(grounds.prompt.read_text(errors="replace")),
        command_line=_plain(ask.flags | {"until": ask.until}),
        policy=msgspec.to_builtins(policy),
        started_plan=grounds.plan,
        started_tree=snapshot,
        dirty=grounds.worktree.dirty(),
        carried=grounds.work.carried(reason=ask.parent is not None),
        deadline=grounds.deadline,
        log=str(log_path(folder, grounds.now)),
        host=this_host(),
        pid=os.getpid(),
        version=__version__,
        chain=os.environ.get("RALPH_CHAIN", ""),
    )


def _plain(flags: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in flags.items() if value is not None}


def _short(path: Path, root: Path) -> str:
    try:
        return str(path.resolve().relative_to(root.resolve()))
    except ValueError:
        return str(path)


def _loop(
    started: RunStarted,
    grounds: Grounds,
    journal: Journal,
    signals: Signals,
    screen: Screen,
    lock: TreeLock,
) -> Loop:
    root, worktree = grounds.root, grounds.worktree
    world = World(
        clock=SystemClock(),
        agents=agent_room.AgentRoom(
            root,
            run_id=started.run_id,
            hold=lock.fd,
            base_env=os.environ,
            markers=grounds.policy.completion.markers,
        ),
        workspace=worktree,
        calls=CallWindow(root),
        verifier=VerifyRoom(
            root,
            run_id=started.run_id,
            snapshot=worktree.snapshot,
            changed=worktree.changed,
        ),
        recorder=journal,
        folders=IterationFolders(journal.folder),
        settings=LiveSettings(grounds.loaded),
        requests=AllRequests(signals, Inbox(journal.folder), screen.keys),
        prompts=PromptFile(grounds.prompt, grounds.policy.completion.markers),
        effects=TaskHook(root),
        view=screen,
    )
    return Loop(world, begin(started))


def finish(loop: Loop, grounds: Grounds, ask: Ask) -> RunEnded:
    """Run ``loop`` to its terminal record, whatever happens on the way (T-2, X-6, F2)."""
    try:
        for note in grounds.loaded.notes:
            loop.note(note)
        if untouched(grounds.prompt):
            loop.note(f"{grounds.prompt.name} is as `ralph init` wrote it", warning=True)
        if ask.forget_reset:
            loop.world.calls.forget_reset(loop.state.started.agent)
        missing = agent_room.preflight(
            grounds.policy, grounds.policy.agent.use, os.environ, root=grounds.root
        )
        if missing:
            return loop.end(fallback("agent_unavailable", missing))
        return loop.run()
    except StorageError as error:
        loop.world.recorder.spend_reserve()
        reason = "disk_full" if error.full else "internal_error"
        return _end(loop, escalated(reason, error.message))
    except RalphError as error:
        return _end(loop, escalated("internal_error", error.message))
    except Exception as error:  # noqa: BLE001 - a bug must still end in one truthful state (X-6)
        from ralph.cli.front import keep_crash

        path = keep_crash(error, loop.world.folders.base)
        detail = f"{type(error).__name__}: {error}; details in {path}"
        return _end(loop, escalated("internal_error", detail))


def _end(loop: Loop, ending: Ending) -> RunEnded:
    """End the run; when not even that can be written, say so: the next command closes it (T-2)."""
    try:
        return loop.end(ending)
    except StorageError as error:
        Screen.say_aloud(f"the end of the run could not be recorded: {error.message}")
        return terminal_record(loop.state, ending, (), at=loop.world.clock.now())


def resumable(root: Path, run: str | None, *, force: bool) -> RunStarted:
    """The run that a resume goes on from: the newest of its work (T-6, F10).

    Raises:
        RalphError: if there is none, or its work is RESOLVED and ``force`` is not set.
    """
    found = runs.find(root, run)
    newest = runs.newest_of_work(root, found.started().work_id) or found
    state = fold(newest.events())
    if state.ended is not None and state.ended.ending.resolved and not force:
        raise UsageError(
            f"run {state.started.run_id} is RESOLVED: there is nothing to go on with",
            hint="ralph run starts new work; --force goes on all the same",
        )
    return state.started
