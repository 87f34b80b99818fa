"""The script of the scripted agent: what may stand in it, read and checked before it is played."""

from __future__ import annotations

import re
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ralph.errors import UsageError

PLAN_FILE = "IMPLEMENTATION_PLAN.md"
_HEX = re.compile(r"\s*(?:[0-9a-fA-F]{2}\s*)*")
_TOP = (
    *("title", "about", "plan", "prompt", "settings", "files"),
    *("launches", "after", "plan_file", "model"),
)


@dataclass(frozen=True)
class Shape:
    """What one step takes: ``keys`` with their kinds; a bare value stands for the first key.

    Kinds: ``text``, ``number`` (not negative), ``count`` (whole, not negative), ``flag``,
    ``mapping``, ``duration`` (a number or "forever"), ``signal`` (a number or a name), or the
    words to choose from, joined by ``|``; ``hex`` is pairs of digits.
    """

    keys: Mapping[str, str] = field(default_factory=dict)
    needs: tuple[str, ...] = ()


SHAPES: dict[str, Shape] = {
    "say": Shape({"text": "text"}, ("text",)),
    "result": Shape({"text": "text", "error": "flag"}, ("text",)),
    "error": Shape({"text": "text"}, ("text",)),
    "raw": Shape({"text": "text", "hex": "hex", "to": "stdout|stderr"}),
    "flood": Shape({"mib": "number", "to": "stdout|stderr", "lines": "flag"}, ("mib",)),
    "wait": Shape({"seconds": "number"}, ("seconds",)),
    "hang": Shape({"seconds": "duration"}, ("seconds",)),
    "write": Shape({"path": "text", "text": "text"}, ("path", "text")),
    "append": Shape({"path": "text", "text": "text"}, ("path", "text")),
    "delete": Shape({"path": "text"}, ("path",)),
    "tick": Shape({"task": "text"}, ("task",)),
    "untick": Shape({"task": "text"}, ("task",)),
    "add_task": Shape({"text": "text"}, ("text",)),
    "run": Shape({"command": "text"}, ("command",)),
    "tool": Shape({"name": "text", "input": "mapping", "ok": "flag", "output": "text"}, ("name",)),
    "commit": Shape({"message": "text", "allow_empty": "flag"}, ("message",)),
    "spawn": Shape(
        {
            **{"sleep": "number", "command": "text", "setsid": "flag"},
            **{"holds_stdout": "flag", "ignore_term": "flag"},
        }
    ),
    "ignore_term": Shape({"on": "flag"}),
    "stdin": Shape({"how": "read|ignore|close"}, ("how",)),
    "keep_prompt": Shape({"path": "text"}, ("path",)),
    "close_stdout": Shape({"on": "flag"}),
    "usage": Shape({"input": "count", "output": "count", "cost": "number"}),
    "retry": Shape(
        {
            **{"attempt": "count", "most": "count", "delay": "number"},
            **{"status": "count", "error": "text"},
        }
    ),
    "limit": Shape({"resets_in": "number"}, ("resets_in",)),
    "exit": Shape({"code": "count"}, ("code",)),
    "kill": Shape({"signal": "signal"}, ("signal",)),
}


@dataclass(frozen=True)
class Step:
    """One thing the agent does: a name of ``SHAPES``, and its values by key."""

    name: str
    values: Mapping[str, object]

    def text(self, key: str, default: str = "") -> str:
        """The text under ``key``."""
        return str(self.values.get(key, default))

    def number(self, key: str, default: float = 0.0) -> float:
        """The number under ``key``."""
        found = self.values.get(key, default)
        return float(found) if isinstance(found, int | float) else default

    def count(self, key: str, default: int = 0) -> int:
        """The whole number under ``key``."""
        return int(self.number(key, default))

    def flag(self, key: str, *, default: bool = False) -> bool:
        """The flag under ``key``."""
        return bool(self.values.get(key, default))


@dataclass(frozen=True, kw_only=True)
class Script:
    """A whole script. A scenario of ``ralph demo`` also has the parts that set its scene.

    ``after`` says what a launch beyond the last one of ``launches`` does: ``repeat`` plays the
    last one again, ``fail`` is an error. ``files`` are further files of the scene, by path.
    """

    path: Path
    launches: tuple[tuple[Step, ...], ...]
    after: str = "repeat"
    plan_file: str = PLAN_FILE
    model: str = "scripted"
    title: str = ""
    about: str = ""
    plan: str = ""
    prompt: str = ""
    settings: Mapping[str, object] = field(default_factory=dict)
    files: Mapping[str, object] = field(default_factory=dict)

    def launch(self, number: int) -> tuple[Step, ...]:
        """The steps of launch ``number``, counted from 1.

        Raises:
            UsageError: if the script has no such launch and does not repeat its last one.
        """
        if number > len(self.launches) and self.after == "fail":
            raise UsageError(
                f"{self.path} has no launch {number}",
                hint=f"it has {len(self.launches)}; without 'after: fail' the last one repeats",
            )
        return self.launches[min(number, len(self.launches)) - 1]


