"""What collectives cost, with and without the check of calls.

    mpirun -n 2 python -m bench.collectives

Each figure is the least of many runs on rank 0, after a barrier; variants take turns.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import clew
import clew.distributed as dist

SIZES = (1, 1 << 10, 1 << 16, 1 << 20, 1 << 23)  # elements of float32


def least(variants: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """The shortest time of each in seconds."""
    found = dict.fromkeys(variants, float("inf"))
    for _ in range(repeats):
        for name, run in variants.items():
            dist.barrier()
            begin = time.perf_counter()
            run()
            found[name] = min(found[name], time.perf_counter() - begin)
    return found


def at(level: dist.DebugLevel, call: Callable[[], object]) -> Callable[[], object]:
    """The call with or without the check."""

    def run() -> None:
        dist.set_debug_level(level)
        call()

    return run


def collectives() -> None:
    """A line for each size."""
    from mpi4py import MPI

    print_once("| elements | bytes | all_reduce, checked | unchecked | MPI alone |\n|---|---|---|---|---|")
    world = dist.GroupMember.WORLD
    assert world is not None
    for size in SIZES:
        x = clew.zeros(size)
        array = x.numpy()
        times = least(
            {
                "checked": at(dist.DebugLevel.DETAIL, lambda x=x: dist.all_reduce(x)),
                "unchecked": at(dist.DebugLevel.OFF, lambda x=x: dist.all_reduce(x)),
                "MPI": lambda array=array: world.comm.Allreduce(MPI.IN_PLACE, array),
            },
            200 if size < 1 << 20 else 20,
        )
        print_once(
            f"| {size:,} | {4 * size:,} | " + " | ".join(f"{1e6 * one:,.0f} µs" for one in times.values()) + " |"
        )
    dist.set_debug_level(dist.DebugLevel.DETAIL)


def print_once(text: str) -> None:
    """Print on rank 0."""
    if dist.get_rank() == 0:
        print(text, flush=True)


if __name__ == "__main__":
    dist.init_process_group()
    clew.set_num_threads(1)
    collectives()
    dist.destroy_process_group()
