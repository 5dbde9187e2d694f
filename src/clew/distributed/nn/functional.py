"""Collectives that return new tensors and have derivatives: gradients travel the way back.

Every rank runs them in the same order, forward and backward. The loss that is differentiated is the sum of all ranks'.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._core import Tensor, functions
from ...autograd.function import Function
from .. import _collectives as c
from .. import _exchanges as x
from .._ranks import get_rank, get_world_size
from .._reductions import ReduceOp

__all__ = [
    "all_gather",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "broadcast",
    "gather",
    "reduce",
    "reduce_scatter",
    "scatter",
]

_stack = functions["stack"]


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """The sum (or the mean, by `op=ReduceOp.AVG`) over all ranks, on all ranks. Its gradient is that of all ranks, too.

    Raises:
        NotImplementedError: another `op`, of a tensor that requires a gradient.
    """
    return _AllReduce.apply(tensor, op, group)


class _AllReduce(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, op: Any, group: Any) -> Tensor:
        if ctx.needs_input_grad[0] and op not in (ReduceOp.SUM, ReduceOp.AVG):
            raise NotImplementedError(
                f"all_reduce: the gradient of {op!r} is not supported; use SUM or AVG, or no_grad"
            )
        ctx.reduction, ctx.group = op, group
        result = tensor.clone()
        c.all_reduce(result, op, group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return all_reduce(grad, ctx.reduction, ctx.group), None, None


def broadcast(tensor: Tensor, src: int, group: Any = None) -> Tensor:
    """The values of rank `src`, on all ranks. The gradient of `src` is the sum of all; that of others is zero."""
    return _Broadcast.apply(tensor, src, group)


class _Broadcast(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, src: int, group: Any) -> Tensor:
        ctx.src, ctx.group = src, group
        result = tensor.clone()
        c.broadcast(result, src, group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return reduce(grad, ctx.src, ReduceOp.SUM, ctx.group), None, None


def reduce(tensor: Tensor, dst: int, op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """The sum over all ranks on rank `dst`, zeros on the others.

    Raises:
        NotImplementedError: an `op` other than SUM, of a tensor that requires a gradient.
    """
    return _Reduce.apply(tensor, dst, op, group)


class _Reduce(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, dst: int, op: Any, group: Any) -> Tensor:
        _check_sum(ctx, "reduce", op)
        ctx.dst, ctx.group = dst, group
        result = tensor.clone()
        c.reduce(result, dst, op, group)
        return result if get_rank() == dst else tensor.new_zeros(tuple(tensor.shape))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return broadcast(grad, ctx.dst, ctx.group), None, None, None


def _check_sum(ctx: Any, name: str, op: Any) -> None:
    if any(ctx.needs_input_grad) and op is not ReduceOp.SUM:
        raise NotImplementedError(f"{name}: the gradient of {op!r} is not supported; use ReduceOp.SUM, or no_grad")


def all_gather(tensor: Tensor, group: Any = None) -> tuple[Tensor, ...]:
    """The tensors of all ranks, on all ranks."""
    return _AllGather.apply(tensor, group).unbind(0)


class _AllGather(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, group: Any) -> Tensor:
        ctx.group = group
        result = tensor.new_empty((get_world_size(group), *tensor.shape))
        c.all_gather_into_tensor(result, tensor, group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return _ReduceScatter.apply(grad, ReduceOp.SUM, ctx.group), None


def reduce_scatter(output: Tensor, input_list: Sequence[Tensor], op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """On rank `i` the sum of `input_list[i]` over all ranks; of `output` only shape and dtype count.

    Raises:
        ValueError: the inputs have not the output's shape.
        NotImplementedError: an `op` other than SUM, of a tensor that requires a gradient.
    """
    given = _stack(list(input_list))
    if given.shape[1:] != output.shape:
        raise ValueError(
            f"reduce_scatter: expected inputs of shape {tuple(output.shape)}, got {tuple(given.shape[1:])}"
        )
    return _ReduceScatter.apply(given, op, group)


class _ReduceScatter(Function):
    @staticmethod
    def forward(ctx: Any, stacked: Tensor, op: Any, group: Any) -> Tensor:
        _check_sum(ctx, "reduce_scatter", op)
        ctx.group = group
        result = stacked.new_empty(tuple(stacked.shape[1:]))
        c.reduce_scatter_tensor(result, stacked, op, group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return _AllGather.apply(grad, ctx.group), None, None


def gather(tensor: Tensor, dst: int = 0, group: Any = None) -> tuple[Tensor, ...]:
    """The tensors of all ranks on rank `dst`, zeros on the others."""
    return _Gather.apply(tensor, dst, group).unbind(0)


class _Gather(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, dst: int, group: Any) -> Tensor:
        ctx.dst, ctx.group = dst, group
        result = tensor.new_zeros((get_world_size(group), *tensor.shape))
        x.gather(tensor, list(result.unbind(0)) if get_rank() == dst else None, dst, group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return _Scatter.apply(grad, ctx.dst, ctx.group), None, None


def scatter(tensors: Sequence[Tensor], src: int = 0, group: Any = None) -> Tensor:
    """On rank `i` `tensors[i]` of rank `src`; all ranks give as many tensors, of which those of `src` count."""
    return _Scatter.apply(_stack(list(tensors)), src, group)


class _Scatter(Function):
    @staticmethod
    def forward(ctx: Any, stacked: Tensor, src: int, group: Any) -> Tensor:
        ctx.src, ctx.group = src, group
        result = stacked.new_empty(tuple(stacked.shape[1:]))
        x.scatter(result, list(stacked.unbind(0)) if get_rank() == src else None, src, group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return _Gather.apply(grad, ctx.src, ctx.group), None, None


def all_to_all(
    output_tensor_list: Sequence[Tensor], input_tensor_list: Sequence[Tensor], group: Any = None
) -> tuple[Tensor, ...]:
    """`input_tensor_list[own rank]` of each rank; of the outputs only shapes and dtype count."""
    shapes = [tuple(one.shape) for one in output_tensor_list]
    return _AllToAll.apply(group, shapes, *input_tensor_list)


class _AllToAll(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, shapes: Any, *given: Tensor) -> tuple[Tensor, ...]:
        ctx.group, ctx.shapes = group, [tuple(one.shape) for one in given]
        results = [given[0].new_empty(shape) for shape in shapes]
        x.all_to_all(results, given, group)
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return None, None, *_AllToAll.apply(ctx.group, ctx.shapes, *grads)


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: Any = None,
) -> Tensor:
    """As `distributed.all_to_all_single`, in a new tensor; of `output` only shape and dtype count."""
    return _AllToAllSingle.apply(input, tuple(output.shape), output_split_sizes, input_split_sizes, group)


class _AllToAllSingle(Function):
    @staticmethod
    def forward(ctx: Any, given: Tensor, shape: Any, output_sizes: Any, input_sizes: Any, group: Any) -> Tensor:
        ctx.back = (tuple(given.shape), input_sizes, output_sizes, group)
        result = given.new_empty(shape)
        x.all_to_all_single(result, given, output_sizes, input_sizes, group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return _AllToAllSingle.apply(grad, *ctx.back), None, None, None, None
