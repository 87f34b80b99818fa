"""Single keys of the terminal become requests; the terminal is always given back as it was."""

from __future__ import annotations

import os
import re
import signal
import sys
import termios
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any

from ralph.core.events import RequestKind
from ralph.core.live import Request

KEYS = {
    "p": RequestKind.PAUSE,
    "c": RequestKind.CONTINUE,
    "q": RequestKind.STOP_AFTER,
    "Q": RequestKind.STOP_NOW,
    "n": RequestKind.SKIP_WAIT,
    "a": RequestKind.ACCEPT,
}
MOST = 8  # keys in one look; more at once is a paste or a cat, and asks for nothing
_READ = 4096
_SEQUENCE = re.compile(
    rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|O[ -~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|[^\[O\]PX^_])"
)
_UNFINISHED = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*|O|[\]PX^_][^\x07\x1b]*)?\Z")


class Keys:
    """Context manager that reads p, c, q, Q, n and a while ralph is in the terminal's foreground.

    The terminal is read without echo and without waiting for Enter; Ctrl-C, Ctrl-Z and the rest
    keep their meaning. Its former mode comes back on ``close``, on any exception, and while ralph
    is stopped (SIGTSTP). Without a terminal there are no keys and no error. ``poll`` never blocks.

    ``p`` is always PAUSE: the loop alone knows whether that means to go on. ``on_suspend`` is
    called before ralph is stopped, ``on_resume`` after it was continued; both in a signal handler.
    """

    def __init__(
        self,
        *,
        on_suspend: Callable[[], None] = lambda: None,
        on_resume: Callable[[], None] = lambda: None,
    ) -> None:
        self._on_suspend = on_suspend
        self._on_resume = on_resume
        self._fd: int | None = None
        self._former: list[Any] | None = None  # mode to give back
        self._taken = False  # whether key mode is in force, as far as we know
        self._handlers: dict[int, Any] = {}
        self._unfinished = b""

    def __enter__(self) -> Keys:
        self._fd = _open()
        if self._fd is not None:
            self._watch(signal.SIGTSTP, self._suspend)
            self._watch(signal.SIGCONT, self._continue)
            self._take()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def active(self) -> bool:
        """True while there is a terminal to read keys from."""
        return self._fd is not None

    def poll(self) -> list[Request]:
        """Requests for the keys pressed since the last call."""
        if self._fd is None or not self._take():
            return []
        try:
            read = os.read(self._fd, _READ)
        except BlockingIOError:
            self._unfinished = b""  # an Escape that nothing followed
            return []
        except OSError:
            read = b""
        if not read:
            self.close()  # the terminal is gone
            return []
        return [Request(request=KEYS[key], by="key") for key in self._known(read)]

    def close(self) -> None:
        """Give the terminal and the signal handlers back; a second call does nothing."""
        self._give_back()
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        self._handlers.clear()
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _watch(self, number: int, act: Callable[[int, FrameType | None], None]) -> None:
        if signal.getsignal(number) is signal.SIG_IGN:
            return
        with suppress(ValueError):  # not the main thread: no handlers there
            self._handlers[number] = signal.signal(number, act)

    def _known(self, read: bytes) -> list[str]:
        text = _SEQUENCE.sub(b"", self._unfinished + read)
        rest = _UNFINISHED.search(text)
        self._unfinished = rest.group() if rest else b""
        typed = _UNFINISHED.sub(b"", text).decode("utf-8", "replace")
        return [key for key in typed if key in KEYS] if len(typed) <= MOST else []

    def _take(self) -> bool:
        """Put the terminal into key mode; False while another process group has it."""
        if self._fd is None or not self._in_foreground(self._fd):
            return False
        if not self._taken:
            try:
                self._former = self._former or termios.tcgetattr(self._fd)
                _set(self._fd, _key_mode(self._former))
            except (OSError, termios.error):
                return False
            self._taken = True
        return True

    def _in_foreground(self, fd: int) -> bool:
        try:
            return os.tcgetpgrp(fd) == os.getpgrp()
        except OSError:
            self.close()  # hung up, or never the terminal of this session
            return False

    def _give_back(self) -> None:
        taken, self._taken = self._taken, False
        if taken and self._fd is not None and self._former is not None:
            with suppress(OSError, termios.error):
                _set(self._fd, self._former)

    def _suspend(self, _number: int, _frame: FrameType | None) -> None:
        """Stop for real, with the terminal as the shell wants it; go on here when continued."""
        self._on_suspend()
        self._give_back()
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, self._suspend)

    def _continue(self, _number: int, _frame: FrameType | None) -> None:
        """Note that the shell may have changed the mode; the next ``poll`` takes it again."""
        self._taken = False
        self._on_resume()


def _open() -> int | None:
    """The controlling terminal, opened anew so that the non-blocking mode is ours alone."""
    names = ["/dev/tty"]
    with suppress(OSError, ValueError, AttributeError):
        names.append(os.ttyname(sys.stdin.fileno()))
    for name in names:
        with suppress(OSError):
            return os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    return None


def _key_mode(former: list[Any]) -> list[Any]:
    """No echo, no line editing, no Ctrl-S that would freeze the screen."""
    mode = [*former[:6], list(former[6])]
    mode[0] &= ~termios.IXON
    mode[3] &= ~(termios.ECHO | termios.ICANON)
    mode[6][termios.VMIN] = 1  # with O_NONBLOCK: nothing typed is an error, no end of file
    mode[6][termios.VTIME] = 0
    return mode


def _set(fd: int, mode: list[Any]) -> None:
    """Change the mode now; a background process is not stopped for it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
    try:
        termios.tcsetattr(fd, termios.TCSANOW, mode)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
