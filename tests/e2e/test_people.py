"""Group F, T-1, T-5: people, terminals and machines in the way of a run."""

from __future__ import annotations

import json
import os
import signal

import pytest

from tests.support.cli import Ended, Project
from tests.support.world import eventually

WAITING = "echo up; sleep 60"


def running(project: Project) -> bool:
    outputs = project.root.glob(".ralph/runs/*/iterations/*/output.log")
    return any(b"up" in path.read_bytes() for path in outputs)


@pytest.mark.parametrize(
    ("args", "cap"),
    [(("--max=3",), 3), (("--max", "3"), 3), (("-n", "3"), 3), (("--max", "08"), 8)],
)
def test_f4_spellings_of_the_cap(project: Project, args: tuple[str, ...], cap: int) -> None:
    assert project.run("exit 0", *args).of("run_started")[0]["max"] == cap


@pytest.mark.parametrize(
    "args",
    [
        ("run", "--max", "0"),
        ("run", "--max", "x"),
        ("run", "--no-such-flag"),
        ("run", "--set", "stall.no_progres=3"),
        ("run", "--set", "stall.no_progress"),
        ("run", "missing.md"),
        ("run", "--until", "25:00"),
        ("run", "--agent", ""),
        ("resume", "no-such-run"),
        ("nonsense",),
        ("config", "nonsense"),
    ],
)
def test_f4_wrong_usage_is_refused_with_a_hint(project: Project, args: tuple[str, ...]) -> None:
    ended = project.ralph(*args)
    assert ended.code in (1, 2)
    assert "error: " in ended.err
    assert "Traceback" not in ended.err
    assert not (project.root / ".ralph").exists()


def test_f4_a_misspelt_key_gets_a_suggestion(project: Project) -> None:
    project.write("ralph.toml", "[stall]\nno_progres = 3\n")
    ended = project.run("true")
    assert ended.code == 2
    assert "stall.no_progress" in ended.err
    assert "ralph.toml:2" in ended.err


def test_f5_the_flag_wins_over_the_file(project: Project) -> None:
    project.write("ralph.toml", "max = 9\n")
    assert project.run("exit 0", "--max", "1").of("run_started")[0]["max"] == 1
    assert '"source": "' in project.ralph("config", "show", "--json").out


def test_f1_one_run_a_tree(project: Project) -> None:
    command = project.agent(WAITING)
    first = project.popen("run", "--agent", command)
    assert eventually(lambda: running(project), 30)
    second = project.ralph("run", "--agent", command)
    assert second.code == 2
    assert str(first.pid) in second.err
    first.send_signal(signal.SIGKILL)
    first.communicate(timeout=30)
    third = project.run("exit 0", "--max", "1")
    assert third.code == 1
    assert "died" in third.err


def test_stop_after_this_iteration_and_now(project: Project) -> None:
    run = project.popen("run", "--agent", project.agent("echo up; sleep 3; echo $N >> work"))
    assert eventually(lambda: running(project), 30)
    assert project.ralph("stop").code == 0
    run.communicate(timeout=60)
    assert run.returncode == 4
    assert project.launches() == 1
    assert (project.root / "work").exists()

    run = project.popen("run", "--agent", project.agent(WAITING), "--work", "two")
    assert eventually(lambda: project.launches() == 2, 30)
    assert project.ralph("stop", "--now").code == 0
    run.communicate(timeout=30)
    status = json.loads(project.ralph("status", "--json").out)
    assert "stopped" in json.dumps(status) or "FOLLOW_UP_TICKET" in json.dumps(status)


def test_pause_and_continue(project: Project) -> None:
    run = project.popen(
        "run", "--agent", project.agent("echo up; sleep 1; echo $N >> work"), "--max", "2"
    )
    assert eventually(lambda: running(project), 30)
    project.ralph("pause")
    journal = next(project.root.glob(".ralph/runs/*/journal.jsonl"))
    assert eventually(lambda: '"paused"' in journal.read_text(), 30)
    assert project.launches() == 1
    project.ralph("continue")
    run.communicate(timeout=60)
    assert project.launches() == 2


