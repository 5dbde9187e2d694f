"""Jacobians: gradients or tangents along all unit vectors at once, by vmap."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import clew

from .. import _core
from .._core import Tensor
from ..utils._pytree import TreeSpec, tree_flatten, tree_map, tree_unflatten
from ._gradients import vjp
from ._inputs import Argnums, Func, of_chosen_alone
from ._tangents import jvp

__all__ = ["hessian", "jacfwd", "jacrev"]


def _basis(spec: TreeSpec, tensors: Sequence[Tensor]) -> Any:
    """A tree of which each row is a unit vector of all elements of the tensors together."""
    sizes = [one.numel() for one in tensors]
    blocks = []
    start = 0
    for one, size in zip(tensors, sizes, strict=True):
        block = clew.zeros(sum(sizes), size, dtype=one.dtype)
        block[start : start + size] = clew.eye(size, dtype=one.dtype)
        blocks.append(block.reshape(sum(sizes), *one.shape))
        start += size
    return tree_unflatten(blocks, spec)


def jacrev(
    func: Func,
    argnums: Argnums = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:
    """A function that gives the Jacobian of `func`, row by row: a backward for each element of the output, all at once.

    Args:
        func: takes tensors, or trees of them; returns a tensor or a tree of tensors.
        argnums: which arguments to differentiate by.
        has_aux: `func` returns a tuple of the output and something else, which comes back with the Jacobian.
        chunk_size: run at most so many rows at once, to save memory.

    Returns:
        A function that gives, for each tensor of the output, and for each of the arguments, a tensor of the output's
        shape followed by the argument's.

    Example:
        >>> torch.func.jacrev(lambda x: x**2)(torch.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])
    """

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        several = isinstance(argnums, tuple)
        of_chosen, primals = of_chosen_alone(func, args, kwargs, argnums, "jacrev")
        output, pull, *aux = vjp(of_chosen, *primals, has_aux=has_aux)
        outputs, spec = tree_flatten(output)
        rows = clew.vmap(pull, chunk_size=chunk_size)(_basis(spec, outputs))
        leaves, spec_of_inputs = tree_flatten(rows if several else rows[0])
        sizes = [one.numel() for one in outputs]
        parts = [leaf.split(sizes) for leaf in leaves]
        blocks = [
            tree_unflatten([part[i].reshape((*one.shape, *part[i].shape[1:])) for part in parts], spec_of_inputs)
            for i, one in enumerate(outputs)
        ]
        found = tree_unflatten(blocks, spec)
        return (found, aux[0]) if has_aux else found

    return wrapped


def jacfwd(func: Func, argnums: Argnums = 0, has_aux: bool = False, *, randomness: str = "error") -> Callable[..., Any]:
    """A function that gives the Jacobian of `func`, column by column: the derivative along each element of the input.

    Args:
        func: takes tensors, or trees of them; returns a tensor or a tree of tensors.
        argnums: which arguments to differentiate by.
        has_aux: `func` returns a tuple of the output and something else, which comes back with the Jacobian.
        randomness: as of `vmap`, in which `func` runs. A `func` that writes what it computes into tensors that it
            makes (`out = torch.zeros(3); out[i] = x[i]`) runs for each element of the input by itself.

    Returns:
        As of `jacrev`.

    Example:
        >>> torch.func.jacfwd(lambda x: x**2)(torch.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])
    """

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        several = isinstance(argnums, tuple)
        of_chosen, primals = of_chosen_alone(func, args, kwargs, argnums, "jacfwd")
        inputs, spec_of_inputs = tree_flatten(primals)
        sizes = [one.numel() for one in inputs]

        def push(direction: Any) -> tuple[Any, ...]:
            return jvp(of_chosen, primals, direction, has_aux=has_aux)[1:]

        directions = _basis(spec_of_inputs, inputs)
        # With "error" nothing has been drawn by the time that a write is refused.
        start = _core.default_stream().get_state() if randomness != "error" else None
        refused = _core.refused_writes()
        try:
            columns, *aux = clew.vmap(push, randomness=randomness)(directions)
        except RuntimeError:
            if _core.refused_writes() == refused:
                raise
            columns = None
        if columns is None:
            columns, *aux = _one_by_one(push, directions, randomness, start)

        def blocks(column: Tensor) -> Any:
            parts = [
                part.movedim(0, -1).reshape((*part.shape[1:], *one.shape))
                for part, one in zip(column.split(sizes), inputs, strict=True)
            ]
            tree = tree_unflatten(parts, spec_of_inputs)
            return tree if several else tree[0]

        found = tree_map(blocks, columns)
        return (found, tree_map(lambda one: one[0], aux[0])) if has_aux else found

    return wrapped


def _one_by_one(
    push: Callable[[Any], tuple[Any, ...]], directions: Any, randomness: str, start: bytes | None
) -> tuple[Any, ...]:
    """`push` along each direction by itself, for a function that writes its values into tensors of its own making.

    These have no axis for directions, so all of them at once would not fit.
    """
    rows, spec = tree_flatten(directions)
    stream, found = _core.default_stream(), []
    start = stream.get_state() if start is None else start
    stream.set_state(start)
    for number in range(len(rows[0])):
        if randomness == "same":
            stream.set_state(start)
        found.append(tree_flatten(push(tree_unflatten([one[number] for one in rows], spec))))
        if randomness == "error" and stream.get_state() != start:
            raise RuntimeError(
                "jacfwd: expected a function that draws no random numbers, got one that does. To do: draw before, or "
                "say randomness='same' or 'different'"
            )
    result: tuple[Any, ...] = tree_unflatten(
        [clew.stack(list(of_one)) for of_one in zip(*(leaves for leaves, _ in found), strict=True)], found[0][1]
    )
    return result


def hessian(func: Func, argnums: Argnums = 0) -> Callable[..., Any]:
    """A function that gives the second derivatives of `func`: `jacfwd` of `jacrev`.

    Args:
        func: takes tensors, or trees of them; returns a tensor of one number, or more.
        argnums: which arguments to differentiate by.

    Example:
        >>> torch.func.hessian(lambda x: (x**3).sum())(torch.tensor([1.0, 2.0]))
        tensor([[ 6.,  0.],
                [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)
