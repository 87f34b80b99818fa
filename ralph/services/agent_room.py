"""Runs one attempt of one agent: command, environment, prompt, listener, class (A-1 to A-11)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ralph.core import wording
from ralph.core.facts import AgentResult, EndedBy, FailureClass, Limit
from ralph.core.failure import Evidence, Verdict, classify
from ralph.core.live import Launch, Live
from ralph.core.meters import overall_velocity
from ralph.core.policy import Policy
from ralph.core.reset import reset_instant
from ralph.core.units import spell
from ralph.services import disk, process
from ralph.services.agents.base import Adapter, Reader, Reading, Session
from ralph.services.agents.preflight import describe, environment, preflight
from ralph.services.agents.registry import adapter
from ralph.services.clock import SystemClock

__all__ = ["MARK", "AgentRoom", "describe", "local_zone", "preflight"]

MARK = "RALPH_ATTEMPT"  # variable by which an attempt's strays are found
MARKERS = "RALPH_MARKERS"  # for agents that are scripts of a person's own
ARGUMENT = 100_000  # bytes of a prompt that go into an argument; the kernel takes 128 KiB
LINGER = 30.0
_LOCALTIME = Path("/etc/localtime")
_CLOCK = SystemClock()


class AgentRoom:
    """Starts agents in the folder ``root`` for the run ``run_id``.

    ``base_env`` is the person's environment, read anew at each launch. ``hold`` is a descriptor
    that stays open until all of an attempt is gone. ``markers`` are told to the agent in
    ``RALPH_MARKERS``, one a line, so that a script knows how to claim. ``linger``: seconds that
    an agent gets to exit after its own result record (A-7).
    """

    def __init__(
        self,
        root: Path,
        *,
        run_id: str,
        hold: int | None,
        base_env: Mapping[str, str],
        markers: Sequence[str] = (),
        clock: SystemClock = _CLOCK,
        linger: float = LINGER,
    ) -> None:
        self.root, self.run_id, self.hold = root, run_id, hold
        self.base_env, self.markers = base_env, tuple(markers)
        self.clock, self.linger = clock, linger

    def run(
        self,
        launch: Launch,
        policy: Policy,
        *,
        tick: Callable[[Live], bool],
        say: Callable[[str], None],
    ) -> AgentResult:
        """Run one attempt to its certain end and tell everything that its output tells.

        ``tick`` gets what the agent shows at least four times a second; True from it ends the
        agent now. ``say`` gets clean text. Nothing of the agent runs any more on return but
        what ``agent.leave`` names.

        Raises:
            StorageError: if the output cannot be written, after the agent was ended (K-14).
            UsageError: if there is no such agent.
        """
        env = environment(policy, self.base_env)
        how = adapter(launch.agent, policy, env, constrained=launch.constrained)
        mark = f"{self.run_id}/{launch.iteration}.{launch.attempt}"
        env = {**how.env, **env, **launch.env, MARK: mark, MARKERS: "\n".join(self.markers)}
        reader = how.reader(
            Session(
                prompt=launch.prompt,
                say=say,
                clock=self.clock,
                waiting_tools=policy.breaker.waiting_tools,
                resumed=how.resumed,
            )
        )
        watch = _Watch(reader, tick, policy.breaker.live_repeat)
        order = self._order(launch, policy, how, env)
        left = process.run(order, reader, tick=watch, clock=self.clock)
        reading = reader.reading()
        verdict = classify(
            Evidence(
                ended_by=left.ended_by,
                exit_code=left.exit_code,
                signal=left.signal,
                record=reading.record,
                promised=how.promised,
                errors=reading.errors,
                trust_zero=how.trust_zero,
                problem=_why(left, watch, policy, reading),
            )
        )
        return self._result(left, how, reading, verdict, local_zone(env))

    def _order(
        self, launch: Launch, policy: Policy, how: Adapter, env: Mapping[str, str]
    ) -> process.Order:
        folder = Path(launch.folder)
        return process.Order(
            argv=_argv(how, launch.prompt, folder),
            cwd=self.root,
            env=env,
            stdin=_bytes(launch.prompt) if how.prompt == "stdin" else None,
            stdout=folder / "output.log",
            stderr=folder / "stderr.log",
            hard=policy.agent.timeout,
            idle=policy.agent.idle_timeout,
            linger=self.linger,
            mark=f"{MARK}={env[MARK]}",
            leave=(*how.leave, *policy.agent.leave),
            hold=self.hold,
            interrupt=how.interrupt,
        )

    def _result(
        self, left: process.Exit, how: Adapter, reading: Reading, verdict: Verdict, zone: tzinfo
    ) -> AgentResult:
        output = reading.usage.output if reading.usage else None
        return AgentResult(
            klass=verdict.klass,
            ended_by=left.ended_by,
            detail=_detail(verdict, how),
            exit_code=left.exit_code,
            signal=left.signal,
            seconds=left.seconds,
            cpu_seconds=left.cpu_seconds,
            structured=how.structured,
            final_text=reading.final_text,
            error_text=error_text(reading, verdict.klass),
            usage=reading.usage,
            model=reading.model,
            session_id=reading.session_id,
            turns=reading.turns,
            tools=reading.tools,
            api=reading.api,
            velocity=reading.velocity or overall_velocity(output, left.seconds),
            limit=self._limit(reading, verdict, zone),
            denied=reading.denied,
            contradictions=(*verdict.contradictions, *reading.contradictions),
            survivors=left.survivors,
            last_seen=reading.last_seen,
            stdout_bytes=left.stdout_bytes,
            stderr_bytes=left.stderr_bytes,
        )

    def _limit(self, reading: Reading, verdict: Verdict, zone: tzinfo) -> Limit | None:
        """The limit that ended the attempt; a structured instant wins over a sentence (A-5)."""
        if verdict.klass is not FailureClass.USAGE_LIMIT:
            return None
        told, sentence = reading.limit, verdict.sentence
        instant = told.resets_at if told else None
        if instant is None:
            instant = reset_instant(sentence, now=self.clock.now(), zone=zone)
        kind = told.kind if told else wording.limit_kind(sentence)
        return Limit(kind=kind, resets_at=instant, sentence=sentence)


@dataclass
class _Watch:
    """Asks at each tick whether the agent is to be ended, and keeps why."""

    reader: Reader
    tick: Callable[[Live], bool]
    repeat: int
    problem: str = ""

    def __call__(self, quiet: float) -> EndedBy | None:
        if self.tick(self.reader.live(quiet)):
            return EndedBy.STOP
        self.problem = self.reader.endless(self.repeat)
        return EndedBy.REPEAT if self.problem else None


def error_text(reading: Reading, klass: FailureClass) -> str:
    """What L-19 normalises, first that exists; "" leaves it to the class with its exit code.

    The agent's error record, stderr of a failed invocation, the last failing tool call, error
    lines of plain text.
    """
    if reading.record is not None and reading.record.failed and reading.record.message.strip():
        return reading.record.message
    if klass is not FailureClass.OK and reading.stderr.strip():
        return reading.stderr
    return reading.failing if reading.failing.strip() else reading.error_lines


def local_zone(environ: Mapping[str, str]) -> tzinfo:
    """Zone in which a process with this environment prints times: TZ, else the system's."""
    name = environ.get("TZ", "").lstrip(":")
    try:
        if name:
            return ZoneInfo(name)
        with _LOCALTIME.open("rb") as file:
            return ZoneInfo.from_file(file)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return UTC


