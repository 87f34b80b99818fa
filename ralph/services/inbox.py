"""Requests from other processes: one small file each in the run's ``control`` folder."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import msgspec

from ralph.core.events import RequestKind
from ralph.core.live import Request
from ralph.services import disk
from ralph.services.clock import SystemClock

CONTROL = "control"
_LARGEST = 4096  # bytes; more is no request


class Inbox:
    """What other processes ask of the run in ``folder``; a source of requests for the loop."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / CONTROL
        self._done: set[str] = set()

    def poll(self) -> list[Request]:
        """New requests, oldest first, each one once.

        Files are removed as they are read, those that are no request as well; one that cannot be
        removed is not read twice. A folder that is missing or unreadable holds nothing.
        """
        try:
            names = sorted(os.listdir(self._folder))  # noqa: PTH208 - four times a second
        except OSError:
            return []
        new = [name for name in names if not name.startswith(".") and name not in self._done]
        requests = [self._consume(name) for name in new]
        return [request for request in requests if request is not None]

    def _consume(self, name: str) -> Request | None:
        path = self._folder / name
        self._done.add(name)
        try:
            return msgspec.json.decode(disk.contents(path, _LARGEST), type=Request)
        except (OSError, ValueError, RecursionError):
            return None
        finally:
            with suppress(OSError):
                path.unlink()


def post(folder: Path, kind: RequestKind, by: str, *, clock: SystemClock | None = None) -> None:
    """Ask the run in ``folder`` for ``kind``; the request appears whole or not at all.

    Raises:
        StorageError: if it cannot be written.
    """
    control = folder / CONTROL
    name = f"{(clock or SystemClock()).now():%Y%m%d-%H%M%S-%f}-{os.urandom(4).hex()}"
    try:
        control.mkdir(parents=True, exist_ok=True, mode=0o700)
        disk.publish(control / name, msgspec.json.encode(Request(request=kind, by=by)))
    except OSError as error:
        raise disk.failure(control / name, error) from error
