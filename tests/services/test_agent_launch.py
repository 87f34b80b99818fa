"""What an agent is started with, and what may stay of it (A-8, A-11, A8, A17, B-17)."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path

import pytest

from ralph.core.facts import FailureClass
from ralph.core.policy import AgentPolicy, Constrain, CustomAgent, Policy
from ralph.services.agent_room import MARK
from tests.support.room import Room
from tests.support.world import Script, alive, eventually, marked


@pytest.fixture
def room(tmp_path: Path, script: Script) -> Room:
    root = tmp_path / "work"
    root.mkdir()
    return Room(root, script)


ECHO = "import sys; got = sys.stdin.buffer.read(); print(len(got), got[-3:])"


def test_a8_a_large_prompt_is_delivered_whole_on_stdin(room: Room) -> None:
    seen = room.run(ECHO, prompt="é" * 100_000 + "end")
    assert seen.final_text == "200003 b'end'"


def test_a8_as_a_file_it_is_whole_too_and_not_in_the_tree(room: Room) -> None:
    program = "import sys; got = open(sys.argv[1]).read(); print(sys.argv[1], len(got), got[-3:])"
    seen = room.run(program, prompt="é" * 100_000 + "end", by="file")
    assert seen.final_text == f"{room.folder}/prompt.md 100003 end"
    assert sorted(path.name for path in room.root.iterdir()) == ["attempt"]
    assert (room.folder / "prompt.md").stat().st_mode & 0o777 == 0o600


def test_a8_as_an_argument_it_stands_where_the_command_wants_it_or_last(room: Room) -> None:
    program = room.script("import sys; print(sys.argv[1:])")
    assert room.run(
        [*program, "-m", "{prompt}", "-x"], prompt="go on", by="argument"
    ).final_text == ("['-m', 'go on', '-x']")
    assert room.run(program, prompt="go on", by="argument").final_text == "['go on']"


def test_a8_a_prompt_too_large_for_an_argument_is_pointed_at(room: Room) -> None:
    program = room.script("import sys; print(sys.argv[1])")
    seen = room.run(program, prompt="x" * 200_000, by="argument")
    assert seen.klass is FailureClass.OK
    path = room.folder / "prompt.md"
    assert str(path) in seen.final_text
    assert path.read_text() == "x" * 200_000


def test_a17_without_a_prompt_on_stdin_it_is_the_null_device(room: Room) -> None:
    seen = room.run("import os, sys; print(repr(sys.stdin.read()), os.isatty(0))", by="argument")
    assert seen.final_text == "'' False"


SHOW = "import json, os; print(json.dumps(dict(os.environ)))"


def test_a11_the_environment_is_the_persons_plus_and_minus_what_the_policy_says(room: Room) -> None:
    base = {**os.environ, "MINE": "1", "SECRET": "2", "RALPH_ITERATION": "outer"}
    seen = room.attempt(
        "own",
        Policy(
            agents={"own": CustomAgent(command=tuple(room.script(SHOW)))},
            agent=AgentPolicy(env={"ADDED": "3"}, unset=("SECRET", "RALPH_RUN_ID")),
        ),
        env=base,
    )
    env = json.loads(seen.final_text)
    assert (env["MINE"], env["ADDED"]) == ("1", "3")
    assert "SECRET" not in env
    assert (env["RALPH_RUN_ID"], env["RALPH_ITERATION"]) == ("run-1", "7")
    assert env["RALPH_MARKERS"] == "M"
    assert env[MARK].endswith("/7.2")


def test_a8_nothing_of_the_agent_outlives_it_but_it_is_named(room: Room) -> None:
    seen = room.run(
        """
        import os, subprocess, sys
        helper = "import time; time.sleep(300)"
        child = subprocess.Popen([sys.executable, "-c", helper], start_new_session=True)
        print(os.environ["RALPH_ATTEMPT"], child.pid)
        """
    )
    mark, pid = seen.final_text.split()
    assert marked(f"{MARK}={mark}") == []
    assert any(f"({pid})" in survivor for survivor in seen.survivors)


def test_a8_an_agent_that_kills_its_guard_does_not_get_away(room: Room) -> None:
    seen = room.run(
        """
        import os, subprocess, sys, time
        helper = "import time; time.sleep(300)"
        subprocess.Popen([sys.executable, "-c", helper], start_new_session=True)
        print(os.environ["RALPH_ATTEMPT"], flush=True)
        os.kill(os.getppid(), 9)
        time.sleep(300)
        """
    )
    assert marked(f"{MARK}={seen.final_text}") == []
    assert seen.klass is FailureClass.CRASH
    assert "killed" in seen.detail


def test_a8_only_what_agent_leave_names_may_stay(room: Room) -> None:
    program = room.root / "kept-server"
    shutil.copy("/bin/sleep", program)
    seen = room.run(
        f"""
        import subprocess
        kept = subprocess.Popen([{str(program)!r}, "300"], start_new_session=True)
        print(kept.pid)
        """,
        leave=("kept-server",),
    )
    pid = int(seen.final_text)
    try:
        assert alive(pid)
        assert seen.survivors == ()
    finally:
        os.kill(pid, signal.SIGKILL)
        assert eventually(lambda: not alive(pid))


def test_b17_a_constrained_launch_uses_the_profile(room: Room) -> None:
    program = room.script("import sys; print(sys.argv[1:])")
    profile = Constrain(args=("--plan",))
    assert room.run(program, constrain=profile, constrained=True).final_text == "['--plan']"
    assert room.run(program, constrain=profile).final_text == "[]"


@pytest.mark.parametrize("form", ["text", "claude"])
def test_the_scripted_agent_plays_its_script_as_a_real_process(room: Room, form: str) -> None:
    path = room.root / "script.yaml"
    path.write_text("launches:\n  - - write: {path: a.py, text: x}\n    - result: I wrote it.\n")
    args = (str(path), f"--format={form}")
    policy = Policy(agent=AgentPolicy(use="scripted", args=args))
    seen = room.attempt("scripted", policy)
    assert (seen.klass, seen.structured) == (FailureClass.OK, form == "claude")
    assert seen.final_text.endswith("I wrote it.")
    assert (room.root / "a.py").read_text() == "x"
