"""Batches of a dataset, one after the other."""

from __future__ import annotations

import itertools
import multiprocessing.context
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, partial
from typing import Any, Generic, TypeAlias, TypeVar

from .collate import default_collate, default_convert
from .dataset import IterableDataset
from .fetch import EndOfStream, Fetcher
from .sampler import BatchSampler, RandomSampler, SequentialSampler, draw_seed
from .worker import Task
from .workers import Workers, WorkersIterator

T_co = TypeVar("T_co", covariant=True)


class DataLoader(Generic[T_co]):
    """Goes through a dataset in batches.

    Args:
        dataset: samples by index, or an `IterableDataset`.
        batch_size: samples in a batch; None for single samples.
        shuffle: whether to take them in a random order, a new one each time.
        sampler: an order of indices, instead of `shuffle`.
        batch_sampler: lists of indices, instead of all of these.
        num_workers: processes that load; 0 loads in this one.
        collate_fn: makes a batch of a list of samples.
        pin_memory, pin_memory_device: accepted; there is no other device to copy to.
        drop_last: whether a last batch that is not full is left out.
        timeout: seconds to wait for a batch of a worker; 0 without limit.
        worker_init_fn: called in each worker with its number, once its generators are seeded.
        multiprocessing_context: how workers start: "fork", "spawn", "forkserver" or a context of `multiprocessing`.
        generator: where random numbers come from, those that seed the workers too.
        prefetch_factor: batches that each worker loads ahead; 2 by default.
        persistent_workers: whether workers stay for the next pass.
        in_order: False gives batches of workers as they are ready.

    Raises:
        RuntimeError: while iterating: a worker was killed or was too slow.

    An exception in a worker is raised here as one of its type, with the worker's traceback in its message.

    Example:
        >>> loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.arange(5)), batch_size=2)
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
        worker_init_fn: Callable[[int], Any] | None = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers, multiprocessing_context)
        self._is_stream = isinstance(dataset, IterableDataset)
        _check(self._is_stream, batch_size, bool(shuffle), sampler, batch_sampler, drop_last)
        if sampler is None:
            if self._is_stream:
                sampler = itertools.repeat(None)
            else:
                sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_sampler is None and batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        elif batch_sampler is not None:
            batch_size = None
        self.dataset, self.batch_size, self.drop_last = dataset, batch_size, drop_last
        self.sampler, self.batch_sampler, self.generator = sampler, batch_sampler, generator
        self.collate_fn = collate_fn or (default_convert if batch_sampler is None else default_collate)
        self.pin_memory, self.pin_memory_device = pin_memory, pin_memory_device
        self.num_workers, self.timeout, self.worker_init_fn = num_workers, timeout, worker_init_fn
        self.multiprocessing_context, self.in_order = multiprocessing_context, in_order
        self.prefetch_factor = 2 if num_workers > 0 and prefetch_factor is None else prefetch_factor
        self.persistent_workers = persistent_workers
        self._kept: WorkersIterator | None = None  # with `persistent_workers`
        self._is_ready = True

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _FIXED and hasattr(self, "_is_ready"):
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    def __iter__(self) -> Iterator[Any]:
        if self._kept is not None:
            self._kept.restart()
            return self._kept
        # The seed of workers, drawn also where there are none: without it the next numbers would not be PyTorch's.
        seed = draw_seed(self.generator)
        if self.num_workers == 0:
            return self._iterate()
        made = self._start_workers(seed)
        if self.persistent_workers:
            self._kept = made
        return made

    @cached_property  # a class of a library sets it
    def _dataset_kind(self) -> int:
        return _DatasetKind.Iterable if self._is_stream else _DatasetKind.Map

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _order(self) -> Iterable[Any]:
        """Of what a fetcher is asked for: lists of indices, or single ones."""
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    _index_sampler = _order

    def check_worker_number_rationality(self) -> None:
        """PyTorch's warning of more workers than processors; there is none."""

    def _fetcher(self) -> Callable[[Any], Fetcher]:
        return partial(
            Fetcher, collate=self.collate_fn, is_batched=self.batch_sampler is not None, drop_last=self.drop_last
        )

    def _iterate(self) -> Iterator[Any]:
        fetch = self._fetcher()(self.dataset)
        for wanted in self._order:
            try:
                batch = fetch(wanted)
            except EndOfStream:
                return
            yield batch

    def _start_workers(self, seed: int) -> WorkersIterator:
        count = self.num_workers
        tasks = [
            Task(number, count, seed, self.dataset, self._fetcher(), self.worker_init_fn) for number in range(count)
        ]
        return WorkersIterator(
            Workers(tasks, self.multiprocessing_context, self.timeout),
            lambda: iter(self._order),
            self.prefetch_factor or 1,
            self.in_order,
            self.persistent_workers,
        )

    def __len__(self) -> int:
        """How many batches a pass gives."""
        if self._is_stream:
            size = len(self.dataset)
            if self.batch_size is None:
                return size
            return size // self.batch_size if self.drop_last else -(-size // self.batch_size)
        return len(self._order)  # type: ignore[arg-type]


_collate_fn_t: TypeAlias = Callable[[list[Any]], Any]
_worker_init_fn_t: TypeAlias = Callable[[int], None]


class _DatasetKind:
    """How a dataset is read: by an index, or as a stream."""

    Map, Iterable = 0, 1

    @staticmethod
    def create_fetcher(kind: int, dataset: Any, auto_collation: bool, collate_fn: Any, drop_last: bool) -> Any:
        """What takes batches from a dataset, for iterators of libraries."""
        from .iterators import StreamFetcher

        return StreamFetcher(dataset, collate_fn, auto_collation, drop_last)


_FIXED = {"batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"}


def _check_workers(count: int, timeout: float, prefetch: int | None, persistent: bool, context: Any) -> None:
    """Refuse options for workers that make no sense, or that have no workers to go to."""
    if count < 0:
        raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if count == 0 and prefetch is not None:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing: "
            "let num_workers > 0 to enable multiprocessing, otherwise set prefetch_factor to None."
        )
    if prefetch is not None and prefetch <= 0:
        raise ValueError(f"prefetch_factor option should be positive, got {prefetch}")
    if persistent and count == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")
    if context is None:
        return
    if count == 0:
        raise ValueError(
            "multiprocessing_context can only be used with multi-process loading (num_workers > 0), "
            f"but got num_workers={count}"
        )
    if isinstance(context, str):
        if context not in (known := multiprocessing.get_all_start_methods()):
            raise ValueError(
                f"multiprocessing_context option should specify a valid start method in {known!r}, but got "
                f"multiprocessing_context={context!r}"
            )
    elif not isinstance(context, multiprocessing.context.BaseContext):
        raise TypeError(
            "multiprocessing_context option should be a valid context object or a string specifying the start method, "
            f"but got multiprocessing_context={context}"
        )


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
