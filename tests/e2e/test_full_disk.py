"""F2: no space, or no right to write, at each kind of write; what was there stays, resume works."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.support.cli import RALPH, Ended, Project
from tests.support.mounts import own_mounts
from tests.support.world import marked

FILL = "cat /dev/zero > {folder}/ballast 2> /dev/null"
LOCK = "mount --bind {folder} {folder} && mount -o remount,ro,bind {folder}"
WORK = (
    "tick; echo $N >> work; if [ $N = 2 ]; then {trouble}; fi; "
    "grep -q '\\[ \\]' IMPLEMENTATION_PLAN.md || echo RALPH_COMPLETE"
)
FREE = "rm {folder}/ballast"
UNLOCK = "umount {folder}"


def mounted(project: Project, script: str) -> Ended:
    """Run shell text in which ``$RALPH`` is ralph and the state folder is ``$STATE``."""
    done = subprocess.run(
        [*own_mounts(), "bash", "-c", script],
        cwd=project.root,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "RALPH": " ".join(RALPH),
            "STATE": os.environ["XDG_STATE_HOME"],
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return Ended(project.root, done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize(
    ("folder", "size", "trouble", "named"),
    [
        (".ralph", "3m", FILL, ".ralph/runs"),
        (".ralph/runs", "3m", FILL, ".ralph/runs"),
        (".ralph", "", LOCK, ".ralph/runs"),
        ("$STATE", "2m", FILL, "ledger.sqlite3"),
        ("$STATE", "", LOCK, "ledger.sqlite3"),
    ],
)
def test_f2_a_disk_that_fails_in_mid_run_ends_it_and_resume_goes_on(
    project: Project, folder: str, size: str, trouble: str, named: str
) -> None:
    project.plan("AB-1 a", "AB-2 b", "AB-3 c", "AB-4 d")
    project.commit("plan")
    agent = project.agent(WORK.format(trouble=trouble.format(folder=folder)))
    made = f"mkdir -p {folder}; "
    if size:
        made += f"mount -t tmpfs -o size={size} none {folder}; "
    cure = FREE if trouble is FILL else UNLOCK
    saved = project.root.parent / "saved"
    ended = mounted(
        project,
        f"{made} $RALPH run --agent {agent} --max 9; echo code $?;"
        f"{cure.format(folder=folder)}; $RALPH status --json; $RALPH resume; echo code $?;"
        f"cp -r .ralph {saved}",
    )
    assert "Traceback" not in ended.out + ended.err
    codes = [line for line in ended.out.splitlines() if line.startswith("code ")]
    assert codes == ["code 3", "code 0"], ended.out + ended.err
    runs = sorted((saved / "runs").iterdir())
    first, second = (json.loads((run / "terminal.json").read_bytes()) for run in runs)
    reason = "disk_full" if trouble is FILL else "internal_error"
    assert (first["ending"]["state"], first["ending"]["reason"]) == ("ESCALATED_TO_HUMAN", reason)
    assert named in first["ending"]["detail"]
    assert second["ending"]["reason"] == "completed"
    for run in runs:
        events = [json.loads(line) for line in (run / "journal.jsonl").read_bytes().splitlines()]
        assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
        assert [event["kind"] for event in events].count("run_ended") == 1
        assert marked(f"RALPH_RUN_ID={run.name}") == []


@pytest.mark.parametrize(
    ("folder", "trouble", "hint"),
    [
        (".ralph", "mount -t tmpfs -o size=1m none .ralph; " + FILL, "free some space"),
        ("$STATE", "mount -t tmpfs -o size=1m none $STATE; " + FILL, "free some space"),
        (".ralph", LOCK, "owner, mode and mount"),
        ("$STATE", LOCK, "owner, mode and mount"),
    ],
)
def test_f2_a_run_that_cannot_be_recorded_does_not_start(
    project: Project, folder: str, trouble: str, hint: str
) -> None:
    project.plan("AB-1 a")
    agent = project.agent("tick")
    ended = mounted(
        project,
        f"mkdir -p {folder}; {trouble.format(folder=folder)}; $RALPH run --agent {agent}",
    )
    assert ended.code == 3, ended.err
    where = folder.replace("$STATE", os.environ["XDG_STATE_HOME"])
    assert ended.err.startswith("error: cannot ")
    assert where in ended.err
    assert hint in ended.err
    assert ended.launches == 0


def test_f2_a_start_that_failed_for_space_hides_no_earlier_run(project: Project) -> None:
    project.plan("AB-1 a", "AB-2 b")
    agent = project.agent("tick; echo $N | tee work")
    ended = mounted(
        project,
        "mkdir .ralph; mount -t tmpfs -o size=3m none .ralph;"
        f"$RALPH run --agent {agent} --max 1; {FILL.format(folder='.ralph')};"
        "$RALPH resume; echo code $?; rm .ralph/ballast; $RALPH status; $RALPH runs --json",
    )
    assert "code 3" in ended.out
    assert "FOLLOW_UP_TICKET / iteration_cap" in ended.out
    assert "Traceback" not in ended.err


def test_f2_a_read_only_repository_is_named(project: Project) -> None:
    project.write("a.py", "x\n")
    ended = mounted(
        project,
        f"cd ..; {LOCK.format(folder=project.root.name)}; cd {project.root.name};"
        "for command in run init status; do $RALPH $command; echo $?; done",
    )
    assert ended.out.split() == ["3", "3", "2"]
    assert ended.err.count("Read-only file system") == 2
    assert str(project.root) in ended.err
