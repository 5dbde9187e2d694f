"""Drives the rivals' processes: rounds in turns, one at a time, after what they compute has been compared."""

from __future__ import annotations

import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import IO, Any

import numpy as np

from bench.rivals import RIVALS, Rival
from bench.workload import Workload

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# This bench runs in every process. Its root then goes behind everything installed: an installed clew is what is
# measured, if there is one.
_START = (
    f"import sys; sys.path.insert(0, {ROOT!r}); from bench.worker import main; "
    f"sys.path.remove({ROOT!r}); sys.path.append({ROOT!r}); main()"
)
# What is on the path is found before what an editable installation's finder knows.
_PATH_FIRST = "import sys; from importlib.machinery import PathFinder; sys.meta_path.insert(0, PathFinder); "
_LIMIT = 240.0  # seconds for a request: compilers are slow
RELATIVE = {"float32": 1e-4, "float64": 1e-9}


class RivalError(Exception):
    """What a rival could not do, in its own words."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How long to measure."""

    rounds: int = 20
    round_ns: int = 3_000_000
    seconds: float = 4.0  # a workload's rounds of all its rivals together take about this long at most
    least_rounds: int = 3


@dataclass(slots=True)
class Measured:
    """A workload under one number of threads: nanoseconds of each rival's rounds, or why there are none."""

    workload: str
    group: str
    threads: int
    facts: dict[str, Any] = field(default_factory=dict)
    rounds: dict[str, list[float]] = field(default_factory=dict)
    first_call: dict[str, float] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)

    def best(self, rival: str) -> float | None:
        return min(self.rounds[rival]) if self.rounds.get(rival) else None

    def as_dict(self) -> dict[str, Any]:
        results: dict[str, Any] = {
            rival: {
                "best": _short(min(times)),
                "median": _short(statistics.median(times)),
                "rounds": [_short(value) for value in times],
                "first_call_seconds": _short(self.first_call.get(rival, 0.0)),
            }
            for rival, times in self.rounds.items()
        }
        results |= {rival: {"error": error} for rival, error in self.errors.items()}
        return {
            "workload": self.workload,
            "group": self.group,
            "threads": self.threads,
            "facts": self.facts,
            "unit": "ns",
            "results": results,
        }


def with_more_rounds(row: dict[str, Any], more: Mapping[str, Any]) -> None:
    """Add the rounds of ``more``, the same workload's, to those of ``row``, and count how often that was done."""
    for rival, result in more["results"].items():
        ours = row["results"].setdefault(rival, result)
        if ours is result or "rounds" not in ours or "rounds" not in result:
            continue
        rounds = ours["rounds"] + result["rounds"]
        ours |= {"rounds": rounds, "best": min(rounds), "median": _short(statistics.median(rounds))}
    row["again"] = row.get("again", 0) + 1


def _short(value: float) -> float:
    return float(f"{value:.5g}")


