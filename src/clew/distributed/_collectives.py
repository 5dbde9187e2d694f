"""Collectives in which every rank has the same part: reductions, broadcast, gathering for all, the barrier."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import Any

import numpy

from .._core import Tensor
from ._check import agree, header
from ._groups import ProcessGroup, group_of
from ._memory import check_alike, check_same, check_tensor, readable, reducible, spread, widened, writable
from ._ranks import peer
from ._reductions import ReduceOp, check_reduction, finish, mpi_operation
from ._work import Work, collective


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """Write the sum over all ranks, or what `op` says, into the tensor of each rank.

    float16 and bfloat16 are added up as float32 and rounded once. The order of additions is MPI's.

    Raises:
        TypeError: `op` is not defined for the dtype.
        DistError: ranks differ in shape, dtype or `op`.
    """
    chosen = group_of(group)
    check_tensor("all_reduce", "tensor", tensor)
    check_reduction("all_reduce", op, tensor)

    def steps() -> Iterator[Any]:
        from mpi4py import MPI

        yield from agree(chosen.comm, header("all_reduce", tensor, op))
        array, store = reducible(tensor)
        yield chosen.comm.Iallreduce(MPI.IN_PLACE, array, mpi_operation(op, array))
        finish(op, array, chosen.size())
        store()

    return collective(chosen, "all_reduce", steps(), [tensor], async_op)


def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: Any = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """As `all_reduce`, for the tensor of the rank `dst` alone; the others keep their values.

    Raises:
        TypeError: `op` is not defined for the dtype.
        DistError: ranks differ in shape, dtype, `op` or `dst`.
    """
    chosen = group_of(group)
    root = peer("reduce", "dst", chosen, dst, group_dst)
    check_tensor("reduce", "tensor", tensor)
    check_reduction("reduce", op, tensor)

    def steps() -> Iterator[Any]:
        from mpi4py import MPI

        yield from agree(chosen.comm, header("reduce", tensor, op, root))
        if chosen.rank() != root:
            array = widened(tensor)
            yield chosen.comm.Ireduce(array, None, mpi_operation(op, array), root)
            return
        array, store = reducible(tensor)
        yield chosen.comm.Ireduce(MPI.IN_PLACE, array, mpi_operation(op, array), root)
        finish(op, array, chosen.size())
        store()

    return collective(chosen, "reduce", steps(), [tensor] * (chosen.rank() == root), async_op)


def broadcast(
    tensor: Tensor, src: int | None = None, group: Any = None, async_op: bool = False, group_src: int | None = None
) -> Work | None:
    """Write the values of rank `src` into the tensor of each rank.

    Raises:
        DistError: ranks differ in shape, dtype or `src`.
    """
    chosen = group_of(group)
    root = peer("broadcast", "src", chosen, src, group_src)
    check_tensor("broadcast", "tensor", tensor)

    def steps() -> Iterator[Any]:
        yield from agree(chosen.comm, header("broadcast", tensor, root=root))
        if chosen.rank() == root:
            yield chosen.comm.Ibcast(readable(tensor), root)
            return
        array, store = writable(tensor)
        yield chosen.comm.Ibcast(array, root)
        store()

    return collective(chosen, "broadcast", steps(), [tensor] * (chosen.rank() != root), async_op)


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """Write the tensors of all ranks into one, along its first dimension or along a new one before it.

    Raises:
        ValueError: the output has another dtype, or not as many elements as all inputs.
        DistError: ranks differ in shape or dtype.
    """
    chosen = group_of(group)
    check_tensor("all_gather_into_tensor", "output_tensor", output_tensor)
    check_tensor("all_gather_into_tensor", "input_tensor", input_tensor)
    check_joined("all_gather_into_tensor", "output_tensor", output_tensor, input_tensor, chosen)

    def steps() -> Iterator[Any]:
        yield from agree(chosen.comm, header("all_gather_into_tensor", input_tensor))
        array, store = writable(output_tensor)
        yield chosen.comm.Iallgather(readable(input_tensor), array)
        store()

    return collective(chosen, "all_gather_into_tensor", steps(), [output_tensor], async_op)


def check_joined(call: str, name: str, joined: Tensor, part: Tensor, group: ProcessGroup) -> None:
    """Raise unless one tensor is as large as all ranks' parts joined or stacked."""
    shape, ranks = tuple(part.shape), group.size()
    stacked = (ranks, *shape)
    is_stacked = tuple(joined.shape) == stacked
    check_same(call, name, joined, stacked if is_stacked or not shape else (shape[0] * ranks, *shape[1:]), part)


