"""Files, environment and flags become one Policy in which every value knows its source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from ralph.core import keys
from ralph.core.keys import Kind
from ralph.core.leash import loosens
from ralph.core.live import PolicyNews
from ralph.core.policy import CustomAgent, Policy
from ralph.core.units import spell
from ralph.errors import ConfigError
from ralph.services import disk, layers, stack
from ralph.services.layers import Layer, Problem
from ralph.services.stack import BUILT_IN_AGENTS, Files

_FIXED = (
    *("prompt", "plan", "work", "preset", "agent", "agents", "completion", "verify"),
    *("progress", "hooks", "breaker.constrain"),
)


@dataclass(frozen=True)
class Loaded:
    """The policy of a run, the source of each value, and what a person should be told once.

    ``files``, ``fixed`` and ``prompt`` are what ``LiveSettings`` goes on from: the files as they
    were read, the layers that stay as they are while the run lasts (the front matter first), and
    the prompt file.
    """

    policy: Policy
    sources: Mapping[str, str]
    notes: tuple[str, ...]
    files: Files
    fixed: tuple[Layer, ...]
    prompt: Path


def load(
    root: Path,
    *,
    prompt: Path | None,
    flags: Mapping[str, object],
    environ: Mapping[str, str],
) -> Loaded:
    """Read every layer for the repository at ``root`` (section 11, B-22).

    ``prompt`` is the prompt file named on the command line; without one the configured prompt's
    front matter is read. ``flags`` are values by dotted key, None for those not given;
    ``agent.use`` may be a command line there.

    Raises:
        ConfigError: if a layer has an unknown key, a wrong type or an impossible value; the
            message names file and line.
        UsageError: if ``agent.use`` of ``flags`` is neither a name nor a command line.
    """
    files, fixed = _read(root, prompt=prompt, flags=flags, environ=environ)
    settled = stack.settle((*stack.file_layers(files), *fixed))
    file = prompt or root / settled.policy.prompt
    return Loaded(settled.policy, settled.sources, settled.notes, files, fixed, file)


def check(root: Path, *, prompt: Path | None, environ: Mapping[str, str]) -> list[Problem]:
    """Everything that is wrong in any layer; empty when ``load`` would succeed."""
    files, fixed = _read(root, prompt=prompt, flags={}, environ=environ)
    return stack.problems((*stack.file_layers(files), *fixed))


def _read(
    root: Path,
    *,
    prompt: Path | None,
    flags: Mapping[str, object],
    environ: Mapping[str, str],
) -> tuple[Files, tuple[Layer, ...]]:
    files = stack.read_files(root)
    environment = layers.from_environment(environ)
    below = (*stack.file_layers(files), environment)
    given = dict(flags)
    if prompt is not None and given.get("prompt") is None:
        given["prompt"] = _inside(root, prompt)
    front = _front_matter(prompt or root / _configured_prompt(below, given))
    names = [name for layer in (*below, front) for name in layer.entries]
    return files, (front, environment, _command_line(given, names))


def _command_line(given: dict[str, object], names: list[str]) -> Layer:
    """The flags as a layer; an agent given as a command line gets a table of its own."""
    use = given.get("agent.use")
    if isinstance(use, str):
        known = (*BUILT_IN_AGENTS, *stack.agent_names((*names, *given)))
        name, custom = stack.split_agent(use, known)
        given["agent.use"] = name
        if custom is not None:
            given[f"agents.{name}.command"] = list(custom.command)
    return layers.from_flags(given)


def _inside(root: Path, path: Path) -> str:
    """``path`` as configured: relative to ``root`` where it lies inside."""
    full, base = path.resolve(), root.resolve()
    return str(full.relative_to(base)) if full.is_relative_to(base) else str(path)


def _configured_prompt(below: tuple[Layer, ...], given: Mapping[str, object]) -> str:
    if given.get("prompt"):
        return str(given["prompt"])
    found = [layer.entries["prompt"].value for layer in below if "prompt" in layer.entries]
    return str(found[-1]) if found else Policy().prompt


def _front_matter(prompt: Path) -> Layer:
    """The prompt's own settings; a prompt that cannot be read has none, others will say so."""
    try:
        text = disk.contents(prompt).decode("utf-8-sig", errors="replace")
    except OSError:
        return Layer()
    return layers.from_front_matter(text, str(prompt))


def agent_from_flag(text: str, policy: Policy) -> tuple[str, CustomAgent | None]:
    """``--agent``: a name that ``policy`` knows, or a command line as an agent of its own.

    The second part is None for a known name. ``load`` does the same with ``agent.use`` of its
    flags.

    Raises:
        UsageError: if it is blank or has an open quote.
    """
    return stack.split_agent(text, (*BUILT_IN_AGENTS, *policy.agents))


