"""One attempt of one agent, with real processes (A-3 to A-11, A8, A13, A15, A17, A18, A21, A24)."""

from __future__ import annotations

import json
import os
import signal
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from ralph.core.facts import EndedBy, FailureClass, Outcome
from ralph.core.failure import settle
from ralph.core.policy import Policy
from tests.support.claude import answers, calls, fails, init, limit, result, says
from tests.support.room import Room
from tests.support.world import Script


@pytest.fixture
def room(tmp_path: Path, script: Script) -> Room:
    root = tmp_path / "work"
    root.mkdir()
    return Room(root, script)


def test_a_plain_agent_that_answers_is_ok_and_its_output_is_kept(room: Room) -> None:
    seen = room.run("print('Wrote it.\\nRALPH_COMPLETE')\nimport sys; print('hm', file=sys.stderr)")
    assert (seen.klass, seen.ended_by, seen.exit_code) == (FailureClass.OK, EndedBy.EXIT, 0)
    assert seen.final_text == "Wrote it.\nRALPH_COMPLETE"
    assert seen.error_text == ""
    assert (room.folder / "output.log").read_bytes() == b"Wrote it.\nRALPH_COMPLETE\n"
    assert (room.folder / "stderr.log").read_bytes() == b"hm\n"
    assert (seen.stdout_bytes, seen.stderr_bytes) == (25, 3)
    assert sorted("".join(room.said).splitlines()) == ["RALPH_COMPLETE", "Wrote it.", "hm"]
    assert seen.usage is None


def test_a_stop_request_ends_the_agent_at_once(room: Room) -> None:
    seen = room.run("import time; print('working', flush=True); time.sleep(300)", stop=True)
    assert (seen.klass, seen.ended_by) == (FailureClass.KILLED, EndedBy.STOP)
    assert seen.detail == "stopped on request"
    assert room.lives[-1].tail == ("working",)


def test_the_hard_limit_does_not_wait_for_output(room: Room) -> None:
    seen = room.run("import time; time.sleep(300)", timeout=0.5)
    assert (seen.klass, seen.ended_by) == (FailureClass.TIMEOUT, EndedBy.HARD)
    assert seen.detail == "ended at agent.timeout (0.5s)"
    assert settle(seen, changed=False, progressed=False, claimed=False)[1] is Outcome.TIMEOUT


def test_a6_retry_lines_do_not_keep_a_silent_agent_alive(room: Room) -> None:
    seen = room.run(
        """
        import time
        while True:
            print("Reconnecting... 2/5 (waiting for network)", flush=True)
            time.sleep(0.05)
        """,
        idle_timeout=2.0,
        timeout=60.0,
    )
    assert (seen.klass, seen.ended_by) == (FailureClass.IDLE, EndedBy.IDLE)
    assert seen.detail == (
        "no output and no CPU for 2s; last seen: Reconnecting... 2/5 (waiting for network)"
    )


def test_c3_a_loop_of_tool_calls_ends_the_iteration(room: Room) -> None:
    loop = [
        record
        for n in range(60)
        for record in (calls(f"t{n}", "Bash", {"command": "ls"}), answers(f"t{n}", "a"))
    ]
    seen = room.run(room.plays(init(), *loop, then="time.sleep(300)"), output="claude")
    assert (seen.klass, seen.ended_by) == (FailureClass.KILLED, EndedBy.REPEAT)
    assert "identical tool call (Bash)" in seen.detail
    assert seen.tools is not None
    assert seen.tools.longest_run == 60


def test_a15_an_agent_that_hangs_after_its_result_is_ended_and_its_result_kept(room: Room) -> None:
    program = room.plays(init(), result("fine\nRALPH_COMPLETE"), then="time.sleep(300)")
    seen = room.run(program, output="claude", idle_timeout=60.0)
    assert (seen.klass, seen.ended_by) == (FailureClass.OK, EndedBy.LINGER)
    assert seen.final_text == "fine\nRALPH_COMPLETE"
    assert "lingered" in seen.contradictions[0]


def test_a16_silent_work_in_a_child_is_not_idle(room: Room) -> None:
    seen = room.run(
        """
        import subprocess, sys
        work = "import time; end = time.monotonic() + 4\\nwhile time.monotonic() < end: pass"
        subprocess.run([sys.executable, "-c", work])
        print("tested")
        """,
        idle_timeout=1.5,
    )
    assert (seen.klass, seen.final_text) == (FailureClass.OK, "tested")


