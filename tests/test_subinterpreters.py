"""A subinterpreter can't import clew, and its failed attempt leaves the main interpreter as it was."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.beyond

PROGRAM = """
import sys
from importlib import import_module

import clew

interpreters = import_module("_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters")
number = interpreters.create()
said = "try:\\n    import clew\\nexcept ImportError as error:\\n    print(error, flush=True)"
(interpreters.exec if sys.version_info >= (3, 13) else interpreters.run_string)(number, said)
interpreters.destroy(number)
x = clew.ones(2, requires_grad=True)
(x * 2).sum().backward()
print(x.grad.tolist())
"""


def test_a_subinterpreter_is_refused() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    refusal, gradient = done.stdout.splitlines()
    assert refusal.startswith("clew: expected the main interpreter, got a subinterpreter")
    assert gradient == "[2.0, 2.0]"
