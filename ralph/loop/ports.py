"""The few things the loop needs from the world; services satisfy them, ``cli`` wires them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Protocol

from ralph.core.events import AnyEvent, Note
from ralph.core.facts import AgentResult, PlanRead, Tree, TreeDelta, VerifyResult
from ralph.core.live import Launch, Live, PolicyNews, Request, Slot
from ralph.core.policy import Policy


class Clock(Protocol):
    """Wall time for when, monotonic time for how long (C-7)."""

    def now(self) -> datetime: ...
    def monotonic(self) -> float: ...
    def pause(self, seconds: float) -> None: ...


class Agents(Protocol):
    """Start agents and tell what came of it."""

    def run(
        self,
        launch: Launch,
        policy: Policy,
        *,
        tick: Callable[[Live], bool],
        say: Callable[[str], None],
    ) -> AgentResult:
        """Run one attempt to its certain end.

        ``tick`` is called at least four times a second and returns True to have the agent ended
        at once (EndedBy.STOP). ``say`` gets readable output text as it comes, any chunking.
        """
        ...


class Workspace(Protocol):
    """The tree and the plan file; ``problems``: what does not work as it should, a line each."""

    @property
    def problems(self) -> Sequence[str]: ...

    def snapshot(self) -> Tree | None:
        """Content of the tree now; None when no check is possible (L-14)."""
        ...

    def delta(self, before: Tree, after: Tree) -> TreeDelta: ...

    def plan(self, known: str = "") -> PlanRead:
        """Read the plan; ``plan.plan`` is left None when its digest equals ``known``."""
        ...


class Calls(Protocol):
    """The shared call window (L-23); ``problems`` as in the workspace."""

    @property
    def problems(self) -> Sequence[str]: ...

    def look(self, agent: str, policy: Policy, now: datetime) -> Slot: ...
    def take(self, agent: str, policy: Policy, now: datetime) -> Slot: ...
    def settle(self, agent: str, turns: int, now: datetime) -> None: ...
    def reset_of(self, agent: str, now: datetime) -> datetime | None:
        """When this agent's usage limit ends, as any run of the user last heard (A-5)."""
        ...

    def remember_reset(self, agent: str, until: datetime) -> None: ...
    def forget_reset(self, agent: str) -> None: ...


class Verifier(Protocol):
    """Run verify commands in the repository (M-2)."""

    def run(
        self, commands: Sequence[str], policy: Policy, *, tick: Callable[[], bool]
    ) -> tuple[VerifyResult, ...]: ...


class Recorder(Protocol):
    """The journal: durable when ``append`` returns; gives the event its sequence number."""

    restored: int  # how often the files vanished under us and were written again (A19)

    def append(self, event: AnyEvent) -> AnyEvent: ...
    def spend_reserve(self) -> None:
        """Give back the space put by for the terminal record (F2)."""
        ...


class Folders(Protocol):
    """Where an attempt's prompt and raw output are kept (10.1)."""

    @property
    def base(self) -> Path:
        """The run folder."""
        ...

    def open(self, name: str, prompt: str) -> Path:
        """Make ``name`` below the run folder, keep the prompt there, return its path."""
        ...


class Settings(Protocol):
    """The layered configuration, re-read at each beat (B-20)."""

    def reread(self, in_force: Policy, *, agent_ran: bool, accept: bool) -> PolicyNews: ...


class Requests(Protocol):
    """Keys, control file, signals: whatever asks something of the loop."""

    def poll(self) -> Sequence[Request]: ...


class Prompts(Protocol):
    """The prompt file and the texts that ralph puts before it."""

    def compose(self, notes: Sequence[Note]) -> str:
        """Blocks in order, one on how to claim where no marker is named (L-30), the prompt."""
        ...


class SideEffects(Protocol):
    """A person's own commands; their failure is a sentence, never an exception (L-28)."""

    def task_done(self, policy: Policy, facts: Mapping[str, str], tick: Callable[[], bool]) -> str:
        """Run the hook; True from ``tick`` ends it at once."""
        ...


class View(Protocol):
    """Anything that shows a run; errors inside a view never reach the loop."""

    def event(self, event: AnyEvent) -> None: ...
    def live(self, live: Live) -> None: ...
    def say(self, text: str) -> None: ...
    def tick(self) -> None: ...
