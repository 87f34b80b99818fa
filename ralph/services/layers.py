"""One source of settings, read: values by dotted key, each with the place it came from."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ralph.core import keys, values
from ralph.errors import ConfigError
from ralph.services.front_matter import split
from ralph.services.toml_lines import key_lines, line_of

OLDER_VARIABLES = {
    "MAX_NO_PROGRESS": "stall.no_progress",
    "MAX_SAME_ERROR": "stall.same_error",
    "MAX_CALLS_PER_HOUR": "rate.calls_per_hour",
}
PREFIX = "RALPH__"
_TOML_KINDS = (keys.Kind.LIST, keys.Kind.TABLE, keys.Kind.COUNTS)
COMMAND_LINE = "command line"
_LATER = "this version of ralph does not know it; remove it or put # before it"


class Entry(NamedTuple):
    """A value and where it came from: "/p/ralph.toml:12", "environment RALPH__MAX"."""

    value: object
    source: str


class Problem(NamedTuple):
    """Something that a person has to correct; ``text`` begins with the place."""

    text: str
    hint: str = ""

    def error(self) -> ConfigError:
        """The same as an exception."""
        return ConfigError(self.text, hint=self.hint)


@dataclass
class Layer:
    """What one source says, what is wrong with it and what a person should know of it."""

    entries: dict[str, Entry] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class _Reader:
    """Walks the tables of one source; ``place`` tells where a key stands."""

    def __init__(self, place: Callable[[str], str]) -> None:
        self.layer = Layer()
        self.place = place

    def walk(self, table: object, prefix: str = "") -> Layer:
        if not isinstance(table, Mapping):
            self.refuse(prefix.rstrip("."), f"must be a table, got {values.shown(table)}")
            return self.layer
        # An older spelling comes last, so that its rival is known by then.
        for name, raw in sorted(table.items(), key=lambda item: item[0] in keys.OLDER):
            self.take(f"{prefix}{name}", raw)
        return self.layer

    def take(self, name: str, raw: object) -> None:
        """Put one key, of whatever kind, into the layer."""
        key = keys.find(name)
        if key is not None:
            self.put(name, key, raw)
        elif keys.is_section(name):
            self.walk(raw, f"{name}.")
        elif not self.older(name, raw):
            self.unknown(name)

    def put(self, name: str, key: keys.Key, raw: object) -> None:
        try:
            value = values.parse(key, raw)
        except values.BadValue as error:
            self.refuse(name, str(error), error.hint)
        else:
            self.layer.entries[name] = Entry(value, self.place(name))

    def older(self, name: str, raw: object) -> bool:
        """Accept a spelling of former days, say so once; False when it is none (section 11)."""
        folder, _, leaf = name.rpartition(".")
        target = keys.OLDER.get(leaf, "") if folder in ("", "breaker") else ""
        key = keys.find(target)
        if key is None:
            if target:
                self.refuse(name, "is not a key of this version", _LATER)
            return bool(target)
        if target in self.layer.entries:
            self.refuse(name, f"is an older spelling of {target}, which is set as well")
        else:
            self.put(target, key, raw)
            self.layer.notes.append(f"{self.place(name)}: {leaf} is now spelled {target}")
        return True

    def unknown(self, name: str) -> None:
        if keys.later(name):
            return self.refuse(name, "is not a key of this version", _LATER)
        near = keys.nearest(name)
        self.refuse(name, "is not a known key", f"did you mean {near}?" if near else "")

    def refuse(self, name: str, message: str, hint: str = "") -> None:
        text = f"{self.place(name)}: {name or 'ralph'} {message}"
        self.layer.problems.append(Problem(text, hint))


def failed(place: str, message: str, hint: str = "") -> Layer:
    """A source that cannot be read at all."""
    return Layer(problems=[Problem(f"{place}: {message}", hint)])


def from_toml(text: str, path: str, *, inside: str = "") -> Layer:
    """Settings of the TOML ``text``; with ``inside`` only those of that table (``tool.ralph``)."""
    try:
        table: object = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return _broken(path, str(error))
    lines = key_lines(text)
    prefix = f"{inside}." if inside else ""
    for part in inside.split(".") if inside else ():
        table = table.get(part, {}) if isinstance(table, Mapping) else {}
    return _Reader(lambda name: f"{path}:{line_of(lines, prefix + name)}").walk(table)


def _broken(path: str, message: str) -> Layer:
    found = re.search(r" \(at line (\d+), column (\d+)\)", message)
    if found is None:
        return failed(path, message)
    return failed(f"{path}:{found[1]}", message.replace(found.group(), ""))


def from_front_matter(text: str, path: str) -> Layer:
    """Settings of the ``ralph:`` mapping at the top of a prompt's ``text``."""
    try:
        found = split(text, path)
    except ConfigError as error:
        return Layer(problems=[Problem(error.message, error.hint)])
    reader = _Reader(lambda name: f"{path}:{line_of(found.lines, name)}")
    layer = reader.walk(found.settings)
    if "prompt" in layer.entries:
        del layer.entries["prompt"]
        reader.refuse("prompt", "cannot be set in the prompt itself")
    return layer


def from_environment(environ: Mapping[str, str]) -> Layer:
    """Settings of the variables RALPH__SECTION__KEY and of three older ones; empty is unset."""
    layer = Layer()
    for variable in sorted(environ):
        text = environ[variable]
        if variable in OLDER_VARIABLES and text.strip():
            name = OLDER_VARIABLES[variable]
            spelled = PREFIX + name.upper().replace(".", "__")
            layer.notes.append(f"environment {variable} is now spelled {spelled}")
            _join(layer, _variable(variable, name, text))
    for variable in sorted(name for name in environ if name.startswith(PREFIX)):
        name = variable.removeprefix(PREFIX).lower().replace("__", ".")
        _join(layer, _variable(variable, name, environ[variable]))
    return layer


def _join(layer: Layer, other: Layer) -> None:
    layer.entries |= other.entries
    layer.problems += other.problems
    layer.notes += other.notes


def _variable(variable: str, name: str, text: str) -> Layer:
    reader = _Reader(lambda _name: f"environment {variable}")
    key = keys.find(name)
    if text.strip() or (key is not None and key.kind is keys.Kind.TEXT):
        _take_text(reader, name, text)
    return reader.layer


def _take_text(reader: _Reader, name: str, text: str) -> None:
    """One key whose value came as a word of a command line or environment."""
    key = keys.find(name)
    kind = key.kind if key else None
    if kind is keys.Kind.TEXT:
        return reader.take(name, _unquoted(text))
    if kind not in _TOML_KINDS and not keys.is_section(name):
        return reader.take(name, text.strip())
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        example = '["one", "two"]' if kind is keys.Kind.LIST else '{ name = "value" }'
        return reader.refuse(name, "is not a TOML value", f"write it as in ralph.toml: {example}")
    return reader.take(name, value)


def _unquoted(text: str) -> str:
    """``text``, or what it says where all of it is one quoted TOML string."""
    try:
        table = tomllib.loads(f"value = {text}") if text[:1] in ("'", '"') else {}
    except tomllib.TOMLDecodeError:
        return text
    value = table.pop("value", text)
    return value if isinstance(value, str) and not table else text


def from_flags(flags: Mapping[str, object]) -> Layer:
    """Settings of the command line by dotted key; None is a flag that was not given.

    Lists and tables may come as they are or as a text in TOML.
    """
    reader = _Reader(lambda _name: COMMAND_LINE)
    for name, raw in flags.items():
        if isinstance(raw, str):
            _take_text(reader, name, raw)
        elif raw is not None:
            reader.take(name, raw)
    return reader.layer
