"""What is measured on each number of ranks: `mpirun -n 2 python -m bench.scaling.ranks FILE`."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import clew
import clew.distributed as dist
from bench.scaling.model import Network
from bench.workloads import gpt
from clew import nn
from clew.nn import functional as F
from clew.nn.parallel import DistributedDataParallel

WIDTH, ROWS, LAYERS = 512, 128, 8  # of the wide network, whose gradients are 8 MB
WAYS = {"many": 1.0, "one": 1024.0}  # MiB of a bucket, but for a first one that is small
WIRE = Network("simulated, of 2 Gbit/s", 25e-6, 250e6)
ROUNDS, STEPS = 15, 10


def wide(rows: int) -> tuple[nn.Module, Callable[[nn.Module], Any]]:
    model = nn.Sequential(*(layer for _ in range(LAYERS) for layer in (nn.Linear(WIDTH, WIDTH), nn.ReLU())))
    x = clew.randn(rows, WIDTH)
    return model, lambda model: model(x).square().mean()


def small_gpt(sequences: int) -> tuple[nn.Module, Callable[[nn.Module], Any]]:
    text = np.random.default_rng(dist.get_rank()).integers(0, gpt.WORDS, (sequences, gpt.TOKENS + 1))
    x, y = clew.tensor(text[:, :-1]), clew.tensor(text[:, 1:]).reshape(-1)
    return gpt.build(clew), lambda model: F.cross_entropy(model(x).view(-1, gpt.WORDS), y)


MODELS = {"mini-GPT": (small_gpt, gpt.BATCH), "wide": (wide, ROWS)}


class Trainer:
    """A model, whose steps are made with reductions or without."""

    def __init__(self, name: str, samples: int, bucket: float) -> None:
        clew.manual_seed(0)
        make, _ = MODELS[name]
        model, self.loss_of = make(samples)
        self.model = DistributedDataParallel(model, bucket_cap_mb=bucket)
        self.optimizer = clew.optim.AdamW(self.model.parameters(), lr=1e-3)
        self.marks: list[float] = []
        reducer = self.model._reducer
        self._finish, reducer._finish = reducer._finish, self._note_and_finish  # type: ignore[method-assign]
        self._all_there = 0.0

    def _note_and_finish(self) -> None:
        self._all_there = time.perf_counter()
        self._finish()

    @property
    def buckets(self) -> list[Any]:
        return list(self.model._reducer._buckets)

    def step(self) -> None:
        self.optimizer.zero_grad()
        began = time.perf_counter()
        loss = self.loss_of(self.model)
        middle = time.perf_counter()
        loss.backward()
        end = time.perf_counter()
        self.optimizer.step()
        there = min(max(self._all_there, middle), end)  # from when on the rank only waits
        self.marks = [began, middle, there, end, time.perf_counter()]

    def alone(self) -> None:
        with self.model.no_sync():
            self.step()


def least(variants: dict[str, Callable[[], None]], rounds: int = ROUNDS) -> dict[str, float]:
    """Seconds of a call, in the best of some rounds of which the variants take turns."""
    found = dict.fromkeys(variants, float("inf"))
    for _ in range(rounds):
        for name, run in variants.items():
            dist.barrier()
            began = time.perf_counter()
            for _ in range(STEPS):
                run()
            found[name] = min(found[name], _span(began, time.perf_counter()) / STEPS)
    return found


def _span(began: float, ended: float) -> float:
    """From when the first rank began to when the last one ended: on one machine all have one clock."""
    spans: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(spans, (began, ended))
    return float(max(end for _, end in spans) - min(begin for begin, _ in spans))


class Wire:
    """A communicator on which reductions take as long as on a network, and none of a core's time meanwhile."""

    def __init__(self, comm: Any) -> None:
        self._comm, self._free, self.log = comm, 0.0, list[dict[str, float]]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._comm, name)

    def Iallreduce(self, where: Any, array: Any, operation: Any) -> Any:
        now = time.perf_counter()
        self._free = max(now, self._free) + WIRE.seconds(array.nbytes, self._comm.size)
        self.log.append({"began": now, "bytes": array.nbytes})
        return _Late(self._comm.Iallreduce(where, array, operation), self._free, self.log[-1])


