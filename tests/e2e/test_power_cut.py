"""F2, T-2, X-5: ralph is killed at any moment; nothing committed is lost, resume goes on."""

from __future__ import annotations

import json
import random
import subprocess
from contextlib import suppress

from tests.support.cli import Project
from tests.support.world import eventually, marked

KILLS = 60
TASKS = 900  # more than can be done before the last cut
AGENT = (
    "if grep -q '\\[ \\]' IMPLEMENTATION_PLAN.md; then tick; echo $N >> work;"
    " git add -A; git commit -qm work; else echo; echo RALPH_COMPLETE; fi"
)


def test_kills_at_random_moments(project: Project) -> None:
    project.plan(*(f"AB-{number} task" for number in range(TASKS)))
    project.commit("plan")
    command = project.agent(AGENT)
    luck = random.Random(20260101)
    first = ("run", "--agent", command, "--set", "rate.calls_per_hour=0")
    for cut in range(KILLS):
        run = project.popen(*(first if cut == 0 else ("resume",)))
        if cut == 0:
            assert eventually(lambda: list(project.root.glob(".ralph/runs/*/journal.jsonl")), 30)
        with suppress(subprocess.TimeoutExpired):
            run.wait(luck.uniform(0.1, 0.7))
        run.kill()
        run.communicate()
        for journal in project.root.glob(".ralph/runs/*/journal.jsonl"):
            run_id = journal.parent.name
            assert eventually(lambda: marked(f"RALPH_RUN_ID={run_id}") == [], 10)  # noqa: B023
        project.root.joinpath(".git/index.lock").unlink(missing_ok=True)  # the agent's git died

    project.agent(
        f"for n in {{1..{TASKS}}}; do tick; done; echo $N >> work; echo; echo RALPH_COMPLETE"
    )
    ended = project.ralph("resume")
    assert (ended.state, ended.code) == ("RESOLVED / completed", 0), ended.err
    assert "[ ]" not in (project.root / "IMPLEMENTATION_PLAN.md").read_text()
    runs = sorted(project.root.glob(".ralph/runs/*"))
    for folder in runs:
        if not any(folder.iterdir()):
            continue  # killed before it had a journal
        lines = (folder / "journal.jsonl").read_bytes().splitlines()
        if not lines:
            continue
        events = [json.loads(line) for line in lines]
        assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
        assert [event["kind"] for event in events].count("run_ended") == 1
        assert events[-1]["kind"] == "run_ended"
        told = json.loads((folder / "terminal.json").read_bytes())
        assert told["run_id"] == folder.name
        if folder != runs[-1]:
            assert told["ending"]["reason"] == "crashed"
