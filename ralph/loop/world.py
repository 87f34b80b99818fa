"""The world around one run, as the loop sees it."""

from __future__ import annotations

from dataclasses import dataclass

from ralph.loop.ports import (
    Agents,
    Calls,
    Clock,
    Folders,
    Prompts,
    Recorder,
    Requests,
    Settings,
    SideEffects,
    Verifier,
    View,
    Workspace,
)


@dataclass(frozen=True)
class World:
    """Everything outside that one run needs."""

    clock: Clock
    agents: Agents
    workspace: Workspace
    calls: Calls
    verifier: Verifier
    recorder: Recorder
    folders: Folders
    settings: Settings
    requests: Requests
    prompts: Prompts
    effects: SideEffects
    view: View