def test_f12_rescue_brings_lost_files_back(project: Project) -> None:
    project.write("precious.txt", "not committed\n")
    ended = project.run("git clean -fdxq; git reset -q --hard; rm -f app.py", "--max", "1")
    run_id = ended.terminal["run_id"]
    saved = project.root.parent / "saved"
    assert project.ralph("rescue", run_id, "--to", str(saved)).code == 0
    assert (saved / "precious.txt").read_text() == "not committed\n"
    assert (saved / "app.py").exists()
    assert not (project.root / "precious.txt").exists()


def test_f8_secrets_stay_out_of_the_log(project: Project) -> None:
    token = "ghp_" + "aB3dE5fG7hJ9" * 3
    ended = project.run(f"echo token {token}", "--max", "1")
    assert token not in ended.log
    raw = ended.folder / "iterations" / "0001" / "output.log"
    assert token in raw.read_text()
    assert raw.stat().st_mode & 0o777 == 0o600


def test_f9_a_hook_that_fails_or_hangs_stops_nothing(project: Project) -> None:
    ended = project.run(
        "tick; echo $N >> work", "--max", "2",
        "--set", 'hooks.on_task_done=echo "$RALPH_TASK" >> ../hooked; exit 7',
    )  # fmt: skip
    assert ended.code == 4
    assert (project.root.parent / "hooked").read_text().split() == ["AB-1", "AB-2"]
    assert "exit 7" in ended.log


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_f2_a_read_only_folder_is_named(project: Project) -> None:
    project.root.chmod(0o500)
    try:
        ended = project.ralph("run", "--agent", "true")
    finally:
        project.root.chmod(0o700)
    assert str(project.root) in ended.err


def test_f2_a_file_where_the_folder_should_be(project: Project) -> None:
    project.write(".ralph", "a file\n")
    ended = project.run("true")
    assert ended.code in (2, 3)
    assert "error: " in ended.err
    assert ".ralph" in ended.err
    assert "Traceback" not in ended.err
    assert project.launches() == 0


def test_f6_a_valid_edit_applies_and_a_broken_one_is_told(project: Project) -> None:
    project.write("ralph.toml", "[stall]\nno_progress = 9\n")
    shell = (
        "case $N in 1) printf '[stall]\\nno_progress = 4\\n' > ralph.toml;;"
        " 2) echo '[[[' > ralph.toml;; esac; echo same"
    )
    ended = project.run(shell)
    assert ended.state == "ESCALATED_TO_HUMAN / no_progress"
    assert ended.launches == 6  # its two edits were progress, the four after them were none
    assert "configuration not applied" in ended.log


def test_f11_an_agent_cannot_loosen_its_leash(project: Project) -> None:
    shell = "printf '[stall]\\nno_progress = 50\\n[verify]\\ncommands=[\"true\"]\\n' > ralph.toml"
    ended = project.run(shell, "--max", "9")
    assert ended.state == "ESCALATED_TO_HUMAN / no_progress"
    assert ended.launches <= 4


def test_no_repository_at_all(project: Project) -> None:
    import shutil

    shutil.rmtree(project.root / ".git")
    ended = project.run(
        "if grep -q '\\[ \\]' IMPLEMENTATION_PLAN.md; then tick; echo $N >> work;"
        " else echo; echo RALPH_COMPLETE; fi"
    )
    assert (ended.state, ended.code) == ("RESOLVED / completed", 0), ended.err


# L-4, L-34
def test_l4_l34_a_deadline_carries_over_to_a_resumed_run(project: Project) -> None:
    first = project.run("echo $N >> work", "--until", "07:00", "--max", "1")
    deadline = first.of("run_started")[0]["deadline"]
    again = project.ralph("resume")
    assert again.of("run_started")[0]["deadline"] == deadline
    assert again.of("run_started")[0]["max"] == 1