def all_gather(tensor_list: Sequence[Tensor], tensor: Tensor, group: Any = None, async_op: bool = False) -> Work | None:
    """Write the tensor of rank `i` into `tensor_list[i]`, on all ranks.

    `all_gather_into_tensor` needs no copy between MPI's memory and the list's.

    Raises:
        ValueError: the list has not one tensor of the same shape and dtype for each rank.
        DistError: ranks differ in shape or dtype.
    """
    chosen = group_of(group)
    check_tensor("all_gather", "tensor", tensor)
    check_alike("all_gather", "tensor_list", tensor_list, chosen.size(), tensor)

    def steps() -> Iterator[Any]:
        yield from agree(chosen.comm, header("all_gather", tensor))
        mine = readable(tensor)
        array = row_of(mine, chosen.size())
        yield chosen.comm.Iallgather(mine, array)
        spread(array, tensor_list)

    return collective(chosen, "all_gather", steps(), tensor_list, async_op)


def row_of(part: Any, count: int) -> Any:
    """Room for so many arrays of that size."""
    return numpy.empty(part.size * count, dtype=part.dtype)


def barrier(
    group: Any = None, async_op: bool = False, device_ids: Any = None, timeout: timedelta | None = None
) -> Work | None:
    """Return when all ranks have come here.

    Raises:
        DistError: some ranks did not come in time; it names them.
    """
    chosen = group_of(group)
    work = collective(chosen, "barrier", _barrier_steps(chosen, "barrier"), (), True)
    if async_op:
        return work
    assert work is not None
    work.wait(timeout)
    return None


def monitored_barrier(group: Any = None, timeout: timedelta | None = None, wait_all_ranks: bool = False) -> None:
    """As `barrier`, which names all missing ranks, too.

    Raises:
        DistError: some ranks did not come in time; it names them.
    """
    chosen = group_of(group)
    work = collective(chosen, "monitored_barrier", _barrier_steps(chosen, "monitored_barrier"), (), True)
    assert work is not None
    work.wait(timeout)


def _barrier_steps(group: ProcessGroup, kind: str) -> Iterator[Any]:
    yield from agree(group.comm, header(kind))
    yield group.comm.Ibarrier()


def reduce_scatter_tensor(
    output: Tensor, input: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Add up the inputs of all ranks, and write part `i` of the sum into the output of rank `i`.

    Raises:
        ValueError: the input has another dtype, or not as many elements as all outputs.
        TypeError: `op` is not defined for the dtype.
        DistError: ranks differ in shape, dtype or `op`.
    """
    chosen = group_of(group)
    check_tensor("reduce_scatter_tensor", "output", output)
    check_tensor("reduce_scatter_tensor", "input", input)
    check_joined("reduce_scatter_tensor", "input", input, output, chosen)
    return _reduce_scatter("reduce_scatter_tensor", output, lambda: widened(input), op, chosen, async_op)


def reduce_scatter(
    output: Tensor, input_list: Sequence[Tensor], op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Add up `input_list[i]` over all ranks, and write the sum into the output of rank `i`.

    Raises:
        ValueError: the list has not one tensor of the output's shape and dtype for each rank.
        TypeError: `op` is not defined for the dtype.
        DistError: ranks differ in shape, dtype or `op`.
    """
    chosen = group_of(group)
    check_tensor("reduce_scatter", "output", output)
    check_alike("reduce_scatter", "input_list", input_list, chosen.size(), output)
    join = lambda: numpy.concatenate([widened(one) for one in input_list])  # noqa: E731
    return _reduce_scatter("reduce_scatter", output, join, op, chosen, async_op)


def _reduce_scatter(
    kind: str, output: Tensor, given: Callable[[], Any], op: Any, group: ProcessGroup, async_op: bool
) -> Work | None:
    check_reduction(kind, op, output)

    def steps() -> Iterator[Any]:
        yield from agree(group.comm, header(kind, output, op))
        array, store = reducible(output)
        yield group.comm.Ireduce_scatter_block(given(), array, mpi_operation(op, array))
        finish(op, array, group.size())
        store()

    return collective(group, kind, steps(), [output], async_op)