def test_a13_empty_and_fast_is_a_failure_of_its_own(room: Room) -> None:
    seen = room.run(["/bin/true"])
    assert settle(seen, changed=False, progressed=False, claimed=False) == (
        FailureClass.EMPTY_FAST,
        Outcome.AGENT_ERROR,
    )


def test_a18_a_command_that_is_missing_is_a_launch_error(room: Room) -> None:
    seen = room.run(["no-such-agent-here"])
    assert (seen.klass, seen.ended_by) == (FailureClass.LAUNCH_ERROR, EndedBy.LAUNCH)
    assert "not found on PATH" in seen.detail


def test_a24_death_by_a_signal_is_a_crash_and_a_high_exit_code_is_not(room: Room) -> None:
    seen = room.run("import os; os.kill(os.getpid(), 11)")
    assert (seen.klass, seen.signal, seen.exit_code) == (FailureClass.CRASH, signal.SIGSEGV, None)
    assert "signal 11" in seen.detail
    high = room.run("import sys; sys.exit(139)")
    assert (high.klass, high.signal, high.exit_code) == (FailureClass.CRASH, None, 139)


def test_a21_the_record_decides_against_the_exit_code_and_the_contradiction_is_kept(
    room: Room,
) -> None:
    good = room.run(room.plays(init(), result("fine"), then="sys.exit(1)"), output="claude")
    assert (good.klass, good.final_text) == (FailureClass.OK, "fine")
    assert good.contradictions
    bad = room.run(room.plays(init(), fails("API Error: Connection error.")), output="claude")
    assert (bad.klass, bad.exit_code) == (FailureClass.NETWORK, 0)
    assert bad.contradictions
    assert bad.error_text == "API Error: Connection error."


def test_a9_claudes_figures_reach_the_result(room: Room) -> None:
    seen = room.run(room.plays(init(), says("x"), result()), output="claude")
    assert seen.structured
    assert seen.usage is not None
    assert (seen.usage.output, seen.usage.cost) == (50, 12_500)
    assert (seen.model, seen.session_id, seen.turns) == ("m-1", "s-1", 3)


def test_a5_a_structured_instant_wins_over_the_sentence(room: Room) -> None:
    sentence = "You've hit your 5-hour limit · resets 10:16pm (UTC)"
    seen = room.run(
        room.plays(init(), limit(4_000_000_000), fails(sentence), then="sys.exit(1)"),
        output="claude",
    )
    assert seen.klass is FailureClass.USAGE_LIMIT
    assert seen.limit is not None
    assert seen.limit.resets_at == datetime.fromtimestamp(4_000_000_000, UTC)
    assert (seen.limit.kind, seen.limit.sentence) == ("five_hour", sentence)


def test_a5_a_clock_time_without_a_zone_is_the_agents_own(room: Room) -> None:
    """A7: plain text, exit 1."""
    seen = room.run(
        "import sys; print('Session limit reached ∙ resets 10:45pm'); sys.exit(1)",
        env={**os.environ, "TZ": "Asia/Tokyo", "PYTHONUTF8": "1"},
    )
    assert (seen.klass, seen.limit is not None) == (FailureClass.USAGE_LIMIT, True)
    assert seen.limit is not None
    assert seen.limit.kind == "session"
    assert seen.limit.resets_at is not None
    local = seen.limit.resets_at.astimezone(ZoneInfo("Asia/Tokyo"))
    just_passed = abs(seen.limit.resets_at - datetime.now(UTC)) < timedelta(seconds=30)
    assert just_passed or (local.hour, local.minute) == (22, 45)


def test_a5_a_limit_without_an_instant_has_none(room: Room) -> None:
    seen = room.run("import sys; sys.exit('You have hit nothing')")
    assert seen.limit is None
    vague = room.run('import sys; sys.exit("You\'ve hit your usage limit. Try again later.")')
    assert vague.limit is not None
    assert vague.limit.resets_at is None


def test_a6_an_auth_error_names_the_login_command(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = room.root / "bin"
    tools.mkdir()
    program = tools / "claude"
    record = json.dumps(fails("Invalid API key · Fix external API key"))
    program.write_text(f"#!{sys.executable}\nprint({record!r}); raise SystemExit(1)\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    seen = room.attempt("claude", Policy())
    assert seen.klass is FailureClass.AUTH
    assert seen.detail.endswith("; log in with: claude auth login")


# L-19
def test_l19_stderr_of_a_failed_invocation_comes_before_plain_error_lines(room: Room) -> None:
    both = "import sys; print('Error: out'); print('deep trouble', file=sys.stderr); sys.exit({})"
    assert room.run(both.format(3)).error_text == "deep trouble"
    assert room.run(both.format(0)).error_text == "Error: out"
