"""The three standard streams of a process, seen from ralph's side: raw, non-blocking, flat."""

from __future__ import annotations

import contextlib
import fcntl
import os
import selectors
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from ralph.errors import StorageError
from ralph.services.capture import Capture
from ralph.services.clock import SystemClock

Stream = Literal["stdout", "stderr"]

CHUNK = 256 << 10  # bytes of one read
PIPE = 1 << 20  # bytes a pipe may hold, where the system allows it


class Outlet:
    """One output pipe: its bytes go to a file, then to whoever listens."""

    def __init__(self, name: Stream, path: Path, hear: Callable[[Stream, bytes], None]) -> None:
        self.name = name
        self.hear = hear
        self.file = Capture(path)
        self.fd, self.child_end = os.pipe()
        os.set_blocking(self.fd, False)
        _widen(self.fd)
        self.open = True

    def pump(self) -> int:
        """Move what one read gives; 0 when nothing is there now, ``open`` False at the end."""
        try:
            chunk = os.read(self.fd, CHUNK)
        except BlockingIOError:
            return 0
        if not chunk:
            self.open = False
            return 0
        self.file.write(chunk)
        self.hear(self.name, chunk)
        return len(chunk)

    def close(self) -> None:
        """Close pipe and file."""
        os.close(self.fd)
        self.file.close()


class Inlet:
    """The input pipe: feeds ``content`` as fast as the other side reads, then closes (A14)."""

    def __init__(self, content: bytes) -> None:
        self.rest = memoryview(content)
        self.child_end, self.fd = os.pipe()
        os.set_blocking(self.fd, False)
        self.open = True

    def pump(self) -> int:
        """Write what fits; ``open`` turns False when all is written or nobody reads."""
        try:
            written = os.write(self.fd, self.rest) if self.rest else 0
        except BlockingIOError:
            return 0
        except BrokenPipeError:
            self.rest = self.rest[:0]
            written = 0
        self.rest = self.rest[written:]
        self.open = bool(self.rest)
        return written

    def close(self) -> None:
        """Close the pipe, so that the reader sees the end."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


class Streams:
    """All three together, pumped by one selector; a context manager.

    Raises:
        StorageError: if a file cannot be opened.
    """

    def __init__(
        self,
        stdin: bytes | None,
        stdout: Path,
        stderr: Path,
        hear: Callable[[Stream, bytes], None],
    ) -> None:
        with contextlib.ExitStack() as stack:
            self.selector = stack.enter_context(selectors.DefaultSelector())
            self.outlets = tuple(
                stack.enter_context(contextlib.closing(Outlet(name, path, hear)))
                for name, path in _named(stdout, stderr)
            )
            self._child = stack.enter_context(contextlib.ExitStack())
            self.inlet: Inlet | None = None
            if stdin is None:
                child_stdin = os.open(os.devnull, os.O_RDONLY)
            else:
                self.inlet = stack.enter_context(contextlib.closing(Inlet(stdin)))
                child_stdin = self.inlet.child_end
            out, err = (outlet.child_end for outlet in self.outlets)
            self.child_ends = (child_stdin, out, err)
            for fd in self.child_ends:
                self._child.callback(os.close, fd)
            self._stack = stack.pop_all()

    def __enter__(self) -> Streams:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def problem(self) -> StorageError | None:
        """The first failure to write a file, None while all is well."""
        return next((out.file.problem for out in self.outlets if out.file.problem), None)

    def launched(self) -> None:
        """The child has its ends: close ours of them and begin to pump."""
        self._child.close()
        for outlet in self.outlets:
            self.selector.register(outlet.fd, selectors.EVENT_READ, outlet)
        if self.inlet is not None:
            self.selector.register(self.inlet.fd, selectors.EVENT_WRITE, self.inlet)

    def poll(self, seconds: float) -> None:
        """Wait up to ``seconds`` for something to move, and move it."""
        for key, _ in self.selector.select(seconds):
            key.data.pump()
            if not key.data.open:
                self.selector.unregister(key.fd)
                if key.data is self.inlet:
                    self.inlet.close()

    def restore(self) -> None:
        """Put back output files that somebody deleted."""
        for outlet in self.outlets:
            outlet.file.restore()

    def drain(self, seconds: float, clock: SystemClock) -> None:
        """Take what is still in the pipes: all that fits in one, longer only for ``seconds``."""
        until = clock.monotonic() + seconds
        while any(out.open for out in self.outlets) and clock.monotonic() < until:
            self.poll(0.05)
        for outlet in self.outlets:
            moved = 0
            while outlet.open and moved < PIPE and (step := outlet.pump()):
                moved += step


def _named(stdout: Path, stderr: Path) -> tuple[tuple[Stream, Path], tuple[Stream, Path]]:
    return ("stdout", stdout), ("stderr", stderr)


def _widen(fd: int) -> None:
    """Let a fast writer run ahead of us (Linux; refused above the user's quota)."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, PIPE)
