"""Projects for whole runs."""

from __future__ import annotations

import pytest

from tests.support.cli import Project
from tests.support.world import Repo


@pytest.fixture
def project(repo: Repo) -> Project:
    """A repository with a prompt and a plan of two open tasks, all committed."""
    made = Project(repo.root)
    made.plan("AB-1 first", "AB-2 second")
    made.commit("plan")
    return made
