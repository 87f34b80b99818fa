"""Run one command through the shim to its certain end.

This layer knows bytes, signals and deadlines; what the bytes mean is the ear's business.

Promises:

- The agent's exit, not the end of its pipes, ends the run; what it left behind is ended (A2).
- Hard, idle and linger limits and ``tick`` never wait for output (A1, A12).
- Every descendant is gone when ``run`` returns or raises (A-8, A11), and within five seconds
  when this process is killed (A9).
- stdin is the given bytes or the null device, never a terminal; an agent that does not read
  them blocks nothing (A14, A17).
- Both streams are always drained, written as raw bytes as they come, and not kept in memory
  (A3, A4, A12); files are appended to and have mode 0600.
- ``ended_by`` is settled before any signal is sent (A-3).
"""

from __future__ import annotations

import contextlib
import os
import selectors
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ralph.core.facts import EndedBy
from ralph.services import shim
from ralph.services.clock import SystemClock
from ralph.services.deadlines import Deadlines, Silence
from ralph.services.descendants import SecondNet, cpu_seconds
from ralph.services.lifeline import LaunchFailed, Lifeline
from ralph.services.streams import Stream, Streams

TICK = 0.2  # seconds between two ticks at most
GRACE = 10.0  # seconds between asking an agent to end and ending it
PATIENCE = 5.0  # seconds beyond grace and kill until a shim that does not answer is given up
DRAIN = 0.5  # seconds for what is still in the pipes after the end
_CLOCK = SystemClock()


@dataclass(frozen=True, kw_only=True)
class Order:
    """What to run, with what, and for how long; durations in seconds."""

    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str]  # whole; nothing is added
    stdin: bytes | None  # None: the null device
    stdout: Path
    stderr: Path
    hard: float  # 0: no limit
    idle: float  # 0: no limit
    grace: float = GRACE  # between the first signal and KILL
    linger: float = 30.0  # after the agent's own result record
    mark: str = ""  # NAME=value in ``env`` by which strays are found
    leave: tuple[str, ...] = ()  # process names that may outlive a normal exit
    hold: int | None = None  # descriptor kept open until all is gone, never seen by the agent
    interrupt: str = "TERM"  # first signal: TERM or INT


class Ear(Protocol):
    """Listens to both streams as they come."""

    def hear(self, stream: Stream, chunk: bytes) -> bool:
        """Take ``chunk``; True when it counts as life for the idle timer (A-6)."""
        ...

    def settled(self) -> bool:
        """True once the agent's own result record was seen (A-7)."""
        ...


@dataclass(frozen=True, kw_only=True)
class Exit:
    """How it ended. ``exit_code`` and ``signal`` come from the wait status (A24)."""

    started: bool
    ended_by: EndedBy
    exit_code: int | None = None
    signal: int | None = None
    seconds: float = 0.0  # until the agent's own end
    cpu_seconds: float | None = None  # of everything that was waited for
    survivors: tuple[str, ...] = ()  # "name (pid)": outlived the agent or its grace, were ended
    stdout_bytes: int = 0
    stderr_bytes: int = 0
    problem: str = ""  # why it did not start, or how supervision failed


def run(
    order: Order,
    ear: Ear,
    *,
    tick: Callable[[float], EndedBy | None],
    clock: SystemClock = _CLOCK,
) -> Exit:
    """Run ``order`` to its certain end and tell how it ended.

    ``tick`` gets the seconds since the last sign of life, at least four times a second, also in a
    flood of output; ``EndedBy.STOP`` or ``EndedBy.REPEAT`` from it ends the agent now. A command
    that cannot be started gives ``started=False`` and the reason in ``problem`` (A18).

    Raises:
        StorageError: if an output file cannot be written, after the agent was ended (K-14).
    """
    return _Run(order, ear, tick, clock).go()


