"""An index of ralph's own that follows the working tree; the person's index is only copied.

Files of nested repositories and submodules are ordinary entries here, so an edit inside them is
seen whether or not it is committed there.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from ralph.services.capped import Capped
from ralph.services.git import GitFailed, at_once, joined, lines
from ralph.services.nested import Nested, look_into
from ralph.services.snapshots import Store

MAX_LISTED = 100_000  # changed and new files in one look; above, no tree check
_ROUNDS = 12  # nested repositories inside nested ones, and files that vanish while we look
_GITLINK = b"160000"


class PrivateIndex:
    """Follows the tree of ``store``; ``capped`` has the files that are watched but not kept."""

    def __init__(self, store: Store, capped: Capped, *, max_listed: int = MAX_LISTED) -> None:
        self._store = store
        self._git = store.git
        self._top = os.fsencode(store.top)
        self._path = store.folder / "index"
        self._max_listed = max_listed
        self._gitlinks: set[bytes] = set()
        self._opaque: set[bytes] = set()
        self._forced: set[bytes] = set()
        self._forced_at: tuple[int, ...] = ()
        self.capped = capped
        self._entered: set[bytes] = set()
        self.problems: list[str] = []

    def unlock(self) -> None:
        """Remove what a killed git left behind in the store."""
        self._path.with_name("index.lock").unlink(missing_ok=True)

    def remove(self) -> None:
        """Remove the index from the store."""
        for path in (self._path, *self._path.parent.glob("sharedindex.*")):
            path.unlink(missing_ok=True)
        self.unlock()

    def seed(self) -> None:
        """Start from a copy of the person's index, which spares reading every file.

        Raises:
            GitFailed, OSError: if neither a copy nor an empty index can be made.
        """
        self.remove()
        self._gitlinks, self._opaque = set(), set()
        self._copy()
        try:
            entries = self._scan()
        except GitFailed:
            self.problems.append("the index of the repository cannot be read: HEAD is used")
            self._path.unlink(missing_ok=True)
            entries = self._from_head()
        self._entered = {path for _, _, path in entries}
        self._gitlinks = {path for _, mode, path in entries if mode == _GITLINK}
        self._clear_flags(entries)
        self._drop_filtered()
        self._note_forced()

    def refresh(self) -> bool:
        """Bring the index up to the working tree; True when an entry changed.

        Raises:
            GitFailed: if git does, or more files than the cap are to be looked at.
        """
        moved = False
        forced = self._newly_forced()
        for _ in range(_ROUNDS):
            listed = self._listed()
            changed, new = listed
            grown, inside = self._expand({path for path in new if path.endswith(b"/")})
            moved = moved or grown
            if grown:
                continue
            files = {path for path in new if not path.endswith(b"/")} | inside | forced
            wanted = self.capped.sort(changed, files, self._differ)
            if not wanted or self._taken(wanted, listed):
                return moved or bool(wanted)
        raise GitFailed("the working tree changes faster than git can read it")

    def entered(self) -> set[bytes]:
        """Paths that came into the index since the last call; with the first, all of them."""
        found, self._entered = self._entered, set()
        return found

    def write_tree(self) -> str:
        """Store the index as a tree and return its id.

        Raises:
            GitFailed: if git does.
        """
        return self._git.run("write-tree", "--missing-ok").decode().strip()

    def _listed(self) -> tuple[set[bytes], set[bytes]]:
        files = ("diff-files", "-z", "--name-only", "--no-renames", "--ignore-submodules=all")
        others = ("ls-files", "-o", "-z", "--exclude-standard")
        out = at_once(lambda: self._git.run(*files), lambda: self._git.run(*others))
        changed, new = (set(lines(part)) for part in out)
        if len(changed) + len(new) > self._max_listed:
            raise GitFailed(
                f"more than {self._max_listed:,} changed or untracked files in {self._store.top}: "
                "no tree check (add them to .gitignore)"
            )
        return changed, new

    def _taken(self, paths: list[bytes], listed: tuple[set[bytes], set[bytes]]) -> bool:
        """Put ``paths`` into the index; False when one of them changed its kind meanwhile."""
        options = ("--add", "--remove", "--replace", "-z", "--stdin")
        try:
            self._git.run("update-index", *options, feed=joined(paths))
        except GitFailed:
            if self._listed() == listed:
                raise
            return False
        self._entered.update(paths)
        return True

    def _differ(self, paths: list[bytes]) -> set[bytes]:
        names = [os.fsdecode(path) for path in paths]
        found: set[bytes] = set()
        for start in range(0, len(names), 500):
            out = self._git.run("ls-files", "-m", "-z", "--", *names[start : start + 500])
            found.update(lines(out))
        return found

    def _copy(self) -> None:
        repository = self._store.repository
        if repository is None or not repository.index.exists():
            return
        # With its time stamp: git compares it with the files' to know which entries to distrust.
        shutil.copy2(repository.index, self._path)
        for shared in repository.git_dir.glob("sharedindex.*"):
            shutil.copy2(shared, self._path.parent / shared.name)

    def _scan(self) -> list[tuple[bytes, bytes, bytes]]:
        """Tag, mode and path of every entry."""
        found = []
        for line in lines(self._git.run("ls-files", "-s", "-v", "-z")):
            head, _, path = line.partition(b"\t")
            tag, mode = head.split(b" ", 2)[:2]
            found.append((tag, mode, path))
        return found

    def _from_head(self) -> list[tuple[bytes, bytes, bytes]]:
        repository = self._store.repository
        oid = repository.head()[0] if repository else ""
        if oid:
            self._git.run("read-tree", oid)
            self._git.run("update-index", "-q", "--refresh", ok=(0, 1))
        return self._scan()

    def _clear_flags(self, entries: list[tuple[bytes, bytes, bytes]]) -> None:
        """Look at files that the person told git to overlook; those absent (sparse) stay so."""
        assumed = [path for tag, _, path in entries if tag.islower()]
        skipped = [path for tag, _, path in entries if tag in (b"S", b"s") and self._there(path)]
        for option, paths in (
            ("--no-assume-unchanged", assumed),
            ("--no-skip-worktree", skipped),
        ):
            if paths:
                self._git.run("update-index", option, "-z", "--stdin", feed=joined(paths))

    def _drop_filtered(self) -> None:
        """Forget what a filter such as LFS stored: those files are compared as they are on disk."""
        rules = [p for p in self._entered if p.rpartition(b"/")[2] == b".gitattributes"]
        texts = [_content(self._top + b"/" + path) for path in rules]
        texts.append(_content(os.fsencode(self._store.folder / "info" / "attributes")))
        if not any(b"filter" in text for text in texts):
            return
        feed = joined(sorted(self._entered))
        out = lines(self._git.run("check-attr", "-z", "--stdin", "filter", feed=feed))
        triples = zip(out[::3], out[2::3], strict=True)
        named = [path for path, value in triples if value not in (b"unspecified", b"unset")]
        present = [path for path in named if self._there(path)]
        if present:
            self._git.run("update-index", "--force-remove", "-z", "--stdin", feed=joined(present))

    def _note_forced(self) -> None:
        self._forced, self._forced_at = set(), ()
        self._newly_forced()

    def _newly_forced(self) -> set[bytes]:
        """Ignored files that were added to the person's index since the last look."""
        repository = self._store.repository
        stamp = _stamp(repository.index) if repository else ()
        if repository is None or stamp == self._forced_at:
            return set()
        try:
            now = repository.forced()
        except GitFailed:
            return set()
        first, fresh = not self._forced_at, now - self._forced
        self._forced, self._forced_at = now, stamp
        return set() if first else fresh

    def _expand(self, found: set[bytes]) -> tuple[bool, set[bytes]]:
        """Take in repositories below this one: whether there were entries, and more new files."""
        linked = {g + b"/" for g in self._gitlinks if self._there(g + b"/.git")}
        grown, inside = False, set[bytes]()
        for path in sorted((found | linked) - self._opaque):
            try:
                nested = look_into(self._store.top, path, self._format())
            except GitFailed as error:
                self._opaque.add(path)
                self.problems.append(f"not looked into: {os.fsdecode(path)!r} ({error})")
                continue
            self._take_in(path, nested)
            grown = grown or bool(nested.entries)
            inside |= nested.files
        return grown, inside

    def _take_in(self, path: bytes, nested: Nested) -> None:
        self._store.borrow(nested.objects, nested.excludes)
        link = path.rstrip(b"/")
        if link in self._gitlinks:
            self._gitlinks.discard(link)
            self._git.run("update-index", "--force-remove", "-z", "--stdin", feed=link + b"\0")
        if nested.entries:
            options = ("--add", "--replace", "-z", "--index-info")
            self._git.run("update-index", *options, feed=joined(nested.entries))
            self._git.run("update-index", "-q", "--refresh", ok=(0, 1))
        self._gitlinks.update(nested.gitlinks)
        self._entered.update(nested.paths)

    def _format(self) -> str:
        repository = self._store.repository
        return repository.object_format if repository else "sha1"

    def _there(self, path: bytes) -> bool:
        return os.path.lexists(self._top + b"/" + path)


def _content(path: bytes) -> bytes:
    try:
        return Path(os.fsdecode(path)).read_bytes()
    except OSError:
        return b""


def _stamp(path: Path) -> tuple[int, ...]:
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_mtime_ns, found.st_size, found.st_ino
