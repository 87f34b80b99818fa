"""Group B, L-7 to L-10, T-6: done is believed only on evidence; resume goes on."""

from __future__ import annotations

import pytest

from tests.support.cli import Ended, Project
from tests.support.world import eventually

CLAIM = "echo; echo IMPLEMENTATION_COMPLETE"
WORK = "tick; echo $N >> work"
OPEN = "grep -q '\\[ \\]' IMPLEMENTATION_PLAN.md"
FINISH = f"if {OPEN}; then {WORK}; else {CLAIM}; fi"


def counts(ended: Ended) -> list[int]:
    return [e["counters"].get("completion", 0) for e in ended.of("iteration_judged")]


def test_b2_a_claim_with_open_tasks_is_refuted_then_ends_truthfully(project: Project) -> None:
    ended = project.run(CLAIM, "--set", "stall.no_progress=9")
    assert (ended.state, ended.code) == ("FOLLOW_UP_TICKET / claimed_with_open_tasks", 4)
    assert "AB-1" in ended.prompt(3)
    assert ended.launches == 4


def test_b1_claims_must_follow_each_other(project: Project) -> None:
    shell = (
        f"{OPEN} && {{ tick; tick; }}; echo $N >> work; [ $((N % 2)) = 1 ] && {{ {CLAIM}; }}; true"
    )
    ended = project.run(shell, "--max", "4")
    assert ended.state == "FOLLOW_UP_TICKET / iteration_cap"
    assert counts(ended) == [1, 0, 1, 0]


# L-3
def test_b7_completion_is_judged_before_the_cap(project: Project) -> None:
    ended = project.run(f"tick; echo $N >> work; {CLAIM}", "--max", "2")
    assert ended.code in (0, 4)
    project.plan("AB-1 one")
    again = project.run(f"tick; echo $N >> work; {CLAIM}", "--max", "2", "--work", "other")
    assert (again.state, again.code) == ("RESOLVED / completed", 0)


# L-3
def test_l3_one_claim_at_the_cap_is_not_enough(project: Project) -> None:
    ended = project.run(f"tick; tick; echo x >> work; {CLAIM}", "--max", "1")
    assert ended.state == "FOLLOW_UP_TICKET / iteration_cap"
    assert "completion 1/2" in ended.terminal["ending"]["detail"]


@pytest.mark.parametrize("shell", [f"{{ {CLAIM}; }} >&2", f"{CLAIM}; exit 3"])
def test_b8_b9_a_marker_in_the_wrong_place_is_no_signal(project: Project, shell: str) -> None:
    ended = project.run(f"tick; echo $N >> work; {shell}", "--max", "2")
    assert ended.state == "FOLLOW_UP_TICKET / iteration_cap"
    assert counts(ended) == [0, 0]


def test_c8_an_echo_of_the_prompt_is_no_signal(project: Project) -> None:
    project.write("PROMPT.md", "# Goal\nDo all.\nThen print\nRALPH_COMPLETE\nalone on a line.\n")
    ended = project.run(f'{WORK}; printf "%s\\n" "$prompt"', "--max", "2")
    assert counts(ended) == [0, 0]


# L-18
def test_b13_ticks_without_changes_are_no_progress(project: Project) -> None:
    project.plan(*(f"AB-{n} task" for n in range(1, 7)))
    ended = project.run("tick; echo fine")
    assert (ended.state, ended.code) == ("ESCALATED_TO_HUMAN / no_progress", 3)


def test_a_failing_verify_refutes_and_a_passing_one_resolves(project: Project) -> None:
    verify = ("--set", 'verify.commands=["test -f proof || { echo no proof; exit 1; }"]')
    ended = project.run(
        f'case "$prompt" in *"no proof"*) touch proof;; esac; {FINISH}', *verify, "--max", "9"
    )
    assert (ended.state, ended.code) == ("RESOLVED / completed", 0), ended.log
    assert [r["passed"] for e in ended.of("verified") for r in e["results"]] == [False, True]


# T-17
def test_t17_a_verify_that_never_passes_ends_as_judge_failed(project: Project) -> None:
    ended = project.run(FINISH, "--set", 'verify.commands=["false"]')
    assert (ended.state, ended.code) == ("ESCALATED_TO_HUMAN / judge_failed", 3)