def _argv(how: Adapter, prompt: str, folder: Path) -> tuple[str, ...]:
    """The command with its prompt, where that does not go to stdin (A8)."""
    if how.prompt == "stdin":
        return how.argv
    path, given = folder / "prompt.md", prompt
    if how.prompt == "file" or len(_bytes(prompt)) > ARGUMENT:
        _write(path, _bytes(prompt))
        given = str(path) if how.prompt == "file" else f"Read the file {path} and do what it says."
    if any("{prompt}" in word for word in how.argv):
        return tuple(word.replace("{prompt}", given) for word in how.argv)
    return (*how.argv, given)


def _write(path: Path, content: bytes) -> None:
    try:
        path.touch(mode=0o600)
        path.write_bytes(content)
    except OSError as error:
        raise disk.failure(path, error) from error


def _bytes(prompt: str) -> bytes:
    """What the agent reads; bytes of the prompt file that were no UTF-8 go through unchanged."""
    try:
        return prompt.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return prompt.encode("utf-8", "replace")


def _why(left: process.Exit, watch: _Watch, policy: Policy, reading: Reading) -> str:
    """Why it was ended or could not be supervised, and what was last seen (A-6)."""
    if left.ended_by is EndedBy.REPEAT:
        return watch.problem
    if left.ended_by is EndedBy.HARD:
        said = f"ended at agent.timeout ({spell(policy.agent.timeout)})"
    elif left.ended_by is EndedBy.IDLE:
        said = f"no output and no CPU for {spell(policy.agent.idle_timeout)}"
    else:
        return left.problem
    return f"{said}; last seen: {reading.last_seen}" if reading.last_seen else said


def _detail(verdict: Verdict, how: Adapter) -> str:
    if verdict.klass is FailureClass.AUTH and how.login:
        return f"{verdict.detail}; log in with: {how.login}"
    return verdict.detail
