"""What runs below ralph: CPU used by a tree, and the second net for what escaped the shim (A-8)."""

from __future__ import annotations

import importlib
import os
import signal
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from ralph.services.clock import SystemClock
from ralph.services.shim import LOOKS, Process, become_subreaper, below, table

MODE = "reaper" if sys.platform.startswith("linux") else "portable"


def cpu_seconds(root: int, mode: str = MODE) -> float | None:
    """CPU seconds used so far by everything below the process ``root``; None when unknown."""
    found = below(root, table(mode), frozenset())
    return sum(process.cpu for process in found) if found else None


def marked(mark: str, mode: str = MODE) -> set[int]:
    """Pids of this user's processes that have ``mark`` (``NAME=value``) in their environment."""
    if not mark:
        return set()
    return _marked_by_psutil(mark) if mode == "portable" else _marked_in_proc(mark)


def values_of(name: str, mode: str = MODE) -> set[str]:
    """What the environments of this user's processes say for the variable ``name``."""
    if mode == "portable":
        return {environ.get(name, "") for _, environ in _environments_by_psutil()} - {""}
    wanted = b"\0" + os.fsencode(name) + b"="
    rests = (environment.partition(wanted)[2] for _, environment in _environments())
    return {os.fsdecode(rest.partition(b"\0")[0]) for rest in rests} - {""}


def _marked_in_proc(mark: str) -> set[int]:
    wanted = b"\0" + os.fsencode(mark) + b"\0"
    return {pid for pid, environment in _environments() if wanted in environment}


def _environments() -> Iterator[tuple[int, bytes]]:
    """Pid and environment, each variable between two NULs, of every process that shows it."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                environment = (folder / "environ").read_bytes()
            except OSError:
                continue
            yield int(folder.name), b"\0" + environment + b"\0"


def _marked_by_psutil(mark: str) -> set[int]:
    name, _, value = mark.partition("=")
    return {pid for pid, environ in _environments_by_psutil() if environ.get(name) == value}


def _environments_by_psutil() -> Iterator[tuple[int, Mapping[str, str]]]:
    try:
        psutil = importlib.import_module("psutil")
    except ImportError:
        return
    for process in psutil.process_iter(["environ"]):
        yield process.pid, process.info["environ"] or {}


class SecondNet:
    """Finds and ends what outlived the shim, also when the agent killed the shim.

    Three meshes: the environment mark, the agent's session, and on Linux orphans that came to
    ralph because it is a subreaper while this object is open. What all three miss: a process
    that cleared its environment and left the session, if it was an orphan before ralph looked
    and ralph could not be its subreaper (macOS).
    """

    def __init__(self, mark: str, mode: str = MODE) -> None:
        self.mark, self.mode = mark, mode
        self.me = os.getpid()
        self.before = self._children() if mode == "reaper" else set()
        self.reaper = mode == "reaper" and become_subreaper()
        self.agent_status: int | None = None

    def close(self) -> None:
        """Stop being a subreaper."""
        if self.reaper:
            become_subreaper(0)
            self.reaper = False

    def end(
        self, agent: int, *, lost: bool, leave: Iterable[str] = (), clock: SystemClock
    ) -> tuple[str, ...]:
        """End what is found: TERM, up to one second, KILL until it is gone (bounded).

        ``lost`` says that the shim died before its record: only then session and orphans count,
        and the wait status of ``agent``, now ralph's child, is kept in ``agent_status``.
        Returns ``name (pid)`` of each process ended.
        """
        names = frozenset(leave)
        ended: dict[int, str] = {}
        start = clock.monotonic()
        missed = 0
        while missed < (LOOKS if lost else 1):
            found = self._found(agent, lost=lost, leave=names)
            missed = 0 if found else missed + 1
            late = clock.monotonic() - start
            if late > 6.0:
                break
            for process in found:
                if process.pid not in ended or late > 1.0:
                    _signal(process.pid, signal.SIGKILL if late > 1.0 else signal.SIGTERM)
                ended[process.pid] = str(process)
            clock.pause(0.02)
        if lost:
            self._reap(agent)
        return tuple(ended.values())

    def _found(self, agent: int, *, lost: bool, leave: frozenset[str]) -> list[Process]:
        roots = marked(self.mark, self.mode)
        if not roots and not lost:
            return []
        processes = table(self.mode)
        if lost:
            self._reap(agent)
            roots |= self._strays(agent, processes)
        spared = self._ancestors(processes)
        found = {p.pid: p for p in processes if p.pid in roots}
        for root in roots:
            found.update((p.pid, p) for p in below(root, processes, leave))
        return [
            p for p in found.values() if p.pid not in spared and not p.dead and p.name not in leave
        ]

    def _strays(self, agent: int, processes: list[Process]) -> set[int]:
        own = os.getsid(0)
        strays = {p.pid for p in processes if agent and agent in (p.session, p.group)}
        if self.reaper:
            strays |= {
                p.pid
                for p in processes
                if p.parent == self.me and p.session != own and p.pid not in self.before
            }
        return strays

    def _reap(self, agent: int) -> None:
        if not self.reaper:
            return
        own = os.getsid(0)
        for p in table(self.mode):
            if p.parent == self.me and p.dead and p.session != own and p.pid not in self.before:
                try:
                    done, status = os.waitpid(p.pid, os.WNOHANG)
                except ChildProcessError:
                    continue
                if done == agent:
                    self.agent_status = status

    def _children(self) -> set[int]:
        return {process.pid for process in table(self.mode) if process.parent == self.me}

    def _ancestors(self, processes: list[Process]) -> set[int]:
        parents = {process.pid: process.parent for process in processes}
        chain, pid = {self.me}, self.me
        while (pid := parents.get(pid, 0)) > 0 and pid not in chain:
            chain.add(pid)
        return chain


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except OSError:
        return  # gone meanwhile
