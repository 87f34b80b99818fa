"""An agent room over real programs, and what it says while they run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from ralph.core.facts import AgentResult
from ralph.core.live import Launch, Live
from ralph.core.policy import AgentPolicy, BreakerPolicy, Constrain, CustomAgent, Policy
from ralph.services.agent_room import AgentRoom
from tests.support.claude import stream
from tests.support.world import Script

PLAIN = Constrain()


class Room:
    """An agent room in a folder of its own, and what one run of it was told."""

    def __init__(self, root: Path, script: Script) -> None:
        self.root, self.script = root, script
        self.said: list[str] = []
        self.lives: list[Live] = []
        self.folder = root / "attempt"
        self.folder.mkdir()

    def run(
        self,
        program: str | list[str],
        *,
        output: str = "text",
        prompt: str = "do it\n",
        by: str = "stdin",
        stop: bool = False,
        constrained: bool = False,
        env: Mapping[str, str] | None = None,
        constrain: Constrain = PLAIN,
        **agent: object,
    ) -> AgentResult:
        argv = self.script(program) if isinstance(program, str) else program
        policy = Policy(
            agents={"own": CustomAgent(command=tuple(argv), prompt=by, output=output)},
            agent=AgentPolicy(use="own", **agent),  # type: ignore[arg-type]
            breaker=BreakerPolicy(constrain=constrain),
        )
        return self.attempt(
            "own", policy, prompt=prompt, stop=stop, constrained=constrained, env=env
        )

    def attempt(
        self,
        name: str,
        policy: Policy,
        *,
        prompt: str = "do it\n",
        stop: bool = False,
        constrained: bool = False,
        env: Mapping[str, str] | None = None,
    ) -> AgentResult:
        launch = Launch(
            agent=name,
            iteration=7,
            attempt=2,
            prompt=prompt,
            folder=str(self.folder),
            env={"RALPH_RUN_ID": "run-1", "RALPH_ITERATION": "7"},
            constrained=constrained,
        )

        def tick(live: Live) -> bool:
            self.lives.append(live)
            return stop and bool(live.tail)

        base = dict(os.environ) if env is None else env
        room = AgentRoom(
            self.root,
            linger=1.0,
            run_id=f"r-{os.getpid()}-{id(self)}",
            hold=None,
            base_env=base,
            markers=("M",),
        )
        return room.run(launch, policy, tick=tick, say=self.said.append)

    def plays(self, *records: object, then: str = "") -> str:
        """A program that prints a stream and does ``then``."""
        path = self.root / "stream.jsonl"
        path.write_bytes(stream(*records))  # type: ignore[arg-type]
        return f"import os, sys, time\nsys.stdout.write(open({str(path)!r}).read())\n" + (
            f"sys.stdout.flush()\n{then}\n"
        )
