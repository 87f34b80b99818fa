"""The real Claude Code CLI under a real run; only the model behind it is scripted."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.cli import Ended, Project
from tests.support.provider import Provider, Turn

pytestmark = pytest.mark.live

VERSION = (Path(__file__).parent / "claude.version").read_text().strip()
FOLDER = Path(
    os.environ.get("RALPH_TEST_AGENTS")
    or Path(os.path.expanduser("~")) / ".cache" / "ralph-test-agents"  # noqa: PTH111
)
BIN = FOLDER / f"claude-{VERSION}" / "node_modules" / ".bin"
REQUIRED = "claude" in os.environ.get("RALPH_TEST_REQUIRE", "").split(",")


def run(project: Project, turns: list[Turn], *args: str) -> tuple[Ended, Provider]:
    if not (BIN / "claude").exists():
        if REQUIRED:
            pytest.fail(f"no claude in {BIN}")
        pytest.skip(f"Claude Code {VERSION} is not installed in {FOLDER}")
    with Provider(turns) as provider:
        ended = project.ralph(
            *("run", "PROMPT.md", "--agent", "claude", "--max", "20", *args),
            PATH=f"{BIN}{os.pathsep}{os.environ['PATH']}",
            ANTHROPIC_BASE_URL=provider.url,
            ANTHROPIC_API_KEY="not-a-real-key",
            CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
            DISABLE_AUTOUPDATER="1",
            DISABLE_TELEMETRY="1",
            CLAUDE_CODE_MAX_RETRIES="0",
        )
    return ended, provider


def work(project: Project, task: str) -> list[Turn]:
    plan = project.root / "IMPLEMENTATION_PLAN.md"
    shell = f"echo {task} >> done.txt && sed -i 's/\\[ \\] {task}/[x] {task}/' {plan}"
    return [
        {"text": f"I do {task}.", "tools": [("Bash", {"command": shell, "description": "work"})]},
        {"text": f"{task} is done."},
    ]


def test_a_plan_is_worked_off_and_the_claim_confirmed(project: Project) -> None:
    claim = {"text": "Nothing is open.\n\nIMPLEMENTATION_COMPLETE"}
    turns = [*work(project, "AB-1"), *work(project, "AB-2"), claim, claim]
    ended, provider = run(project, turns)
    assert (ended.state, ended.code) == ("RESOLVED / completed", 0), ended.log
    assert (project.root / "done.txt").read_text().split() == ["AB-1", "AB-2"]
    result = ended.of("iteration_observed")[0]["seen"]["result"]
    assert result["klass"] == "ok"
    assert result["structured"]
    assert result["tools"]["calls"] == 1
    assert result["usage"]["output"] == 80
    assert "Do the plan." in str(provider.bodies[0]["messages"])


def test_a_wrong_key_stops_at_once(project: Project) -> None:
    refused = {"status": 401, "type": "authentication_error", "message": "invalid x-api-key"}
    ended, _ = run(project, [refused])
    assert (ended.state, ended.code) == ("ESCALATED_TO_HUMAN / agent_auth", 3), ended.log
    assert "claude auth login" in ended.err


def test_talk_without_work_is_no_progress(project: Project) -> None:
    ended, _ = run(project, [{"text": "I am thinking about RALPH_COMPLETE and the plan."}])
    assert (ended.state, ended.code) == ("ESCALATED_TO_HUMAN / no_progress", 3)
    assert len(ended.of("iteration_judged")) == 3
