"""Running the ``clew`` command in a process of its own, as a user does."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from clew_command import environment

Ran = subprocess.CompletedProcess[str]


@pytest.fixture
def command(tmp_path: Path) -> Callable[..., Ran]:
    """``command("xray", "train.py", IN_ENVIRONMENT="x")`` in an empty folder."""

    def run(*arguments: str, **more: str) -> Ran:
        return subprocess.run(
            [sys.executable, "-m", "clew.cli", *arguments],
            cwd=tmp_path,
            env=environment(**more),
            capture_output=True,
            text=True,
            timeout=100,
        )

    return run


@pytest.fixture
def xray(tmp_path: Path, command: Callable[..., Ran]) -> Callable[..., Ran]:
    """``xray(source, *arguments, options=(...))`` writes ``train.py`` and runs it under ``clew xray``."""

    def run(source: str, *arguments: str, options: tuple[str, ...] = (), **more: str) -> Ran:
        (tmp_path / "train.py").write_text(textwrap.dedent(source).lstrip("\n"))
        return command("xray", *options, "train.py", *arguments, **more)

    return run
