"""Ralph's end of the two pipes to the shim: start it, tell it to stop, read what it records."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ralph.services import shim
from ralph.services.descendants import MODE

_IMPORT = "import sys; sys.path.append(sys.argv[1]); from shim import main; main(sys.argv[2:])"
# Imported, not run as a script, which Python would compile anew each time.
GUARD = (sys.executable, "-I", "-S", "-c", _IMPORT, str(Path(shim.__file__).parent))


class LaunchFailed(Exception):
    """The command could not be started; the text says why in one line (A18)."""


class Lifeline:
    """One shim and its agent.

    The agent lives only as long as this process holds ``life``: its end, by whatever cause,
    makes the shim end the agent's whole tree (A9). ``over`` turns true with the exit record, or
    when the shim is gone without one (``lost``).
    """

    def __init__(
        self,
        argv: tuple[str, ...],
        *,
        cwd: Path,
        env: Mapping[str, str],
        streams: tuple[int, int, int],
        grace: float,
        interrupt: str,
        leave: tuple[str, ...],
        hold: int | None,
        mode: str = MODE,
    ) -> None:
        self.agent = 0
        self.exited = False
        self.record: dict[str, Any] | None = None
        self.lost = False
        self._rest = b""
        status_read, status_write = os.pipe()
        life_read, self.life = os.pipe()
        self.status = status_read
        os.set_blocking(status_read, False)
        locale = "=" + env["LC_CTYPE"] if "LC_CTYPE" in env else ""
        first = signal.SIGINT if interrupt == "INT" else signal.SIGTERM
        guard = [*GUARD, str(life_read), str(status_write)]
        guard += [str(-1 if hold is None else hold), str(grace), str(int(first)), locale, mode]
        kept = (life_read, status_write) if hold is None else (life_read, status_write, hold)
        try:
            self.process = subprocess.Popen(
                [*guard, "\n".join(leave), *argv],
                stdin=streams[0],
                stdout=streams[1],
                stderr=streams[2],
                cwd=cwd,
                env=dict(env),
                pass_fds=kept,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            self._close()
            raise LaunchFailed(_why(argv, cwd, env, error)) from error
        finally:
            os.close(life_read)
            os.close(status_write)
        self._argv, self._cwd, self._env = argv, cwd, env

    @property
    def over(self) -> bool:
        """True once nothing more will come from the shim."""
        return self.lost or self.record is not None

    def stop(self) -> None:
        """Have the shim end the agent: first signal, grace, kill."""
        try:
            os.write(self.life, b"s")
        except BrokenPipeError:
            return  # the shim is gone; reading its records will tell

    @property
    def open(self) -> bool:
        """True while records may come."""
        return not self.over

    def pump(self) -> None:
        """Take in what the shim has said by now.

        Raises:
            LaunchFailed: if it could not start the agent.
        """
        try:
            chunk = os.read(self.status, 65536)
        except BlockingIOError:
            return
        self.lost = not chunk and self.record is None
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            self._take(json.loads(line))

    def _take(self, said: dict[str, Any]) -> None:
        if "errno" in said:
            self.record = said
            error = OSError(said["errno"], os.strerror(said["errno"]))
            raise LaunchFailed(_why(self._argv, self._cwd, self._env, error))
        self.agent = said.get("pid", self.agent)
        self.exited = self.exited or "exited" in said
        if "survivors" in said:
            self.record = said

    def abandon(self) -> None:
        """Kill a shim that does not answer; the second net has to do its work."""
        self.process.kill()
        self.lost = True

    def close(self) -> None:
        """Let go of the shim, which ends whatever still runs, and wait for its end."""
        self._close()
        try:
            self.process.wait(timeout=shim.ORPHANED_GRACE + shim.KILL_SECONDS + 5.0)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _close(self) -> None:
        for fd in (self.life, self.status):
            os.close(fd)


def _why(
    argv: tuple[str, ...], cwd: Path, env: Mapping[str, str], error: OSError | ValueError
) -> str:
    name = argv[0]
    if not cwd.is_dir():
        return f"{name}: the folder to start it in is missing: {cwd}"
    if not isinstance(error, OSError):
        return f"{name}: {error}"
    if error.errno == errno.E2BIG:
        return f"{name}: the argument list is too long"
    path = str(cwd / name) if "/" in name else shutil.which(name, path=env.get("PATH"))
    if error.errno == errno.ENOENT:
        if path and Path(path).exists():
            return f"{name}: the interpreter named in its first line is missing"
        return f"{name}: no such file" if "/" in name else f"{name}: not found on PATH"
    if error.errno == errno.EACCES:
        return f"{name}: not executable"
    return f"{name}: {error.strerror}"