class _Late:
    def __init__(self, request: Any, due: float, entry: dict[str, float]) -> None:
        self._request, self._due, self._entry = request, due, entry

    def Test(self) -> bool:
        done = bool(self._request.Test()) and time.perf_counter() >= self._due
        if done:
            self._entry["ended"] = time.perf_counter()
        return done


@contextmanager
def on_wire(trainer: Trainer, overlap: bool) -> Iterator[Wire]:
    """The trainer's buckets go by the wire: while backward runs, or all of them when it is done."""
    group, reducer = trainer.model.process_group, trainer.model._reducer
    wire, comm, shared, ready = Wire(group.comm), group.comm, reducer._shared, reducer._is_ready
    waiting: list[int] = []

    def at_the_end(place: int) -> None:
        waiting.append(place)
        if len(waiting) == len(reducer._parameters):
            for one in waiting:
                ready(one)
            waiting.clear()

    group.comm, reducer._shared = wire, None
    if not overlap:
        reducer._is_ready = at_the_end
    try:
        yield wire
    finally:
        group.comm, reducer._shared, reducer._is_ready = comm, shared, ready


def timeline(trainer: Trainer, overlap: bool) -> dict[str, Any]:
    """The fastest of some steps on the wire: its marks and reductions."""
    best: dict[str, Any] = {"step": float("inf")}
    with on_wire(trainer, overlap) as wire:
        for _ in range(3 * ROUNDS):
            wire.log.clear()
            dist.barrier()
            trainer.step()
            marks = trainer.marks
            if marks[-1] - marks[0] < best["step"]:
                best = {"step": marks[-1] - marks[0], "marks": marks, "reductions": list(wire.log)}
    return best


def ready_times(trainer: Trainer) -> tuple[list[float], float]:
    """When each bucket is complete and when the backward ends, from the step's begin; medians."""
    reducer, launch = trainer.model._reducer, trainer.model._reducer._launch
    at: list[float] = []
    reducer._launch = lambda bucket: (at.append(time.perf_counter()), launch(bucket))  # type: ignore[method-assign]
    found = []
    for _ in range(ROUNDS):
        at.clear()
        trainer.step()
        found.append([*(one - trainer.marks[0] for one in at), trainer.marks[2] - trainer.marks[0]])
    reducer._launch = launch  # type: ignore[method-assign]
    middle = np.median(found, axis=0).tolist()
    return middle[:-1], middle[-1]


def measured() -> dict[str, Any]:
    """All figures."""
    ranks = dist.get_world_size()
    models: dict[str, Any] = {}
    for name, (_, samples) in MODELS.items():
        trainers = {way: Trainer(name, samples, bucket) for way, bucket in WAYS.items()}
        steps: dict[str, Callable[[], None]] = {way: one.step for way, one in trainers.items()}
        times = least(steps | {"alone": trainers["one"].alone})
        models[name] = {"alone": times["alone"], "ways": {}}
        for way, trainer in trainers.items():
            sizes = [bucket.length * bucket.dtype.itemsize for bucket in trainer.buckets]
            ready, end = ready_times(trainer)
            models[name]["ways"][way] = {"step": times[way], "sizes": sizes, "ready": ready, "end": end}
        if samples % ranks == 0:
            models[name]["strong"] = least({"step": Trainer(name, samples // ranks, WAYS["many"]).step})["step"]
        if ranks > 1:
            models[name]["wire"] = {str(on): timeline(trainers["many"], on) for on in (True, False)}
    return {"ranks": ranks, "models": models}


if __name__ == "__main__":
    dist.init_process_group()
    clew.set_num_threads(1)
    figures = measured()
    if dist.get_rank() == 0:
        with open(sys.argv[1], "w") as file:
            json.dump(figures, file)
    dist.destroy_process_group()
