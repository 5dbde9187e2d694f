"""``clew run``: a script runs as Python would run it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def both(*arguments: str, cwd: Path) -> list[tuple[int, str]]:
    """Exit code and output under Python and under ``clew run``."""
    commands = [[sys.executable, *arguments], [sys.executable, "-m", "clew.cli", "run", *arguments]]
    ran = [subprocess.run(command, capture_output=True, text=True, cwd=cwd) for command in commands]
    return [(one.returncode, one.stdout) for one in ran]


def test_a_script_a_module_and_a_program(tmp_path: Path) -> None:
    (tmp_path / "part.py").write_text("value = 3\n")
    text = "import sys, part\nprint(__name__, sys.argv[1:], part.value, sys.path[0])\nsys.exit(len(sys.argv))\n"
    (tmp_path / "main.py").write_text(text)
    for arguments in (["main.py", "-x", "1"], ["-m", "main", "--flag"], ["-c", text, "a"], ["-c", "1 / 0"]):
        theirs, ours = both(*arguments, cwd=tmp_path)
        assert ours == theirs


def test_what_is_no_script(tmp_path: Path) -> None:
    for arguments, said in ((["none.py"], "none.py: expected a Python script"), (["-c", "1 +"], "-c:1: expected")):
        ran = subprocess.run(
            [sys.executable, "-m", "clew.cli", "run", *arguments], capture_output=True, text=True, cwd=tmp_path
        )
        assert ran.returncode == 2
        assert ran.stderr.startswith(f"clew run: {said}")
