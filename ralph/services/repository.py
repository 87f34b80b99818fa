"""Find the person's repository and read what snapshots need of it; write its exclude file only."""

from __future__ import annotations

import os
import string
from dataclasses import dataclass, field
from pathlib import Path

from ralph.services.git import Git, GitFailed, installed, lines

IGNORED_BY_RALPH = ".ralph/"
_PATHS = ("index", "objects", "info/exclude", "info/attributes")
_KEYS = (
    "core.filemode",
    "core.symlinks",
    "core.ignorecase",
    "core.precomposeunicode",
    "core.autocrlf",
    "core.eol",
    "core.excludesfile",
    "core.attributesfile",
)


@dataclass(frozen=True)
class Repository:
    """Where the parts of one repository are (worktrees resolved), and how it names objects."""

    top: Path
    git_dir: Path
    common: Path
    index: Path
    objects: Path
    exclude: Path
    attributes: Path
    object_format: str
    config: dict[str, str] = field(default_factory=dict)

    def head(self) -> tuple[str, str]:
        """Commit id and branch; "" for each that does not exist. Never raises."""
        try:
            text = (self.git_dir / "HEAD").read_text().strip()
        except (OSError, UnicodeDecodeError):
            return "", ""
        if not text.startswith("ref: refs/heads/"):
            return (text, "") if _is_oid(text) else self._asked()
        branch = text.removeprefix("ref: refs/heads/")
        try:
            oid = (self.common / "refs" / "heads" / branch).read_text().strip()
        except (OSError, UnicodeDecodeError, ValueError):
            oid = self._packed(branch)
        return (oid, branch) if _is_oid(oid) else self._asked()

    def _packed(self, branch: str) -> str:
        wanted = b" " + os.fsencode(f"refs/heads/{branch}")
        try:
            refs = (self.common / "packed-refs").read_bytes().splitlines()
        except OSError:
            return ""
        found = (line for line in refs if line.endswith(wanted))
        return next(found, b"").removesuffix(wanted).decode("ascii", "replace")

    def _asked(self) -> tuple[str, str]:
        git = Git(self.top)
        try:
            oid = git.run("rev-parse", "--verify", "-q", "HEAD", ok=(0, 1)).decode().strip()
            name = git.run("symbolic-ref", "-q", "--short", "HEAD", ok=(0, 1))
        except GitFailed:
            return "", ""
        return oid, os.fsdecode(name).strip()

    def forced(self) -> set[bytes]:
        """Tracked files that the ignore rules would hide.

        Raises:
            GitFailed: if git does.
        """
        return set(lines(Git(self.top).run("ls-files", "-i", "-c", "-z", "--exclude-standard")))

    def dirty(self) -> bool:
        """True when tracked files differ from HEAD or untracked, non-ignored files exist.

        Raises:
            GitFailed: if git does.
        """
        wanted = ("--porcelain", "-z", "--untracked-files=normal", "--ignore-submodules=none")
        return bool(Git(self.top).run("status", *wanted))


def locate(root: Path) -> tuple[Repository | None, str]:
    """The repository that ``root`` lies in, or None and the reason as one line for the person.

    An ownership refusal of git is respected: the repository is then not read at all.
    """
    if not installed():
        return None, "git is not installed: changes to the tree cannot be seen"
    git = Git(root)
    paths = [word for name in _PATHS for word in ("--git-path", name)]
    head = ("--show-toplevel", "--absolute-git-dir", "--git-common-dir", "--show-object-format")
    try:
        out = git.run("rev-parse", "--path-format=absolute", *head, *paths)
    except GitFailed as error:
        return None, f"{_reason(root, str(error))}: the tree is compared without git's history"
    parts = [os.fsdecode(part) for part in out.split(b"\n")[:-1]]
    if len(parts) != len(head) + len(_PATHS):
        return None, f"the path of the repository has a line break: {root}"
    top = Path(parts[0])
    if top.resolve() != root.resolve() and _hidden(top, root):
        return None, f"{root} is ignored by the repository at {top}: it is compared on its own"
    return Repository(
        top=top,
        git_dir=Path(parts[1]),
        common=Path(parts[2]),
        object_format=parts[3],
        index=Path(parts[4]),
        objects=Path(parts[5]),
        exclude=Path(parts[6]),
        attributes=Path(parts[7]),
        config=_config(git),
    ), ""


def keep_out(root: Path) -> None:
    """Add ``.ralph/`` to the repository's private exclude file, once (10.1).

    Never touches ``.gitignore``; no repository, or one that cannot be written, is left as it is.
    """
    repository, _ = locate(root)
    if repository is None:
        return
    path = repository.exclude
    try:
        text = path.read_bytes() if path.exists() else b""
        if IGNORED_BY_RALPH.encode() in text.splitlines():
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        gap = b"" if not text or text.endswith(b"\n") else b"\n"
        with path.open("ab") as file:
            file.write(gap + IGNORED_BY_RALPH.encode() + b"\n")
    except OSError:
        return


def _hidden(top: Path, root: Path) -> bool:
    try:
        return bool(Git(top).run("check-ignore", str(root.resolve()), ok=(0, 1)))
    except GitFailed:
        return False


def _config(git: Git) -> dict[str, str]:
    try:
        out = git.run("config", "-z", "--get-regexp", f"^({'|'.join(_KEYS)})$", ok=(0, 1))
    except GitFailed:
        return {}
    pairs = (os.fsdecode(entry).partition("\n") for entry in lines(out))
    return {key: value if mark else "true" for key, mark, value in pairs}


def _reason(root: Path, error: str) -> str:
    if "dubious ownership" in error or "unsafe repository" in error:
        return f"git refuses the repository at {root} (safe.directory, it has another owner)"
    if "must be run in a work tree" in error:
        return f"{root} belongs to a bare repository"
    if "not a git repository" in error and not (root / ".git").exists():
        return f"no git repository at {root}"
    return f"the .git at {root} cannot be used ({error})"


def _is_oid(text: str) -> bool:
    return len(text) in (40, 64) and set(text) <= set(string.hexdigits)
