"""Taking samples from a dataset: the same in this process and in workers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from .dataset import IterableDataset, samples_of


class EndOfStream(Exception):
    """An iterable dataset has no more samples."""


class Fetcher:
    """Gives one batch (or, without batches, one sample) for what the sampler says next."""

    def __init__(self, dataset: Any, collate: Callable[[Any], Any], is_batched: bool, drop_last: bool) -> None:
        self._dataset, self._collate, self._is_batched, self._drop_last = dataset, collate, is_batched, drop_last
        self._stream: Iterator[Any] | None = iter(dataset) if isinstance(dataset, IterableDataset) else None

    def __call__(self, wanted: Any) -> Any:
        """Samples at the index or indices `wanted`; of a stream, as many as those are.

        Raises:
            EndOfStream: the dataset is a stream and has ended.
        """
        return self._collate(self._indexed(wanted) if self._stream is None else self._streamed(self._stream, wanted))

    def _indexed(self, wanted: Any) -> Any:
        return samples_of(self._dataset, wanted) if self._is_batched else self._dataset[wanted]

    def _streamed(self, stream: Iterator[Any], wanted: Any) -> Any:
        if not self._is_batched:
            for sample in stream:
                return sample
            raise EndOfStream
        batch = list(itertools.islice(stream, len(wanted)))
        if not batch or (self._drop_last and len(batch) < len(wanted)):
            raise EndOfStream
        return batch
