"""What ``ralph init`` finds in a repository goes into its settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from ralph.services.init import Found, look_around, write_templates
from ralph.services.settings import load


@pytest.mark.parametrize(
    ("name", "text", "test"),
    [
        ("pytest.ini", "", "pytest -q"),
        ("pyproject.toml", "[tool.pytest.ini_options]\n", "pytest -q"),
        ("pyproject.toml", "[project]\n", ""),
        ("package.json", '{"scripts": {"test": "vitest"}}', "npm test"),
        ("package.json", "{}", ""),
        ("Cargo.toml", "", "cargo test"),
        ("go.mod", "module x\n", "go test ./..."),
        ("Makefile", "all:\n\techo\ntest:\n\techo\n", "make test"),
        ("Makefile", "all:\n\techo\n", ""),
    ],
)
def test_the_test_command_of_a_project(tmp_path: Path, name: str, text: str, test: str) -> None:
    (tmp_path / name).write_text(text)
    assert look_around(tmp_path, lambda agent: None).test == test  # noqa: ARG005


def test_what_was_found_is_in_force_afterwards(tmp_path: Path) -> None:
    write_templates(tmp_path, force=False, found=Found("claude", "go test ./..."))
    policy = load(tmp_path, prompt=None, flags={}, environ={}).policy
    assert policy.verify.commands == ("go test ./...",)
    assert (policy.agent.use, policy.max) == ("claude", 20)
