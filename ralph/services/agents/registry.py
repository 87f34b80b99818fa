"""Which agents there are: one family a name, in a plain dict (A-1)."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from itertools import pairwise

from ralph.core.policy import CustomAgent, Policy
from ralph.errors import UsageError
from ralph.services.agents.base import Adapter, Family
from ralph.services.agents.claude import claude
from ralph.services.agents.claude_stream import ClaudeReader
from ralph.services.agents.text import TextReader


def scripted(policy: Policy, environ: Mapping[str, str], *, constrained: bool) -> Adapter:  # noqa: ARG001
    """The scripted agent: a real child process that plays the script named in ``agent.args``."""
    player = CustomAgent(command=(sys.executable, "-m", "ralph.services.player"))
    args = policy.agent.args
    as_claude = "--format=claude" in args or ("--format", "claude") in pairwise(args)
    return custom(player, policy, constrained=constrained, output="claude" if as_claude else "text")


FAMILIES: dict[str, Family] = {"claude": claude, "scripted": scripted}


def adapter(name: str, policy: Policy, environ: Mapping[str, str], *, constrained: bool) -> Adapter:
    """Return how to start the agent ``name``; one of ``[agents.NAME]`` wins over a built-in.

    Raises:
        UsageError: if there is no such agent.
    """
    own = policy.agents.get(name)
    if own is not None:
        return custom(own, policy, constrained=constrained, output=own.output)
    if name not in FAMILIES:
        known = ", ".join(sorted({*FAMILIES, *policy.agents}))
        raise UsageError(
            f"no such agent: {name}", hint=f"known: {known}; or add [agents.{name}] to ralph.toml"
        )
    return FAMILIES[name](policy, environ, constrained=constrained)


def custom(agent: CustomAgent, policy: Policy, *, constrained: bool, output: str) -> Adapter:
    """Any command as an agent; ``output`` is ``text`` or ``claude``."""
    profile = policy.breaker.constrain
    argv = (*agent.command, *policy.agent.args)
    if constrained:
        argv = profile.command or (*argv, *profile.args)
    if output == "claude":
        return Adapter(
            argv=argv, reader=ClaudeReader, prompt=agent.prompt, structured=True, promised=True
        )
    return Adapter(argv=argv, reader=TextReader, prompt=agent.prompt)
