"""Collections of samples."""

from __future__ import annotations

import bisect
import itertools
import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import clew
from clew import Tensor

T_co = TypeVar("T_co", covariant=True)


class Dataset(Generic[T_co]):
    """Samples by index: a subclass defines `__getitem__` and, for most uses, `__len__`.

    Example:
        >>> class Squares(torch.utils.data.Dataset):
        ...     def __getitem__(self, index):
        ...         return index * index
        ...     def __len__(self):
        ...         return 4
        >>> [batch.tolist() for batch in torch.utils.data.DataLoader(Squares(), batch_size=2)]
        [[0, 1], [4, 9]]
    """

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError(f"{type(self).__name__}.__getitem__ is not defined")

    def __add__(self, other: Dataset[T_co]) -> ConcatDataset[T_co]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co]):
    """Samples one after the other: a subclass defines `__iter__`.

    Example:
        >>> class Countdown(torch.utils.data.IterableDataset):
        ...     def __iter__(self):
        ...         return iter([3, 2, 1])
        >>> [batch.tolist() for batch in torch.utils.data.DataLoader(Countdown(), batch_size=2)]
        [[3, 2], [1]]
    """

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError(f"{type(self).__name__}.__iter__ is not defined")

    def __add__(self, other: Dataset[T_co]) -> ChainDataset[T_co]:  # type: ignore[override]  # as PyTorch's
        return ChainDataset([self, other])


def samples_of(dataset: Any, indices: list[Any]) -> list[Any]:
    """The samples at these indices: all at once from a dataset with `__getitems__`."""
    fetch = getattr(dataset, "__getitems__", None)
    samples: list[Any] = fetch(indices) if fetch else [dataset[index] for index in indices]
    return samples


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Samples that are rows of tensors: sample `i` is the tuple of row `i` of each.

    Args:
        tensors: of any shapes with the same first dimension.

    Raises:
        AssertionError: the first dimensions differ.

    Example:
        >>> torch.utils.data.TensorDataset(torch.tensor([[1.0], [2.0]]), torch.tensor([0, 1]))[1]
        (tensor([2.]), tensor(1))
    """

    def __init__(self, *tensors: Tensor) -> None:
        if len({tensor.shape[0] for tensor in tensors}) > 1:
            raise AssertionError(
                f"Size mismatch between tensors: expected one first dimension, got {[t.shape[0] for t in tensors]}"
            )
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return self.tensors[0].shape[0]


class Subset(Dataset[T_co]):
    """The samples of `dataset` at `indices`, in that order.

    Example:
        >>> list(torch.utils.data.Subset(["a", "b", "c"], [2, 0]))
        ['c', 'a']
    """

    def __init__(self, dataset: Dataset[T_co], indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index: Any) -> T_co:
        if isinstance(index, list):
            return self.dataset[[self.indices[each] for each in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices: list[int]) -> list[T_co]:
        return samples_of(self.dataset, [self.indices[index] for index in indices])

    def __len__(self) -> int:
        return len(self.indices)


class ConcatDataset(Dataset[T_co]):
    """The samples of several datasets, one after the other.

    Raises:
        AssertionError: no datasets.

    Example:
        >>> both = torch.utils.data.ConcatDataset([["a", "b"], ["c"]])
        >>> len(both), both[2]
        (3, 'c')
    """

    def __init__(self, datasets: Iterable[Dataset[T_co]]) -> None:
        self.datasets: list[Any] = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        self.cumulative_sizes = list(itertools.accumulate(len(dataset) for dataset in self.datasets))

    def __getitem__(self, index: Any) -> T_co:
        if not -len(self) <= index < len(self):  # Python's iteration ends with the IndexError
            kind = IndexError if index > 0 else ValueError
            raise kind(f"ConcatDataset: expected an index below {len(self)}, got {index}")
        index %= len(self)
        number = bisect.bisect_right(self.cumulative_sizes, index)
        sample: T_co = self.datasets[number][index - (self.cumulative_sizes[number - 1] if number else 0)]
        return sample

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]


class StackDataset(Dataset[Any]):
    """Samples combined from those of several datasets of one length: tuples, or dicts if the datasets have names.

    Raises:
        ValueError: different lengths, or datasets with and without names.

    Example:
        >>> torch.utils.data.StackDataset(image=["a", "b"], label=[0, 1])[1]
        {'image': 'b', 'label': 1}
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if bool(args) == bool(kwargs):
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or ``dict``- (via ``kwargs``) like input/output, "
                f"but {'both' if args else 'none'} types are given."
            )
        self.datasets: Any = args or kwargs
        if len({len(dataset) for dataset in self._parts()}) > 1:
            raise ValueError("Size mismatch between datasets")

    def _parts(self) -> Iterable[Any]:
        return self.datasets.values() if isinstance(self.datasets, dict) else self.datasets

    def _put_together(self, parts: Sequence[Any]) -> Any:
        return dict(zip(self.datasets, parts, strict=True)) if isinstance(self.datasets, dict) else tuple(parts)

    def __getitem__(self, index: Any) -> Any:
        return self._put_together([dataset[index] for dataset in self._parts()])

    def __getitems__(self, indices: list[Any]) -> list[Any]:
        columns = []
        for dataset in self._parts():
            column = samples_of(dataset, indices)
            if len(column) != len(indices):
                raise ValueError(f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(column)}")
            columns.append(column)
        return [self._put_together(parts) for parts in zip(*columns, strict=True)]

    def __len__(self) -> int:
        return len(next(iter(self._parts())))


