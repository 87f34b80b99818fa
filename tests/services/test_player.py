"""The scripted agent does what its script says, and refuses a script that says nonsense (A-1)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ralph.services.agents.base import Reading, Session
from ralph.services.agents.claude_stream import ClaudeReader
from ralph.services.agents.text import TextReader
from ralph.services.clock import SystemClock
from ralph.services.player import main
from ralph.services.player_script import SHAPES, load
from ralph.services.player_steps import Stage
from tests.support.world import Repo, alive, eventually

Child = subprocess.Popen[bytes]
PLAN = "# Work\n\n- [ ] AB-10 ten, LAB-1\n- [ ] AB-1 one\n- [x] old\n\nThe end.\n"


class Theatre:
    """A folder with a script that is played as a real child process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder.parent / "script.yaml"

    def script(self, text: str) -> Theatre:
        self.path.write_text(text)
        return self

    def launch(self, *steps: object) -> Theatre:
        return self.script(json.dumps({"launches": [list(steps)]}))

    @contextmanager
    def start(self, *args: str, stdin: int = subprocess.DEVNULL) -> Iterator[Child]:
        argv = [sys.executable, "-m", "ralph.services.player", str(self.path), *args]
        pipe = subprocess.PIPE
        with subprocess.Popen(
            argv, cwd=self.folder, stdin=stdin, stdout=pipe, stderr=pipe
        ) as child:
            try:
                yield child
            finally:
                child.kill()

    def play(self, *args: str, prompt: bytes = b"go") -> subprocess.CompletedProcess[bytes]:
        with self.start(*args, stdin=subprocess.PIPE) as child:
            out, err = child.communicate(prompt, timeout=60)
        return subprocess.CompletedProcess([], child.returncode, out, err)

    def records(self, *args: str) -> list[dict[str, object]]:
        out = self.play("--format", "claude", *args).stdout
        return [json.loads(line) for line in out.splitlines()]


@pytest.fixture
def stage(tmp_path: Path) -> Theatre:
    folder = tmp_path / "stage"
    folder.mkdir()
    return Theatre(folder)


@pytest.fixture
def theatre(repo: Repo) -> Theatre:
    repo.write("IMPLEMENTATION_PLAN.md", PLAN)
    repo.commit()
    return Theatre(repo.root)


def read(records: list[dict[str, object]]) -> Reading:
    reader = ClaudeReader(Session(prompt="", say=lambda _: None, clock=SystemClock()))
    for record in records:
        reader.hear("stdout", json.dumps(record).encode() + b"\n")
    return reader.reading()


def test_every_step_that_may_stand_in_a_script_can_be_played() -> None:
    assert {name for name in dir(Stage) if name.startswith("do_")} == {f"do_{n}" for n in SHAPES}


def test_the_nth_start_plays_the_nth_launch_and_the_last_one_repeats(stage: Theatre) -> None:
    stage.script("launches: [[say: one], [say: two]]")
    assert [stage.play().stdout for _ in range(4)] == [b"one\n", b"two\n", b"two\n", b"two\n"]
    assert json.loads((stage.folder / ".ralph/player.json").read_text()) == {"launch": 4}


def test_after_fail_refuses_a_launch_beyond_the_last(stage: Theatre) -> None:
    stage.script("after: fail\nlaunches: [[say: one]]")
    assert stage.play().returncode == 0
    late = stage.play()
    assert (late.returncode, late.stdout) == (2, b"")
    assert b"error: " in late.stderr
    assert b"no launch 2" in late.stderr


def test_the_launches_are_counted_in_the_state_file_that_is_named(
    stage: Theatre, tmp_path: Path
) -> None:
    stage.script("launches: [[say: one], [say: two]]")
    state = tmp_path / "deep" / "state.json"
    assert stage.play("--state", str(state)).stdout == b"one\n"
    assert stage.play("--state", str(state)).stdout == b"two\n"
    assert not (stage.folder / ".ralph").exists()


def test_a_state_file_of_something_else_is_left_alone(stage: Theatre) -> None:
    stage.launch({"say": "x"})
    state = stage.folder / "notes.txt"
    state.write_text("mine")
    played = stage.play("--state", "notes.txt")
    assert (played.returncode, played.stdout) == (2, b"")
    assert b"hint: " in played.stderr
    assert state.read_text() == "mine"


def test_the_prompt_is_read_whole(stage: Theatre) -> None:
    prompt = "päß\n".encode() * 50_000
    stage.launch({"keep_prompt": "got"})
    assert stage.play(prompt=prompt).returncode == 0
    assert (stage.folder / "got").read_bytes() == prompt


def test_a14_the_prompt_is_left_unread_when_the_script_says_so(stage: Theatre) -> None:
    for how in ("ignore", "close"):
        stage.launch({"stdin": how}, {"say": "x"})
        with stage.start(stdin=subprocess.PIPE) as child:
            assert child.stdout is not None
            assert child.stdout.read() == b"x\n"
            assert child.wait(60) == 0