def load(path: Path) -> Script:
    """Read and check the whole script at ``path``.

    Raises:
        UsageError: if it cannot be read, is not YAML, or has a part that nothing is known of.
    """
    import yaml

    try:
        top = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the script {path}: {error}") from None
    except (yaml.YAMLError, ValueError) as error:
        line = " ".join(str(error).split())
        raise UsageError(f"{path} is not YAML: {line}", hint="mend the file") from None
    return _script(path, top)


def _script(path: Path, top: object) -> Script:
    if not isinstance(top, dict):
        raise UsageError(f"{path} is not a script", hint="it needs a list named launches")
    for key in top:
        if key not in _TOP:
            raise _wrong(f"{path}: no such part: {key}", _TOP)
    launches = top.get("launches")
    if not isinstance(launches, list) or not launches:
        raise UsageError(
            f"{path} has no launches", hint="launches: is a list, each launch a list of steps"
        )
    if top.get("after", "repeat") not in ("repeat", "fail"):
        raise _wrong(f"{path}: after: {top['after']!r} is not known", ("repeat", "fail"))
    for key in _TOP:
        kind = dict if key in ("settings", "files") else list if key == "launches" else str
        if key in top and not isinstance(top[key], kind):
            raise UsageError(f"{path}: {key}: wants {_KINDS[kind]}, got {top[key]!r}")
    played = tuple(
        _launch(f"{path}: launch {number}", launch) for number, launch in enumerate(launches, 1)
    )
    return Script(path=path, **{**top, "launches": played})


_KINDS: dict[type, str] = {dict: "a mapping", list: "a list", str: "text"}


def _launch(where: str, steps: object) -> tuple[Step, ...]:
    if steps is None:
        return ()
    if not isinstance(steps, list):
        raise UsageError(f"{where} is not a list of steps", hint='a step is like "- say: hello"')
    return tuple(_step(f"{where}, step {number}", step) for number, step in enumerate(steps, 1))


def _step(where: str, step: object) -> Step:
    if isinstance(step, str):
        step = {step: None}
    if not isinstance(step, dict) or len(step) != 1:
        raise UsageError(f"{where} is not one step: {step!r}", hint='a step is like "- say: hello"')
    name, value = next(iter(step.items()))
    shape = SHAPES.get(name)
    if shape is None:
        raise _wrong(f"{where}: no such step: {name}", SHAPES)
    if value is None:
        value = {}
    elif not isinstance(value, dict):
        value = {next(iter(shape.keys)): value}
    _check(f"{where}: {name}", shape, value)
    return Step(name, value)


def _check(where: str, shape: Shape, values: Mapping[str, object]) -> None:
    for key, value in values.items():
        if key not in shape.keys:
            raise _wrong(f"{where}: no such key: {key}", shape.keys)
        kind = shape.keys[key]
        if not _fits(kind, value):
            raise UsageError(f"{where}: {key} wants {_asked(kind)}, got {value!r}")
    for key in shape.needs:
        if key not in values:
            raise UsageError(f"{where} lacks {key}", hint=f"keys: {', '.join(shape.keys)}")


def _fits(kind: str, value: object) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool) and value >= 0
    simple = {
        "text": isinstance(value, str),
        "number": number,
        "count": number and isinstance(value, int),
        "flag": isinstance(value, bool),
        "mapping": isinstance(value, dict),
        "duration": number or value == "forever",
    }
    if kind == "signal":
        return signal_number(value) is not None
    if kind == "hex":
        return isinstance(value, str) and _HEX.fullmatch(value) is not None
    return simple[kind] if kind in simple else value in kind.split("|")


def signal_number(value: object) -> int | None:
    """The signal that a number or a name such as ``SEGV`` means; None when there is none."""
    if isinstance(value, str):
        value = getattr(signal, f"SIG{value.upper().removeprefix('SIG')}", None)
    known = isinstance(value, int) and value in signal.valid_signals()
    return int(value) if known and isinstance(value, int) else None


def _asked(kind: str) -> str:
    return {
        "duration": 'seconds or "forever"',
        "signal": "a number or a name like SEGV",
        "hex": "pairs of hexadecimal digits",
    }.get(kind, kind.replace("|", " or "))


def _wrong(message: str, known: Mapping[str, object] | tuple[str, ...]) -> UsageError:
    return UsageError(message, hint="known: " + ", ".join(known))
