"""The one door to git: GitPython runs the program, this module decides how.

Every call has a deadline, asks nobody anything, takes no optional lock, runs no hook and sits in
a session of its own, so that Ctrl-C in the terminal does not reach it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

if TYPE_CHECKING:
    from git.cmd import Git as Runner

TIMEOUT = 120.0  # seconds for one call

_QUIET = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "true",
    "SSH_ASKPASS": "true",
    "GIT_PAGER": "cat",
    "GIT_NO_REPLACE_OBJECTS": "1",
}
_TAMED = {
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.safecrlf": "false",
    "diff.autoRefreshIndex": "false",
    "submodule.recurse": "false",
    "filter.lfs.clean": "",
    "filter.lfs.smudge": "",
    "filter.lfs.process": "",
    "filter.lfs.required": "false",
}
# What git itself calls the local variables: they would point a call at another repository.
_FOREIGN = (
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_CONFIG",
    "GIT_CONFIG_PARAMETERS",
    "GIT_CONFIG_COUNT",
    "GIT_OBJECT_DIRECTORY",
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_GRAFT_FILE",
    "GIT_INDEX_FILE",
    "GIT_REPLACE_REF_BASE",
    "GIT_PREFIX",
    "GIT_SHALLOW_FILE",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_CEILING_DIRECTORIES",
    "GIT_LITERAL_PATHSPECS",
    "GIT_GLOB_PATHSPECS",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
    "GIT_EXTERNAL_DIFF",
    "GIT_DIFF_OPTS",
    "GIT_TRACE",
)


class GitFailed(Exception):
    """A git call did not do its work; the text says which one and why, in one line."""


class Git:
    """Runs git in ``cwd`` with ``env`` on top of the tamed environment.

    Variables of the surrounding process that would redirect git are taken out; what ``env``
    names stays.
    """

    def __init__(
        self, cwd: Path, env: Mapping[str, str] | None = None, *, timeout: float = TIMEOUT
    ) -> None:
        self.cwd = cwd
        self.env = {**_QUIET, **(env or {})}
        self.timeout = timeout

    def run(self, *args: str, feed: bytes | None = None, ok: Sequence[int] = (0,)) -> bytes:
        """Run ``git args`` with ``feed`` on stdin and return stdout.

        Raises:
            GitFailed: if git is missing, cannot start, runs past the deadline or exits with a
                code that is not in ``ok``.
        """
        if not self.cwd.is_dir():
            raise GitFailed(f"git {args[0]}: folder is gone: {self.cwd}")
        try:
            if feed is None:
                return self._execute(args, None, ok)
            with tempfile.TemporaryFile() as stdin:
                stdin.write(feed)
                stdin.seek(0)
                return self._execute(args, cast(BinaryIO, stdin), ok)
        except OSError as error:
            raise GitFailed(f"git {args[0]}: {error}") from None

    def _execute(self, args: Sequence[str], stdin: BinaryIO | None, ok: Sequence[int]) -> bytes:
        runner = _gitpython(self.cwd)
        code, out, err = runner.execute(
            [*self._scrub(), "git", *_OPTIONS, *args],
            istream=stdin,
            env=self.env,
            with_extended_output=True,
            with_exceptions=False,
            stdout_as_string=False,
            strip_newline_in_stdout=False,
            kill_after_timeout=self.timeout,
            start_new_session=True,
        )
        if code in ok:
            return out
        if code < 0 and err.startswith("Timeout"):
            raise GitFailed(f"git {args[0]} took longer than {self.timeout:g} s")
        raise GitFailed(f"git {args[0]}: {_first_line(err) or f'exit code {code}'}")

    def _scrub(self) -> list[str]:
        foreign = [name for name in _FOREIGN if name in os.environ and name not in self.env]
        return ["env", *(word for name in foreign for word in ("-u", name))] if foreign else []


_OPTIONS = ["--no-pager", *(w for key, value in _TAMED.items() for w in ("-c", f"{key}={value}"))]


def installed() -> bool:
    """True when the git program is on PATH."""
    return shutil.which("git") is not None


def at_once(*calls: Callable[[], bytes]) -> list[bytes]:
    """What ``calls`` return; they run side by side.

    Raises:
        GitFailed: the first that one of them raises, when all are over.
    """
    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(lambda call: call(), calls))


def lines(out: bytes) -> list[bytes]:
    """Split the output of a ``-z`` call."""
    return out.split(b"\0")[:-1] if out else []


def joined(paths: Sequence[bytes]) -> bytes:
    """``paths`` as stdin of a ``-z --stdin`` call."""
    return b"".join(path + b"\0" for path in paths)


def pattern(path: bytes) -> str:
    """An ignore pattern, anchored at the top, for ``path`` and nothing that merely looks alike.

    A line break, which no pattern can hold, is matched by any one character.
    """
    text = os.fsdecode(path).replace("\n", "\0")
    quoted = "".join(f"\\{char}" if char in "\\*?[]!# " else char for char in text)
    return "/" + quoted.replace("\0", "?")


def _first_line(err: str) -> str:
    found = [line.strip() for line in err.splitlines() if line.strip()]
    fatal = next((line for line in found if line.startswith("fatal:")), found[0] if found else "")
    return fatal.removeprefix("fatal:").strip()[:300]


def _gitpython(cwd: Path) -> Runner:
    # GitPython starts git while it is imported, and its import fails without it.
    if not installed():
        raise GitFailed("git is not installed")
    try:
        from git.cmd import Git as Runner
    except ImportError as error:
        raise GitFailed(f"GitPython does not load: {error}") from None
    return Runner(str(cwd))
