"""The part of a dataset that one of several processes takes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import clew

from .sampler import Sampler


class DistributedSampler(Sampler[int]):
    """The indices of one of several processes ("replicas"): together they take each sample once.

    Args:
        dataset: with a length.
        num_replicas: how many processes there are; by default as many as the process group has.
        rank: which of them this one is, from 0; by default its rank in the process group.
        shuffle: whether the order is random: the same in all processes, another in each epoch.
        seed: of that order; the same in all processes.
        drop_last: what to do where the length is no multiple of the processes: leave samples out, or (by default) take
            some twice.

    Call `set_epoch(epoch)` before each pass, or all passes have the same order.

    Raises:
        RuntimeError: no `num_replicas` or `rank`: there is no process group to ask.
        ValueError: a rank out of range.

    Example:
        >>> list(torch.utils.data.DistributedSampler(range(5), num_replicas=2, rank=1, shuffle=False))
        [1, 3, 0]
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            if not clew.distributed.is_initialized():
                raise RuntimeError(
                    "DistributedSampler: expected num_replicas and rank, got None; there is no process group to ask "
                    "(Requires distributed package to be available): call distributed.init_process_group first"
                )
            num_replicas = clew.distributed.get_world_size() if num_replicas is None else num_replicas
            rank = clew.distributed.get_rank() if rank is None else rank
        if not 0 <= rank < num_replicas:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset, self.num_replicas, self.rank, self.epoch = dataset, num_replicas, rank, 0
        self.shuffle, self.seed, self.drop_last = shuffle, seed, drop_last
        size = len(dataset)
        self.num_samples = size // num_replicas if drop_last else math.ceil(size / num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[int]:
        size = len(self.dataset)
        if self.shuffle:
            generator = clew.Generator().manual_seed(self.seed + self.epoch)
            indices = clew.randperm(size, generator=generator).tolist()
        else:
            indices = list(range(size))
        whole = itertools.islice(itertools.cycle(indices), self.total_size)
        return itertools.islice(whole, self.rank, None, self.num_replicas)

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Say which pass is next: its order follows from `seed + epoch`."""
        self.epoch = epoch
