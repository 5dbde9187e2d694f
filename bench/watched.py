"""Runs programs and writes down the losses that they run backward from, and how long they took.

    clew run --as-torch bench/watched.py      (or python bench/watched.py, with PyTorch)

Each line of the input is a run as JSON: ``folder`` (where a copy of the program lies), ``file``, ``arguments``,
``directory``, ``path``, ``seed``, ``steps`` (stop after so many backward passes; 0: run to the end), ``losses``
("grad": what ``autograd.grad`` starts from counts too), ``limit`` (seconds). Its exit code is the answer. Into the
folder go ``printed.txt``, ``errors.txt`` and ``result.json``: ``{"losses": [...], "seconds": s, "stopped": bool}``.
Each run is a child of this process, which has imported the library. Whatever `torch` is here, it is used in the same
way. A seed that the program sets itself is shifted, so that it has other draws too.
"""

from __future__ import annotations

import json
import os
import random
import runpy
import signal
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import torch


class Stop(BaseException):
    """The program has made as many steps as were asked for; no ``except Exception`` of it holds this back."""


class Recorder:
    """Losses in the order of their backward passes, those that another backward runs left out."""

    def __init__(self, steps: int, with_grad: bool) -> None:
        self.steps, self.depth = steps, 0
        self.losses: list[float] = []
        if with_grad:
            torch.autograd.grad = self.of(torch.autograd.grad)
        torch.Tensor.backward = self.of(torch.Tensor.backward)  # type: ignore[method-assign]
        torch.autograd.backward = self.of(torch.autograd.backward)

    def of(self, backward: Callable[..., Any]) -> Callable[..., Any]:
        """``backward``, recorded."""

        def recorded(*args: Any, **kwargs: Any) -> Any:
            if self.depth == 0 and self.steps and len(self.losses) >= self.steps:
                raise Stop
            if self.depth == 0:
                roots = args[0] if args else kwargs.get("tensors", kwargs.get("outputs"))
                self.losses.append(value(roots))
            self.depth += 1
            try:
                return backward(*args, **kwargs)
            finally:
                self.depth -= 1

        return recorded


def value(roots: Any) -> float:
    """The loss; of several, or one with several elements, the sum."""
    tensors = [roots] if isinstance(roots, torch.Tensor) else list(roots)
    return float(sum(tensor.detach().double().sum().item() for tensor in tensors))


def seed_everything(seed: int) -> None:
    """Seed all generators, and shift the seeds that the program sets."""
    for module, name in ((random, "seed"), (np.random, "seed"), (torch, "manual_seed")):
        original = getattr(module, name)
        original(seed)
        setattr(module, name, shifted(original, seed))


def shifted(original: Callable[..., Any], by: int) -> Callable[..., Any]:
    """A function that seeds, given a seed that is ``by`` smaller."""

    def seeds(*args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], int):
            args = (args[0] + by, *args[1:])
        return original(*args, **kwargs)

    return seeds


def watch(job: dict[str, Any]) -> dict[str, Any]:
    """Run the program in the present folder."""
    seed_everything(job["seed"])
    recorder = Recorder(job["steps"], job["losses"] == "grad")
    file = os.path.abspath(job["file"])
    sys.argv = [file, *job["arguments"]]
    sys.path[0:1] = [os.path.dirname(file), *(os.path.abspath(path) for path in job["path"])]
    os.chdir(job["directory"])
    stopped, began = False, time.perf_counter()
    try:
        runpy.run_path(file, run_name="__main__")
    except Stop:
        stopped = True
    except SystemExit as ending:
        if ending.code not in (None, 0):
            raise
    seconds = time.perf_counter() - began
    return {"losses": recorder.losses, "seconds": seconds, "stopped": stopped}


def run_in_child(job: dict[str, Any]) -> int:
    """Run it in a fork of this process. Returns the exit code; a run that takes too long is ended by SIGALRM."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 1
    try:
        signal.alarm(job["limit"])
        os.chdir(job["folder"])
        for descriptor, name in ((1, "printed.txt"), (2, "errors.txt")):
            os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), descriptor)
        result = watch(job)
        with open(os.path.join(job["folder"], "result.json"), "w") as file:
            json.dump(result, file)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def main() -> None:
    torch.set_num_threads(1)
    torch.optim.SGD([torch.zeros(1, requires_grad=True)])  # the first optimizer makes PyTorch import its compiler
    for line in sys.stdin:
        print(run_in_child(json.loads(line)), flush=True)


if __name__ == "__main__":
    main()
