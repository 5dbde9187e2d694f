"""What iterators of libraries derive from: PyTorch's protocol of a pass through a `DataLoader`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .fetch import EndOfStream, Fetcher
from .sampler import draw_seed


class StreamFetcher(Fetcher):
    """A `Fetcher` by PyTorch's names, with the iterator of a stream, which may be replaced."""

    ended = False

    @property
    def dataset(self) -> Any:
        """What it takes samples from."""
        return self._dataset

    @property
    def dataset_iter(self) -> Any:
        """The iterator of a stream."""
        return self._stream

    @dataset_iter.setter
    def dataset_iter(self, stream: Iterator[Any]) -> None:
        self._stream = stream

    def fetch(self, wanted: Any) -> Any:
        """The next batch, or StopIteration."""
        if self.ended:
            raise StopIteration
        try:
            return self(wanted)
        except EndOfStream:
            self.ended = self._is_batched
            raise StopIteration from None


class _BaseDataLoaderIter:
    """A pass through a loader. A derived class has `_next_data`, which calls `_next_index`."""

    def __init__(self, loader: Any) -> None:
        self._dataset, self._dataset_kind = loader.dataset, loader._dataset_kind
        self._auto_collation, self._drop_last = loader._auto_collation, loader.drop_last
        self._collate_fn, self._timeout, self._num_workers = loader.collate_fn, loader.timeout, loader.num_workers
        self._persistent_workers, self._pin_memory, self._pin_memory_device = loader.persistent_workers, False, None
        self._index_sampler = loader._index_sampler
        self._world_size, self._rank, self._shared_seed, self._pg = 1, 0, None, None
        self._base_seed = draw_seed(loader.generator)
        _BaseDataLoaderIter._reset(self, loader)

    def _reset(self, loader: Any, first_iter: bool = False) -> None:
        self._sampler_iter = iter(self._index_sampler)
        self._num_yielded = 0
        self._IterableDataset_len_called = getattr(loader, "_IterableDataset_len_called", None)

    def _next_index(self) -> Any:
        return next(self._sampler_iter)

    def _next_data(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__}: expected a method _next_data, got none; define it")

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        data = self._next_data()
        self._num_yielded += 1
        return data

    def __len__(self) -> int:
        return len(self._index_sampler)
