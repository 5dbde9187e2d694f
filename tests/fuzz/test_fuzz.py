"""Random programs here and in PyTorch: always the same ones, and in `.ci/full` others in each run."""

import secrets
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
pytestmark = pytest.mark.beyond


def compare(environment, seed, programs):
    command = [sys.executable, str(ROOT / "tests" / "fuzz"), "--programs", str(programs), "--seed", seed]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("seed", ["first", "second"])
def test_random_programs(script_environment, seed):
    compare(script_environment, seed, 700)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_random_programs_of_a_new_seed(script_environment):
    compare(script_environment, secrets.token_hex(4), 10_000)