def test_logs_can_be_followed_to_the_end_of_the_run(project: Project) -> None:
    run = project.popen(
        "run", "--agent", project.agent("echo up; sleep 2; echo $N >> w"), "--max", "1"
    )
    assert eventually(lambda: running(project), 30)
    followed = project.ralph("logs", "-f")
    run.communicate(timeout=60)
    assert "Run ended" in followed.out
    assert project.ralph("logs", "last").out == followed.out


# T-1
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)], ids=["TERM", "HUP"]
)
@pytest.mark.parametrize("where", ["verify", "hook"])
def test_t1_a_signal_ends_a_run_in_every_phase(
    project: Project, where: str, number: signal.Signals, code: int
) -> None:
    mark = project.root.parent / "phase"
    command = f"touch {mark}; sleep 60"
    if where == "verify":
        project.plan("- [x] AB-1 one")
        shell, key = "echo; echo RALPH_COMPLETE", f'verify.commands=["{command}"]'
    else:
        shell, key = "tick; echo $N >> work", f"hooks.on_task_done={command}"
    run = project.popen("run", "--agent", project.agent(shell), "--set", key)
    assert eventually(mark.exists, 30)
    run.send_signal(number)
    run.communicate(timeout=30)
    assert run.returncode == code
    assert project.ralph("status").state == "FOLLOW_UP_TICKET / interrupted"


@pytest.mark.parametrize("closing", [">&- 2>&-", "> /dev/full 2> /dev/full", "2>&1 | head -n 3"])
def test_f3_output_that_is_gone_changes_no_run(project: Project, closing: str) -> None:
    import shlex
    import subprocess

    from tests.support.cli import RALPH

    shell = (
        "if grep -q '\\[ \\]' IMPLEMENTATION_PLAN.md; then tick; echo $N >> work;"
        " else echo; echo RALPH_COMPLETE; fi"
    )
    command = shlex.join([*RALPH, "run", "--agent", project.agent(shell)])
    line = f"set -o pipefail; {command} {closing}"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(__import__("sys").path)}
    done = subprocess.run(
        ["bash", "-c", line], cwd=project.root, env=env, capture_output=True, check=False
    )
    assert done.returncode == 0, done
    assert project.ralph("status").state == "RESOLVED / completed"


@pytest.mark.parametrize("name", ["PROMPT.md", "ralph.toml", "IMPLEMENTATION_PLAN.md"])
def test_a_pipe_or_device_in_place_of_a_file_hangs_nothing(project: Project, name: str) -> None:
    for make in (f"rm -f {name}; mkfifo {name}", f"ln -sf /dev/zero {name}"):
        ended = project.run(f"{make}; echo $N >> work", "--max", "3", "--work", make[:2])
        assert ended.code in (1, 3, 4)
        assert "Traceback" not in ended.err
        project.git("checkout", "-f", "--", "PROMPT.md", "IMPLEMENTATION_PLAN.md")
        (project.root / "ralph.toml").unlink(missing_ok=True)


def test_a19_planted_iteration_folders_are_moved_aside(project: Project) -> None:
    shell = (
        'd=.ralph/runs/$RALPH_RUN_ID/iterations/0002; mkdir -p "$d" 2>/dev/null &&'
        ' mkfifo "$d/prompt.md" "$d/output.log"; echo $N >> work'
    )
    ended = project.run(shell, "--max", "2")
    assert ended.state == "FOLLOW_UP_TICKET / iteration_cap"
    assert "Do the plan." in ended.prompt(2)


def test_a19_a_forged_terminal_record_is_not_believed(project: Project) -> None:
    forged = '{"ending":{"state":"RESOLVED","reason":"completed"}}'
    ended = project.run(f"echo '{forged}' > .ralph/runs/$RALPH_RUN_ID/terminal.json", "--max", "1")
    assert ended.state == "NO_ANSWER_SAFE_FALLBACK / nothing_verified"


