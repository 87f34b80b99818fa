"""The layers of the configuration, from the files on disk to one Policy (section 11)."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ralph.core import keys
from ralph.core.policy import CustomAgent, Policy
from ralph.core.presets import preset
from ralph.errors import ConfigError, UsageError
from ralph.services import disk, layers, places
from ralph.services.layers import Entry, Layer, Problem

BUILT_IN_AGENTS = ("claude", "scripted")
PROJECT_FILE = "ralph.toml"
_PYPROJECT = "pyproject.toml"


@dataclass(frozen=True)
class Files:
    """The configuration files as they were at one moment; absent ones are not in ``texts``."""

    root: Path
    texts: Mapping[Path, str | OSError | UnicodeDecodeError]


def read_files(root: Path) -> Files:
    """Look once at the user's file and the project's; errors are kept for ``file_layers``."""
    texts: dict[Path, str | OSError | UnicodeDecodeError] = {}
    for path in (places.user_config(), root / PROJECT_FILE, root / _PYPROJECT):
        try:
            texts[path] = disk.contents(path).decode("utf-8-sig")
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, UnicodeDecodeError) as error:
            texts[path] = error
    return Files(root, texts)


def config_files(root: Path) -> dict[Path, bool]:
    """The files that configure the repository at ``root``, lowest first, and whether they do."""
    texts = read_files(root).texts
    user, project, shared = places.user_config(), root / PROJECT_FILE, root / _PYPROJECT
    return {user: user in texts, project: project in texts, shared: _has_table(texts.get(shared))}


def file_layers(files: Files) -> tuple[Layer, Layer]:
    """The layers of the user file and of the project file; ``[tool.ralph]`` is a project file."""
    user = _layer(files, places.user_config())
    project, inner = files.root / PROJECT_FILE, files.root / _PYPROJECT
    shared = Layer()
    if _has_table(files.texts.get(inner)):
        shared = _layer(files, inner, inside="tool.ralph")
        if project in files.texts:
            both = f"both {project} and [tool.ralph] of {inner} configure this project"
            return user, Layer(problems=[Problem(both, "keep one of them")])
    return user, _layer(files, project) if project in files.texts else shared


def _layer(files: Files, path: Path, *, inside: str = "") -> Layer:
    text = files.texts.get(path)
    if text is None:
        return Layer()
    if isinstance(text, UnicodeDecodeError):
        return layers.failed(str(path), "is not UTF-8 text")
    if isinstance(text, OSError):
        return layers.failed(str(path), f"cannot be read: {text.strerror}")
    return layers.from_toml(text, str(path), inside=inside)


def has_shared_table(root: Path) -> bool:
    """True when pyproject.toml of the repository at ``root`` has ``[tool.ralph]``."""
    return _has_table(read_files(root).texts.get(root / _PYPROJECT))


def _has_table(text: str | OSError | UnicodeDecodeError | None) -> bool:
    if not isinstance(text, str) or "ralph" not in text:
        return False
    import tomllib

    try:
        tool = tomllib.loads(text).get("tool")
    except tomllib.TOMLDecodeError:
        return False
    return isinstance(tool, Mapping) and "ralph" in tool


@dataclass(frozen=True)
class Settled:
    """One Policy, the source of each of its values by dotted key, and the notes of all layers."""

    policy: Policy
    sources: Mapping[str, str]
    notes: tuple[str, ...]


def problems(stack: Iterable[Layer]) -> list[Problem]:
    """Everything wrong in these layers and between them, lowest layer first."""
    found = [problem for layer in stack for problem in layer.problems]
    return found or _cross_checks(_merge(stack))


def settle(stack: Iterable[Layer], *, preset_name: str = "") -> Settled:
    """Lay the layers over built-in values and the preset; the last one wins (B-22, L-29).

    ``preset_name`` overrides the preset that the layers name.

    Raises:
        ConfigError: for the first thing that is wrong; the hint counts the others.
    """
    stack = tuple(stack)
    wrong = problems(stack)
    if wrong:
        others = f"{len(wrong) - 1} more: ralph config check" if len(wrong) > 1 else ""
        hint = "; ".join(part for part in (wrong[0].hint, others) if part)
        raise ConfigError(wrong[0].text, hint=hint)
    chosen = _merge(stack)
    named = preset_name or str(chosen.get("preset", Entry(Policy().preset, "")).value)
    under = {name: Entry(value, f"preset {named}") for name, value in preset(named).items()}
    entries = {**under, **chosen}
    policy = keys.build({name: entry.value for name, entry in entries.items()})
    sources = {
        name: entries[name].source if name in entries else "built-in"
        for name in keys.flatten(policy)
    }
    return Settled(policy, sources, tuple(note for layer in stack for note in layer.notes))


def _merge(stack: Iterable[Layer]) -> dict[str, Entry]:
    merged: dict[str, Entry] = {}
    for layer in stack:
        merged |= layer.entries
    return merged


def _cross_checks(entries: Mapping[str, Entry]) -> list[Problem]:
    """What no single layer can see: agents without a command, the choice of an unknown one."""
    found = []
    named = agent_names(entries)
    for name in named:
        if f"agents.{name}.command" not in entries:
            source = next(e.source for k, e in entries.items() if k.startswith(f"agents.{name}."))
            found.append(Problem(f"{source}: agents.{name} has no command", 'command = ["..."]'))
    use = entries.get("agent.use")
    if use is not None and use.value not in (*BUILT_IN_AGENTS, *named):
        known = ", ".join((*BUILT_IN_AGENTS, *named))
        hint = f"known: {known}; any other needs [agents.NAME] with a command"
        found.append(Problem(f"{use.source}: agent.use names no known agent: {use.value}", hint))
    return found


def agent_names(names: Iterable[str]) -> list[str]:
    """NAME of every ``agents.NAME.…`` among the dotted ``names``, in order."""
    return list(dict.fromkeys(name.split(".")[1] for name in names if name.startswith("agents.")))


def split_agent(text: str, known: Collection[str]) -> tuple[str, CustomAgent | None]:
    """``--agent``: one of the ``known`` names, or a command line named after its first word.

    Raises:
        UsageError: if it is blank, has an open quote, or its first word is no name.
    """
    if text in known:
        return text, None
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"--agent is not a command line: {text} ({error})") from None
    name = Path(words[0]).name.replace(".", "_") if words else ""
    if not name:
        raise UsageError("--agent needs a name or a command line", hint="--agent claude")
    return name, CustomAgent(command=tuple(words))
