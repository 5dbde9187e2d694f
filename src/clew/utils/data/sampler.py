"""Orders in which samples are taken. The random ones draw as PyTorch's do: the same seed gives the same order."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any, Generic, TypeVar

import clew

T_co = TypeVar("T_co", covariant=True)


class Sampler(Generic[T_co]):
    """Indices (or lists of them): a subclass defines `__iter__`.

    Example:
        >>> class Reversed(torch.utils.data.Sampler):
        ...     def __iter__(self):
        ...         return iter([2, 1, 0])
        >>> [batch.tolist() for batch in torch.utils.data.DataLoader(range(3), sampler=Reversed())]
        [[2], [1], [0]]
    """

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError(f"{type(self).__name__}.__iter__ is not defined")


class SequentialSampler(Sampler[int]):
    """The indices of the data source in order: 0, 1, 2, ...

    Example:
        >>> list(torch.utils.data.SequentialSampler(range(3)))
        [0, 1, 2]
    """

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


def draw_seed(generator: Any = None) -> int:
    """63 random bits."""
    return int(clew.empty((), dtype=clew.int64).random_(generator=generator).item())


class RandomSampler(Sampler[int]):
    """A random order, or with `replacement` independent draws.

    Args:
        data_source: what is sampled from; only its length is used.
        replacement: whether an index may come again.
        num_samples: how many to draw; the length by default.
        generator: where random numbers come from. By default a new one, seeded from the global one.

    Raises:
        ValueError, TypeError: an option is out of range or of another type.

    Example:
        >>> sorted(torch.utils.data.RandomSampler(range(3)))
        [0, 1, 2]
    """

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Any = None,
    ) -> None:
        self.data_source, self.replacement, self.generator = data_source, replacement, generator
        self._num_samples = num_samples
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got replacement={replacement}")
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={self.num_samples}")

    @property
    def num_samples(self) -> int:
        """How many indices are drawn."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        generator = self.generator
        if generator is None:
            generator = clew.Generator()
            generator.manual_seed(draw_seed())
        size, wanted = len(self.data_source), self.num_samples
        if self.replacement:
            for chunk in itertools.chain(itertools.repeat(32, wanted // 32), [wanted % 32]):
                yield from clew.randint(0, size, (chunk,), generator=generator).tolist()
            return
        for _ in range(wanted // size):
            yield from clew.randperm(size, generator=generator).tolist()
        # Drawn even if nothing is left to give: a generator that is used again has to go on as PyTorch's does.
        yield from clew.randperm(size, generator=generator).tolist()[: wanted % size]

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """The given indices in a random order.

    Example:
        >>> sorted(torch.utils.data.SubsetRandomSampler([3, 5]))
        [3, 5]
    """

    def __init__(self, indices: Sequence[int], generator: Any = None) -> None:
        self.indices, self.generator = indices, generator

    def __iter__(self) -> Iterator[int]:
        for position in clew.randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[position]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Indices drawn with these probabilities.

    Args:
        weights: one for each index, not negative; they need not sum to 1.
        num_samples: how many to draw.
        replacement: whether an index may come again.
        generator: where random numbers come from.

    Raises:
        ValueError: an option is out of range or of another type.

    Example:
        >>> list(torch.utils.data.WeightedRandomSampler([0.0, 1.0, 0.0], num_samples=3))
        [1, 1, 1]
    """

    def __init__(
        self, weights: Sequence[float], num_samples: int, replacement: bool = True, generator: Any = None
    ) -> None:
        if not isinstance(num_samples, int) or isinstance(num_samples, bool) or num_samples <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={num_samples}")
        if not isinstance(replacement, bool):
            raise ValueError(f"replacement should be a boolean value, but got replacement={replacement}")
        self.weights = clew.as_tensor(weights, dtype=clew.float64)
        if self.weights.dim() != 1:
            raise ValueError(
                f"weights should be a 1d sequence but given weights have shape {tuple(self.weights.shape)}"
            )
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator

    def __iter__(self) -> Iterator[int]:
        drawn = clew.multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator)
        yield from iter(drawn.tolist())

    def __len__(self) -> int:
        return self.num_samples


class _InfiniteConstantSampler(Sampler[None]):
    """None, again and again: what is asked of a dataset that is a stream."""

    def __iter__(self) -> Iterator[None]:
        return itertools.repeat(None)


class BatchSampler(Sampler[list[int]]):
    """Lists of `batch_size` indices of another sampler; the last may be shorter, unless `drop_last`.

    Raises:
        ValueError: the size is not positive, or `drop_last` is no bool.

    Example:
        >>> list(torch.utils.data.BatchSampler(range(5), batch_size=2, drop_last=False))
        [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ValueError(f"batch_size should be a positive integer value, but got batch_size={batch_size}")
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        size = len(self.sampler)  # type: ignore[arg-type]
        return size // self.batch_size if self.drop_last else -(-size // self.batch_size)