# L-31
@pytest.mark.parametrize(("args", "refused"), [((), True), (("--allow-no-tasks",), False)])
def test_a_plan_with_text_and_no_task_is_refused_when_it_was_named(
    project: Project, args: tuple[str, ...], refused: bool
) -> None:
    project.write("TODO.md", "# Plan\n\nWrite the parser.\n")
    ended = project.run("echo $N >> work", "--max", "1", "--plan", "TODO.md", *args)
    assert ended.code == (2 if refused else 4)
    assert project.launches() == (0 if refused else 1)
    if refused:
        assert "- [ ]" in ended.err


# L-31, C6
def test_a_missing_plan_is_looked_for_again_after_every_iteration(project: Project) -> None:
    (project.root / "IMPLEMENTATION_PLAN.md").unlink()
    shell = (
        "if [ $N = 1 ]; then printf -- '- [ ] AB-1 x\\n' > IMPLEMENTATION_PLAN.md; else tick; fi;"
        " echo $N >> work"
    )
    ended = project.run(shell, "--max", "2")
    assert ended.of("iteration_judged")[1]["counters"]["tasks_done"] == 1


# T-14
def test_a_run_inside_a_run_needs_a_word_for_it(project: Project) -> None:
    inside = {"RALPH_RUN_ID": "outer", "RALPH_CHAIN": "outer"}
    refused = project.run("true", "--max", "1", **inside)
    assert (refused.code, project.launches()) == (2, 0)
    assert "outer" in refused.err
    allowed = project.run("echo $RALPH_CHAIN > chain", "--max", "1", "--allow-nested", **inside)
    assert allowed.code == 4
    assert (project.root / "chain").read_text().startswith("outer:")


# L-2
def test_without_a_cap_it_is_said_that_somebody_should_watch(project: Project) -> None:
    shell = "if grep -q '\\[ \\]' IMPLEMENTATION_PLAN.md; then tick; tick; echo x >> w; fi"
    ended = project.run(f"{shell}; echo; echo RALPH_COMPLETE")
    assert "NO ITERATION CAP" in ended.err


def test_a_prompt_that_is_still_the_template_is_warned_of(project: Project) -> None:
    (project.root / "PROMPT.md").unlink()
    project.ralph("init")
    assert "PROMPT.md is as `ralph init` wrote it" in project.run("echo x", "--max", "1").err
    (project.root / "PROMPT.md").write_text("Build the ledger.\n")
    assert "as `ralph init` wrote it" not in project.run("echo x", "--max", "1").err


# L-14
def test_l14_what_a_hook_writes_is_no_work_of_the_next_iteration(project: Project) -> None:
    shell = "if [ $N = 1 ]; then tick; echo x > work; fi; echo"
    hook = ("--set", 'hooks.on_task_done="date +%N > extra"')
    ended = project.run(shell, "--max", "3", *hook)
    assert (project.root / "extra").exists()
    assert counts(ended, "no_progress") == [0, 1, 2]


# L-14
def test_l14_what_a_person_writes_in_a_pause_is_no_work_of_the_next_iteration(
    project: Project,
) -> None:
    shell = 'if [ $N = 1 ]; then echo up; echo x > work; sleep 1; fi; echo "$N"'
    run = project.popen("run", "--agent", project.agent(shell), "--max", "3")
    assert eventually(lambda: running(project), 30)
    project.ralph("pause")
    journal = next(project.root.glob(".ralph/runs/*/journal.jsonl"))
    assert eventually(lambda: '"paused"' in journal.read_text(), 30)
    (project.root / "by_hand").write_text("mine\n")
    project.ralph("continue")
    run.communicate(timeout=60)
    events = [json.loads(line) for line in journal.read_text().splitlines()]
    judged = [event for event in events if event["kind"] == "iteration_judged"]
    assert [event["counters"].get("no_progress", 0) for event in judged] == [0, 1, 2]


def counts(ended: Ended, counter: str) -> list[int]:
    return [event["counters"].get(counter, 0) for event in ended.of("iteration_judged")]