def cpus_for(threads: int) -> list[int]:
    """Which processors to use: one of each core first, the last of them (the first serve most interrupts)."""
    allowed = sorted(os.sched_getaffinity(0), reverse=True)
    seen: dict[str, int] = {}
    for cpu in allowed:
        try:
            with open(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list") as file:
                siblings = file.read()
        except OSError:
            siblings = str(cpu)
        seen.setdefault(siblings, cpu)
    cores = list(seen.values())
    return (cores + [cpu for cpu in allowed if cpu not in cores])[:threads]


class Process:
    """A rival's process; started at the first request, and again after it has died.

    It is stopped while nothing is asked of it: threads that wait for work keep a processor busy for up to 20 ms
    (OpenBLAS), which is longer than the next one's turn.
    """

    def __init__(self, rival: Rival, threads: int) -> None:
        self.rival, self.threads = rival, threads
        self.scratch = tempfile.gettempdir()  # its logs, and what compilers leave
        self.hello: dict[str, str] = {}
        self._unusable = ""
        self._popen: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._log: IO[bytes] | None = None

    def ask(self, *request: Any) -> Any:
        """Do it there. RivalError with what was raised, or with how the process ended."""
        self.start()
        return self._exchange(request)

    def start(self) -> dict[str, str]:
        """Start it if it isn't running; what it says of itself."""
        if self._unusable:
            raise RivalError(self._unusable)
        if self._connection is None:
            self._start()
        return self.hello

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        environment = self.rival.environment(self.threads)
        environment["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(self.scratch, f"inductor-{self.threads}")
        cpus = ",".join(map(str, cpus_for(self.threads)))
        arguments = [self.rival.name, str(self.threads), cpus, str(theirs.fileno())]
        start = _PATH_FIRST + _START if self.rival.path else _START
        command = [self.rival.python or sys.executable, "-P", "-c", start, *arguments]
        self._log = open(self._log_name(), "ab")  # noqa: SIM115
        self._popen = subprocess.Popen(
            command, env=environment, pass_fds=[theirs.fileno()], stdout=self._log, stderr=self._log, cwd=self.scratch
        )
        theirs.close()
        self._connection = Connection(ours.detach())
        try:
            self.hello = self._exchange(None)
        except RivalError as error:  # it cannot be imported: it will not be next time
            self._unusable = str(error)
            self.end()
            raise

    def _exchange(self, request: Any) -> Any:
        assert self._connection is not None
        try:
            self._signal(signal.SIGCONT)
            if request is not None:
                self._connection.send(request)
            if not self._connection.poll(_LIMIT):
                self.end(kill=True)
                raise RivalError(f"no answer for {_LIMIT:.0f} s")
            kind, value = self._connection.recv()
        except (EOFError, ConnectionError):
            raise RivalError(self._how_it_ended()) from None
        self._signal(signal.SIGSTOP)
        if kind == "error":
            raise RivalError(value)
        return value

    def _signal(self, number: signal.Signals) -> None:
        if self._popen is not None and self._popen.poll() is None:
            self._popen.send_signal(number)

    def _how_it_ended(self) -> str:
        assert self._popen is not None
        code = self._popen.wait()
        self.end()
        if code < 0:
            return f"its process died of {signal.Signals(-code).name}"
        with open(self._log_name(), errors="replace") as file:
            last = file.read().strip().rpartition("\n")[2]
        return f"its process ended with {code}" + (f": {last}" if last else "")

    def _log_name(self) -> str:
        return os.path.join(self.scratch, f"{self.rival.name}-{self.threads}.log")

    def end(self, kill: bool = False) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._popen is not None:
            if kill:
                self._popen.kill()
            self._signal(signal.SIGCONT)
            self._popen.wait()
            self._popen = None
        if self._log is not None:
            self._log.close()
            self._log = None


class Team:
    """The rivals at one number of threads."""

    def __init__(self, rivals: Iterable[str], threads: int) -> None:
        self.threads = threads
        self.members: dict[str, Any] = {name: Process(RIVALS[name], threads) for name in rivals}

    def __enter__(self) -> Team:
        self._scratch = tempfile.TemporaryDirectory(prefix="clew-bench-")
        for process in self.members.values():
            process.scratch = self._scratch.name
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.members.values():
            process.end()
        self._scratch.cleanup()

    def check_distinct(self, one: str, other: str) -> None:
        """Refuse to measure a library beside itself."""
        try:
            files = {os.path.realpath(self.members[name].start()["file"]) for name in (one, other)}
        except RivalError as error:
            raise SystemExit(f"{other}: {error}") from None
        if len(files) == 1:
            raise SystemExit(f"{other}: there, too, {files.pop()} is imported; another installation is needed")

    def versions(self) -> dict[str, str]:
        return {name: p.hello["version"] for name, p in self.members.items() if p.hello}

    def measure(self, workload: Workload, settings: Settings) -> Measured:
        """Make it in each process, compare what they computed, then time in turns."""
        measured = Measured(workload.name, workload.group, self.threads, workload.facts())
        rivals = [name for name in self.members if RIVALS[name].takes_part(workload)]
        made = self._each(rivals, measured, "make", workload.name)
        measured.first_call = {name: answer["first_call"] for name, answer in made.items()}
        wrong = differences({name: answer["arrays"] for name, answer in made.items()}, workload.tolerance)
        if wrong:
            measured.errors |= dict.fromkeys(made, wrong)
            made = {}
        seconds = self._each(list(made), measured, "calibrate", settings.round_ns)
        fitting = int(settings.seconds / max(1e-9, sum(seconds.values())))
        rounds = max(min(settings.least_rounds, settings.rounds), min(settings.rounds, fitting))
        asked = {name: lambda name=name: self.members[name].ask("round") for name in seconds}
        measured.rounds = alternate(asked, rounds, measured.errors)
        self._each(list(made), measured, "drop")
        return measured

    @staticmethod
    def peaks(rivals: Iterable[str], threads: int, workload: Workload) -> dict[str, Any]:
        """The peak of resident memory over the import's, in a fresh process for each."""
        results: dict[str, Any] = {}
        for name in rivals:
            if not RIVALS[name].takes_part(workload) or name == "torch.compile":
                continue  # its compiler runs in the process and leaves hundreds of megabytes
            with Team([name], threads) as team:
                try:
                    results[name] = {"bytes": round(team.members[name].ask("peak", workload.name), 1)}
                except RivalError as error:
                    results[name] = {"error": str(error)}
        return {
            "workload": workload.name,
            "group": workload.group,
            "threads": threads,
            "facts": workload.facts(),
            "unit": "B",
            "results": results,
        }

    def _each(self, rivals: Sequence[str], measured: Measured, *request: Any) -> dict[str, Any]:
        """Ask each in turn; who fails is noted and left out."""
        answers = {}
        for name in rivals:
            if name in measured.errors:
                continue
            try:
                answers[name] = self.members[name].ask(*request)
            except RivalError as error:
                measured.errors[name] = str(error)
                measured.rounds.pop(name, None)
        return answers


def alternate(timers: Mapping[str, Callable[[], float]], rounds: int, errors: dict[str, str]) -> dict[str, list[float]]:
    """Let each timer run once a round, in turns; every other round in the opposite order."""
    times: dict[str, list[float]] = {name: [] for name in timers}
    for number in range(rounds):
        names = [name for name in timers if name in times]
        for name in names if number % 2 == 0 else reversed(names):
            try:
                times[name].append(timers[name]())
            except RivalError as error:
                errors[name] = str(error)
                del times[name]
    return times


def differences(results: Mapping[str, Sequence[np.ndarray[Any, Any]]], tolerance: float = 1.0) -> str:
    """How the rivals' results differ beyond rounding; empty if they do not."""
    compared = {name: arrays for name, arrays in results.items() if name != "machine"}
    if len(compared) < 2:
        return ""
    reference = "torch" if "torch" in compared else next(iter(compared))
    for name, arrays in compared.items():
        if len(arrays) != len(compared[reference]):
            return f"{name} gave {len(arrays)} results, {reference} {len(compared[reference])}"
        for index, (got, wanted) in enumerate(zip(arrays, compared[reference], strict=True)):
            wrong = _difference(got, wanted, tolerance)
            if wrong:
                return f"result {index} of {name} differs from {reference}'s: {wrong}"
    return ""


def _difference(got: np.ndarray[Any, Any], wanted: np.ndarray[Any, Any], tolerance: float) -> str:
    if got.shape != wanted.shape:
        return f"shape {got.shape}, not {wanted.shape}"
    if got.size == 0:
        return ""
    relative = tolerance * RELATIVE.get(str(np.result_type(got, wanted)), 0.0)
    scale = float(np.abs(wanted).max())
    if np.allclose(got, wanted, relative, relative * scale, equal_nan=True):
        return ""
    return f"by up to {float(np.abs(got.astype(np.float64) - wanted).max()):.3g} where values reach {scale:.3g}"