def spelled(name: str, value: Any) -> object:
    """``value`` of the dotted key ``name`` as ralph.toml spells it: "15m", lists, no tuples."""
    key = keys.find(name)
    if key is not None and key.kind is Kind.SECONDS and isinstance(value, float):
        return spell(value)
    return list(value) if isinstance(value, tuple) else value


class LiveSettings:
    """The configuration files, looked at again at each beat (B-20, F6, F11)."""

    def __init__(self, loaded: Loaded) -> None:
        self._files = loaded.files
        self._prompt = loaded.prompt
        self._front, *others = loaded.fixed
        self._start, self._others = self._front, tuple(others)
        self._held: dict[str, object] = {}
        self._told: dict[str, object] = {}
        self._suspect = False  # the agent left a file that could not be read

    def reread(self, in_force: Policy, *, agent_ran: bool, accept: bool) -> PolicyNews:
        """Compare the files with ``in_force`` and tell what changed.

        ``agent_ran`` says that an agent ran since the last call: what loosens in a file that
        changed meanwhile is held until a call with ``accept``. What the prompt's front matter
        says now is for the next run. Each held, fixed or invalid change is told once; ``policy``
        is None when nothing is to change now.
        """
        files, front = stack.read_files(self._files.root), _front_matter(self._prompt)
        edited, rewritten = not _same(files, self._files), front != self._front
        self._files, self._front = files, front
        if not edited and not rewritten and not (accept and self._held):
            return PolicyNews()
        self._suspect = self._suspect or (edited and agent_ran)
        try:
            fresh = self._settle(in_force, self._start)
        except ConfigError as error:
            return PolicyNews(problem=_in_one(error))
        problem, later = "", fresh
        try:
            later = self._settle(in_force, front)
        except ConfigError as error:
            problem = _in_one(error) if rewritten else ""
        confirmed = self._held if accept else {}
        news = self._news(in_force, fresh, _differences(fresh, later), confirmed=confirmed)
        self._suspect = False
        return msgspec.structs.replace(news, problem=problem)

    def _settle(self, in_force: Policy, front: Layer) -> Policy:
        below = stack.file_layers(self._files)
        layers = (*below, front, *self._others)
        return stack.settle(layers, preset_name=in_force.preset).policy

    def _news(
        self,
        in_force: Policy,
        fresh: Policy,
        later: dict[str, object],
        *,
        confirmed: Mapping[str, object],
    ) -> PolicyNews:
        """Sort each difference into fixed, held or applied; what was told before is left out.

        ``later`` is what the prompt's front matter says now and the next run will follow.
        """
        before, after = keys.flatten(in_force), _differences(in_force, fresh)
        fixed = {name: new for name, new in after.items() if is_fixed(name)} | later
        held: dict[str, object] = {}
        applied: dict[str, object] = {}
        for name, new in after.items():
            if is_fixed(name):
                continue
            known = name in self._held and self._held[name] == new
            doubtful = known or self._suspect
            if loosens(name, before[name], new) and doubtful and not (known and confirmed):
                held[name] = new
            else:
                applied[name] = new
        told = self._held | self._told
        self._held, self._told = held, fixed

        def pairs(changes: Mapping[str, object]) -> dict[str, list[object]]:
            return {
                name: [spelled(name, before.get(name)), spelled(name, new)]
                for name, new in changes.items()
                if name in applied or name not in told or told[name] != new
            }

        policy = keys.build(before | applied) if applied else None
        return PolicyNews(
            policy=policy, applied=pairs(applied), held=pairs(held), fixed=pairs(fixed)
        )


def _differences(one: Policy, two: Policy) -> dict[str, object]:
    """Each key whose value in ``two`` is another one, with that value; None where it is absent."""
    before, after = keys.flatten(one), keys.flatten(two)
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    return {name: after.get(name) for name in names}


def _in_one(error: ConfigError) -> str:
    return f"{error.message} ({error.hint})" if error.hint else error.message


def _same(one: Files, two: Files) -> bool:
    return {path: str(text) for path, text in one.texts.items()} == {
        path: str(text) for path, text in two.texts.items()
    }


def is_fixed(name: str) -> bool:
    """True for a key that a run keeps as it was at its start (B-20)."""
    if name == "progress.max_churn":
        return False
    return any(name == fixed or name.startswith(f"{fixed}.") for fixed in _FIXED)
