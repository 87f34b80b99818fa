"""Ralph as a person starts it: a real process in a real repository."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.world import Repo

RALPH = (sys.executable, "-m", "ralph")


@dataclass(frozen=True)
class Ended:
    """A finished ``ralph`` and what it left."""

    root: Path
    code: int
    out: str
    err: str

    @property
    def terminal(self) -> dict[str, Any]:
        """terminal.json of the newest run."""
        found: dict[str, Any] = json.loads((self.folder / "terminal.json").read_bytes())
        return found

    @property
    def folder(self) -> Path:
        """The newest run's folder."""
        return sorted((self.root / ".ralph" / "runs").iterdir())[-1]

    @property
    def state(self) -> str:
        """STATE / reason of the newest run."""
        ending = self.terminal["ending"]
        return f"{ending['state']} / {ending['reason']}"

    @property
    def events(self) -> list[dict[str, Any]]:
        """The journal of the newest run."""
        lines = (self.folder / "journal.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]

    @property
    def launches(self) -> int:
        """How often the project's own agent was started."""
        return Project.at(self.root).launches()

    def of(self, kind: str) -> list[dict[str, Any]]:
        """Events of one kind."""
        return [event for event in self.events if event["kind"] == kind]

    @property
    def log(self) -> str:
        """The log of the newest run."""
        (path,) = self.folder.glob("ralph_*.log")
        return path.read_text()

    def prompt(self, iteration: int) -> str:
        """What the agent was told in ``iteration``."""
        return (self.folder / "iterations" / f"{iteration:04d}" / "prompt.md").read_text()


class Project(Repo):
    """A repository with a prompt and a plan, and agents written for one test."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.write("PROMPT.md", "# Goal\n\nDo the plan.\n")

    @classmethod
    def at(cls, root: Path) -> Project:
        """The project that is there already."""
        made = cls.__new__(cls)
        Repo.__init__(made, root)
        return made

    def plan(self, *lines: str) -> None:
        """Write the plan; a line without a box gets an open one."""
        boxed = [line if line.startswith("- ") else f"- [ ] {line}" for line in lines]
        self.write("IMPLEMENTATION_PLAN.md", "# Plan\n\n" + "\n".join(boxed) + "\n")

    def agent(self, shell: str) -> str:
        """Write an agent outside the tree; ``$N`` is the number of its launch. Its command line."""
        folder = self.root.parent / "agent"
        folder.mkdir(exist_ok=True)
        path = folder / "agent.sh"
        path.write_text(
            f'#!/bin/bash\nd="{folder}"\n'
            'echo x >> "$d/launches"; N=$(wc -l < "$d/launches"); N=$((N))\n'
            'prompt=$(cat)\nprintf "%s" "$prompt" > "$d/prompt.$N"\n'
            "tick() { sed -i '0,/\\[ \\]/s//[x]/' IMPLEMENTATION_PLAN.md; }\n"
            f"{shell}\n"
        )
        path.chmod(0o755)
        return str(path)

    def launches(self) -> int:
        """How often the agent was started."""
        path = self.root.parent / "agent" / "launches"
        return len(path.read_text().splitlines()) if path.exists() else 0

    def popen(self, *args: str, **env: str) -> subprocess.Popen[str]:
        """Start ``ralph`` here."""
        return subprocess.Popen(
            [*RALPH, *args],
            cwd=self.root,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def ralph(self, *args: str, **env: str) -> Ended:
        """Run ``ralph`` here to its end."""
        with self.popen(*args, **env) as process:
            out, err = process.communicate(timeout=180)
        return Ended(self.root, process.returncode, out, err)

    def run(self, shell: str, *args: str, **env: str) -> Ended:
        """``ralph run`` with an agent that is this shell text."""
        return self.ralph("run", "--agent", self.agent(shell), *args, **env)
