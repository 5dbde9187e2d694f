"""Twenty programs as users write them run, and type checkers accept them in their strict and standard modes."""

import json
import os
import runpy
import subprocess
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path

import pytest

PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.py"))
ROOT = Path(__file__).resolve().parents[2]
MYPY_OPTIONS = ("--strict", "--config-file=", "--follow-imports=silent", "--no-incremental")
WRONG = """
import clew as torch
x = torch.ones(2, requires_grad=True)
(gradient,) = torch.autograd.grad(x.sum(), x)
text: str = gradient  # wrong
number: str = x.sum().item()  # wrong
maybe = torch.autograd.grad(x.sum(), x, allow_unused=True)
maybe[0].sum()  # wrong
"""


def lines_that_are_wrong(source):
    return {number for number, line in enumerate(source.splitlines(), 1) if line.endswith("# wrong")}


def mypy(*files):
    return subprocess.run(
        [sys.executable, "-m", "mypy", *MYPY_OPTIONS, *files],
        env=os.environ | {"MYPYPATH": str(ROOT / "src")}, capture_output=True, text=True, check=False,
    )  # fmt: skip


def pyright(folder, *files):
    settings = {
        "include": [str(file) for file in files],
        "extraPaths": [str(ROOT / "src")],
        "typeCheckingMode": "standard",
    }
    config = folder / "pyrightconfig.json"
    config.write_text(json.dumps(settings))
    ran = subprocess.run(
        [sys.executable, "-m", "basedpyright", "-p", config, "--pythonpath", sys.executable, "--outputjson"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return json.loads(ran.stdout)["generalDiagnostics"]


def test_there_are_twenty():
    assert len(PROGRAMS) == 20


@pytest.mark.beyond
@pytest.mark.parametrize("program", PROGRAMS, ids=[program.stem for program in PROGRAMS])
def test_it_runs(program):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        runpy.run_path(str(program), run_name="__main__")


@pytest.mark.skipif(find_spec("mypy") is None, reason="mypy is not installed")
def test_mypy_strict(tmp_path):
    ran = mypy(*PROGRAMS)
    assert ran.returncode == 0, ran.stdout
    wrong = tmp_path / "wrong.py"
    wrong.write_text(WRONG)
    told = mypy(wrong).stdout
    assert {int(line.split(":")[1]) for line in told.splitlines() if ": error:" in line} == lines_that_are_wrong(WRONG)


@pytest.mark.skipif(find_spec("basedpyright") is None, reason="basedpyright is not installed")
def test_pyright(tmp_path):
    assert pyright(tmp_path, *PROGRAMS) == []
    wrong = tmp_path / "wrong.py"
    wrong.write_text(WRONG)
    told = pyright(tmp_path, wrong)
    assert {one["range"]["start"]["line"] + 1 for one in told} == lines_that_are_wrong(WRONG)
