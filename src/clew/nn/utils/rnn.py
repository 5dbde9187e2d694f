"""Sequences of different lengths: padded to one tensor, or packed step by step, without padding.

A packed batch holds the first steps of all sequences, then the second steps of those that have one, and so on; the
sequences are sorted by length, the longest first.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import clew
from clew import Tensor

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]


class _Fields(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


_Fields.__name__ = "PackedSequence"  # the repr's


class PackedSequence(_Fields):
    """A packed batch of sequences, as `pack_padded_sequence` and `pack_sequence` make it.

    Attributes:
        data: the steps, of shape (sum of the lengths, ...).
        batch_sizes: how many sequences have each step, int64.
        sorted_indices: which sequence of the batch stands at each place; None if they were sorted before.
        unsorted_indices: the inverse.

    Example:
        >>> packed = torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([3])])
        >>> packed.data, packed.batch_sizes
        (tensor([1, 3, 2]), tensor([2, 1]))
    """

    def __new__(
        cls,
        data: Tensor,
        batch_sizes: Tensor,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> PackedSequence:
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """With the data as `Tensor.to` gives it."""
        data = self.data.to(*args, **kwargs)
        return self if data is self.data else type(self)(data, *self[1:])

    def double(self) -> PackedSequence:
        """In float64."""
        return self.to(clew.float64)

    def float(self) -> PackedSequence:
        """In float32."""
        return self.to(clew.float32)

    def cpu(self) -> PackedSequence:
        """On the CPU."""
        return self.to("cpu")

    @property
    def is_cuda(self) -> bool:
        """False: the CPU is the only device."""
        return self.data.is_cuda

    def is_pinned(self) -> bool:
        """Whether the data is in pinned memory."""
        return self.data.is_pinned()


def segments(batch_sizes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """(sequences, steps) of each run of steps that the same sequences have."""
    for count, same in itertools.groupby(batch_sizes):
        yield count, len(list(same))


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The inverse permutation: `inverse[permutation[i]] == i`. None gives None.

    Example:
        >>> torch.nn.utils.rnn.invert_permutation(torch.tensor([2, 0, 1]))
        tensor([1, 2, 0])
    """
    if permutation is None:
        return None
    return clew.empty_like(permutation).scatter_(0, permutation, clew.arange(permutation.numel()))


