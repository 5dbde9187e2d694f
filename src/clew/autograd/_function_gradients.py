"""Inputs, outputs and gradients of a function as a whole, with the checks that `functional` documents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import clew

from .._core import Tensor
from . import grad

Func = Callable[..., Any]
Tensors = tuple[Tensor, ...]


def as_tuple(value: Any, what: str) -> tuple[bool, Tensors]:
    """Whether it was a tuple, and it as one."""
    several = isinstance(value, tuple)
    tensors = value if several else (value,)
    for position, one in enumerate(tensors):
        if not isinstance(one, Tensor):
            where = f" at position {position}" if several else ""
            raise TypeError(f"{what}: expected a Tensor or a tuple of Tensors, got {type(one).__name__}{where}")
    return several, tensors


def prepare(inputs: Any, create_graph: bool, function: str) -> tuple[bool, Tensors]:
    """The inputs as tensors to differentiate by: aliases with their history if the result is to have one."""
    several, tensors = as_tuple(inputs, f"{function}: inputs")
    return several, tuple(
        one.view_as(one) if create_graph and one.requires_grad else one.detach().requires_grad_() for one in tensors
    )


def call(func: Func, inputs: Tensors, function: str) -> tuple[bool, Tensors]:
    """Whether the function returned a tuple, and what it returned as one."""
    return as_tuple(func(*inputs), f"{function}: outputs of the user-provided function")


def check_vector(v: Any, like: Tensors, function: str, of: str) -> Tensors:
    """`v` as tensors shaped as `like`; for a single number None stands for 1."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(f"The vector v can only be None if {of} is a single Tensor with a single element.")
        return (clew.ones_like(like[0]),)
    _, tensors = as_tuple(v, f"{function}: v")
    if len(tensors) != len(like):
        raise RuntimeError(f"{function}: expected v to have {len(like)} tensors, got {len(tensors)}")
    for position, (one, other) in enumerate(zip(tensors, like, strict=True)):
        if one.shape != other.shape:
            raise RuntimeError(
                f"{function}: entry {position} in v has invalid size: should be {other.shape} but got {one.shape}"
            )
    return tensors


def gradients(
    outputs: Tensors, inputs: Tensors, weights: Tensors | None, record: bool, strict: bool, function: str
) -> Tensors:
    """Gradients of those outputs that have any; zeros (or an error, if strict) where there is no path."""
    connected = [i for i, output in enumerate(outputs) if output.requires_grad]
    if strict and len(connected) < len(outputs):
        missing = next(i for i in range(len(outputs)) if i not in connected)
        raise RuntimeError(
            f"Output {missing} of the user-provided function does not require gradients. The outputs must be computed "
            f"in a differentiable manner from the input when running {function} in strict mode."
        )
    found: Sequence[Tensor | None] = [None] * len(inputs)
    if connected:
        chosen = None if weights is None else [weights[i] for i in connected]
        found = grad([outputs[i] for i in connected], inputs, chosen, True, record, allow_unused=True)
    if strict and any(gradient is None for gradient in found):
        missing = next(i for i, gradient in enumerate(found) if gradient is None)
        raise RuntimeError(
            f"The output of the user-provided function is independent of input {missing}. This is not allowed in "
            "strict mode."
        )
    return tuple(
        clew.zeros_like(one) if gradient is None else gradient for gradient, one in zip(found, inputs, strict=True)
    )


def first_gradients(outputs: Tensors, inputs: Tensors, strict: bool, function: str) -> Tensors:
    """Of a Hessian's function; with `strict` each has to depend on the inputs itself."""
    found = gradients(outputs, inputs, None, True, strict, function)
    if strict and not all(gradient.requires_grad for gradient in found):
        constant = next(i for i, gradient in enumerate(found) if not gradient.requires_grad)
        raise RuntimeError(
            f"{function}: While computing the hessian, found that the jacobian of the user-provided function with "
            f"respect to input {constant} is independent of the input, as that of a linear function is. This is not "
            "allowed in strict mode; leave strict out if zeros are right"
        )
    return found


def finish(values: Tensors, several: bool, create_graph: bool) -> Any:
    """What the user gets: with history if asked for, a tuple if the function took or returned one."""
    if not create_graph:
        values = tuple(value.detach() for value in values)
    return values if several else values[0]


def call_scalar(func: Func, inputs: Tensors, function: str) -> tuple[bool, Tensors]:
    """`call` of a function that returns one number."""
    several, outputs = call(func, inputs, function)
    if several or outputs[0].numel() != 1:
        what = f"a tuple of {len(outputs)}" if several else f"a tensor of shape {outputs[0].shape}"
        raise RuntimeError(f"{function}: expected the user-provided function to return a single element, got {what}")
    return several, (outputs[0].reshape(()),)
