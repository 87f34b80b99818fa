"""Verify commands: run by ralph itself, in the repository, to a verdict (M-2, T-15, T-17)."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from ralph.core.cleaning import clean
from ralph.core.facts import EndedBy, Tree, VerifyResult
from ralph.core.policy import Policy
from ralph.core.units import spell
from ralph.services import process
from ralph.services.side_effects import Deaf

OUTPUT = 4096  # bytes of output that are kept
LOCKS = (
    "*.lock",
    "*lock.json",
    "*-lock.yaml",
    "go.sum",
    "*.lockb",
)  # files that tools rewrite by themselves
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

        Commands that a stop kept from running have no verdict.
        """
        results: list[VerifyResult] = []
        for command in commands:
            result = self._once(command, policy, tick)
            if result.passed is not True and not result.drafted and not self._stopped(result):
                again = self._once(command, policy, tick)
                leftovers = tuple(dict.fromkeys((*result.leftovers, *again.leftovers)))
                result = VerifyResult(
                    **{
                        name: getattr(again, name)
                        for name in again.__struct_fields__
                        if name not in ("reran", "leftovers")
                    },
                    reran=True,
                    leftovers=leftovers,
                )
            results.append(result)
            if self._stopped(result):
                break
        return tuple(results)

    def _stopped(self, result: VerifyResult) -> bool:
        return result.detail == STOPPED

    def _once(self, command: str, policy: Policy, tick: Callable[[], bool]) -> VerifyResult:
        before = self.snapshot()
        with tempfile.TemporaryDirectory(prefix="ralph-verify-") as name:
            folder = Path(name)
            mark = f"{self.run_id}/{folder.name}"
            left = process.run(
                process.Order(
                    argv=("/bin/sh", "-c", f"exec 2>&1\n{command}"),
                    cwd=self.root,
                    env={**os.environ, "RALPH_RUN_ID": self.run_id, _MARK: mark},
                    stdin=None,
                    stdout=folder / "out",
                    stderr=folder / "err",
                    hard=policy.verify.timeout,
                    idle=0.0,
                    mark=f"{_MARK}={mark}",
                ),
                Deaf(),
                tick=lambda quiet: EndedBy.STOP if tick() else None,  # noqa: ARG005
            )
            output = _tail(folder / "out") if left.started else ""
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
            output=output,
            drafted=drafted,
            leftovers=leftovers,
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


STOPPED = "stopped on request"


def _verdict(left: process.Exit, policy: Policy) -> tuple[bool | None, str]:
    """Passed, not passed, or None for no verdict; with the reason in words."""
    if left.ended_by is EndedBy.STOP:
        return None, STOPPED
    if left.ended_by is EndedBy.HARD:
        return None, f"verify timed out after {spell(policy.verify.timeout)}"
    if not left.started:
        return None, left.problem
    if left.signal:
        return False, f"died by signal {left.signal}"
    return left.exit_code == 0, "" if left.exit_code == 0 else f"exit {left.exit_code}"


def _tail(path: Path) -> str:
    with path.open("rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - OUTPUT))
        return clean(file.read().decode("utf-8", "replace")).strip("\n")


def _matches(path: str, globs: Sequence[str]) -> bool:
    name = path.rpartition("/")[2]
    return any(fnmatchcase(path, glob) or fnmatchcase(name, glob) for glob in globs)
