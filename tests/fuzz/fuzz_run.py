"""Runs programs in forked workers and collects what differs, one find for each operation and aspect.

A worker that crashes or hangs is a find, too: it leaves the program that it was running in memory shared with the
parent, and another worker goes on behind it.
"""

from __future__ import annotations

import json
import mmap
import os
import select
import signal
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from fuzz_programs import Program
from fuzz_session import BACKWARD, Difference, Unsupported, operation_of, run_program
from fuzz_shrink import shrink

HANGS_AFTER = 30.0  # seconds without a new statement
ROOM = 1 << 20
SHRUNK_OF_A_KIND = 2  # finds of one raw kind that a worker makes smaller
MAKERS = {"tensor", "manual_seed", "zeros", "linspace", "sum", "no_grad", "__enter__", "__exit__", "clone", "detach"}

Allowed = Callable[[Difference], object] | None


class Progress:
    """What a worker is about to do, where its parent sees it."""

    def __init__(self) -> None:
        self.memory = mmap.mmap(-1, ROOM)

    def __call__(self, program: list[str], statement: str, library: str) -> None:
        text = "\n".join([library, *program, statement] if library == "PyTorch" else [library, *program]).encode()
        self.memory[:8] = min(len(text), ROOM - 8).to_bytes(8, "little")
        self.memory[8 : 8 + len(text)] = text[: ROOM - 8]

    def read(self) -> tuple[str, list[str]]:
        size = int.from_bytes(self.memory[:8], "little")
        library, *program = self.memory[8 : 8 + size].decode(errors="replace").split("\n")
        return library, program


@dataclass
class Report:
    programs: int = 0
    statements: int = 0
    seconds: float = 0.0
    unsupported: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    finds: dict[str, Difference] = field(default_factory=dict)
    # What differed in a worker, after thousands of programs, and not when the program ran alone.
    once: dict[str, Difference] = field(default_factory=dict)

    def add(self, key: str, found: Difference) -> bool:
        """Keep the smallest program of a kind. True for the first."""
        self.counts[key] += 1
        size = len("; ".join(found.program))
        known = self.finds.get(key)
        if known is None or size < len("; ".join(known.program)):
            self.finds[key] = found
        return known is None


def kind_of(found: Difference) -> str:
    """What finds are counted by: the operation and the aspect; of gradients, the operations before the backward."""
    if found.operation not in BACKWARD:
        return f"{found.operation}: {found.aspect}"
    names = [operation_of(statement) for statement in found.program]
    before = sorted({name for name in names if name not in BACKWARD and name not in MAKERS})
    return f"{found.operation} ({', '.join(before)}): {found.aspect}"


def one_line(found: Difference) -> str:
    return "; ".join(found.program)


