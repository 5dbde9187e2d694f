"""The type stubs say what there is: written from the registry, complete, and good for a user's program."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import clew

ROOT = Path(__file__).resolve().parent.parent


def test_stubs_are_up_to_date_and_complete() -> None:
    """Fails where a name of the core, of Tensor or of Node is in no stub: run tools/make_stubs.py."""
    environment = {**os.environ, "PYTHONPATH": str(Path(clew.__file__).parent.parent)}
    command = [sys.executable, str(ROOT / "tools" / "make_stubs.py"), "--check"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


PROGRAM = """
import clew as torch
from clew import Tensor

x = torch.tensor([[1.0, 2.0]], requires_grad=True)
y: Tensor = torch.mul(x, 2) + x.exp() @ x.T
values, indices = y.max(dim=1)
total: Tensor = torch.zeros(2, 3, dtype=torch.float64).view(3, 2).sum()
whole: bool = x.is_contiguous() and x.requires_grad
length: int = x.size(0) + x.numel() + x.shape[0]
with torch.no_grad():
    x.add_(1)
node = y.grad_fn
if node is not None and node.made_at is not None:
    line: int = node.made_at.line
torch.optim.SGD([x], lr=0.1).step()
length_of_nothing: int = x.sum()  # wrong
torch.no_such_name
"""


def test_a_program_is_checked(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    folder = Path(clew.__file__).parent.parent
    installed = folder.name == "site-packages"  # where mypy finds it itself
    environment = {**os.environ, **({} if installed else {"MYPYPATH": str(folder)})}
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--follow-imports=silent", str(program)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=tmp_path)
    errors = [line for line in done.stdout.splitlines() if ": error:" in line]
    assert len(errors) == 2, done.stdout + done.stderr
    assert "[assignment]" in errors[0]
    assert '"no_such_name"' in errors[1]
