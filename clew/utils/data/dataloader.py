"""Batches of a dataset, one after the other."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .collate import default_collate, default_convert
from .dataset import IterableDataset
from .sampler import BatchSampler, RandomSampler, SequentialSampler, draw_seed


class DataLoader:
    """Goes through a dataset in batches, in this process.

    Args:
        dataset: samples by index, or an `IterableDataset`.
        batch_size: samples in a batch; None for single samples.
        shuffle: whether to take them in a random order, a new one each time.
        sampler: an order of indices, instead of `shuffle`.
        batch_sampler: lists of indices, instead of all of these.
        num_workers: 0; loading in other processes is not supported.
        collate_fn: makes a batch of a list of samples.
        drop_last: whether a last batch that is not full is left out.
        generator: where random numbers come from.

    >>> import clew
    >>> from clew.utils.data import DataLoader, TensorDataset
    >>> loader = DataLoader(TensorDataset(clew.arange(5)), batch_size=2)
    >>> [batch.tolist() for (batch,) in loader]
    [[0, 1], [2, 3], [4]]
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[list[Any]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        *,
        generator: Any = None,
        **for_workers: Any,
    ) -> None:
        if num_workers < 0:
            raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
        if num_workers > 0:
            raise NotImplementedError(
                f"DataLoader: num_workers={num_workers} is not supported; use num_workers=0 (loading in this process)"
            )
        if any(for_workers.values()):
            raise ValueError(f"DataLoader: {sorted(for_workers)} need num_workers > 0, which is not supported")
        del pin_memory, timeout, worker_init_fn  # they have no effect without workers and other devices
        iterable = isinstance(dataset, IterableDataset)
        _check(iterable, batch_size, bool(shuffle), sampler, batch_sampler, drop_last)
        if sampler is None:
            if iterable:
                sampler = itertools.repeat(None)
            else:
                sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_sampler is None and batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        elif batch_sampler is not None:
            batch_size = None
        self.dataset, self.batch_size, self.drop_last = dataset, batch_size, drop_last
        self.sampler, self.batch_sampler, self.generator = sampler, batch_sampler, generator
        self.num_workers = num_workers
        self.collate_fn = collate_fn or (default_convert if batch_sampler is None else default_collate)

    def __iter__(self) -> Iterator[Any]:
        # PyTorch draws a seed for its workers here, also when it has none: without it the next numbers would differ.
        draw_seed(self.generator)
        if isinstance(self.dataset, IterableDataset):
            return self._iterate_stream(iter(self.dataset))
        return self._iterate()

    def _iterate(self) -> Iterator[Any]:
        dataset, collate = self.dataset, self.collate_fn
        if self.batch_sampler is None:
            for index in self.sampler:
                yield collate(dataset[index])
            return
        fetch = getattr(dataset, "__getitems__", None)
        for indices in self.batch_sampler:
            yield collate(fetch(indices) if fetch else [dataset[index] for index in indices])

    def _iterate_stream(self, samples: Iterator[Any]) -> Iterator[Any]:
        if self.batch_sampler is None:
            yield from map(self.collate_fn, samples)
            return
        for places in self.batch_sampler:
            batch = list(itertools.islice(samples, len(places)))
            if not batch or (self.drop_last and len(batch) < len(places)):
                return
            yield self.collate_fn(batch)

    def __len__(self) -> int:
        """How many batches a pass gives."""
        if isinstance(self.dataset, IterableDataset):
            size = len(self.dataset)  # type: ignore[arg-type]
            if self.batch_size is None:
                return size
            return size // self.batch_size if self.drop_last else -(-size // self.batch_size)
        return len(self.sampler if self.batch_sampler is None else self.batch_sampler)  # type: ignore[arg-type]


def _check(
    iterable: bool,
    batch_size: int | None,
    shuffle: bool,
    sampler: Iterable[Any] | None,
    batch_sampler: Iterable[Any] | None,
    drop_last: bool,
) -> None:
    """Refuse options that contradict each other."""
    for name, value in [("shuffle", shuffle or None), ("sampler", sampler), ("batch_sampler", batch_sampler)]:
        if iterable and value is not None:
            raise ValueError(f"DataLoader with IterableDataset: expected unspecified {name} option, but got {value}")
    if sampler is not None and shuffle:
        raise ValueError("sampler option is mutually exclusive with shuffle")
    if batch_sampler is not None and (batch_size != 1 or shuffle or sampler is not None or drop_last):
        raise ValueError("batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last")
    if batch_size is None and drop_last:
        raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
