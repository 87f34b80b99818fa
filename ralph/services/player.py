"""The scripted agent: a real child process that does what a YAML script says (A-1).

Started as ``python -m ralph.services.player SCRIPT.yaml``, it stands for a real agent in tests
and in ``ralph demo``: it reads its prompt from stdin, prints, edits files, commits, fails, hangs
and dies as the script tells. The N-th start plays the N-th launch of the script.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import sys
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from ralph.errors import RalphError, StorageError, UsageError
from ralph.services.clock import SystemClock
from ralph.services.player_script import Script, load
from ralph.services.player_steps import Stage
from ralph.services.player_voices import ClaudeVoice, TextVoice, Voice

STATE = Path(".ralph") / "player.json"  # below the working folder


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message, hint=self.format_usage().strip())


def main(argv: Sequence[str]) -> int:
    """Play one launch and return its exit code; 2 for a script that cannot be played."""
    try:
        return _play(_arguments(argv))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    except RalphError as error:
        sys.stderr.write(f"error: {error.message}\n")
        if error.hint:
            sys.stderr.write(f"hint: {error.hint}\n")
        return error.exit_code


def next_launch(state: Path) -> int:
    """Count one more launch in the file ``state`` and return its number, from 1.

    Raises:
        UsageError: if the file holds something else.
        StorageError: if it cannot be written.
    """
    try:
        number = int(json.loads(state.read_bytes())["launch"]) + 1
    except FileNotFoundError:
        number = 1
    except (OSError, ValueError, KeyError, TypeError):
        raise UsageError(
            f"{state} is no state of the scripted agent", hint="delete it to begin at launch 1"
        ) from None
    draft = state.with_name(f"{state.name}.{os.getpid()}")
    try:
        state.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(json.dumps({"launch": number}) + "\n")
        draft.replace(state)
    except OSError as error:
        raise StorageError(f"cannot write {state}: {error.strerror}") from None
    return number


def _arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = _Parser(prog="python -m ralph.services.player", allow_abbrev=False)
    parser.add_argument("script", type=Path, help="the YAML script")
    parser.add_argument("--speed", type=_speed, default=1.0, help="2 waits half as long")
    parser.add_argument("--format", choices=("text", "claude"), default="text")
    parser.add_argument("--state", type=Path, default=STATE, help="where the launches are counted")
    return parser.parse_args(argv)


def _speed(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):
        raise ValueError(text)
    return value


def _play(asked: argparse.Namespace) -> int:
    script = load(asked.script)
    number = next_launch(asked.state)
    steps = script.launch(number)
    clock = SystemClock()
    stage = Stage(
        voice=_voice(asked.format, script, number, clock),
        plan=Path(script.plan_file),
        speed=asked.speed,
        clock=clock,
    )
    return stage.play(steps)


def _voice(form: str, script: Script, number: int, clock: SystemClock) -> Voice:
    if form == "text":
        return TextVoice()
    session = uuid.uuid5(uuid.NAMESPACE_URL, f"{script.path}#{number}")
    return ClaudeVoice(session=str(session), model=script.model, clock=clock)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.exit(main(sys.argv[1:]))
