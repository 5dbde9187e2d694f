"""Runs programs of `bench/libraries` again and again, with whatever `torch` is here.

    clew run --as-torch bench/rounds.py bench/libraries/einops.py    prints the numbers of one round
    clew run --as-torch bench/rounds.py                              serves `bench/libraries.py`

A program has a function `main`, which returns its numbers. The server reads lines. A job is JSON: ``file``, ``log``
(where output goes), ``limit`` (seconds for the import, and for a round). A child of the server imports the program and
answers. Each "round" is one call of `main`; "end" ends the child. An answer is a line of JSON, ``{"numbers": [...],
"seconds": s}`` or ``{"error": words}``. After an error the child has ended.
"""

from __future__ import annotations

import json
import os
import runpy
import signal
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

sys.path[:] = [path for path in sys.path if os.path.abspath(path) != os.path.dirname(os.path.abspath(__file__))]

import torch  # noqa: E402

from bench import drawn  # noqa: E402


def measured(function: Callable[[], Any]) -> dict[str, Any]:
    """Its result and time, or its error in one line."""
    began = time.perf_counter()
    try:
        result = function()
        seconds = time.perf_counter() - began
        return {"numbers": list(drawn.numbers(result)), "seconds": seconds}
    except BaseException as error:
        traceback.print_exc()
        return {"error": " ".join(traceback.format_exception_only(error)[-1].split())[:300]}


class Program:
    """A program that has been imported."""

    def __init__(self, file: str) -> None:
        self.names: dict[str, Any] = {}
        sys.argv = [file]
        self.imported = measured(lambda: self.names.update(runpy.run_path(file, run_name="library")) or ())

    def round(self) -> dict[str, Any]:
        """A round from the same draws as each other round."""
        drawn.restart()
        return measured(self.names["main"])


def line() -> str:
    """The next line of the input, none of those behind it."""
    read = b""
    while not read.endswith(b"\n"):
        byte = os.read(0, 1)
        if not byte:
            break
        read += byte
    return read.decode().strip()


def answer(words: dict[str, Any], to: int) -> bool:
    """Answer, and say whether there is more to ask for."""
    os.write(to, (json.dumps(words) + "\n").encode())
    return "error" not in words


def child(job: dict[str, Any], answers: int) -> None:
    """Import a program and run the rounds that are asked for."""
    log = os.open(job["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for descriptor in (1, 2):
        os.dup2(log, descriptor)
    signal.alarm(job["limit"])
    program = Program(job["file"])
    goes_on = answer(program.imported, answers)
    while goes_on and line() == "round":
        signal.alarm(job["limit"])
        goes_on = answer(program.round(), answers)


def serve() -> None:
    answers = os.dup(1)
    torch.optim.SGD([torch.zeros(1, requires_grad=True)])  # the first optimizer makes PyTorch import its compiler
    while asked := line():
        if asked in ("round", "end"):
            continue  # meant for a child that was ended from outside
        job = json.loads(asked)
        sys.stdout.flush()
        process = os.fork()
        if not process:
            try:
                child(job, answers)
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        if status:
            answer(
                {"error": f"not done after {job['limit']} s" if status == -signal.SIGALRM else f"ended with {status}"},
                answers,
            )


def main() -> int:
    torch.set_num_threads(1)
    if len(sys.argv) == 1:
        serve()
        return 0
    program = Program(sys.argv[1])
    shown = program.imported if "error" in program.imported else program.round()
    print(*shown.get("numbers", [shown.get("error")]), sep="\n")
    return int("error" in shown)


if __name__ == "__main__":
    sys.exit(main())
