"""Where a key stands in its file, and what is taken out of a prompt."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.errors import ConfigError
from ralph.services.assets import asset
from ralph.services.front_matter import split
from ralph.services.toml_lines import key_lines, line_of


def test_lines_of_every_way_to_write_a_key() -> None:
    text = (
        "a = 1 # [x]\n"
        "b.c = 2\n"
        '"d e" = 3\n'
        "[t]  # b = 1\n"
        "f = [\n"
        '  "g = 1", # ]\n'
        "]\n"
        "[ t . 'u' ]\n"
        "h = { i = 1 }\n"
        "j = '''\n"
        "k = 1\n"
        "'''\n"
        "l = 1"
    )
    tomllib.loads(text)
    lines = key_lines(text)
    expected = {"a": 1, "b.c": 2, "d e": 3, "t": 4, "t.f": 5, "t.u": 8}
    assert lines == expected | {"t.u.h": 9, "t.u.j": 10, "t.u.l": 13}
    assert line_of(lines, "t.u.h.i") == 9
    assert line_of(lines, "nowhere") == 1


def test_lines_of_the_example_file_are_those_a_search_finds() -> None:
    text = asset("ralph.toml").read_text("utf-8")
    rows = text.splitlines()
    lines = key_lines(text)
    assert len(lines) > 50
    for name, number in lines.items():
        leaf = name.rpartition(".")[2]
        assert rows[number - 1].startswith((f"{leaf} =", f"[{name}]"))


@given(st.text(alphabet="ab=[]{}'\"#\n\\ .", max_size=40))
def test_any_text_has_lines_within_it(text: str) -> None:
    last = text.count("\n") + 1
    assert all(1 <= number <= last for number in key_lines(text).values())


@given(st.text(max_size=60))
def test_a_prompt_without_our_mapping_stays_as_it_is(text: str) -> None:
    body = text.replace("ralph", "")
    assert split(body).rest == body
    assert split(f"---\n{body}\n---\nrest").rest == f"---\n{body}\n---\nrest"


@given(
    st.lists(st.sampled_from(["a: 1", "# note", "b:\n  - x", ""]), max_size=4), st.text(max_size=30)
)
def test_all_but_our_mapping_stays_in_order(others: list[str], rest: str) -> None:
    before, after = others[:2], others[2:]
    block = "".join(f"{line}\n" for line in before)
    tail = "".join(f"{line}\n" for line in after)
    found = split(f"---\n{block}ralph:\n  max: 3\n{tail}---\n{rest}")
    assert found.settings == {"max": 3}
    keys = [line for line in others if ":" in line]
    if keys:
        assert found.rest.endswith(f"---\n{rest}")
        assert all(key in found.rest for key in keys)
    assert "ralph" not in found.rest.removesuffix(rest)


@pytest.mark.parametrize(
    "text",
    [
        "no front matter\n---\nralph: {max: 1}\n---\n",
        "---\nralph: {max: 1}\n",
        "---\nnotes: |\n  ralph: x\n---\n",
        "---\nralphs: 1\n---\n",
        "",
    ],
)
def test_what_only_looks_like_ours_is_left_alone(text: str) -> None:
    found = split(text)
    assert (found.settings, found.rest) == ({}, text)


def test_an_empty_mapping_sets_nothing_and_is_taken_out() -> None:
    assert split("---\nralph:\n---\nx") == ({}, {"": 2}, "x")


def test_a_broken_block_is_named_with_its_line() -> None:
    with pytest.raises(ConfigError, match=r"^P\.md:4: "):
        split("---\nralph:\n  a: 1\n b: [\n---\n", "P.md")
