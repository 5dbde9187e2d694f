"""Derivatives along tangents: jvp, and the linear function that it calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import clew

from .._core import Tensor
from ..autograd import grad as gradients_of
from ..utils._pytree import tree_flatten, tree_unflatten
from ._inputs import Func, Inputs, loose, outputs_of, with_aux

__all__ = ["jvp"]


def jvp(
    func: Func, primals: tuple[Any, ...], tangents: tuple[Any, ...], *, strict: bool = False, has_aux: bool = False
) -> tuple[Any, ...]:
    """The output of `func`, and its derivative along tangents of the inputs.

    It runs backward twice, so derivatives that `func` uses must be differentiable.

    Args:
        func: takes the primals; returns a tensor or a tree of tensors.
        primals: a tuple of tensors, or of trees of them.
        tangents: shaped as the primals.
        strict: accepted; outputs that do not depend on the inputs have a derivative of zeros.
        has_aux: `func` returns a tuple of the output and something else, which comes third.

    Raises:
        RuntimeError: the tangents have another structure or shape.

    Example:
        >>> torch.func.jvp(lambda x: x**2, (torch.tensor(3.0),), (torch.tensor(1.0),))
        (tensor(9.), tensor(6.))
    """
    if not isinstance(primals, tuple) or not isinstance(tangents, tuple):
        raise RuntimeError(
            "jvp(f, primals, tangents): Expected primals and tangents to be tuples, e.g. (x, y), got "
            f"{type(primals).__name__} and {type(tangents).__name__}"
        )
    push, output, aux = linear_part(func, primals, has_aux, "jvp")
    derivative = push(tangents)
    return (output, derivative, aux) if has_aux else (output, derivative)


def linear_part(
    func: Func, primals: tuple[Any, ...], has_aux: bool, name: str
) -> tuple[Callable[[Any], Any], Any, Any]:
    """A function from tangents of the inputs to those of the output; the output, and what else `func` returned.

    The gradient of the inputs is linear in that of the outputs, so its derivative by that, transposed, pushes tangents.
    """
    inputs = Inputs(primals, name)
    with clew.enable_grad():
        output, aux = with_aux(func(*inputs.tree()), has_aux, f"{name}(f, primals, tangents)")
        found, spec = outputs_of(output, f"{name}(f, primals, tangents)")
        below = [inputs.batches.below(one) for one in found]
        record = inputs.outside(below)
        weights = [clew.zeros_like(one).requires_grad_(one.is_floating_point() or one.is_complex()) for one in below]
        first = inputs.gradients(below, weights, True, True)

    def push(tangents: Any) -> Any:
        given, spec_given = tree_flatten(tangents)
        if spec_given != inputs.spec:
            raise RuntimeError(
                f"{name}(f, primals, tangents): Expected primals and tangents to have the same python structure. "
                f"For example, if primals is a tuple of 3 tensors, tangents also must be. Got primals with structure "
                f"{inputs.spec} and tangents with structure {spec_given}"
            )
        directions = [inputs.batches.below(one) for one in given]
        for leaf, direction in zip(inputs.leaves, directions, strict=True):
            if leaf.shape != direction.shape:
                raise RuntimeError(f"{name}: expected a tangent of shape {leaf.shape}, got {direction.shape}")
        again = record or any(one.requires_grad for one in directions)
        used = [(one, direction) for one, direction in zip(first, directions, strict=True) if one.requires_grad]
        wanted = [weight for weight in weights if weight.requires_grad]
        with clew.enable_grad():
            pushed: Sequence[Tensor | None] = [None] * len(wanted)
            if used and wanted:
                pushed = gradients_of(
                    [one for one, _ in used],
                    wanted,
                    [direction for _, direction in used],
                    retain_graph=True,
                    create_graph=again,
                    allow_unused=True,
                )
        remaining = iter(pushed)
        values = [next(remaining) if weight.requires_grad else None for weight in weights]
        filled = [clew.zeros_like(one) if value is None else value for one, value in zip(below, values, strict=True)]
        return tree_unflatten([inputs.batches.above(one) for one in filled], spec)

    return push, output if record else loose(output), aux if record else loose(aux)