def test_a_closed_stdin_breaks_the_writers_pipe(stage: Theatre) -> None:
    stage.launch({"stdin": "close"}, {"say": "shut"}, {"hang": "forever"})
    with stage.start(stdin=subprocess.PIPE) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stdout.readline() == b"shut\n"
        with pytest.raises(BrokenPipeError):
            os.write(child.stdin.fileno(), b"x" * 100_000)


def test_files_are_written_extended_and_deleted(stage: Theatre) -> None:
    stage.launch(
        {"write": {"path": "deep/a.txt", "text": "one\n"}},
        {"append": {"path": "deep/a.txt", "text": "two\n"}},
        {"write": {"path": "b.txt", "text": "gone"}},
        {"delete": "b.txt"},
        {"delete": "never.txt"},
    )
    played = stage.play()
    assert played.returncode == 0
    assert (stage.folder / "deep/a.txt").read_text() == "one\ntwo\n"
    assert not (stage.folder / "b.txt").exists()
    assert b"never.txt: No such file" in played.stdout


def test_a_tick_finds_its_task_by_whole_id_or_text(theatre: Theatre) -> None:
    plan = theatre.folder / "IMPLEMENTATION_PLAN.md"
    theatre.launch({"tick": "AB-1"}, {"untick": "old"}, {"add_task": "AB-2 two"}).play()
    expected = PLAN.replace("[ ] AB-1 ", "[x] AB-1 ").replace("[x] old", "[ ] old\n- [ ] AB-2 two")
    assert plan.read_text() == expected
    theatre.launch({"tick": "AB-99"})
    assert b"no box [ ] for 'AB-99'" in theatre.play().stdout
    assert plan.read_text() == expected


def test_ticking_keeps_the_line_ends_of_the_plan(stage: Theatre) -> None:
    plan = stage.folder / "plan.md"
    plan.write_bytes(b"- [ ] one\r\n- [!] two\r\n")
    stage.script("plan_file: plan.md\nlaunches: [[tick: two]]").play()
    assert plan.read_bytes() == b"- [ ] one\r\n- [x] two\r\n"


@pytest.mark.parametrize("ignored", [True, False])
def test_a_commit_takes_all_but_ralphs_own_folder(
    theatre: Theatre, repo: Repo, ignored: bool
) -> None:
    if ignored:
        repo.write(".git/info/exclude", ".ralph/\n")
    step = {"write": {"path": "new.py", "text": "x = 1\n"}}
    theatre.launch(step, {"commit": "add it's new"}).play()
    assert repo.git("log", "-1", "--format=%s") == "add it's new"
    assert repo.git("show", "--name-only", "--format=") == "new.py"
    again = theatre.play()
    assert b"Exit code 1" in again.stdout
    assert repo.git("rev-list", "--count", "HEAD") == "3"
    theatre.launch({"commit": {"message": "empty", "allow_empty": True}}).play()
    assert repo.git("rev-list", "--count", "HEAD") == "4"


def test_a_first_commit_can_be_made(stage: Theatre) -> None:
    subprocess.run(["git", "init", "-q", stage.folder], check=True)
    stage.launch({"write": {"path": "a", "text": "a"}}, {"commit": "first"}).play()
    assert Repo(stage.folder).git("show", "--name-only", "--format=") == "a"


