"""C-4, D8: the difference of two snapshots in files, lines and names."""

from __future__ import annotations

import os

from ralph.services.treediff import MAX_PATHS
from tests.support.trees import seen, watch
from tests.support.world import Repo

ODD = [
    b"with space.txt",
    b"with\nline break.txt",
    b'with "quotes".txt',
    b"with\ttab.txt",
    b"back\\slash.txt",
    b"not-utf8-\xff\xfe.txt",
    "sch\u00f6n-\u65e5\u672c.txt".encode(),
    b"-dash",
    b":(glob)*.x",
    b"*",
    b"#hash",
]


def test_d8_odd_names_are_counted_and_named(repo: Repo) -> None:
    tree = watch(repo.root)
    before = seen(tree)
    for name in ODD:
        (repo.root / os.fsdecode(name)).write_bytes(b"one\ntwo\n")
    after = seen(tree)

    delta = tree.delta(before, after)

    assert (delta.files, delta.added, delta.deleted) == (len(ODD), 2 * len(ODD), 0)
    assert all(path.isprintable() for path in delta.paths)
    assert "not-utf8-\\xff\\xfe.txt" in delta.paths
    assert "with\\nline break.txt" in delta.paths
    assert "sch\u00f6n-\u65e5\u672c.txt" in delta.paths
    for name in ODD:
        (repo.root / os.fsdecode(name)).unlink()
    assert seen(tree).id == before.id


def test_d8_odd_names_inside_folders_and_nested_repositories(repo: Repo) -> None:
    folder = repo.root / "a b\n[c]"
    folder.mkdir()
    inner = Repo(folder)
    inner.git("init", "-q")
    inner.write("x.py", "1\n")
    inner.commit()
    (folder / ".git" / "info").mkdir(exist_ok=True)
    (folder / ".git" / "info" / "exclude").write_text("secret\n/top\nkeep/only\n!no\n")
    tree = watch(repo.root)
    before = seen(tree)

    for ignored in ("secret", "deep/secret", "top", "keep/only"):
        inner.write(ignored, "noise\n")
    assert seen(tree).id == before.id
    inner.write("deep/top", "counts\n")
    assert seen(tree).id != before.id


def test_c4_lines_are_counted_and_binary_files_count_none(repo: Repo) -> None:
    repo.write("old.py", "a\nb\nc\n")
    tree = watch(repo.root)
    before = seen(tree)
    repo.write("app.py", "x\ny\n")
    repo.write("old.py", "a\nc\n")
    repo.write("image.bin", b"\0\1\2\n\n\n")

    delta = tree.delta(before, seen(tree))

    assert (delta.files, delta.added, delta.deleted) == (3, 2, 2)
    assert delta.paths == ("app.py", "image.bin", "old.py")


def test_c4_a_rename_is_one_file(repo: Repo) -> None:
    repo.write("long.py", "".join(f"line {n}\n" for n in range(50)))
    tree = watch(repo.root)
    before = seen(tree)
    repo.git("add", "-A")
    (repo.root / "long.py").rename(repo.root / "other.py")

    delta = tree.delta(before, seen(tree))

    assert (delta.files, delta.added, delta.deleted, delta.paths) == (1, 0, 0, ("other.py",))


def test_c4_the_same_change_has_the_same_hash(repo: Repo) -> None:
    tree = watch(repo.root)
    first = seen(tree)
    repo.write("app.py", "other\n")
    second = seen(tree)
    repo.write("app.py", "print('hello')\n")
    third = seen(tree)
    repo.write("app.py", "other\n")
    fourth = seen(tree)

    assert tree.delta(first, second).hash == tree.delta(third, fourth).hash
    assert tree.delta(first, second).hash != tree.delta(second, third).hash


# L-14
def test_l14_what_does_not_count_is_not_in_the_difference(repo: Repo) -> None:
    tree = watch(repo.root)
    before = seen(tree)
    for name in ("PLAN.md", "x/progress.md", "a.log", "real.py"):
        repo.write(name, "text\n")

    after = seen(tree)

    assert tree.delta(before, after).paths == ("real.py",)
    assert tree.delta(before, before).hash == ""


def test_c4_at_most_200_paths_of_many_files(repo: Repo) -> None:
    tree = watch(repo.root)
    before = seen(tree)
    for number in range(MAX_PATHS + 50):
        repo.write(f"many/f{number:04}.py", "1\n")

    delta = tree.delta(before, seen(tree))

    assert delta.files == MAX_PATHS + 50
    assert len(delta.paths) == MAX_PATHS
    assert list(delta.paths) == sorted(delta.paths)


# M-2, T-15
def test_m2_t15_changed_tells_existing_files_from_new_ones(repo: Repo) -> None:
    repo.write("PLAN.md", "- [ ] a\n")
    repo.write("gone.py", "1\n")
    repo.write("test.log", "1\n")
    tree = watch(repo.root)
    before = seen(tree)
    repo.write("app.py", "drafted\n")
    repo.write("PLAN.md", "- [x] a\n")
    repo.write("test.log", "2\n")
    (repo.root / "gone.py").unlink()
    repo.write("left/over.py", "1\n")

    existed, new = tree.changed(before, seen(tree))

    assert existed == ("PLAN.md", "app.py", "gone.py")
    assert new == ("left/over.py",)


# M-2
def test_m2_a_rename_is_a_deletion_and_a_new_file(repo: Repo) -> None:
    tree = watch(repo.root)
    before = seen(tree)
    (repo.root / "app.py").rename(repo.root / "moved.py")
    assert tree.changed(before, seen(tree)) == (("app.py",), ("moved.py",))


def test_c5_a_difference_that_cannot_be_read_any_more_is_empty_and_said(repo: Repo) -> None:
    tree = watch(repo.root)
    before = seen(tree)
    lost = type(before)(id="x", full="1" * 40)
    assert tree.delta(lost, before).files == 0
    assert tree.problems