class _Run:
    """One run: a single-threaded selector loop on raw descriptors."""

    def __init__(
        self,
        order: Order,
        ear: Ear,
        tick: Callable[[float], EndedBy | None],
        clock: SystemClock,
    ) -> None:
        self.order, self.ear, self.tick, self.clock = order, ear, tick, clock
        self.ended_by: EndedBy | None = None
        self.exited_at: float | None = None
        self.give_up = float("inf")
        self.link: Lifeline | None = None
        self.ticked = self.life = self.started_at = clock.monotonic()
        self.limits = Deadlines(
            hard=order.hard,
            linger=order.linger,
            silence=Silence(order.idle, self._cpu, start=self.started_at),
            start=self.started_at,
        )

    def go(self) -> Exit:
        order = self.order
        with (
            Streams(order.stdin, order.stdout, order.stderr, self._hear) as self.streams,
            contextlib.closing(SecondNet(order.mark)) as net,
        ):
            try:
                self._supervise()
            except LaunchFailed as error:
                return Exit(started=False, ended_by=EndedBy.LAUNCH, problem=str(error))
            finally:
                strays = self._sweep(net)
            self.streams.drain(DRAIN, self.clock)
        if self.streams.problem:
            raise self.streams.problem
        return self._exit(net, strays)

    def _supervise(self) -> None:
        order = self.order
        link = self.link = Lifeline(
            order.argv,
            cwd=order.cwd,
            env=order.env,
            streams=self.streams.child_ends,
            grace=order.grace,
            interrupt=order.interrupt,
            leave=order.leave,
            hold=order.hold,
        )
        with contextlib.closing(link):
            self.streams.launched()
            self.streams.selector.register(link.status, selectors.EVENT_READ, link)
            while not link.over:
                self._beat(link)
            if link.status in self.streams.selector.get_map():
                self.streams.selector.unregister(link.status)

    def _beat(self, link: Lifeline) -> None:
        self.streams.poll(TICK)
        now = self.clock.monotonic()
        if link.exited and self.exited_at is None:
            self.exited_at = now
            self._expect_end(now)
        wanted = None
        if now - self.ticked >= TICK:
            self.ticked = now
            self.streams.restore()
            wanted = self.tick(now - self.life)
        if self.ended_by is None and not link.exited:
            self._stop_if(wanted or self._over(now), link, now)
        if now > self.give_up:
            link.abandon()

    def _over(self, now: float) -> EndedBy | None:
        return EndedBy.STOP if self.streams.problem else self.limits.due(now)

    def _stop_if(self, due: EndedBy | None, link: Lifeline, now: float) -> None:
        if due is not None:
            self.ended_by = due
            link.stop()
            self._expect_end(now)

    def _expect_end(self, now: float) -> None:
        self.give_up = now + self.order.grace + shim.KILL_SECONDS + PATIENCE

    def _hear(self, stream: Stream, chunk: bytes) -> None:
        now = self.clock.monotonic()
        if self.ear.hear(stream, chunk):
            self.life = now
            self.limits.silence.heard(now)
        if self.ear.settled():
            self.limits.settle(now)

    def _cpu(self) -> float | None:
        return cpu_seconds(self.link.process.pid) if self.link else None

    def _sweep(self, net: SecondNet) -> tuple[str, ...]:
        if self.link is None:
            return ()
        spared = self.order.leave if self.ended_by is None else ()
        return net.end(self.link.agent, lost=self.link.lost, leave=spared, clock=self.clock)

    def _exit(self, net: SecondNet, strays: tuple[str, ...]) -> Exit:
        record = (self.link.record if self.link else None) or {}
        code, signal = record.get("code"), record.get("signal")
        if not record and net.agent_status is not None:
            status = net.agent_status
            code = None if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
            signal = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
        end = self.exited_at or self.clock.monotonic()
        return Exit(
            started=True,
            ended_by=self.ended_by or EndedBy.EXIT,
            exit_code=code,
            signal=signal,
            seconds=max(0.0, end - self.started_at),
            cpu_seconds=record.get("cpu"),
            survivors=(*record.get("survivors", ()), *strays),
            stdout_bytes=self.streams.outlets[0].file.size,
            stderr_bytes=self.streams.outlets[1].file.size,
            problem="" if record else "the process between ralph and the agent was killed",
        )
