"""10,000 random programs of a new seed, replayed three times with new data, and 2,000 by generated code: `.ci/full`."""

import os
import secrets
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
pytestmark = [
    pytest.mark.beyond,
    pytest.mark.slow,
    pytest.mark.timeout(7200),
    pytest.mark.records_calls,
]


@pytest.mark.parametrize(
    ("programs", "options", "code"),
    [(5000, [], "0"), (5000, ["--kept"], "0"), (2000, [], "now")],
    ids=["compiled", "kept", "code"],
)
def test_random_programs_of_a_new_seed(script_environment, tmp_path, programs, options, code):
    seed = secrets.token_hex(4)
    command = [sys.executable, "-m", "tests.fuzz.replays", "--programs", str(programs), "--seed", seed, *options]
    environment = {
        **script_environment,
        "CLEW_CODE": code,
        "CLEW_CACHE_DIR": str(tmp_path),
        "PYTHONPATH": os.pathsep.join([script_environment["PYTHONPATH"], str(ROOT)]),
    }
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, f"seed {seed}\n{done.stdout}{done.stderr}"