# -------------------------------------------------------------------------------------------------------------- workers
def work(
    seed: str, first: int, step: int, progress: Progress, tell: Callable[[dict[str, Any]], None], allowed: Allowed
):
    """Programs first, first + step ... until killed."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    seen: Counter[str] = Counter()
    place = first
    while True:
        program = Program(f"{seed}:{place}", progress, allowed)
        said: dict[str, Any] = {"place": place}
        try:
            found = program.grow()
        except Unsupported as error:
            said["unsupported"] = str(error)
            found = None
        said["statements"] = len(program.session.program)
        del program
        if found is not None:
            raw = found.key()
            seen[raw] += 1
            if seen[raw] <= SHRUNK_OF_A_KIND:
                found = shrink(found, allowed)
                said["find"], said["kind"] = asdict(found), kind_of(found)
            else:
                said["more"] = raw
        tell(said)
        place += step


class Worker:
    def __init__(self, seed: str, first: int, step: int, allowed: Allowed) -> None:
        self.seed, self.next, self.step, self.allowed = seed, first, step, allowed
        self.progress = Progress()
        self.start()

    def start(self) -> None:
        reading, writing = os.pipe()
        self.buffer = b""
        sys.stdout.flush()
        self.process = os.fork()
        if self.process == 0:
            os.close(reading)
            with open(os.devnull, "w") as silent:
                os.dup2(silent.fileno(), 2)  # what libraries say when they crash
            code = 1
            try:
                tell = lambda said: os.write(writing, json.dumps(said).encode() + b"\n") and None  # noqa: E731
                work(self.seed, self.next, self.step, self.progress, tell, self.allowed)
                code = 0
            except BaseException:
                import traceback

                os.write(writing, json.dumps({"failed": traceback.format_exc()}).encode() + b"\n")
            finally:
                os._exit(code)
        os.close(writing)
        self.reading = reading
        self.heard = time.monotonic()

    def stop(self) -> int:
        os.kill(self.process, signal.SIGKILL)
        _, status = os.waitpid(self.process, 0)
        os.close(self.reading)
        return status

    def crash(self, how: str) -> Difference | None:
        """The find that a dead worker left, and go on behind it."""
        library, program = self.progress.read()
        self.next += self.step
        self.start()
        if library == "PyTorch" or not program:
            return None
        return Difference("crash", operation_of(program[-1]), how, program[-1], len(program) - 1, program)


def alone(program: list[str], allowed: Allowed, seconds: float = 10.0) -> int:
    """The status of a child that runs the program and nothing else; it exits with 1 if it finds a difference."""
    process = os.fork()
    if process == 0:
        with open(os.devnull, "w") as silent:
            os.dup2(silent.fileno(), 2)
        signal.alarm(int(seconds))
        found = None
        try:
            torch.set_num_threads(1)
            warnings.simplefilter("ignore")
            found = run_program(program, allowed=allowed)
        finally:
            os._exit(found is not None)
    _, status = os.waitpid(process, 0)
    return status


def dies(program: list[str]) -> bool:
    """Whether a child that runs the program is killed by a signal, or hangs."""
    return os.WIFSIGNALED(alone(program, lambda _: True))


def shrink_crash(found: Difference) -> Difference:
    program = found.program
    if not dies(program):
        found.text += " (not again when it runs alone)"
        return found
    changed = True
    while changed:
        changed = False
        for place in range(len(program) - 1, -1, -1):
            smaller = program[:place] + program[place + 1 :]
            if dies(smaller):
                program, changed = smaller, True
    found.program = program
    return found


def run(
    seed: str,
    programs: int | None = None,
    seconds: float | None = None,
    jobs: int = 1,
    allowed: Allowed = None,
    on_find: Callable[[str, Difference], None] | None = None,
) -> Report:
    """Draw programs until there are so many or the time is over."""
    report = Report()
    began = time.monotonic()
    workers = [Worker(seed, place, jobs, allowed) for place in range(jobs)]
    try:
        while True:
            report.seconds = time.monotonic() - began
            if (seconds and report.seconds > seconds) or (programs and report.programs >= programs):
                return report
            ready, _, _ = select.select([worker.reading for worker in workers], [], [], 1.0)
            for worker in workers:
                found = None
                if worker.reading in ready:
                    found = listen(worker, report, allowed, on_find)
                elif time.monotonic() - worker.heard > HANGS_AFTER:
                    worker.stop()
                    found = worker.crash("hangs")
                if found is not None:
                    kind = f"{found.operation}: crash"
                    if kind not in report.finds:
                        found = shrink_crash(found)
                    if report.add(kind, found) and on_find:
                        on_find(kind, found)
    finally:
        for worker in workers:
            worker.stop()


def listen(worker: Worker, report: Report, allowed: Allowed, on_find: Any) -> Difference | None:
    """Take what a worker has said; the find if it has died."""
    data = os.read(worker.reading, 1 << 16)
    worker.heard = time.monotonic()
    if not data:
        _, status = os.waitpid(worker.process, 0)
        os.close(worker.reading)
        return worker.crash(signal.Signals(status & 0x7F).name if status & 0x7F else f"exits with {status >> 8}")
    *lines, worker.buffer = (worker.buffer + data).split(b"\n")
    for line in lines:
        said = json.loads(line)
        if "failed" in said:
            raise RuntimeError(said["failed"])
        worker.next = said["place"] + worker.step
        report.programs += 1
        report.statements += said["statements"]
        if "unsupported" in said:
            report.unsupported[said["unsupported"]] += 1
        if "more" in said:
            report.counts[said["more"]] += 1
        if "find" in said:
            found = Difference(**said["find"])
            if said["kind"] not in report.finds and alone(found.program, allowed) == 0:
                report.once[said["kind"]] = found
            elif report.add(said["kind"], found) and on_find:
                on_find(said["kind"], found)
    return None
