"""A person's own commands at certain moments; their failure never stops a run (L-28)."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from ralph.core.cleaning import clean
from ralph.core.facts import EndedBy
from ralph.core.policy import Policy
from ralph.errors import StorageError
from ralph.services import process

TIMEOUT = 60.0  # seconds
_MARK = "RALPH_HOOK"


class TaskHook:
    """Runs ``hooks.on_task_done`` in the folder ``root``."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def task_done(self, policy: Policy, facts: Mapping[str, str]) -> str:
        """Run the hook for one task that became done; "" or one sentence on what failed.

        The command runs in a shell, with ``facts`` as environment variables and as one JSON object
        on its stdin, for at most 60 s; nothing of it runs on afterwards. Never raises.
        """
        if not policy.hooks.on_task_done:
            return ""
        name = f"hooks.on_task_done for {facts.get('RALPH_TASK', 'a task')}"
        try:
            with tempfile.TemporaryDirectory(prefix="ralph-hook-") as folder:
                problem = self._run(policy.hooks.on_task_done, facts, Path(folder))
        except (OSError, StorageError) as error:
            problem = str(error)
        return f"{name} failed: {problem}" if problem else ""

    def _run(self, command: str, facts: Mapping[str, str], folder: Path) -> str:
        mark = f"{os.getpid()}/{folder.name}"
        left = process.run(
            process.Order(
                argv=("/bin/sh", "-c", command),
                cwd=self.root,
                env={**os.environ, **facts, _MARK: mark},
                stdin=json.dumps(dict(facts)).encode(),
                stdout=folder / "out",
                stderr=folder / "err",
                hard=TIMEOUT,
                idle=0.0,
                grace=2.0,
                mark=f"{_MARK}={mark}",
            ),
            Deaf(),
            tick=lambda quiet: None,  # noqa: ARG005
        )
        if left.ended_by is EndedBy.HARD:
            return f"no end after {TIMEOUT:.0f} s"
        if left.exit_code == 0:
            return ""
        said = clean((folder / "err").read_text("utf-8", "replace")).strip().splitlines()
        how = f"signal {left.signal}" if left.signal else f"exit {left.exit_code}"
        return left.problem or (f"{how}: {said[-1][:200]}" if said else how)


class Deaf:
    """Listens to nothing."""

    def hear(self, stream: str, chunk: bytes) -> bool:  # noqa: ARG002
        """Every byte is life."""
        return True

    def settled(self) -> bool:
        """There is no result record."""
        return False