class ChainDataset(IterableDataset[T_co]):
    """The samples of several iterable datasets, one after the other.

    Raises:
        AssertionError: while iterating, one of them is no `IterableDataset`.

    Example:
        >>> class Countdown(torch.utils.data.IterableDataset):
        ...     def __iter__(self):
        ...         return iter([2, 1])
        >>> list(torch.utils.data.ChainDataset([Countdown(), Countdown()]))
        [2, 1, 2, 1]
    """

    def __init__(self, datasets: Iterable[Dataset[T_co]]) -> None:
        self.datasets = datasets

    def __iter__(self) -> Iterator[T_co]:
        for dataset in self._checked():
            yield from dataset

    def __len__(self) -> int:
        return sum(len(dataset) for dataset in self._checked())

    def _checked(self) -> Iterator[Any]:
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield dataset


def random_split(dataset: Any, lengths: Sequence[float], generator: Any = None) -> list[Subset[Any]]:
    """Split a dataset into random parts.

    Args:
        dataset: with a length.
        lengths: the sizes of the parts, or fractions that sum to 1 (what rounding leaves goes to the first parts).
        generator: where random numbers come from.

    Raises:
        ValueError: the sizes do not sum to the length, or a fraction is not in [0, 1].

    Example:
        >>> [len(part) for part in torch.utils.data.random_split(range(10), [0.7, 0.3])]
        [7, 3]
    """
    sizes = _sizes_from_fractions(lengths, len(dataset)) if _are_fractions(lengths) else [int(size) for size in lengths]
    if sum(sizes) != len(dataset):
        raise ValueError(
            "Sum of input lengths does not equal the length of the input dataset! "
            f"Expected {len(dataset)}, got {sum(sizes)}"
        )
    indices = clew.randperm(len(dataset), generator=generator).tolist()
    ends = list(itertools.accumulate(sizes))
    return [Subset(dataset, indices[end - size : end]) for end, size in zip(ends, sizes, strict=True)]


def _are_fractions(lengths: Sequence[float]) -> bool:
    return math.isclose(sum(lengths), 1) and sum(lengths) <= 1


def _sizes_from_fractions(fractions: Sequence[float], total: int) -> list[int]:
    for index, fraction in enumerate(fractions):
        if not 0 <= fraction <= 1:
            raise ValueError(f"Fraction at index {index} is not between 0 and 1, got {fraction}")
    sizes = [math.floor(total * fraction) for fraction in fractions]
    for index in range(total - sum(sizes)):
        sizes[index % len(sizes)] += 1
    for index, size in enumerate(sizes):
        if size == 0:
            warnings.warn(
                f"Length of split at index {index} is 0. This might result in an empty dataset.", stacklevel=3
            )
    return sizes
