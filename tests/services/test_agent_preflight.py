"""Whether an agent can be started, and what is shown of its command (A18, F8, A-5)."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from ralph.core.policy import AgentPolicy, BreakerPolicy, Constrain, CustomAgent, Policy
from ralph.services.agent_room import describe, local_zone, preflight


def test_a18_preflight_names_what_is_missing_and_what_to_do(tmp_path: Path) -> None:
    def missing(*command: str, **changes: object) -> str:
        own = CustomAgent(command=command)
        policy = Policy(agents={"own": own}, **changes)  # type: ignore[arg-type]
        return preflight(policy, "own", os.environ, root=tmp_path)

    plain, broken, via_env = tmp_path / "plain", tmp_path / "broken", tmp_path / "via_env"
    plain.write_text("hello")
    broken.write_text("#!/no/such/interpreter\n")
    via_env.write_text("#!/usr/bin/env -S no-such-interpreter -x\n")
    broken.chmod(0o755)
    via_env.chmod(0o755)
    assert missing("no-such-agent").startswith("no-such-agent is not on PATH (install it")
    assert "is not executable" in missing(str(plain))
    assert "wants /no/such/interpreter, which is missing" in missing("./broken")
    assert "wants no-such-interpreter" in missing(str(via_env))
    assert "there is no file" in missing("./nowhere")
    assert missing(sys.executable) == ""
    profile = BreakerPolicy(constrain=Constrain(command=("no-such-one",)))
    assert "breaker.constrain.command" in missing(sys.executable, breaker=profile)
    assert "no such agent: nope" in preflight(Policy(), "nope", os.environ)


def test_preflight_looks_in_the_path_that_the_agent_will_have(tmp_path: Path) -> None:
    program = tmp_path / "my-agent"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    own = {"own": CustomAgent(command=("my-agent",))}
    assert preflight(Policy(agents=own), "own", {"PATH": "/usr/bin"})
    agent = AgentPolicy(env={"PATH": str(tmp_path)})
    assert preflight(Policy(agents=own, agent=agent), "own", {"PATH": "/usr/bin"}) == ""


def test_f8_a_command_line_is_shown_without_its_secrets() -> None:
    own = CustomAgent(command=("x", "--api-key", "hunter2", "--token=abcdef123456", "-v"))
    shown = describe(Policy(agents={"own": own}, agent=AgentPolicy(use="own")))
    assert (shown[0], shown[1], shown[4]) == ("x", "--api-key", "-v")
    assert "hunter2" not in " ".join(shown)
    assert "abcdef123456" not in " ".join(shown)
    assert describe(Policy(agent=AgentPolicy(use="nope"))) == ()


def test_a5_the_local_zone_is_that_of_the_environment() -> None:
    assert local_zone({"TZ": "Asia/Tokyo"}) == ZoneInfo("Asia/Tokyo")
    assert local_zone({"TZ": ":Asia/Tokyo"}) == ZoneInfo("Asia/Tokyo")
    assert local_zone({"TZ": "of another planet"}) is UTC
    assert datetime.now(local_zone({})).utcoffset() == datetime.now().astimezone().utcoffset()