# T-15
def test_t15_a_verify_that_writes_has_no_verdict(project: Project) -> None:
    ended = project.run(FINISH, "--set", 'verify.commands=["echo x >> app.py"]')
    assert ended.state == "ESCALATED_TO_HUMAN / judge_failed"
    assert "app.py" in ended.log
    deltas = [event["seen"].get("delta") or {} for event in ended.of("iteration_observed")]
    assert not any("app.py" in delta.get("paths", ()) for delta in deltas), "not the agent's"


# L-32
def test_l32_only_blocked_tasks_end_the_run(project: Project) -> None:
    project.plan("- [x] AB-1 one", "BLOCKED: AB-2 needs a key")
    ended = project.run("echo x >> work")
    assert (ended.state, ended.code) == ("FOLLOW_UP_TICKET / blocked", 4)
    assert "AB-2" in ended.err


# L-30
def test_l30_done_but_never_claimed_has_its_own_end(project: Project) -> None:
    ended = project.run(f"if {OPEN}; then {WORK}; fi; echo ok")
    assert (ended.state, ended.code) == ("FOLLOW_UP_TICKET / plan_done_unconfirmed", 4)
    assert "IMPLEMENTATION_COMPLETE" in ended.prompt(3)


def test_b11_b12_resume_starts_clean_counters_and_goes_on(project: Project) -> None:
    first = project.run(WORK, "--max", "1")
    assert (first.state, first.code) == ("FOLLOW_UP_TICKET / iteration_cap", 4)
    before = first.terminal
    project.agent(FINISH)
    second = project.ralph("resume", "--max", "9")
    assert (second.state, second.code) == ("RESOLVED / completed", 0), second.err
    started = second.of("run_started")[0]
    assert started["parent_run_id"] == before["run_id"]
    assert started["work_id"] == before["work_id"]
    assert "iteration_cap" in second.prompt(1) or "iterations used" in second.prompt(1)


# L-4
def test_l4_a_resumed_run_gets_the_full_cap_of_its_parent(project: Project) -> None:
    project.run("echo $N >> work", "--max", "2")
    second = project.ralph("resume")
    assert len(second.of("iteration_judged")) == 2


# L-27
def test_f10_resume_says_why_it_does_not_go_on(project: Project) -> None:
    nothing = project.ralph("resume")
    assert nothing.code in (1, 2)
    assert "error: " in nothing.err
    assert "hint: " in nothing.err
    project.run(FINISH)
    done = project.ralph("resume")
    assert done.code == 2
    assert "RESOLVED" in done.err
    project.git("mv", "PROMPT.md", "GOAL.md")
    project.plan("AB-7 more")
    moved = project.ralph("resume", "--force")
    assert moved.code == 2
    assert "--prompt" in moved.err
    assert project.ralph("resume", "--force", "--prompt", "GOAL.md").code == 0


def test_a7_a_usage_limit_is_waited_for_over_a_restart(project: Project) -> None:
    shell = 'echo "Claude AI usage limit reached|$(( $(date +%s) + 3600 ))"; exit 1'
    command = project.agent(shell)
    run = project.popen("run", "--agent", command)

    def waits(count: int) -> bool:
        journals = [path.read_text() for path in project.root.glob(".ralph/runs/*/journal.jsonl")]
        return sum('"wait_started"' in text for text in journals) == count

    assert eventually(lambda: waits(1), 30)
    assert project.ralph("stop", "--now").code == 0
    run.communicate(timeout=60)
    again = project.popen("resume")
    assert eventually(lambda: waits(2), 30)
    assert project.launches() == 1
    again.terminate()
    again.communicate(timeout=60)


def test_c5_what_a_resolved_run_does_not_cover_is_said(project: Project) -> None:
    plan = "# P\\n- [x] AB-9 z\\n## Optional\\n- [ ] AB-8 y\\n"
    ended = project.run(f"printf '{plan}' > IMPLEMENTATION_PLAN.md; {CLAIM}", "--max", "4")
    assert (ended.state, ended.code) == ("RESOLVED / completed", 0), ended.err
    assert "no longer in the plan: AB-1, AB-2" in ended.err
    assert "open, but optional: AB-8" in ended.err
