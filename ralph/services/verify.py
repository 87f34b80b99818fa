"""Verify commands: run by ralph itself, in the repository, to a verdict (M-2, T-15, T-17)."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import msgspec

from ralph.core.facts import EndedBy, Tree, VerifyResult
from ralph.core.policy import Policy
from ralph.core.units import spell
from ralph.errors import StorageError
from ralph.services import process
from ralph.services.tail import Tail

OUTPUT = 4096  # bytes of output that are kept
LOCKS = ("*.lock", "*lock.json", "*-lock.yaml", "go.sum", "*.lockb")  # tools rewrite them
STOPPED = "stopped on request"
NOT_STARTED = (126, 127)  # what a shell exits with when it cannot start the command
_MARK = "RALPH_VERIFY"


class VerifyRoom:
    """Satisfies the loop's ``Verifier`` for the repository ``root``.

    ``snapshot`` and ``changed`` are the tree's: what a command changes is found by comparing.
    """

    def __init__(
        self,
        root: Path,
        *,
        run_id: str,
        snapshot: Callable[[], Tree | None],
        changed: Callable[[Tree, Tree], tuple[tuple[str, ...], tuple[str, ...]]],
    ) -> None:
        self.root = root
        self.run_id = run_id
        self.snapshot = snapshot
        self.changed = changed

    def run(
        self, commands: Sequence[str], policy: Policy, *, tick: Callable[[], bool]
    ) -> tuple[VerifyResult, ...]:
        """Run each command once, and once more when it did not pass; ``tick`` True ends all.

        A command that drafted is not run again. After a stop the command in hand has no verdict
        and those behind it are not in the result. Nothing of a command runs on afterwards.
        """
        results: list[VerifyResult] = []
        for command in commands:
            results.append(self._judge(command, policy, tick))
            if results[-1].detail == STOPPED:
                break
        return tuple(results)

    def _judge(self, command: str, policy: Policy, tick: Callable[[], bool]) -> VerifyResult:
        first = self._once(command, policy, tick)
        if first.passed or first.drafted or first.detail == STOPPED:
            return first
        again = self._once(command, policy, tick)
        leftovers = tuple(dict.fromkeys((*first.leftovers, *again.leftovers)))
        return msgspec.structs.replace(again, reran=True, leftovers=leftovers)

    def _once(self, command: str, policy: Policy, tick: Callable[[], bool]) -> VerifyResult:
        before = self.snapshot()
        said = Tail(OUTPUT)
        left = self._run(command, policy, tick, said)
        drafted, leftovers = self._drafted(before, policy)
        passed, detail = _verdict(left, policy)
        if drafted:
            passed, detail = False, "it changed files: " + ", ".join(drafted[:5])
        return VerifyResult(
            command=command,
            passed=passed,
            exit_code=left.exit_code,
            seconds=left.seconds,
            detail=detail,
            output=said.text,
            drafted=drafted,
            leftovers=leftovers,
        )

    def _run(
        self, command: str, policy: Policy, tick: Callable[[], bool], said: Tail
    ) -> process.Exit:
        try:
            return process.run(
                self._order(command, policy),
                said,
                tick=lambda quiet: EndedBy.STOP if tick() else None,  # noqa: ARG005
            )
        except (OSError, StorageError) as error:
            return process.Exit(started=False, ended_by=EndedBy.LAUNCH, problem=str(error))

    def _order(self, command: str, policy: Policy) -> process.Order:
        mark = f"{self.run_id}/{uuid.uuid4().hex}"
        return process.Order(
            argv=("/bin/sh", "-c", f"exec 2>&1\n{command}"),
            cwd=self.root,
            env={**os.environ, "RALPH_RUN_ID": self.run_id, _MARK: mark},
            stdin=None,
            stdout=Path(os.devnull),
            stderr=Path(os.devnull),
            hard=policy.verify.timeout,
            idle=0.0,
            mark=f"{_MARK}={mark}",
        )

    def _drafted(
        self, before: Tree | None, policy: Policy
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        after = self.snapshot()
        if before is None or after is None or before.full == after.full:
            return (), ()
        existed, fresh = self.changed(before, after)
        allowed = (*LOCKS, *policy.verify.may_write)
        return tuple(path for path in existed if not _matches(path, allowed)), fresh


def _verdict(left: process.Exit, policy: Policy) -> tuple[bool | None, str]:
    """Passed, not passed, or None for no verdict; with the reason in words."""
    if left.ended_by is EndedBy.STOP:
        return None, STOPPED
    if left.ended_by is EndedBy.HARD:
        return None, f"verify timed out after {spell(policy.verify.timeout)}"
    if not left.started:
        return None, f"verify could not start: {left.problem}"
    if left.exit_code in NOT_STARTED:
        return None, f"verify could not start (exit {left.exit_code})"
    if left.signal:
        return False, f"died by signal {left.signal}"
    return left.exit_code == 0, "" if left.exit_code == 0 else f"exit {left.exit_code}"


def _matches(path: str, globs: Sequence[str]) -> bool:
    name = path.rpartition("/")[2]
    return any(fnmatchcase(path, glob) or fnmatchcase(name, glob) for glob in globs)