def test_a_commit_needs_no_identity(
    theatre: Theatre, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    for role in ("AUTHOR", "COMMITTER"):
        for part in ("NAME", "EMAIL"):
            monkeypatch.delenv(f"GIT_{role}_{part}")
    theatre.launch({"write": {"path": "n", "text": "n"}}, {"commit": "new"}).play()
    assert repo.git("log", "-1", "--format=%an %ce") == "Scripted Agent scripted@example.invalid"


def test_shell_commands_are_shown_with_how_they_went(stage: Theatre) -> None:
    played = stage.launch({"run": "echo fine"}, {"run": "echo bad >&2; exit 3"}).play()
    assert played.stdout == b"$ echo fine\nfine\n$ echo bad >&2; exit 3\nExit code 3\nbad\n"
    assert played.returncode == 0


def test_bytes_go_out_as_they_are(stage: Theatre) -> None:
    stage.launch({"raw": {"hex": "ff 00 c3"}}, {"raw": "ä"}, {"raw": {"text": "e", "to": "stderr"}})
    played = stage.play()
    assert (played.stdout, played.stderr) == (b"\xff\x00\xc3\xc3\xa4", b"e")


def test_a_flood_has_the_size_asked_for(stage: Theatre) -> None:
    stage.launch({"flood": 1.5}, {"flood": {"mib": 0.3, "to": "stderr", "lines": False}})
    played = stage.play()
    assert len(played.stdout) == 3 << 19
    assert {len(line) for line in played.stdout.splitlines()} == {1023}
    assert len(played.stderr) == round(0.3 * (1 << 20))
    assert b"\n" not in played.stderr


def test_the_speed_shortens_waits(stage: Theatre) -> None:
    stage.launch({"wait": 3000}, {"say": "x"})
    assert stage.play("--speed", "100000").stdout == b"x\n"


def test_a_hang_is_not_shortened(stage: Theatre) -> None:
    stage.launch({"say": "x"}, {"hang": 3000})
    with stage.start("--speed", "100000000") as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"x\n"
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(0.5)


def test_a_closed_stdout_ends_the_pipe_while_the_agent_lives(stage: Theatre) -> None:
    stage.launch({"say": "x"}, "close_stdout", {"say": "lost"}, {"hang": "forever"})
    with stage.start() as child:
        assert child.stdout is not None
        assert child.stdout.read() == b"x\n"
        assert child.poll() is None


def test_a11_term_is_ignored_when_the_script_says_so(stage: Theatre) -> None:
    stage.launch("ignore_term", {"kill": "TERM"}, {"say": "still here"})
    played = stage.play()
    assert (played.returncode, played.stdout) == (0, b"still here\n")


def test_a24_it_dies_of_its_own_signal_without_a_core_file(stage: Theatre) -> None:
    for named, number in (("SEGV", signal.SIGSEGV), (9, signal.SIGKILL), ("sigterm", 15)):
        played = stage.launch({"say": "x"}, {"kill": named}, {"say": "y"}).play()
        assert (played.returncode, played.stdout) == (-number, b"x\n")
    assert {path.name for path in stage.folder.iterdir()} == {".ralph"}


@pytest.mark.parametrize("setsid", [True, False])
def test_a2_a_background_process_outlives_it_and_holds_stdout(stage: Theatre, setsid: bool) -> None:
    step = {"sleep": 300, "setsid": setsid, "holds_stdout": True, "ignore_term": True}
    stage.launch({"spawn": step}, {"say": "done"})
    with stage.start() as child:
        assert child.stdout is not None
        lines = [child.stdout.readline() for _ in range(3)]
        pid = int(lines[1].split()[1])
        assert lines[2] == b"done\n"
        assert child.wait(60) == 0
        try:
            os.set_blocking(child.stdout.fileno(), False)
            assert child.stdout.read() is None  # open, and empty
            assert alive(pid)
            assert (os.getsid(pid) == pid) is setsid
            os.kill(pid, signal.SIGTERM)
            assert alive(pid)
        finally:
            os.kill(pid, signal.SIGKILL)
    assert eventually(lambda: not alive(pid))


def test_the_exit_code_and_stderr_are_the_scripts(stage: Theatre) -> None:
    played = stage.launch({"error": "it broke"}, {"exit": 7}, {"say": "never"}).play()
    assert (played.returncode, played.stdout, played.stderr) == (7, b"", b"it broke\n")


def test_a7_a_usage_limit_names_its_instant(stage: Theatre) -> None:
    stage.launch({"limit": 3600})
    before = SystemClock().now().timestamp()
    played = stage.play()
    words, _, epoch = played.stdout.decode().partition("|")
    assert (words, played.returncode) == ("Claude AI usage limit reached", 1)
    assert -60 < int(epoch) - before - 3600 < 60


def test_a7_the_claude_reader_learns_a_limit_with_its_instant(stage: Theatre) -> None:
    reading = read(stage.launch({"limit": {"resets_in": 3600}}).records())
    assert reading.record is not None
    assert reading.record.klass == "usage_limit"
    assert reading.limit is not None
    assert reading.limit.resets_at is not None
    assert 3000 < (reading.limit.resets_at - SystemClock().now()).total_seconds() < 3700


def test_the_claude_reader_reads_it_as_the_real_one(theatre: Theatre) -> None:
    theatre.launch(
        {"usage": {"input": 900, "output": 40, "cost": 0.02}},
        {"say": "I begin."},
        {"retry": {"attempt": 2, "status": 529}},
        {"write": {"path": "a.py", "text": "a = 1\n"}},
        {"run": "exit 4"},
        {"usage": {"input": 100, "output": 2, "cost": 0.003}},
        {"tool": {"name": "Read", "input": {"file_path": "a.py"}, "output": "a = 1"}},
        {"say": "RALPH_COMPLETE"},
    )
    records = theatre.records()
    first, last = records[0], records[-1]
    assert (first["type"], first["subtype"]) == ("system", "init")
    assert (last["type"], last["result"], last["is_error"]) == ("result", "RALPH_COMPLETE", False)
    assert (last["num_turns"], last["total_cost_usd"]) == (5, 0.023)
    assert len({record["session_id"] for record in records}) == 1
    reading = read(records)
    assert reading.final_text == "RALPH_COMPLETE"
    assert reading.session_id == first["session_id"]
    assert reading.model == "scripted"
    assert reading.usage is not None
    assert (reading.usage.input, reading.usage.output, reading.usage.cost) == (1000, 42, 23000)
    assert reading.tools is not None
    assert reading.tools.calls == 3
    assert reading.last_seen == "retry 2/10, HTTP 529"
    assert reading.record is not None
    assert not reading.record.failed


def test_sessions_differ_from_launch_to_launch(stage: Theatre) -> None:
    stage.launch({"say": "x"})
    assert stage.records()[0]["session_id"] != stage.records()[0]["session_id"]


def test_a21_a_failed_result_exits_1_unless_the_script_says_otherwise(stage: Theatre) -> None:
    failed = {"result": {"text": "API Error: 500 oops", "error": True}}
    assert stage.launch(failed).play("--format", "claude").returncode == 1
    played = stage.launch(failed, {"exit": 0}).play("--format=claude")
    assert played.returncode == 0
    reading = read([json.loads(line) for line in played.stdout.splitlines()])
    assert reading.record is not None
    assert reading.record.failed


def test_an_exit_step_leaves_out_the_result_record(stage: Theatre) -> None:
    kinds = [one["type"] for one in stage.launch({"say": "x"}, {"exit": 0}).records()]
    assert kinds == ["system", "assistant"]


def test_a1_a_silent_launch_prints_not_one_record(stage: Theatre) -> None:
    assert stage.launch({"wait": 0.01}).records() == []


def test_the_text_reader_hears_the_final_text_and_a_retry(stage: Theatre) -> None:
    played = stage.launch({"retry": {"attempt": 3}}, {"result": "RALPH_COMPLETE"}).play()
    reader = TextReader(Session(prompt="go", say=lambda _: None, clock=SystemClock()))
    assert reader.hear("stderr", played.stderr) is False
    reader.hear("stdout", played.stdout)
    assert reader.reading().final_text == "RALPH_COMPLETE"
    assert "3/10" in reader.reading().last_seen


def test_a_reader_that_is_gone_leaves_no_traceback(stage: Theatre) -> None:
    stage.launch({"flood": 4})
    with stage.start() as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.close()
        assert child.stderr.read() == b""
        assert child.wait(60) == 1


WRONG = {
    "launches: [[dance: 1]]": "launch 1, step 1: no such step: dance",
    "launches: [[say: x], [say: 5]]": "launch 2, step 1: say: text wants text",
    "launches: [[write: a.txt]]": "write lacks text",
    "launches: [[write: {path: a, text: b, mode: c}]]": "no such key: mode",
    "launches: [[wait: -1]]": "seconds wants number",
    "launches: [[wait: true]]": "seconds wants number",
    "launches: [[exit: 1.5]]": "code wants count",
    "launches: [[kill: SIGNONE]]": "a name like SEGV",
    "launches: [[hang: long]]": 'seconds or "forever"',
    "launches: [[stdin: open]]": "how wants read or ignore or close",
    "launches: [[raw: {hex: abc}]]": "hexadecimal",
    "launches: [[tool: {name: Bash, input: x}]]": "input wants mapping",
    "launches: [[{say: a, wait: 1}]]": "is not one step",
    "launches: [say]": "is not a list of steps",
    "launches: [[1]]": "is not one step",
    "launches: []": "has no launches",
    "launches: 3": "has no launches",
    "title: x": "has no launches",
    "lunches: [[say: x]]": "no such part: lunches",
    "after: stop\nlaunches: [[say: x]]": "'stop' is not known",
    "title: 3\nlaunches: [[say: x]]": "title: wants text",
    "- say: x": "is not a script",
    "launches: [[say: x]": "is not YAML",
    "a: b: c": "is not YAML",
    "": "is not a script",
}


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_script_is_refused_by_name(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("wrong.yaml").write_text(text)
    assert main(["wrong.yaml"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("error: wrong.yaml")
    assert WRONG[text] in said.err
    assert not Path(".ralph").exists()


@pytest.mark.parametrize(
    "argv",
    [[], ["none.yaml"], [".", "--speed", "2"], ["s", "--speed", "0"], ["s", "--format", "x"]],
)
def test_a_wrong_command_line_gets_an_error_and_exit_2(
    argv: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(argv) == 2
    assert capsys.readouterr().err.startswith("error: ")


def test_a_bare_word_is_a_step_without_values(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text("launches: [[close_stdout, {ignore_term: null}, {usage: {}}], null]")
    assert [step.name for step in load(path).launch(1)] == ["close_stdout", "ignore_term", "usage"]
    assert load(path).launch(2) == ()
