"""The command itself: what it is called with, and what it says where that is a mistake."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from clew_command import environment

import clew
import clew.cli

Run = Callable[..., "subprocess.CompletedProcess[str]"]

TWO_LINES = """
import clew
x = clew.ones(2, requires_grad=True)
for _ in range(3):
    x.exp().sum().backward()
    x.tanh().sum().backward()
"""
FROM_STDIN = """import sys, clew
print(sys.argv)
clew.ones(2, requires_grad=True).exp().sum().backward()
sys.exit(3)
"""


def test_version(command: Run) -> None:
    assert command("--version").stdout == f"clew {clew.__version__}\n"


def test_help_teaches_every_command_with_an_example(command: Run) -> None:
    told = command("--help").stdout
    commands = set(re.findall(r"^    (\w+)", told, re.MULTILINE))
    assert {"xray", "run", "doctor", "bench", "completion"} <= commands
    examples = told.partition("examples:")[2]
    assert set(re.findall(r"^  clew (\w+)", examples, re.MULTILINE)) >= {"xray", "run", "doctor", "bench"}
    assert "Options of clew stand before the script's name" in examples


def test_a_script_without_a_command_is_told_one(command: Run) -> None:
    ran = command("train.py")
    assert ran.returncode == 2
    assert "expected a command before the script, such as clew xray train.py" in ran.stderr


WRONG_USE = {
    "xray": "expected SCRIPT (the Python script to run; -: from standard input), got nothing",
    "run -m": "expected SCRIPT (the Python script to run; -: from standard input), got nothing",
    "completion": "expected SHELL (one of bash, zsh, fish, tcsh, powershell), got nothing",
    "doctor --fast": "expected only the arguments above, got --fast",
    "bench now": "expected only the arguments above, got now",
    "xray --fast train.py": "expected only the arguments above, got --fast; the script's own options stand after "
    "its name",
    "xray --limit -1 train.py": "argument --limit: expected a number of nodes, 1 or more, got '-1'",
    "xray --limit 0 train.py": "argument --limit: expected a number of nodes, 1 or more, got '0'",
    "xray --limit few train.py": "argument --limit: expected a number of nodes, 1 or more, got 'few'",
    "--fast": "expected only the arguments above, got --fast",
}


@pytest.mark.parametrize("arguments", WRONG_USE)
def test_an_error_of_use_is_that_of_the_command(arguments: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        clew.cli.main(arguments.split())
    assert ended.value.code == 2
    told = capsys.readouterr().err
    command = f"clew {arguments.split()[0]}" if arguments[0] != "-" else "clew"
    assert told.startswith(f"usage: {command} [-h]")
    assert told.endswith(f"\n{command}: error: {WRONG_USE[arguments]}\n")


@pytest.mark.parametrize("arguments", ["--help", "doctor", "bench --help", "run -c 'print(1)'", "xray -c 'print(1)'"])
def test_a_reader_that_has_seen_enough_ends_it_quietly(arguments: str, tmp_path: Path) -> None:
    """As of `clew doctor | head`: no traceback."""
    words = shlex.split(arguments)
    reader, writer = os.pipe()
    os.close(reader)
    ran = subprocess.run(
        [sys.executable, "-m", "clew.cli", *words],
        stdout=writer, stderr=subprocess.PIPE, text=True, cwd=tmp_path, env=environment(PYTHONUNBUFFERED=""),
    )  # fmt: skip
    os.close(writer)
    assert (ran.returncode, ran.stderr) == (141, "")


@pytest.mark.parametrize("name", ["xray", "run"])
def test_options_after_the_scripts_name_are_the_scripts(command: Run, tmp_path: Path, name: str) -> None:
    (tmp_path / "train.py").write_text("import sys\nprint(sys.argv[1:])\n")
    ran = command(name, "train.py", "--as-torch", "--epochs=3")
    assert ran.stdout.startswith("['--as-torch', '--epochs=3']\n")
    assert f"clew {name}: --as-torch after the script's name is passed on to the script." in ran.stderr
    assert f"clew {name} --as-torch ... train.py" in ran.stderr


def test_html_after_the_scripts_name_writes_no_page(command: Run, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("")
    ran = command("xray", "train.py", "--html=report.html")
    assert "--html=report.html after the script's name" in ran.stderr
    assert not (tmp_path / "report.html").exists()


def test_an_option_of_the_script_alone_is_no_reason_to_speak(command: Run, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("")
    assert command("xray", "train.py", "--epochs", "3").stderr == ""


@pytest.mark.parametrize("at", ["4", "train.py:4", "train.py:4 in <module>"])
def test_a_line_in_the_form_in_which_it_is_printed(xray: Run, at: str) -> None:
    out = xray(TWO_LINES, options=("--at", at)).stdout
    assert "The last of 3 backward passes called from train.py:4 in <module>" in out


def test_a_line_of_another_file(command: Run, tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "step.py").write_text("def step(loss):\n    loss.backward()\n")
    (tmp_path / "train.py").write_text(
        "import clew\nfrom parts.step import step\nx = clew.ones(2, requires_grad=True)\n"
        "step(x.exp().sum())\nx.tanh().sum().backward()\n"
    )
    for at in ("step.py:2", "parts/step.py:2", str(tmp_path / "parts" / "step.py") + ":2"):
        assert "The only backward called from step.py:2 in step" in command("xray", "--at", at, "train.py").stdout
    out = command("xray", "--at", "other/step.py:2", "train.py").stdout
    assert "No backward was called from step.py:2; backward was called from step.py:2, train.py:5." in out


def test_a_line_that_is_none(xray: Run) -> None:
    ran = xray("", options=("--at", "train.py"))
    assert ran.returncode == 2
    assert "expected LINE or FILE:LINE, such as 46 or digits.py:46, got 'train.py'" in ran.stderr


@pytest.mark.parametrize("name", ["xray", "run"])
def test_a_script_from_standard_input(tmp_path: Path, name: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "clew.cli", name, "-", "a"],
        input=FROM_STDIN, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert (ran.returncode, ran.stderr) == (3, "")
    assert ran.stdout.startswith("['-', 'a']\n")
    if name == "xray":
        assert "called from <stdin>:3 in <module>: clew.ones(2" in ran.stdout


def test_pytest_is_reported_by_test(command: Run, tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import clew\n"
        "kept = []\n"
        "def test_builds():\n    clew.ones(256, requires_grad=True).exp().sum().backward()\n"
        "def test_leaks():\n    kept.append(clew.ones(256, requires_grad=True).exp())\n"
        "def test_fails():\n    assert False\n"
    )
    ran = command("xray", "-m", "pytest", "-q", "-W", "error", "test_it.py")
    assert ran.returncode == 1, ran.stderr
    rows = {
        row[0].partition("::")[2]: row[1:]
        for line in ran.stdout.partition("── tests")[2].splitlines()
        if "::" in line and (row := line.split())
    }
    # outcome, backward passes, nodes (a leaf's node is one), bytes and unit, left
    assert rows["test_builds"][:6] == ["passed", "1", "3", "1.0", "KiB", "0"]
    assert rows["test_leaks"][:6] == ["passed", "0", "2", "1.0", "KiB", "2"]
    assert rows["test_fails"][:4] == ["failed", "0", "0", "0"]


def test_doctor(command: Run) -> None:
    ran = command("doctor")
    assert ran.returncode == 0, ran.stderr
    told = dict(line.split(maxsplit=1) for line in ran.stdout.splitlines()[:4])
    assert told["clew"].startswith(clew.__version__)
    assert told["python"].startswith(".".join(map(str, sys.version_info[:3])))
    for fact in ("instruction set", "threads", "matrix products", "C compiler", "numpy", "rich", "slow here:"):
        assert f"\n{fact}" in ran.stdout


def test_bench_measures_what_it_says(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from clew.cli import bench

    monkeypatch.setattr(bench, "_SECONDS", 0.01)
    threads = clew.get_num_threads()
    try:
        found = bench.measure(clew)
    finally:
        clew.set_num_threads(threads)
    assert all(0 < seconds < 1 for seconds in found.values())
    ours = {"clew": found, "torch": {name: 2 * seconds for name, seconds in found.items()}}
    monkeypatch.setattr(bench, "_in_process", ours.__getitem__)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    for load in (0.0, 1000.0):
        monkeypatch.setattr("os.getloadavg", lambda load=load: (load, load, load))
        assert clew.cli.main(["bench"]) == 0
        out = capsys.readouterr().out.splitlines()
        assert [line.split()[-1] for line in out[1 : len(found) + 1]] == ["2.0x"] * len(found)
        assert [line.startswith("other work is running: load 1000.0") for line in out[len(found) + 1 :]] == [
            True
        ] * bool(load)


@pytest.mark.skipif(importlib.util.find_spec("shtab") is None, reason="shtab is not installed")
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "tcsh", "powershell"])
def test_completion(command: Run, shell: str) -> None:
    ran = command("completion", shell)
    assert ran.returncode == 0, ran.stderr
    assert all(word in ran.stdout for word in ("xray", "doctor", "as-torch"))


def test_completion_without_its_library(command: Run, tmp_path: Path) -> None:
    (tmp_path / "shtab.py").write_text("raise ImportError\n")
    ran = command("completion", "bash", PYTHONPATH=str(tmp_path) + ":" + environment()["PYTHONPATH"])
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "pip install shtab" in ran.stderr


def test_importing_clew_loads_no_command_and_no_library_of_it() -> None:
    code = "import sys, clew; print(sorted({'argparse', 'shtab', 'clew.cli'} & set(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True)
    assert "clew.cli" not in ran.stdout
    assert "shtab" not in ran.stdout
