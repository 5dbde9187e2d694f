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


def test_python_m_clew_is_the_command(tmp_path: Path) -> None:
    ran = [
        subprocess.run([sys.executable, "-m", name, "run", "-c", "print(6 * 7)"], capture_output=True, cwd=tmp_path)
        for name in ("clew", "clew.cli")
    ]
    assert [one.stdout.split() for one in ran] == [[b"42"], [b"42"]]


def run_without_torch(source: str, *options: str, folder: Path) -> str:
    """What it prints on stderr where `import torch` finds nothing but what stands in `folder`."""
    (folder / "main.py").write_text(source)
    hide = "import sys, importlib.machinery as m\nfind = m.PathFinder.find_spec\n"
    hide += "m.PathFinder.find_spec = lambda name, path=None, target=None: (\n"
    hide += "    None if name == 'torch' and path is None else find(name, path, target))\n"
    hide += f"from clew.cli import main\nsys.exit(main(['run', *{list(options)}, 'main.py']))\n"
    return subprocess.run([sys.executable, "-c", hide], capture_output=True, text=True, cwd=folder).stderr


def test_a_program_that_imports_torch_is_told_of_as_torch(tmp_path: Path) -> None:
    said = run_without_torch("import torch\n", folder=tmp_path)
    assert said.splitlines()[-1].endswith("To run it on clew: clew run --as-torch SCRIPT")
    assert "--as-torch" not in run_without_torch("import nothing_like_it\n", folder=tmp_path)
    assert run_without_torch("import torch\n", "--as-torch", folder=tmp_path) == ""


def test_a_torch_that_cannot_be_imported(tmp_path: Path) -> None:
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("raise OSError('libtorch_cpu.so: cannot open shared object file')")
    (tmp_path / "main.py").write_text("import torch\n")
    ran = subprocess.run([sys.executable, "-m", "clew", "run", "main.py"], capture_output=True, text=True, cwd=tmp_path)
    assert ran.returncode == 1
    assert ran.stderr.splitlines()[-1].endswith("To run it on clew: clew run --as-torch SCRIPT")


def test_the_cause_behind_an_error_of_a_lazy_import(tmp_path: Path) -> None:
    lazy = """
import importlib
def load(name):
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("Could not import module 'Model'. Are its requirements defined?") from error
load("part")
"""
    (tmp_path / "lazy.py").write_text(lazy)
    (tmp_path / "part.py").write_text("import torch.cuda.nothing\n")
    (tmp_path / "main.py").write_text("import lazy\n")
    ran = subprocess.run(
        [sys.executable, "-m", "clew", "run", "--as-torch", "main.py"], capture_output=True, text=True, cwd=tmp_path
    )
    last = ran.stderr.splitlines()[-1]
    assert last.startswith("clew run: the cause of this ModuleNotFoundError: No module named 'torch.cuda")
    assert "the CPU, the only device" in last  # what to use instead
