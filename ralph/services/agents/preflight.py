"""What an agent would be started with, and whether it can be: before anything is touched (A18)."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from ralph.core.masking import MASK, mask
from ralph.core.policy import Policy
from ralph.errors import UsageError
from ralph.services.agents.registry import adapter

_LINE = 4096  # bytes of a first line that are read
_SECRET = re.compile(r"--?(?:[a-z]+-)*(?:key|token|secret|password|passphrase)", re.IGNORECASE)


def preflight(
    policy: Policy, name: str, environ: Mapping[str, str], *, root: Path | None = None
) -> str:
    """Say in one sentence why the agent ``name`` cannot be started, with a hint; "" if it can.

    The command of ``breaker.constrain`` is looked at too. A relative path is looked for below
    ``root``, and believed without one.
    """
    env = environment(policy, environ)
    for constrained in (False, True):
        try:
            argv = adapter(name, policy, env, constrained=constrained).argv
        except UsageError as error:
            return f"{error.message} ({error.hint})"
        missing = _missing(argv[0], env, root) if argv else f"{name} has no command"
        if missing:
            where = "breaker.constrain.command" if constrained else "agent.use or --agent"
            return f"{missing} (install it, or name another one with {where})"
    return ""


def describe(policy: Policy) -> tuple[str, ...]:
    """The command line of the policy's agent as people may see it: secrets masked (F8).

    Empty for an agent that does not exist.
    """
    try:
        argv = adapter(
            policy.agent.use, policy, environment(policy, os.environ), constrained=False
        ).argv
    except UsageError:
        return ()
    before = ("", *argv)
    return tuple(
        MASK if _SECRET.fullmatch(flag) else mask(word)
        for flag, word in zip(before, argv, strict=False)
    )


def environment(policy: Policy, environ: Mapping[str, str]) -> dict[str, str]:
    """``environ`` with ``agent.env`` added and ``agent.unset`` removed (A-11)."""
    env = {**environ, **policy.agent.env}
    return {name: value for name, value in env.items() if name not in policy.agent.unset}


def _missing(command: str, environ: Mapping[str, str], root: Path | None) -> str:
    found: str | None = command
    if "/" not in command:
        found = shutil.which(command, path=environ.get("PATH"))
    elif not command.startswith("/"):
        found = str(root / command) if root else None
        if found is None:
            return ""
    if found is None:
        return f"{command} is not on PATH"
    path = Path(found)
    if not path.is_file():
        return f"there is no file {command}"
    if not os.access(path, os.X_OK):
        return f"{command} is not executable"
    interpreter = _interpreter(path, environ)
    return f"{command} wants {interpreter}, which is missing" if interpreter else ""


def _interpreter(path: Path, environ: Mapping[str, str]) -> str:
    """The program that the first line names and that is not there; "" when all is well."""
    try:
        with path.open("rb") as file:
            first = file.readline(_LINE)
    except OSError:
        return ""  # a binary that may be run but not read
    words = first[2:].decode("utf-8", "replace").split()
    if not first.startswith(b"#!") or not words:
        return ""
    if not Path(words[0]).exists():
        return words[0]
    named = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    if Path(words[0]).name != "env" or not named:
        return ""
    return "" if shutil.which(named[0], path=environ.get("PATH")) else named[0]
