"""Claude Code: how to start it headless and unattended (L-34, B-17)."""

from __future__ import annotations

import os
from collections.abc import Mapping

from ralph.core.policy import Policy
from ralph.services.agents.base import Adapter
from ralph.services.agents.claude_stream import ClaudeReader
from ralph.services.agents.text import TextReader

TOOLS = (
    *("Bash", "BashOutput", "KillShell", "Monitor", "TaskOutput", "TaskStop"),
    *("Edit", "MultiEdit", "Write", "NotebookEdit"),
    *("Read", "Glob", "Grep", "LSP", "Skill", "ToolSearch", "WebFetch", "WebSearch"),
    *("Agent", "Task", "TodoWrite", "SendMessage"),
)
_RESUMING = ("--resume", "-r", "--continue", "-c", "--fork-session")


def claude(policy: Policy, environ: Mapping[str, str], *, constrained: bool) -> Adapter:
    """Start Claude Code with the prompt on stdin and a JSON record a line on stdout.

    Autonomy ``full`` skips its permission questions. It refuses that to root outside a sandbox;
    there, edits are accepted and its usual tools are allowed one by one.
    """
    profile = policy.breaker.constrain
    argv = (
        *("claude", "-p", "--output-format", "stream-json", "--verbose"),
        *_permissions(policy.agent.autonomy, environ),
        *(("--model", policy.agent.model) if policy.agent.model else ()),
        *policy.agent.args,
    )
    if constrained:
        argv = profile.command or (*argv, *profile.args)
    plain = _output_format(argv) == "text"
    return Adapter(
        argv=argv,
        reader=TextReader if plain else ClaudeReader,
        structured=not plain,
        promised=not plain,
        resumed=any(arg.partition("=")[0] in _RESUMING for arg in argv),
        login="claude auth login",
    )


def _permissions(autonomy: str, environ: Mapping[str, str]) -> tuple[str, ...]:
    if autonomy == "edit":
        return ("--permission-mode", "acceptEdits")
    if os.geteuid() == 0 and environ.get("IS_SANDBOX") != "1":
        return ("--permission-mode", "acceptEdits", f"--allowedTools={','.join(TOOLS)}")
    return ("--dangerously-skip-permissions",)


def _output_format(argv: tuple[str, ...]) -> str:
    """The output format that ``argv`` asks for in the end; ``text`` when it asks for none."""
    chosen = "text"
    for arg, after in zip(argv, (*argv[1:], ""), strict=True):
        name, equals, value = arg.partition("=")
        if name == "--output-format":
            chosen = value if equals else after
    return chosen
