"""What an agent, or a person, can do to ralph itself while it runs."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

from tests.support.cli import Project
from tests.support.world import alive, eventually

FINISHED = (
    "if grep -q '\\[ \\]' IMPLEMENTATION_PLAN.md; then tick; echo $N >> work;"
    " else echo; echo RALPH_COMPLETE; fi"
)


def pid_in(path: Path) -> int:
    assert eventually(lambda: path.exists() and path.read_text().strip(), 30)
    return int(path.read_text())


def test_a9_a_tool_that_kills_guard_and_ralph_leaves_nothing_for_long(project: Project) -> None:
    project.plan("AB-1 one")
    notes = project.root.parent
    tool = f"kill -9 $PPID $ralph; echo \\$\\$ > {notes}/tool.pid; exec sleep 600"
    run = project.popen(
        "run",
        "--agent",
        project.agent(
            f'echo $$ > {notes}/agent.pid; ralph=$(cut -d" " -f4 /proc/$PPID/stat)\n'
            f'setsid bash -c "{tool}" &\nsleep 600'
        ),
    )
    tool_pid, agent = pid_in(notes / "tool.pid"), pid_in(notes / "agent.pid")
    run.communicate(timeout=60)
    assert run.returncode == -signal.SIGKILL
    assert eventually(lambda: not alive(agent), 5)  # by the kernel: its parent is dead
    project.agent(FINISHED)
    ended = project.ralph("resume")
    assert (ended.state, ended.code) == ("RESOLVED / completed", 0), ended.err
    assert f"sleep ({tool_pid})" in ended.err
    assert not alive(tool_pid)


def test_a9_what_another_tree_or_a_live_run_started_is_left_alone(project: Project) -> None:
    project.plan("AB-1 one")
    other = os.spawnvpe(
        os.P_NOWAIT,
        "sleep",
        ["sleep", "600"],
        {**os.environ, "RALPH_RUN_ID": "20260101-000000-0000000000"},
    )
    try:
        assert project.run(FINISHED).code == 0
        assert alive(other)
    finally:
        os.kill(other, signal.SIGKILL)
        os.waitpid(other, 0)


def test_f1_one_run_a_tree_wherever_locks_are_kept(project: Project) -> None:
    waiting = project.agent("touch ../up; sleep 600")
    first = project.popen("run", "--agent", waiting)
    try:
        assert eventually((project.root.parent / "up").exists, 30)
        elsewhere = str(project.root.parent / "elsewhere")
        second = project.ralph("run", "--agent", waiting, XDG_STATE_HOME=elsewhere)
        assert (second.code, project.launches()) == (2, 1)
        assert f"pid {first.pid}" in second.err
        shutil.rmtree(Path(os.environ["XDG_STATE_HOME"]) / "ralph" / "locks")
        third = project.ralph("run", "--agent", waiting)
        assert (third.code, project.launches()) == (2, 1)
    finally:
        first.send_signal(signal.SIGTERM)
        first.communicate(timeout=60)
