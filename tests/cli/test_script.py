"""Under ``clew xray`` a script is what it is under Python: name, arguments, imports, exit code, traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]

WHO_AM_I = """
import os, pickle, sys
class Mine:
    pass
print(__name__, os.path.basename(__file__), os.path.isabs(__file__), sys.argv, __package__, __spec__)
print(os.path.basename(sys.path[0]) == os.path.basename(os.path.dirname(__file__)))
print(type(pickle.loads(pickle.dumps(Mine()))) is Mine, sys.modules["__main__"].Mine is Mine)
print(annotations if "annotations" in globals() else "plain", __builtins__.__name__)
"""


def test_it_is_main(xray: Run, tmp_path: Path) -> None:
    ran = xray(WHO_AM_I, "--epochs", "3", "-x")
    assert ran.returncode == 0, ran.stderr
    plain = subprocess.run(
        [sys.executable, "train.py", "--epochs", "3", "-x"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert ran.stdout.startswith(plain.stdout)


def test_it_imports_its_neighbours(xray: Run, tmp_path: Path) -> None:
    (tmp_path / "neighbour.py").write_text("value = 5\n")
    assert xray("import neighbour\nprint(neighbour.value)").stdout.startswith("5\n")


@pytest.mark.parametrize(
    ("ending", "code"),
    [
        ("", 0),
        ("import sys; sys.exit(3)", 3),
        ("raise SystemExit", 0),
        ("import sys; sys.exit('enough')", 1),
        ("1 / 0", 1),
    ],
)
def test_exit_code_is_kept_and_the_report_printed(xray: Run, ending: str, code: int) -> None:
    ran = xray(ending)
    assert ran.returncode == code
    assert "── clew xray train.py" in ran.stdout
    assert ("enough" in ran.stderr) == ("enough" in ending)


def test_traceback_shows_the_users_frames_only(xray: Run) -> None:
    ran = xray(
        """
        import clew
        def inner():
            clew.nn.Linear(2, 2)(clew.ones(3))
        inner()
        """
    )
    assert ran.returncode == 1
    assert ran.stderr.count('  File "') == 2
    assert "line 4, in <module>" in ran.stderr
    assert "line 3, in inner" in ran.stderr
    assert f"clew{os.sep}cli" not in ran.stderr


def test_the_users_excepthook_is_called(xray: Run) -> None:
    ran = xray("import sys\nsys.excepthook = lambda *a: print('mine', a[0].__name__)\n1 / 0")
    assert ran.stdout.startswith("mine ZeroDivisionError\n")
    assert ran.stderr == ""


def test_interrupt_is_passed_on(xray: Run) -> None:
    ran = xray("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nfor _ in range(10**6): pass")
    assert ran.returncode == -signal.SIGINT
    assert ran.stderr.rstrip().endswith("KeyboardInterrupt")
    assert "The script ended in KeyboardInterrupt" in ran.stdout


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("missing.py", None, "no such file or directory"),
        ("folder", "", "is a folder"),
        ("binary", b"\x7fELF\x00\x01\x02", "null bytes"),
        ("picture.png", b"\x89PNG\r\n\x1a\n", "expected a Python script"),
        ("wrong.py", b"x = 1\nfor for\n", "wrong.py:2: expected a Python script, got invalid syntax"),
        ("latin.py", b"# -*- coding: nonsense -*-\n", "nonsense"),
    ],
)
def test_not_a_script(command: Run, tmp_path: Path, name: str, content: bytes | str | None, reason: str) -> None:
    if content == "":
        (tmp_path / name).mkdir()
    elif isinstance(content, bytes):
        (tmp_path / name).write_bytes(content)
    ran = command("xray", name)
    assert ran.returncode == 2
    assert ran.stdout == ""
    assert ran.stderr.count("\n") == 1
    assert ran.stderr.startswith("clew xray: ")
    assert reason in ran.stderr


def test_a_module(command: Run, tmp_path: Path) -> None:
    package = tmp_path / "trainer"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "part.py").write_text(
        "from . import __name__ as mine\nimport sys\nprint(__name__, mine, sys.argv[1:])\n"
    )
    (package / "__main__.py").write_text("print('the package')\n")
    assert command("xray", "-m", "trainer.part", "a").stdout.startswith("__main__ trainer ['a']\n")
    assert command("xray", "-m", "trainer").stdout.startswith("the package\n")
    ran = command("xray", "-m", "nowhere")
    assert (ran.returncode, ran.stderr.count("\n")) == (2, 1)


def test_help_and_no_command(command: Run) -> None:
    assert command("xray", "--help").returncode == 0
    assert command().returncode == 2
