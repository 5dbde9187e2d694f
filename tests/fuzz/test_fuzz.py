"""One minute of random programs. The seed is the commit, so a rerun repeats it."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


def commit() -> str:
    done = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, cwd=ROOT, check=False)
    return done.stdout.strip() or "no commit"


@pytest.mark.slow
@pytest.mark.beyond
@pytest.mark.xfail(reason="one program in 20,000 still differs, neither mended nor explained", strict=False)
def test_a_minute_of_random_programs(script_environment):
    command = [sys.executable, str(ROOT / "tests" / "fuzz"), "--seconds", "60", "--seed", commit(), "--jobs", "1"]
    done = subprocess.run(command, capture_output=True, text=True, env=script_environment, check=False, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
