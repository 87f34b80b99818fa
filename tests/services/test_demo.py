"""``ralph demo`` stands on real repositories, and its scenarios are scripts that can be played."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ralph.core.completion import find_claim
from ralph.errors import RalphError, UsageError
from ralph.services import demo
from ralph.services.agents.base import Reading, Session
from ralph.services.agents.claude_stream import ClaudeReader
from ralph.services.clock import SystemClock
from ralph.services.settings import load as load_settings
from tests.support.world import Repo
