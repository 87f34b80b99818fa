"""What the scripted agent does: one method a step of its script."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path

from ralph.services.clock import SystemClock
from ralph.services.player_script import Step, signal_number
from ralph.services.player_voices import Voice, encode, put

_MIB = 1 << 20
_LINE = b"x" * 1023 + b"\n"
_LONG_HANG = 3600.0
_BOX = re.compile(r"^(\s*(?:#{1,6}\s+)?(?:[-*+]|\d{1,9}[.)])\s+)\[([ xX!])\](\s.*)$")
_COMMIT = """
git add --all && git reset --quiet -- .ralph || exit
if ! git config user.email > /dev/null; then
    export GIT_AUTHOR_NAME="${GIT_AUTHOR_NAME:-Scripted Agent}"
    export GIT_AUTHOR_EMAIL="${GIT_AUTHOR_EMAIL:-scripted@example.invalid}"
    export GIT_COMMITTER_NAME="${GIT_COMMITTER_NAME:-$GIT_AUTHOR_NAME}"
    export GIT_COMMITTER_EMAIL="${GIT_COMMITTER_EMAIL:-$GIT_AUTHOR_EMAIL}"
fi
exec git commit --quiet --no-verify --no-gpg-sign "$@"
"""


class Over(Exception):
    """The launch ends here, with this exit code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Stage:
    """Plays the steps of one launch in the working folder.

    ``speed`` divides the seconds of ``wait``, and of nothing else. ``plan`` is the file in which
    tasks are ticked. A step that cannot be done is shown as a failed tool call and the launch goes
    on, as with a real agent.
    """

    def __init__(self, *, voice: Voice, plan: Path, speed: float, clock: SystemClock) -> None:
        self.voice = voice
        self.plan = plan
        self.speed = speed
        self.clock = clock
        self.prompt = b""
        self.failed = False
        self.children: list[subprocess.Popen[bytes]] = []

    def play(self, steps: Sequence[Step]) -> int:
        """Do ``steps`` in order and return the exit code.

        The prompt is read first, unless a step ``stdin`` says when, or that it is not read.
        """
        if all(step.name != "stdin" for step in steps):
            self._read()
        try:
            for step in steps:
                self.verb(step.name)(step)
        except Over as over:
            return over.code
        self.voice.close()
        return 1 if self.failed else 0

    def verb(self, name: str) -> Callable[[Step], None]:
        """The method that does the step ``name``."""
        found: Callable[[Step], None] = getattr(self, f"do_{name}")
        return found

    def do_say(self, step: Step) -> None:
        """Assistant text."""
        self.voice.say(step.text("text"))

    def do_result(self, step: Step) -> None:
        """The final text; with ``error`` a failed result, and exit code 1 unless one is named."""
        self.failed = step.flag("error")
        self.voice.result(step.text("text"), failed=self.failed)

    def do_error(self, step: Step) -> None:
        """A line on stderr."""
        put(encode(step.text("text").rstrip("\n") + "\n"), 2)

    def do_raw(self, step: Step) -> None:
        """Bytes as they are, with no newline added."""
        put(encode(step.text("text")) + bytes.fromhex(step.text("hex")), _fd(step))

    def do_flood(self, step: Step) -> None:
        """Mebibytes of output, in lines of 1 KiB or as one line without an end."""
        piece = _LINE * 64 if step.flag("lines", default=True) else b"x" * (64 * len(_LINE))
        left = round(step.number("mib") * _MIB)
        while left > 0:
            put(piece[:left], _fd(step))
            left -= len(piece)

    def do_wait(self, step: Step) -> None:
        """Seconds at speed 1."""
        self.clock.pause(step.number("seconds") / self.speed)

    def do_hang(self, step: Step) -> None:
        """Seconds at every speed, or for ever."""
        while step.values["seconds"] == "forever":
            self.clock.pause(_LONG_HANG)
        self.clock.pause(step.number("seconds"))

    def do_write(self, step: Step) -> None:
        """A whole file."""
        path, text = Path(step.text("path")), step.text("text")
        self.voice.call("Write", {"file_path": str(path), "content": text})
        self._attempt(lambda: _write(path, encode(text), "wb"))

    def do_append(self, step: Step) -> None:
        """Text at the end of a file."""
        path, text = Path(step.text("path")), step.text("text")
        self.voice.call("Edit", {"file_path": str(path), "old_string": "", "new_string": text})
        self._attempt(lambda: _write(path, encode(text), "ab"))

    def do_delete(self, step: Step) -> None:
        """One file gone."""
        path = Path(step.text("path"))
        self.voice.call("Bash", {"command": f"rm {path}"})
        self._attempt(path.unlink)

    def do_tick(self, step: Step) -> None:
        """The first open box whose line has this id or text."""
        self._box(step.text("task"), " !", "x")

    def do_untick(self, step: Step) -> None:
        """The first ticked box whose line has this id or text."""
        self._box(step.text("task"), "xX", " ")

    def do_add_task(self, step: Step) -> None:
        """One more open task, after the last one of the plan."""
        line = f"- [ ] {step.text('text')}"
        self.voice.call(
            "Edit", {"file_path": str(self.plan), "old_string": "", "new_string": f"{line}\n"}
        )
        self._attempt(lambda: self._insert(line))

    def do_run(self, step: Step) -> None:
        """A shell command, its output and how it went."""
        self._shell(["sh", "-c", step.text("command")], step.text("command"))

    def do_tool(self, step: Step) -> None:
        """A tool call that is only told."""
        given = step.values.get("input")
        self.voice.call(step.text("name"), given if isinstance(given, dict) else {})
        self.voice.answer(step.text("output"), ok=step.flag("ok", default=True))

    def do_commit(self, step: Step) -> None:
        """Everything but ralph's own folder, in one commit; a failure if nothing has changed."""
        empty = ("--allow-empty",) if step.flag("allow_empty") else ()
        message = step.text("message")
        self._shell(
            ["sh", "-c", _COMMIT, "sh", *empty, "-m", message], f"git commit -m '{message}'"
        )

    def do_spawn(self, step: Step) -> None:
        """A process in the background that does not end with this one."""
        command = step.text("command", f"exec sleep {step.number('sleep', 60.0):g}")
        self.voice.call("Bash", {"command": f"{command} &"})
        before = "trap '' TERM; " if step.flag("ignore_term") else ""
        child = subprocess.Popen(
            ["sh", "-c", before + command],
            stdin=subprocess.DEVNULL,
            stdout=None if step.flag("holds_stdout") else subprocess.DEVNULL,
            stderr=None if step.flag("holds_stdout") else subprocess.DEVNULL,
            start_new_session=step.flag("setsid"),
        )
        self.children.append(child)
        self.voice.answer(f"started {child.pid}", ok=True)

    def do_ignore_term(self, step: Step) -> None:
        """SIGTERM means nothing from here on, to what is started later neither."""
        quiet = step.flag("on", default=True)
        signal.signal(signal.SIGTERM, signal.SIG_IGN if quiet else signal.SIG_DFL)

    def do_stdin(self, step: Step) -> None:
        """Read the prompt now, never, or close its pipe unread."""
        if step.text("how") == "read":
            self._read()
        elif step.text("how") == "close":
            _null(0, os.O_RDONLY)

    def do_keep_prompt(self, step: Step) -> None:
        """The prompt as it came, in a file; told to nobody."""
        _write(Path(step.text("path")), self.prompt, "wb")

    def do_close_stdout(self, step: Step) -> None:
        """The pipe of stdout is closed; what is said later is lost."""
        if step.flag("on", default=True):
            _null(1, os.O_WRONLY)

    def do_usage(self, step: Step) -> None:
        """Tokens and dollars of the next message."""
        self.voice.usage(
            given=step.count("input"), output=step.count("output"), cost=step.number("cost")
        )

    def do_retry(self, step: Step) -> None:
        """A failed call of the provider that is tried again."""
        self.voice.retry(
            attempt=step.count("attempt", 1),
            most=step.count("most", 10),
            delay=step.number("delay", 1.0),
            status=step.count("status"),
            error=step.text("error"),
        )

    def do_limit(self, step: Step) -> None:
        """A usage limit that resets in so many seconds; the launch ends with exit code 1."""
        self.voice.limit(self.clock.now() + timedelta(seconds=step.number("resets_in")))
        raise Over(1)

    def do_exit(self, step: Step) -> None:
        """The end, with this code and no more output."""
        raise Over(step.count("code"))

    def do_kill(self, step: Step) -> None:
        """A signal to itself; if it is ignored the launch goes on."""
        os.kill(os.getpid(), signal_number(step.values["signal"]) or signal.SIGKILL)

    def _read(self) -> None:
        if sys.stdin is not None and not sys.stdin.isatty():
            self.prompt += sys.stdin.buffer.read()

    def _attempt(self, act: Callable[[], object]) -> None:
        """Do ``act`` and answer the tool call with what came of it."""
        try:
            act()
        except OSError as error:
            self.voice.answer(f"{error.filename or ''}: {error.strerror or error}", ok=False)
        else:
            self.voice.answer("", ok=True)

    def _shell(self, argv: list[str], shown: str) -> None:
        self.voice.call("Bash", {"command": shown})
        try:
            done = subprocess.run(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                check=False,
            )
        except OSError as error:
            self.voice.answer(f"{argv[0]}: {error.strerror}", ok=False)
            return
        output = done.stdout.decode("utf-8", "replace")
        code = done.returncode
        self.voice.answer(f"Exit code {code}\n{output}" if code else output, ok=code == 0)

    def _box(self, task: str, old: str, new: str) -> None:
        edit = {"file_path": str(self.plan), "old_string": f"[{old[0]}] {task}"}
        self.voice.call("Edit", {**edit, "new_string": f"[{new}] {task}"})
        self._attempt(lambda: self._mark(task, old, new))

    def _mark(self, task: str, old: str, new: str) -> None:
        named = re.compile(rf"(?<![\w-]){re.escape(task)}(?![\w-])")
        lines = self._plan_lines()
        for at, line in enumerate(lines):
            found = _BOX.match(line)
            if found and found[2] in old and named.search(found[3]):
                lines[at] = f"{found[1]}[{new}]{found[3]}"
                self.plan.write_bytes(encode("\n".join(lines)))
                return
        raise FileNotFoundError(0, f"no box [{old[0]}] for {task!r}", str(self.plan))

    def _insert(self, line: str) -> None:
        lines = self._plan_lines()
        boxes = [at for at, old in enumerate(lines) if _BOX.match(old)]
        lines.insert(boxes[-1] + 1 if boxes else len(lines) - 1, line)
        self.plan.write_bytes(encode("\n".join(lines)))

    def _plan_lines(self) -> list[str]:
        return self.plan.read_bytes().decode("utf-8", "replace").split("\n")


def _fd(step: Step) -> int:
    return 2 if step.text("to") == "stderr" else 1


def _write(path: Path, raw: bytes, mode: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open(mode) as file:
        file.write(raw)


def _null(fd: int, how: int) -> None:
    null = os.open(os.devnull, how)
    os.dup2(null, fd)
    os.close(null)
