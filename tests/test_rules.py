"""Every rule that the package says it keeps is named by a test."""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent
RULE = re.compile(r"\b[A-Z]-\d+\b")


def named(folder: Path) -> set[str]:
    return {rule for path in folder.rglob("*.py") for rule in RULE.findall(path.read_text())}


def test_every_rule_named_in_the_package_is_named_in_a_test() -> None:
    assert named(HERE.parent / "ralph") - named(HERE) == set()
