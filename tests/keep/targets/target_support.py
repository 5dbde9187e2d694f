"""What the tests of row 6.11 share: a recorded case, a program in C that runs in this process, models that train."""

from __future__ import annotations

import ctypes
import itertools
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch as pytorch

import clew

WARNINGS = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic")


def tensors(torch, case, dtype="float64"):
    """The inputs of a case; those of floats are leaves with gradients."""
    kinds = {"f": getattr(torch, dtype), "i": torch.int64}
    made = [torch.tensor(one.tolist(), dtype=kinds[one.dtype.kind]) for one in case.inputs]
    return [one.requires_grad_(one.dtype == kinds["f"]) for one in made]


def with_gradients(torch, case, inputs):
    """The result, after a backward from all of it, weighed with 1, 2, 3, ..."""
    result = case.function(torch, *inputs)
    weights = torch.arange(1, result.numel() + 1, dtype=result.dtype).reshape(result.shape)
    (result * weights).sum().backward()
    return result


def expected(case, dtype="float64"):
    """By PyTorch: {"y": the result, "g0": the gradient of the first input, ...}."""
    inputs = tensors(pytorch, case, dtype)
    result = with_gradients(pytorch, case, inputs)
    found = {"y": result} | {f"g{i}": one.grad for i, one in enumerate(inputs) if one.grad is not None}
    return {name: one.detach().numpy() for name, one in found.items()}


def recorded(case, dtype="float64"):
    """The same as a program; its inputs are x0, x1, ..."""
    inputs = tensors(clew, case, dtype)
    with clew.keep_graph() as program:
        result = with_gradients(clew, case, inputs)
    program.name(y=result, **{f"x{i}": one for i, one in enumerate(inputs)})
    program.name(**{f"g{i}": one.grad for i, one in enumerate(inputs) if one.grad is not None})
    return program


class CompiledProgram:
    """What `to_c` wrote, in this process, compiled with the flags of its Makefile; its arrays by their names."""

    def __init__(self, program, folder: Path, *options: str, name: str = "program", **how) -> None:
        self.sizes = program.to_c(folder, name=name, **how)
        self._name = name
        self._shapes = {
            name: (str(one.dtype).removeprefix("torch."), tuple(one.shape)) for name, one in program._names.items()
        }
        library = folder / "program.so"
        command = ["gcc", *WARNINGS, "-O2", *options, "-shared", "-fPIC", "-o", library, folder / f"{name}.c", "-lm"]
        subprocess.run(command, check=True)
        self._library = ctypes.CDLL(str(library))

    def __getitem__(self, name: str) -> np.ndarray:
        dtype, shape = self._shapes[name]
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        memory = (ctypes.c_char * max(size, 1)).in_dll(self._library, f"{self._name}_{name}")
        return np.frombuffer(memory, dtype=dtype, count=int(np.prod(shape))).reshape(shape)

    def call(self, part: str) -> None:
        getattr(self._library, f"{self._name}_{part}")()

    @property
    def error(self) -> str | None:
        found = ctypes.c_char_p.in_dll(self._library, f"{self._name}_error").value
        return found.decode() if found else None


def assert_near(got, wanted, tolerance):
    """To `tolerance`, relative to the largest element that is finite."""
    wanted = np.asarray(wanted, dtype=np.float64)
    assert got.shape == wanted.shape
    largest = abs(wanted[np.isfinite(wanted)]).max(initial=0)
    np.testing.assert_allclose(np.asarray(got, dtype=np.float64), wanted, rtol=0, atol=tolerance * (1 + largest))


def clang() -> list[str] | None:
    """The clang of the machine, or that of the wheel `ziglang`."""
    if found := shutil.which("clang"):
        return [found]
    return [sys.executable, "-m", "ziglang", "cc"] if find_spec("ziglang") else None


def kept_training(model, optimizer, x, target):
    """A later training step as a program, with names: x, target, loss, the parameters (`.` as `_`)."""

    def step():
        optimizer.zero_grad()
        loss = clew.nn.functional.cross_entropy(model(x), target)
        loss.backward()
        optimizer.step()
        return loss

    step()
    with clew.keep_graph() as program:
        loss = step()
    named = {f"p{name.replace('.', '_')}": one for name, one in model.named_parameters()}
    program.name(x=x, target=target, loss=loss, **named)
    return program


def mlp(*sizes, activation=None):
    clew.manual_seed(0)
    layers = [clew.nn.Linear(a, b) for a, b in itertools.pairwise(sizes)]
    between = [activation or clew.nn.Tanh() for _ in layers[1:]]
    return clew.nn.Sequential(*(one for pair in zip(layers, between, strict=False) for one in pair), layers[-1])