def pack_padded_sequence(
    input: Tensor, lengths: Tensor | Sequence[int], batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack the first `lengths[i]` steps of each sequence.

    Args:
        input: of shape (L, N, ...), or (N, L, ...) if `batch_first`.
        lengths: of the N sequences, each at least 1.
        enforce_sorted: whether lengths must fall; else the sequences are sorted and remember their places.

    Raises:
        RuntimeError: lengths are not sorted, not positive, or not as many as sequences.

    Example:
        >>> packed = torch.nn.utils.rnn.pack_padded_sequence(torch.tensor([[1, 4], [2, 5], [3, 0]]), [3, 2])
        >>> packed.data, packed.batch_sizes
        (tensor([1, 4, 2, 5, 3]), tensor([2, 2, 1]))
    """
    lengths = lengths.to(clew.int64) if isinstance(lengths, Tensor) else clew.tensor(list(lengths), dtype=clew.int64)
    order = None
    if not enforce_sorted:
        lengths, order = clew.sort(lengths, descending=True)
        input = input.index_select(0 if batch_first else 1, order)
    steps = input.transpose(0, 1) if batch_first else input
    counts: list[int] = lengths.tolist()
    _check_lengths(counts, steps)
    batch_sizes = [sum(count > step for count in counts) for step in range(counts[0])]
    parts, start = [], 0
    for sequences, length in segments(batch_sizes):
        part = steps[start : start + length, :sequences]
        parts.append(part.reshape(sequences * length, *steps.shape[2:]))
        start += length
    return PackedSequence(clew.cat(parts), clew.tensor(batch_sizes), order)


def _check_lengths(counts: list[int], steps: Tensor) -> None:
    if len(counts) != steps.shape[1]:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(counts)} (batch_size={steps.shape[1]})"
        )
    if min(counts) <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    if counts != sorted(counts, reverse=True):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement."
        )
    if counts[0] > steps.shape[0]:
        raise RuntimeError(f"Expected lengths of at most {steps.shape[0]}, the input's, got {counts[0]}")


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """The inverse of `pack_padded_sequence`: the padded batch (L, N, ...) or (N, L, ...), and the lengths.

    Args:
        total_length: L, at least the longest length, which it is by default.

    Raises:
        ValueError: `total_length` is less.

    Example:
        >>> packed = torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([3])])
        >>> torch.nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
        (tensor([[1, 2],
                [3, 0]]), tensor([2, 1]))
    """
    batch_sizes: list[int] = sequence.batch_sizes.tolist()
    size = len(batch_sizes) if total_length is None else total_length
    if size < len(batch_sizes):
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, but got "
            f"total_length={total_length} and max sequence length being {len(batch_sizes)}"
        )
    rest, parts, start = sequence.data.shape[1:], [], 0
    for sequences, length in segments(batch_sizes):
        part = sequence.data[start : start + sequences * length].reshape(length, sequences, *rest)
        parts.append(_lengthened(part, 1, batch_sizes[0], padding_value))
        start += sequences * length
    padded = _lengthened(clew.cat(parts), 0, size, padding_value)
    padded = padded.transpose(0, 1) if batch_first else padded
    lengths = clew.tensor([sum(count > place for count in batch_sizes) for place in range(batch_sizes[0])])
    if sequence.unsorted_indices is None:
        return padded, lengths
    return padded.index_select(0 if batch_first else 1, sequence.unsorted_indices), lengths[sequence.unsorted_indices]


def _lengthened(x: Tensor, dim: int, size: int, value: float, before: bool = False) -> Tensor:
    missing = size - x.shape[dim]
    if not missing:
        return x
    shape = list(x.shape)
    shape[dim] = missing
    padding = x.new_full(shape, value)
    result: Tensor = clew.cat([padding, x] if before else [x, padding], dim)
    return result


def pad_sequence(
    sequences: Tensor | Sequence[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Sequences (L_i, ...) as one tensor (L, N, ...), or (N, L, ...) if `batch_first`, with L the longest.

    Raises:
        RuntimeError: no sequences, or another `padding_side`.

    Example:
        >>> torch.nn.utils.rnn.pad_sequence([torch.tensor([1, 2]), torch.tensor([3])], batch_first=True)
        tensor([[1, 2],
                [3, 0]])
    """
    if padding_side not in ("left", "right"):
        raise RuntimeError(f'pad_sequence: expected padding_side "left" or "right", got {padding_side!r}')
    sequences = list(sequences)
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    size = max(one.shape[0] for one in sequences)
    same = [_lengthened(one, 0, size, padding_value, padding_side == "left") for one in sequences]
    result: Tensor = clew.stack(same, 0 if batch_first else 1)
    return result


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """The sequences of a padded batch, each without its padding.

    Example:
        >>> torch.nn.utils.rnn.unpad_sequence(torch.tensor([[1, 2], [3, 0]]), torch.tensor([2, 1]), batch_first=True)
        [tensor([1, 2]), tensor([3])]
    """
    batch = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [one[:length] for one, length in zip(batch, lengths.tolist(), strict=True)]


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences (L_i, ...); arguments and errors as for `pack_padded_sequence`.

    Example:
        >>> torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([3])]).data
        tensor([1, 3, 2])
    """
    lengths = [one.shape[0] for one in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences of a packed batch.

    Example:
        >>> packed = torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([3])])
        >>> torch.nn.utils.rnn.unpack_sequence(packed)
        [tensor([1, 2]), tensor([3])]
    """
    return unpad_sequence(*pad_packed_sequence(packed_sequences, batch_first=True), batch_first=True)
