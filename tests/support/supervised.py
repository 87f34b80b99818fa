"""Orders for real supervised processes, and an ear that notes what it hears."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path

from ralph.core.facts import EndedBy
from ralph.services import process
from tests.support.world import marked

LONG = 120.0  # a limit that no test is meant to reach


class Noting:
    """Keeps the last bytes; settled once ``record`` was among them."""

    def __init__(self, record: bytes = b"", *, life: bool = True) -> None:
        self.record, self.life = record, life
        self.last = b""
        self.seen = False

    def hear(self, _stream: str, chunk: bytes) -> bool:
        self.last = (self.last + chunk)[-1000:]
        self.seen = self.seen or bool(self.record and self.record in self.last)
        return self.life

    def settled(self) -> bool:
        return self.seen


class Supervised:
    """Runs commands in ``folder``, each with a mark of its own in its environment."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.mark = f"TEST_MARK={uuid.uuid4().hex}"

    def order(self, argv: Sequence[str], **changes: object) -> process.Order:
        name, _, value = self.mark.partition("=")
        fields: dict[str, object] = {
            "argv": tuple(argv),
            "cwd": self.folder,
            "env": {**os.environ, name: value},
            "stdin": None,
            "stdout": self.folder / "out",
            "stderr": self.folder / "err",
            "hard": LONG,
            "idle": 0.0,
            "grace": 0.3,
            "mark": self.mark,
        }
        return process.Order(**(fields | changes))  # type: ignore[arg-type]

    def run(
        self,
        argv: Sequence[str],
        ear: process.Ear | None = None,
        tick: Callable[[float], EndedBy | None] = lambda _: None,
        **changes: object,
    ) -> process.Exit:
        return process.run(self.order(argv, **changes), ear or Noting(), tick=tick)

    def left(self) -> list[int]:
        """What of it still runs, found by its environment."""
        return marked(self.mark)

    @property
    def out(self) -> bytes:
        return (self.folder / "out").read_bytes()

    @property
    def err(self) -> bytes:
        return (self.folder / "err").read_bytes()

    def pids(self, name: str = "pids") -> list[int]:
        """Numbers that a program wrote into a file, one a line."""
        path = self.folder / name
        return [int(line) for line in path.read_text().split()] if path.exists() else []


def stop_when(true: Callable[[], object]) -> Callable[[float], EndedBy | None]:
    """A tick that asks for the end once ``true()`` holds."""
    return lambda _: EndedBy.STOP if true() else None
