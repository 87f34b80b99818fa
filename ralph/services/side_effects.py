"""A person's own commands at certain moments; their failure never stops a run (L-28)."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path

from ralph.core.cleaning import clean
from ralph.core.facts import EndedBy
from ralph.core.policy import Policy
from ralph.errors import StorageError
from ralph.services import process
from ralph.services.tail import Tail

TIMEOUT = 60.0  # seconds
TITLE = 80  # characters of a task that are told
SAID = 200  # bytes of its last line that are told
_MARK = "RALPH_HOOK"


class TaskHook:
    """Runs ``hooks.on_task_done`` in the folder ``root``, for at most ``timeout`` seconds."""

    def __init__(self, root: Path, *, timeout: float = TIMEOUT) -> None:
        self.root, self.timeout = root, timeout

    def task_done(
        self, policy: Policy, facts: Mapping[str, str], tick: Callable[[], bool] = lambda: False
    ) -> str:
        """Run the hook for one task that became done; "" or one sentence on what failed.

        The command runs in a shell, with ``facts`` as environment variables and as one JSON object
        on its stdin; True from ``tick`` ends it. Nothing of it runs on afterwards. Never raises.
        """
        if not policy.hooks.on_task_done:
            return ""
        task = clean(facts.get("RALPH_TASK", "a task"))[:TITLE]
        try:
            problem = self._run(policy.hooks.on_task_done, facts, tick)
        except (OSError, StorageError) as error:
            problem = str(error)
        return f"hooks.on_task_done for {task} failed: {problem}" if problem else ""

    def _run(self, command: str, facts: Mapping[str, str], tick: Callable[[], bool]) -> str:
        mark = f"{os.getpid()}/{uuid.uuid4().hex}"
        said = Tail(SAID)
        left = process.run(
            process.Order(
                argv=("/bin/sh", "-c", command),
                cwd=self.root,
                env={**os.environ, **facts, _MARK: mark},
                stdin=json.dumps(dict(facts)).encode(),
                stdout=Path(os.devnull),
                stderr=Path(os.devnull),
                hard=self.timeout,
                idle=0.0,
                grace=2.0,
                mark=f"{_MARK}={mark}",
            ),
            said,
            tick=lambda quiet: EndedBy.STOP if tick() else None,  # noqa: ARG005
        )
        if left.ended_by is EndedBy.HARD:
            return f"no end after {self.timeout:g} s"
        if left.ended_by is EndedBy.STOP:
            return "stopped on request"
        if left.exit_code == 0:
            return ""
        how = f"signal {left.signal}" if left.signal else f"exit {left.exit_code}"
        *_, last = ("", *said.text.split("\n"))
        return left.problem or (f"{how}: {last.strip()}" if last.strip() else how)
