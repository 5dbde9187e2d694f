"""Derivatives along tangents: jvp, and the linear function that linearize gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import clew

from .. import _core
from .._core import Tensor
from ..autograd.gradients import grad as gradients_of
from ..utils._pytree import TreeSpec, tree_flatten, tree_unflatten
from ._inputs import Func, Inputs, loose, outputs_of, with_aux

__all__ = ["jvp", "linearize"]


def jvp(
    func: Func, primals: tuple[Any, ...], tangents: tuple[Any, ...], *, strict: bool = False, has_aux: bool = False
) -> tuple[Any, ...]:
    """The output of `func`, and its derivative along tangents of the inputs, in forward mode.

    Args:
        func: takes the primals; returns a tensor or a tree of tensors.
        primals: a tuple of tensors, or of trees of them.
        tangents: shaped as the primals.
        strict: raise where an output does not depend on the inputs, instead of giving zeros.
        has_aux: `func` returns a tuple of the output and something else, which comes third.

    Raises:
        RuntimeError: the tangents have another structure or shape; or with `strict`.

    Example:
        >>> torch.func.jvp(lambda x: x**2, (torch.tensor(3.0),), (torch.tensor(1.0),))
        (tensor(9.), tensor(6.))
    """
    name = "jvp(f, primals, tangents)"
    if not isinstance(primals, tuple) or not isinstance(tangents, tuple):
        raise RuntimeError(
            f"{name}: Expected primals and tangents to be tuples, e.g. (x, y), got {type(primals).__name__} and "
            f"{type(tangents).__name__}"
        )
    given, spec = tree_flatten(primals)
    for one in given:
        if not isinstance(one, Tensor):
            raise RuntimeError(f"{name}: Expected primals to contain only Tensors, got unsupported type {type(one)}")
    directions = _directions(tangents, given, spec, name)
    level = _core.open_dual_level()
    try:
        duals = [_core.make_dual(level, one, direction) for one, direction in zip(given, directions, strict=True)]
        output, aux = with_aux(func(*tree_unflatten(duals, spec)), has_aux, name)
        found, spec_out = outputs_of(output, name)
        pushed = [_core.tangent_of(level, one) for one in found]
    finally:
        _core.close_dual_level(level)
    if strict and None in pushed:
        raise RuntimeError(
            "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not allowed "
            "with strict=True."
        )
    filled = [clew.zeros_like(one) if tangent is None else tangent for one, tangent in zip(found, pushed, strict=True)]
    derivative = tree_unflatten(filled, spec_out)
    return (output, derivative, aux) if has_aux else (output, derivative)


def linearize(func: Func, *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """The output of `func`, and its derivative as a function of tangents of the inputs, which may be called often.

    `func` runs once, and its graph is kept. The derivative of the gradient by the output's gradient, transposed, pushes
    tangents: so derivatives that `func` uses must be differentiable.

    Args:
        func: takes the primals; returns a tensor or a tree of tensors.
        primals: tensors or trees of them.

    Example:
        >>> output, push = torch.func.linearize(torch.sin, torch.zeros(2))
        >>> push(torch.ones(2))
        tensor([1., 1.])
    """
    name = "linearize(f, *primals)"
    inputs = Inputs(primals, "linearize")
    with clew.enable_grad():
        output = func(*inputs.tree())
        found, spec = outputs_of(output, name)
        below = [inputs.batches.below(one) for one in found]
        record = inputs.outside(below)
        weights = [clew.zeros_like(one).requires_grad_(one.is_floating_point() or one.is_complex()) for one in below]
        first = inputs.gradients(below, weights, True, True)

    def push(*tangents: Any) -> Any:
        directions = _directions(tangents, inputs.samples(), inputs.spec, name)
        values = _pushed(first, weights, [inputs.batches.below(one) for one in directions], record)
        filled = [clew.zeros_like(one) if value is None else value for one, value in zip(below, values, strict=True)]
        return tree_unflatten([inputs.batches.above(one) for one in filled], spec)

    return output if record else loose(output), push


def _directions(tangents: tuple[Any, ...], primals: Sequence[Tensor], spec: TreeSpec, name: str) -> list[Tensor]:
    given, spec_given = tree_flatten(tangents)
    if spec_given != spec:
        raise RuntimeError(
            f"{name}: Expected primals and tangents to have the same python structure. For example, if primals is a "
            f"tuple of 3 tensors, tangents also must be. Got primals with structure {spec} and tangents with structure "
            f"{spec_given}"
        )
    for one, direction in zip(primals, given, strict=True):
        if one.shape != direction.shape:
            raise RuntimeError(f"{name}: expected a tangent of shape {one.shape}, got {direction.shape}")
    return given


def _pushed(
    first: Sequence[Tensor], weights: Sequence[Tensor], directions: Sequence[Tensor], record: bool
) -> list[Tensor | None]:
    """The derivatives of the gradients by the weights, along the directions; None where there is none."""
    again = record or any(one.requires_grad for one in directions)
    used = [(one, direction) for one, direction in zip(first, directions, strict=True) if one.requires_grad]
    wanted = [weight for weight in weights if weight.requires_grad]
    if not used or not wanted:
        return [None] * len(weights)
    with clew.enable_grad():
        found = gradients_of(
            [one for one, _ in used],
            wanted,
            [direction for _, direction in used],
            retain_graph=True,
            create_graph=again,
            allow_unused=True,
        )
    remaining = iter(found)
    return [next(remaining) if weight.requires_grad else None for weight in weights]
