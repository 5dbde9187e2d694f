"""What a step costs: computing, and for each bucket a latency and its bytes over a bandwidth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

Figures = dict[str, Any]  # what bench.scaling.ranks measures on one number of ranks


class Network(NamedTuple):
    """Between machines."""

    name: str
    latency: float  # seconds of a message
    bandwidth: float  # bytes a second, each way

    def seconds(self, size: float, ranks: int) -> float:
        """Of a reduction in a ring: each rank sends twice nearly all bytes. Its latency is taken as a tree's."""
        return 2 * float(np.log2(ranks)) * self.latency + 2 * (ranks - 1) / ranks * size / self.bandwidth


@dataclass(frozen=True)
class Machine:
    """Ranks in the memory of one machine."""

    cores: int
    latency: float  # seconds of a bucket on two ranks
    bandwidth: float  # bytes of a bucket that two ranks reduce in a second

    def seconds(self, sizes: Sequence[float], ranks: int) -> float:
        """Of the reductions of buckets of these sizes. Ranks of one core copy one after the other, and wait at once.

        A rank writes its row, reads its part of all rows, writes its part of the mean, and copies the mean: 4 + 1 / n
        times the bytes.
        """
        if ranks == 1:
            return 0.0
        each_core = max(1.0, ranks / self.cores)
        moved = (4 + 1 / ranks) / (4 + 1 / 2)
        waiting = np.log2(ranks) * self.latency * len(sizes)
        return float(waiting + each_core * moved * sum(sizes) / self.bandwidth)

    def step(self, computing: float, sizes: Sequence[float], ranks: int) -> float:
        """Of a step in which each rank computes for so long. Reductions take the time of the cores: none is hidden."""
        return computing * max(1.0, ranks / self.cores) + self.seconds(sizes, ranks)


def fitted(cores: int, one: Figures, two: Figures) -> Machine:
    """Latency and bandwidth from the steps of two ranks, beyond what the same steps take without reductions."""
    rows, seconds = [], []
    for name, model in two["models"].items():
        for way in model["ways"].values():
            rows.append([len(way["sizes"]), sum(way["sizes"])])
            seconds.append(max(0.0, way["step"] - one["models"][name]["alone"]))
    table, wanted = np.array(rows, dtype=float), np.array(seconds)
    weights = 1 / np.maximum(wanted, 1e-5)  # small ones count as much as large ones
    found = np.linalg.lstsq(table * weights[:, None], wanted * weights, rcond=None)[0]
    if found.min() <= 0:  # one of the two is too small to be seen
        found = np.array([1e-6, (wanted @ table[:, 1]) / (table[:, 1] @ table[:, 1])])
    return Machine(cores, float(found[0]), float(1 / found[1]))


def pipelined(ready: Sequence[float], end: float, seconds: Sequence[float]) -> float:
    """How long reductions go on after the end of the backward, if they take the network one after the other.

    The next one begins when a gradient comes, since only then the rank looks at what the network did.

    Args:
        ready: when each bucket has all its gradients.
        end: when the backward ends.
        seconds: what each bucket takes on the network.
    """
    free = 0.0
    for at, taken in zip(ready, seconds, strict=True):
        begins = max(free, at)
        begins = min((look for look in ready if look >= begins), default=max(begins, end))
        free = begins + taken
    return max(0.0, free - end)


def over_network(model: Figures, machine: Machine, network: Network, ranks: int, overlap: bool) -> float:
    """Seconds of a step on ranks that are machines each. What their cores do for a reduction is taken as in memory."""
    way = model["ways"]["many"]
    if ranks == 1:
        return float(model["alone"])
    seconds = [network.seconds(size, ranks) for size in way["sizes"]]
    waited = pipelined(way["ready"], way["end"], seconds) if overlap else sum(seconds)
    return float(model["alone"] + machine.seconds(way["sizes"], 2) + waited)
