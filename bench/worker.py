"""A rival's own process: it imports one library and does, one request at a time, what the driver asks.

Started by ``bench.driver``: ``python -P -c ... RIVAL THREADS CPUS FD``.
"""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import sys
import traceback
from multiprocessing.connection import Connection
from time import perf_counter, sleep
from typing import Any

import numpy as np

from bench import peak_memory, workloads
from bench.rivals import RIVALS, Rival
from bench.workload import Run, as_list

NOT_WARMED = 30_000_000  # nanoseconds: a call that is this long fills the caches itself
WARM_AFTER = 10  # calls: what compiles before it runs, and what records, is done by then
CODE_AFTER = 3.0  # seconds in use: what clew's own C compiler makes meanwhile is there by then
PAUSE = 0.01  # seconds, for the compiler: it may have no other core
SENT_WHOLE = 1 << 17  # elements; of larger results a sample is compared


def condensed(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The array, or of a large one every k-th element and the mean of all and of their magnitudes."""
    if array.size <= SENT_WHOLE:
        return array
    flat = array.reshape(-1)
    sample = flat[:: array.size // SENT_WHOLE | 1].astype(np.float64)
    means = [flat.mean(dtype=np.float64), np.abs(flat).mean(dtype=np.float64)]
    return np.concatenate([sample, means]).astype(array.dtype)


def arrays_of(results: Any) -> list[np.ndarray[Any, Any]]:
    """What a run gave, as NumPy arrays."""
    arrays = []
    for result in as_list(results):
        plain = result.detach().numpy() if hasattr(result, "detach") else result
        arrays.append(condensed(np.array(plain)))
    return arrays


def await_code(run: Run) -> None:
    """Use the run, with pauses, until its code is there: who is asked for rounds is stopped between them."""
    until = perf_counter() + CODE_AFTER
    calls, _ = run.calls_of_a_round(int(PAUSE * 1e9))
    while perf_counter() < until:
        run.time(calls)
        sleep(PAUSE)


class Worker:
    """Holds one run at a time."""

    def __init__(self, rival: Rival, threads: int) -> None:
        self.rival = rival
        self.module = rival.load(threads)
        workloads.everything()  # they too are imported before memory is looked at, and NumPy's random numbers
        np.random.default_rng()
        self.run: Run | None = None
        self.calls = 1
        self.calls_before = 0
        self.count = 1

    def hello(self) -> dict[str, str]:
        return {
            "version": self.rival.version(self.module),
            "file": str(self.module.__file__),
            "cpus": str(sorted(os.sched_getaffinity(0))),
        }

    def make(self, name: str) -> dict[str, Any]:
        """Make the workload ready: the results to compare, and the seconds that it took, a compiler's among them, until
        they were there and, where something can be compiled, until the tenth call was done."""
        self.drop()
        workload = workloads.by_name(name)
        self.count = workload.count
        started = perf_counter()
        run = self.rival.make(workload, self.module)
        arrays = arrays_of(run.results())
        first = perf_counter() - started
        answer = {"arrays": arrays, "first_call": first}
        if workload.replayed:
            run.first_calls(WARM_AFTER - (run.steps_compared or 2))
            answer["tenth_call"] = perf_counter() - started
        if self.rival.name == "clew.compile":
            await_code(run)
        self.run = run
        return answer

    def calibrate(self, round_ns: int) -> float:
        """Choose how many calls a round takes; the seconds of such a round."""
        assert self.run is not None
        self.calls, nanoseconds = self.run.calls_of_a_round(round_ns)
        self.calls_before = self.calls // 2 + 1 if nanoseconds < NOT_WARMED else 0
        return nanoseconds / 1e9

    def round(self) -> float:
        """Nanoseconds of one of what the workload's name says.

        The others' turns have emptied the caches, which in a loop of one's own are full: so some calls go before.
        """
        assert self.run is not None
        if self.calls_before:
            self.run.time(self.calls_before)
        return self.run.time(self.calls) / self.calls / self.count

    def drop(self) -> None:
        self.run = None
        gc.collect()

    def peak(self, name: str) -> float:
        """Bytes of the peak over the import's, of a few calls, for one of what the name says."""
        return peak_memory.of(self.rival, self.module, workloads.by_name(name))


def serve(worker: Worker, connection: Connection) -> None:
    while True:
        try:
            request, *arguments = connection.recv()
        except EOFError:
            return
        try:
            connection.send(("done", getattr(worker, request)(*arguments)))
        except Exception as error:
            message = str(error).strip().splitlines() or [""]
            traceback.print_exc()
            connection.send(("error", f"{type(error).__name__}: {message[0]}"))


def _die_with_the_driver() -> None:
    """Who is stopped can't see that nobody will ask again."""
    set_death_signal = 1  # PR_SET_PDEATHSIG
    ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL)


def main() -> None:
    name, threads, cpus, descriptor = sys.argv[1:5]
    _die_with_the_driver()
    os.sched_setaffinity(0, {int(cpu) for cpu in cpus.split(",")})
    connection = Connection(int(descriptor))
    try:
        worker = Worker(RIVALS[name], int(threads))
    except Exception as error:
        connection.send(("error", f"{type(error).__name__}: {error}"))
        return
    connection.send(("done", worker.hello()))
    serve(worker, connection)
