"""Group A: agents that misbehave, one row a kind, each a real process under a real run."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.support.cli import Ended, Project
from tests.support.world import eventually, marked

SHORT = ("--set", "agent.idle_timeout=2s", "--set", "stall.no_progress=1")
CLAIM = "echo; echo IMPLEMENTATION_COMPLETE"
FINISHED = (
    f"if grep -q '\\[ \\]' IMPLEMENTATION_PLAN.md; then tick; echo x >> work; else {CLAIM}; fi"
)


@dataclass(frozen=True)
class Row:
    """An agent in shell, what ralph is told, and what must be true afterwards."""

    id: str
    agent: str
    args: tuple[str, ...]
    state: str
    code: int
    then: Callable[[Ended], object] = lambda e: e.terminal


def output(ended: Ended, name: str = "output.log") -> bytes:
    return (ended.folder / "iterations" / "0001" / name).read_bytes()


def seen(ended: Ended, number: int = 0) -> dict[str, object]:
    found: dict[str, object] = ended.of("iteration_observed")[number]["seen"]["result"]
    return found


def claims(ended: Ended) -> list[str]:
    return [e["seen"].get("claim", {}).get("kind", "none") for e in ended.of("iteration_observed")]


def json_line(**fields: object) -> str:
    return f"printf '%s\\n' '{json.dumps(fields)}'"


INIT = json_line(type="system", subtype="init", session_id="s", model="m", tools=[])
RECORD = {"type": "result", "subtype": "success", "session_id": "s", "num_turns": 1}
AS_CLAUDE = "output = 'claude'"

ROWS = [
    Row(
        "A1 prints nothing for ever",
        "sleep 600",
        (*SHORT,),
        "ESCALATED_TO_HUMAN / no_progress",
        3,
        lambda e: "no output and no CPU for 2s" in e.log,
    ),
    Row(
        "A2 a background child holds stdout",
        "(sleep 25; echo LATE) & " + FINISHED,
        (),
        "RESOLVED / completed",
        0,
        lambda e: (
            b"LATE"
            not in b"".join(path.read_bytes() for path in e.folder.glob("iterations/*/output.log"))
            and e.terminal["seconds"] < 20
        ),
    ),
    Row(
        "A3 300 KB on stderr first",
        "head -c 300000 /dev/zero | tr '\\0' e >&2; echo out; " + FINISHED,
        (),
        "RESOLVED / completed",
        0,
        lambda e: len(output(e, "stderr.log")) == 300_000 and b"out" in output(e),
    ),
    Row(
        "A4 bytes that are no text",
        "printf 'a\\377\\355\\240\\200\\000\\303'; sleep 0.1; printf '\\244\\n'; " + FINISHED,
        (),
        "RESOLVED / completed",
        0,
        lambda e: output(e).startswith(b"a\xff\xed\xa0\x80\0\xc3\xa4\n"),
    ),
    Row(
        "A5 a marker within words",
        "echo 'I will not print RALPH_COMPLETE yet, 7 tasks remain'",
        ("--max", "2"),
        "NO_ANSWER_SAFE_FALLBACK / nothing_verified",
        1,
        lambda e: claims(e) == ["mention", "mention"],
    ),
    Row(
        "A6 a wrong key",
        "echo 'Invalid API key · Please run /login' >&2; exit 1",
        (),
        "ESCALATED_TO_HUMAN / agent_auth",
        3,
        lambda e: e.launches == 1,
    ),
    Row(
        "A8 a prompt of 200 KB",
        'echo "got ${#prompt}"; ' + FINISHED,
        (),
        "RESOLVED / completed",
        0,
        lambda e: int(output(e).split()[1]) > 200_000,
    ),
    Row(
        "A10 changes nothing and exits 0",
        "echo fine",
        (),
        "ESCALATED_TO_HUMAN / no_progress",
        3,
        lambda e: "[x]" not in (e.root / "IMPLEMENTATION_PLAN.md").read_text() and e.launches == 3,
    ),
    Row(
        "A11 ignores TERM, sessions of its own, double fork",
        "trap '' TERM; setsid sleep 700 & "
        "(setsid bash -c 'trap \"\" TERM; sleep 700' &) ; sleep 700",
        ("--set", "agent.timeout=1s", "--max", "1"),
        "NO_ANSWER_SAFE_FALLBACK / nothing_verified",
        1,
        lambda e: seen(e)["klass"] == "timeout",
    ),
    Row(
        "A12 one line of 30 MB",
        "head -c 30000000 /dev/zero | tr '\\0' y; echo; " + FINISHED,
        (),
        "RESOLVED / completed",
        0,
        lambda e: len(output(e)) > 30_000_000,
    ),
    Row(
        "A13 nothing at all, at once",
        "exit 0",
        (),
        "ESCALATED_TO_HUMAN / no_progress",
        3,
        lambda e: "empty_fast" in e.log and "same_error 3/5" in json.dumps(e.terminal),
    ),
    Row(
        "A14 closes its stdin",
        "exec 0<&-; " + FINISHED,
        (),
        "RESOLVED / completed",
        0,
        lambda e: "Traceback" not in e.err,
    ),
    Row(
        "A15 a plain agent commits, then hangs",
        "tick; echo x >> work; git add -A; git commit -qm work; sleep 600",
        ("--set", "agent.idle_timeout=2s", "--max", "1"),
        "FOLLOW_UP_TICKET / iteration_cap",
        4,
        lambda e: e.of("iteration_judged")[0]["counters"].get("no_progress", 0) == 0,
    ),
    Row(
        "A16 burns CPU silently",
        f"{sys.executable} -c 'import time\nt=time.time()\nwhile time.time()-t<4: pass'; "
        + FINISHED,
        ("--set", "agent.idle_timeout=2s"),
        "RESOLVED / completed",
        0,
    ),
    Row(
        "A17 reads from the terminal",
        "read -r line < /dev/tty && echo got; read -r more && echo more; " + FINISHED,
        (),
        "RESOLVED / completed",
        0,
        lambda e: b"got" not in output(e) and b"more" not in output(e),
    ),
    Row(
        "A19 deletes ralph's folder and cleans",
        "tick; echo $N >> app.py; git add -A; git commit -qm w; rm -rf .ralph; git clean -fdxq; "
        + "grep -q '\\[ \\]' IMPLEMENTATION_PLAN.md || { "
        + CLAIM
        + "; }",
        ("--max", "6"),
        "RESOLVED / completed",
        0,
        lambda e: "Traceback" not in e.err and e.events[0]["kind"] == "run_started",
    ),
    Row(
        "A20 starts a run itself",
        f"{sys.executable} -m ralph run --agent true; echo nested $?; " + FINISHED,
        (),
        "RESOLVED / completed",
        0,
        lambda e: b"nested 2" in output(e) and b"--allow-nested" in output(e, "stderr.log"),
    ),
    Row(
        "A21 exit 0, and the record says error",
        f"{INIT}; " + json_line(**RECORD, is_error=True, result="it broke"),
        ("--max", "1"),
        "NO_ANSWER_SAFE_FALLBACK / nothing_verified",
        1,
        lambda e: seen(e)["klass"] == "crash" and seen(e)["contradictions"],
    ),
    Row(
        "A21 exit 1 after a record of success",
        f"tick; echo x >> work; {INIT}; "
        + json_line(**RECORD, is_error=False, result="ok")
        + "; exit 1",
        ("--max", "1"),
        "FOLLOW_UP_TICKET / iteration_cap",
        4,
        lambda e: seen(e)["klass"] == "ok" and seen(e)["contradictions"],
    ),
    Row(
        "A22 colours, titles and progress bars around a claim",
        "tick; tick; echo x >> work; "
        "printf '10%%\\r99%%\\r\\033[32mRALPH_COMPLETE\\033[0m\\033]0;t\\a\\r\\n'",
        (),
        "RESOLVED / completed",
        0,
        lambda e: "\x1b" not in e.log and "\r" not in e.log,
    ),
    Row(
        "A23 a warning before, a half line after",
        "echo 'npm WARN odd'; echo '[1, 2]'; tick; echo x >> work; "
        f"{INIT}; "
        + json_line(**RECORD, is_error=False, result="ok")
        + '; printf \'{"type": "resu\'',
        ("--max", "1"),
        "FOLLOW_UP_TICKET / iteration_cap",
        4,
        lambda e: seen(e)["klass"] == "ok",
    ),
    Row(
        "A24 dies by a signal of its own",
        "kill -SEGV $$",
        ("--set", "stall.no_progress=0", "--set", "stall.same_error=2"),
        "ESCALATED_TO_HUMAN / same_error",
        3,
        lambda e: seen(e)["klass"] == "crash" and seen(e)["signal"] == 11,
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_group_a(row: Row, project: Project) -> None:
    if row.id.startswith("A8"):
        project.write("PROMPT.md", "# Goal\n\n" + "word and more\n" * 15_000)
    claude = row.id.startswith(("A21", "A23"))
    if claude:
        project.write(
            "ralph.toml",
            f'[agents.odd]\ncommand = ["{project.agent(row.agent)}"]\noutput = "claude"\n',
        )
        project.commit("configure")
        ended = project.ralph("run", "--agent", "odd", *row.args)
    else:
        ended = project.run(row.agent, *row.args)

    assert (ended.state, ended.code) == (row.state, row.code), ended.err
    assert row.then(ended), ended.log
    kinds = [event["kind"] for event in ended.events]
    assert kinds.count("run_ended") == 1
    assert kinds[-1] == "run_ended"
    assert marked(f"RALPH_RUN_ID={ended.terminal['run_id']}") == []


@pytest.mark.parametrize("kind", ["missing", "plain", "broken"])
def test_a18_an_agent_that_cannot_start(project: Project, kind: str) -> None:
    command = {
        "missing": "no-such-agent-anywhere",
        "plain": str(project.write("../plain", "x")),
        "broken": str(project.write("../broken", "#!/no/such/interpreter\n")),
    }[kind]
    if kind == "broken":
        os.chmod(command, 0o755)  # noqa: PTH101
    before = project.git("status", "--porcelain")
    ended = project.ralph("run", "--agent", command)
    assert (ended.state, ended.code) == ("NO_ANSWER_SAFE_FALLBACK / agent_unavailable", 1)
    assert project.git("status", "--porcelain") == before


STUBBORN = "trap '' TERM INT HUP; setsid sleep 900 & echo up; while :; do sleep 1; done"


@pytest.mark.parametrize(
    ("signals", "code", "state"),
    [
        ((signal.SIGTERM,), 143, "FOLLOW_UP_TICKET / interrupted"),
        ((signal.SIGINT, signal.SIGINT), 130, "FOLLOW_UP_TICKET / interrupted"),
        ((signal.SIGHUP,), 129, "FOLLOW_UP_TICKET / interrupted"),
        ((signal.SIGKILL,), -9, "ESCALATED_TO_HUMAN / crashed"),
    ],
    ids=["TERM", "INT twice", "HUP", "KILL"],
)
def test_a9_no_agent_outlives_ralph(
    project: Project, signals: tuple[signal.Signals, ...], code: int, state: str
) -> None:
    run = project.popen("run", "--agent", project.agent(STUBBORN))
    runs = project.root / ".ralph" / "runs"
    assert eventually(
        lambda: any(b"up" in path.read_bytes() for path in runs.glob("*/iterations/*/output.log")),
        30,
    )
    (run_id,) = (path.name for path in runs.iterdir())
    assert marked(f"RALPH_RUN_ID={run_id}")
    journal = runs / run_id / "journal.jsonl"
    for count, number in enumerate(signals, 1):
        run.send_signal(number)
        if number != signal.SIGKILL:  # the next signal must not come before this one was seen
            heard = f'"by":"{number.name}"'
            assert eventually(lambda: journal.read_text().count(heard) == count, 30)  # noqa: B023
    run.communicate(timeout=60)
    assert run.returncode == code
    assert eventually(lambda: marked(f"RALPH_RUN_ID={run_id}") == [], 10)
    after = project.ralph("status", "--json")
    told = json.loads(after.out)
    assert told["run_id"] == run_id
    assert after.state == state
