"""The private store of snapshots: a git folder of ralph's own outside the repository (L-33).

It borrows the objects of the person's repository through ``alternates`` and never writes there.
Its configuration is ralph's: filters, hooks and monitors named in the repository do not run.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from ralph.core.facts import Tree
from ralph.services.git import Git, GitFailed
from ralph.services.repository import IGNORED_BY_RALPH, Repository

KEEP = 50  # snapshots a run, besides its start
_CROWDED = 27  # objects in one of 256 folders: about 7,000 loose ones, as git's own gc.auto
# Without a repository nobody wrote an ignore file; these are never anyone's work.
_DEFAULT_EXCLUDES = (
    "node_modules/",
    ".venv/",
    "venv/",
    "target/",
    "__pycache__/",
    "dist/",
    "build/",
    ".tox/",
    ".nox/",
    ".mypy_cache/",
    ".pytest_cache/",
    ".ruff_cache/",
    ".gradle/",
    ".next/",
    ".cache/",
    "*.pyc",
    ".DS_Store",
)
_AUTHOR = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "ralph"), ("EMAIL", "ralph@localhost"), ("DATE", "@0 +0000"))
}


def store_folder(state: Path, top: Path) -> Path:
    """Folder of the snapshots of the tree at ``top`` below the state folder ``state``."""
    real = top.resolve()
    key = hashlib.sha256(str(real).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return state / "snap" / f"{re.sub(r'[^A-Za-z0-9._-]', '_', real.name)[:40] or 'root'}-{key}"


def store_git(folder: Path, top: Path) -> Git:
    """A git that works in ``top`` with the store in ``folder`` as its only repository."""
    own = {
        "GIT_DIR": str(folder),
        "GIT_WORK_TREE": str(top),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_LITERAL_PATHSPECS": "1",
    }
    return Git(top, {**own, **_AUTHOR})


class Store:
    """Objects, index and kept list of one tree."""

    def __init__(self, folder: Path, top: Path, repository: Repository | None) -> None:
        self.folder = folder
        self.top = top
        self.git = store_git(folder, top)
        self.repository = repository
        self._alternates: list[Path] = []
        self._excludes: list[str] = []

    def prepare(self, excludes: Iterable[str] = ()) -> None:
        """Lay out the store and its configuration; ``excludes`` are more ignore patterns.

        Raises:
            OSError: if the folder cannot be written.
        """
        repository = self.repository
        for part in ("objects", "refs", "info"):
            (self.folder / part).mkdir(parents=True, exist_ok=True)
        _write(self.folder / "HEAD", "ref: refs/heads/none\n")
        _write(self.folder / "config", _config(repository))
        attributes = _text(repository.attributes) if repository else ""
        _write(self.folder / "info" / "attributes", attributes)
        shared = _text(repository.exclude) if repository else "\n".join(_DEFAULT_EXCLUDES)
        self._excludes = [IGNORED_BY_RALPH, *excludes, *shared.split("\n")]
        self._alternates = [repository.objects] if repository else []
        self._save()
        if self._crowded():
            self.sweep()

    def there(self) -> bool:
        """False when somebody removed the store since it was laid out (A19)."""
        return (self.folder / "HEAD").exists()

    def borrow(self, objects: Path, excludes: Iterable[str]) -> None:
        """Read objects of one more repository too, and apply its ignore patterns.

        Raises:
            OSError: if the store cannot be written.
        """
        if objects not in self._alternates:
            self._alternates.append(objects)
            self._excludes.extend(excludes)
            self._save()

    def keep(self, run_id: str, iteration: int, tree: Tree) -> None:
        """Keep ``tree`` for rescue: iteration 0 for good, of the others the last 50 of this run.

        Raises:
            OSError: if the store cannot be written.
        """
        refs = _refs(self.folder, run_id)
        refs.mkdir(parents=True, exist_ok=True)
        # git reads every file below refs, so the half-written one must not be there.
        fresh = self.folder / "kept.new"
        fresh.write_text(tree.full + "\n")
        fresh.replace(refs / f"{iteration:06d}")
        names = sorted(path.name for path in refs.iterdir() if path.name.isdigit())
        for name in [name for name in names if int(name)][:-KEEP]:
            (refs / name).unlink(missing_ok=True)
        if iteration == 0:
            self._own(run_id, tree)
        if self._crowded() or iteration % KEEP == KEEP - 1:
            self.sweep()

    def sweep(self, *, older_than: str = "1.hour.ago") -> None:
        """Pack what is kept; drop what neither a kept nor the present snapshot needs.

        Younger objects stay, for they may belong to a snapshot that is about to be kept. A store
        that cannot be swept (objects it borrows are gone) is left whole.
        """
        try:
            self.git.run("repack", "-a", "-d", "-l", "-q")
            self.git.run("prune", f"--expire={older_than}")
        except GitFailed:
            return

    def _own(self, run_id: str, tree: Tree) -> None:
        """Copy what ``tree`` borrows and no commit holds: staged work, which a gc would drop."""
        if self.repository is None:
            return
        packs = self.folder / "objects" / "pack"
        packs.mkdir(exist_ok=True)
        wanted = f"{tree.full}\n" + (f"^{tree.head}^{{tree}}\n" if tree.head else "")
        options = ("--revs", "-q", "--non-empty", "--window=0")
        try:
            named = self.git.run(
                "pack-objects", *options, str(packs / "pack"), feed=wanted.encode()
            )
        except GitFailed:
            return
        if name := named.decode().strip():
            _write(packs / f"pack-{name}.keep", _refs(self.folder, run_id).name + "\n")

    def _crowded(self) -> bool:
        sample = self.folder / "objects" / "17"
        return sample.is_dir() and sum(1 for _ in sample.iterdir()) > _CROWDED

    def _save(self) -> None:
        quoted = [_quoted(path) for path in self._alternates]
        (self.folder / "objects" / "info").mkdir(exist_ok=True)
        _write(self.folder / "objects" / "info" / "alternates", "".join(f"{q}\n" for q in quoted))
        _write(self.folder / "info" / "exclude", "".join(f"{e}\n" for e in self._excludes))


def kept(folder: Path, run_id: str) -> dict[int, str]:
    """Iteration (0 is the start) to ``Tree.full`` of the snapshots kept for ``run_id``."""
    refs = _refs(folder, run_id)
    if not refs.is_dir():
        return {}
    names = sorted(path.name for path in refs.iterdir() if path.name.isdigit())
    return {int(name): (refs / name).read_text().strip() for name in names}


def forget(folder: Path, run_id: str) -> None:
    """Stop keeping the snapshots of ``run_id``; the last run's end removes the whole store.

    Raises:
        OSError: if the store cannot be written.
    """
    refs = _refs(folder, run_id)
    shutil.rmtree(refs, ignore_errors=True)
    for note in (folder / "objects" / "pack").glob("pack-*.keep"):
        if note.read_text().strip() == refs.name:
            note.unlink(missing_ok=True)
    runs = folder / "refs" / "ralph"
    if not runs.is_dir() or not any(runs.iterdir()):
        shutil.rmtree(folder, ignore_errors=True)
        return
    Store(folder, folder, None).sweep()


def _refs(folder: Path, run_id: str) -> Path:
    plain = re.sub(r"[^A-Za-z0-9_-]", "_", run_id)
    if plain != run_id or not plain:
        plain += "-" + hashlib.sha256(run_id.encode("utf-8", "replace")).hexdigest()[:12]
    return folder / "refs" / "ralph" / plain


def _config(repository: Repository | None) -> str:
    sha256 = repository is not None and repository.object_format == "sha256"
    core = {
        "repositoryformatversion": "1" if sha256 else "0",
        "bare": "false",
        "safecrlf": "false",
        "untrackedcache": "false",
        "splitindex": "false",
        "sparsecheckout": "true",
        "quotepath": "false",
    }
    if repository is not None:
        core |= {key.partition(".")[2]: value for key, value in repository.config.items()}
    text = "[core]\n" + "".join(f"\t{key} = {_value(value)}\n" for key, value in core.items())
    text += "[gc]\n\tauto = 0\n[index]\n\tsparse = false\n"
    return text + ("[extensions]\n\tobjectFormat = sha256\n" if sha256 else "")


def _value(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _quoted(path: Path) -> str:
    text = str(path)
    if not re.search(r'["\\\n#]', text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "surrogateescape")
    except OSError:
        return ""


def _write(path: Path, text: str) -> None:
    fresh = path.with_name(path.name + ".new")
    fresh.write_text(text, "utf-8", "surrogateescape")
    fresh.replace(path)
