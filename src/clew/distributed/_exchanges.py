"""Collectives in which ranks have different parts: scatter, gather, all to all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy

from .._core import Tensor
from ._check import DistError, agree, checks, header, ranks_text
from ._collectives import row_of
from ._groups import ProcessGroup, group_of
from ._memory import check_alike, check_tensor, packed, readable, spread, writable
from ._ranks import root_of
from ._work import Work, collective


def scatter(
    tensor: Tensor,
    scatter_list: Sequence[Tensor] | None = None,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Write `scatter_list[i]` of rank `src`, by default 0, into the tensor of rank `i`.

    Raises:
        ValueError: the list of `src` has not one tensor of the same shape and dtype for each rank, or another rank
            gives one.
        DistError: ranks differ in shape, dtype or `src`.
    """
    chosen = group_of(group)
    root = root_of("scatter", "src", chosen, src, group_src)
    check_tensor("scatter", "tensor", tensor)
    _check_list("scatter", "scatter_list", scatter_list, tensor, chosen, root)

    def steps() -> Iterator[Any]:
        yield from agree(chosen.comm, header("scatter", tensor, root=root))
        array, store = writable(tensor)
        yield chosen.comm.Iscatter(packed(scatter_list) if scatter_list else None, array, root)
        store()

    return collective(chosen, "scatter", steps(), [tensor], async_op)


def gather(
    tensor: Tensor,
    gather_list: Sequence[Tensor] | None = None,
    dst: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Write the tensor of rank `i` into `gather_list[i]` of rank `dst`, by default 0.

    Raises:
        ValueError: the list of `dst` has not one tensor of the same shape and dtype for each rank, or another rank
            gives one.
        DistError: ranks differ in shape, dtype or `dst`.
    """
    chosen = group_of(group)
    root = root_of("gather", "dst", chosen, dst, group_dst)
    check_tensor("gather", "tensor", tensor)
    _check_list("gather", "gather_list", gather_list, tensor, chosen, root)

    def steps() -> Iterator[Any]:
        yield from agree(chosen.comm, header("gather", tensor, root=root))
        mine = readable(tensor)
        array = row_of(mine, chosen.size()) if gather_list else None
        yield chosen.comm.Igather(mine, array, root)
        if gather_list:
            spread(array, gather_list)

    return collective(chosen, "gather", steps(), gather_list or (), async_op)


def _check_list(call: str, name: str, values: Any, tensor: Tensor, group: ProcessGroup, root: int) -> None:
    if group.rank() == root:
        check_alike(call, name, values, group.size(), tensor)
    elif values:
        raise ValueError(f"{call}: expected {name} on rank {root} of the group alone, got one on rank {group.rank()}")


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Send part `i` of the input, along its first dimension, to rank `i`; write what comes from rank `i` to part `i`.

    Args:
        output: where to write.
        input: what to send.
        output_split_sizes: the sizes of the output's parts along its first dimension; by default all the same.
        input_split_sizes: those of the input's.
        group: by default all processes.
        async_op: whether to return a `Work` at once.

    Raises:
        ValueError: sizes don't add up to the tensor's first dimension, or dtypes differ.
        DistError: a rank does not send what another one expects.
    """
    chosen = group_of(group)
    check_tensor("all_to_all_single", "output", output)
    check_tensor("all_to_all_single", "input", input)
    if output.dtype != input.dtype:
        raise ValueError(
            f"all_to_all_single: expected one dtype, got {output.dtype} to write and {input.dtype} to send"
        )
    sent = _counts("input", input, input_split_sizes, chosen)
    expected = _counts("output", output, output_split_sizes, chosen)

    def steps() -> Iterator[Any]:
        yield from _agree_on_counts("all_to_all_single", input, sent, expected, chosen)
        array, store = writable(output)
        yield chosen.comm.Ialltoallv((readable(input), sent), (array, expected))
        store()

    return collective(chosen, "all_to_all_single", steps(), [output], async_op)


def all_to_all(
    output_tensor_list: Sequence[Tensor], input_tensor_list: Sequence[Tensor], group: Any = None, async_op: bool = False
) -> Work | None:
    """Send `input_tensor_list[i]` to rank `i`, and write what comes from it into `output_tensor_list[i]`.

    Raises:
        ValueError: the lists don't have one tensor for each rank, or not all of one dtype.
        DistError: a rank does not send what another one expects.
    """
    chosen = group_of(group)
    for name, given in (("output_tensor_list", output_tensor_list), ("input_tensor_list", input_tensor_list)):
        if len(given) != chosen.size():
            raise ValueError(
                f"all_to_all: expected {name} of {chosen.size()} tensors, one for each rank, got {len(given)}"
            )
        for place, one in enumerate(given):
            check_tensor("all_to_all", f"{name}[{place}]", one)
    dtypes = {one.dtype for one in (*output_tensor_list, *input_tensor_list)}
    if len(dtypes) > 1:
        raise ValueError(f"all_to_all: expected tensors of one dtype, got {', '.join(map(str, dtypes))}")
    sent = [one.numel() for one in input_tensor_list]
    expected = [one.numel() for one in output_tensor_list]

    def steps() -> Iterator[Any]:
        yield from _agree_on_counts("all_to_all", input_tensor_list[0], sent, expected, chosen)
        given = packed(input_tensor_list)
        array = numpy.empty(sum(expected), dtype=given.dtype)
        yield chosen.comm.Ialltoallv((given, sent), (array, expected))
        spread(array, output_tensor_list)

    return collective(chosen, "all_to_all", steps(), output_tensor_list, async_op)


def _counts(name: str, tensor: Tensor, sizes: Sequence[int] | None, group: ProcessGroup) -> list[int]:
    """How many elements each part has."""
    length = tensor.shape[0] if tensor.dim() else 1
    if sizes is None or len(sizes) == 0:
        if length % group.size():
            raise ValueError(
                f"all_to_all_single: expected the first dimension of the {name} to be a multiple of {group.size()}, "
                f"got {length}; name {name}_split_sizes"
            )
        sizes = [length // group.size()] * group.size()
    if len(sizes) != group.size() or sum(sizes) != length:
        raise ValueError(
            f"all_to_all_single: expected {name}_split_sizes to be {group.size()} numbers that add up to {length}, "
            f"got {list(sizes)}"
        )
    below = tensor.numel() // length if length else 0
    return [size * below for size in sizes]


def _agree_on_counts(
    kind: str, tensor: Tensor, sent: Sequence[int], expected: Sequence[int], group: ProcessGroup
) -> Iterator[Any]:
    """All ranks look at the whole table of who sends how much to whom, and raise if it is wrong anywhere."""
    yield from agree(group.comm, header(kind, tensor.reshape(-1)[:0]))  # the dtype
    if not checks():
        return
    size = group.size()
    mine = numpy.array([*sent, *expected], dtype=numpy.int64)
    table = numpy.empty((size, 2 * size), dtype=numpy.int64)
    yield group.comm.Iallgather(mine, table)
    wrong = numpy.argwhere(table[:, :size] != table[:, size:].T)
    if len(wrong):
        told = "; ".join(
            f"rank {source} sends {table[source, target]} elements to {ranks_text([int(target)])}, "
            f"which expects {table[target, size + source]}"
            for source, target in wrong
        )
        raise DistError(f"{kind}: expected as many elements as are sent, got: {told}")
