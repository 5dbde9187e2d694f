"""The examples in the documentation run, and what it says of the code is so."""

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PATHS = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


@pytest.mark.beyond
@pytest.mark.parametrize("page", ["seeing.md", "numerics.md", "extending.md"])
def test_examples(page):
    ran = doctest.testfile(str(ROOT / "docs" / page), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert ran.attempted > 0
    assert ran.failed == 0


def code_in(page):
    return re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE)


@pytest.mark.beyond
def test_the_interpreter_in_contributing(capsys):
    (example,) = (one for one in code_in("CONTRIBUTING.md") if "Interpreter(" in one)
    exec(example, {})
    promised = re.search("# (functional.*)", example)[1]
    assert promised.split("; ") == capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("folder", ["autograd", "budget", "ops", "program"])
def test_what_the_tours_of_the_core_begin_with_runs(folder):
    import clew

    x = clew.ones(3, 2)
    names = {"clew": clew, "model": clew.nn.Linear(2, 1), "x": x, "w": clew.ones(2, requires_grad=True)}
    names["new"] = clew.zeros(3, 2)
    (example,) = code_in(f"core/{folder}/README.md")
    exec(example, names)
    given = {"autograd": "s", "budget": "loss", "ops": "y", "program": "y"}[folder]
    expected = {"autograd": 14.0, "ops": [[1.0, 1.0]] * 3, "program": 0.0}
    if folder in expected:
        assert names[given].tolist() == expected[folder]
    else:
        assert all(parameter.grad is not None for parameter in names["model"].parameters())


def test_the_tour_of_the_engine_says_how_long_it_is():
    folder = ROOT / "core" / "autograd"
    lines = sum(len(path.read_text().splitlines()) for path in folder.iterdir() if path.suffix in (".h", ".cpp"))
    said = int(re.search(r"has about\s+(\d+) lines", (folder / "README.md").read_text())[1])
    assert abs(lines - said) <= 100


@pytest.mark.beyond
def test_the_programs_of_the_readme(tmp_path):
    first, second = code_in("README.md")
    script = tmp_path / "train.py"
    script.write_text(first)
    ran = subprocess.run([sys.executable, script], capture_output=True, text=True, env=PATHS, check=True)
    assert ran.stdout.strip() == first.strip().rpartition("# ")[2]
    script.write_text(second)
    ran = subprocess.run([sys.executable, script], capture_output=True, text=True, env=PATHS, check=False)
    promised = re.search(r"^(clew\.autograd\.errors\..*?)^```", (ROOT / "README.md").read_text(), re.M | re.DOTALL)
    assert ran.stderr[ran.stderr.index("clew.autograd.errors") :].split() == promised[1].split()
