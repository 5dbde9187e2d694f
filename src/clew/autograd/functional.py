"""Derivatives of functions as wholes: Jacobians, Hessians, and their products with vectors.

Note [Arguments]
Everywhere, `func` takes tensors and returns a tensor or a tuple of them; `inputs` is a tensor or a tuple, and results
have the same structure. `create_graph` makes the results differentiable. With `strict`, an output that does not depend
on an input is an error; otherwise its derivative is zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import clew

from .._core import Tensor
from .._unsupported import missing_from as _missing_from
from . import grad

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

Func = Callable[..., Any]
Tensors = tuple[Tensor, ...]


def _tuple(value: Any, what: str) -> tuple[bool, Tensors]:
    """Whether it was a tuple, and it as one."""
    several = isinstance(value, tuple)
    tensors = value if several else (value,)
    for position, one in enumerate(tensors):
        if not isinstance(one, Tensor):
            where = f" at position {position}" if several else ""
            raise TypeError(f"{what}: expected a Tensor or a tuple of Tensors, got {type(one).__name__}{where}")
    return several, tensors


def _prepared(inputs: Any, create_graph: bool, function: str) -> tuple[bool, Tensors]:
    """The inputs as tensors to differentiate by: aliases with their history if the result is to have one."""
    several, tensors = _tuple(inputs, f"{function}: inputs")
    return several, tuple(
        one.view_as(one) if create_graph and one.requires_grad else one.detach().requires_grad_() for one in tensors
    )


def _outputs(func: Func, inputs: Tensors, function: str) -> tuple[bool, Tensors]:
    return _tuple(func(*inputs), f"{function}: outputs of the user-provided function")


def _vector(v: Any, like: Tensors, function: str, of: str) -> Tensors:
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(f"The vector v can only be None if {of} is a single Tensor with a single element.")
        return (clew.ones_like(like[0]),)
    _, tensors = _tuple(v, f"{function}: v")
    if len(tensors) != len(like):
        raise RuntimeError(f"{function}: expected v to have {len(like)} tensors, got {len(tensors)}")
    for position, (one, other) in enumerate(zip(tensors, like, strict=True)):
        if one.shape != other.shape:
            raise RuntimeError(
                f"{function}: entry {position} in v has invalid size: should be {other.shape} but got {one.shape}"
            )
    return tensors


def _gradients(
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


def _finished(values: Tensors, several: bool, create_graph: bool) -> Any:
    if not create_graph:
        values = tuple(value.detach() for value in values)
    return values if several else values[0]


def vjp(func: Func, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """The outputs of `func`, and the product of `v` (shaped as the outputs) with its Jacobian.

    Args:
        func: takes the inputs, returns a tensor or a tuple of tensors.
        inputs: a tensor or a tuple of tensors.
        v: a tensor or a tuple, shaped as said; None where a single number is meant.
        create_graph: record, so that the results can be differentiated.
        strict: raise where an output does not depend on an input, instead of giving zeros.

    Raises:
        RuntimeError: `v` has another shape or is missing, or with `strict`.
        TypeError: inputs or outputs are no tensors.

    Example:
        >>> torch.autograd.functional.vjp(lambda x: x**2, torch.tensor([1.0, 2.0]), torch.tensor([1.0, 1.0]))
        (tensor([1., 4.]), tensor([2., 4.]))
    """
    with clew.enable_grad():
        several, prepared = _prepared(inputs, create_graph, "vjp")
        several_out, outputs = _outputs(func, prepared, "vjp")
        weights = _vector(v, outputs, "vjp", "the output of the user-provided function")
        found = _gradients(outputs, prepared, weights, create_graph, strict, "vjp")
    return _finished(outputs, several_out, create_graph), _finished(found, several, create_graph)


def jvp(func: Func, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """The outputs of `func`, and the product of its Jacobian with `v` (shaped as the inputs).

    It runs backward twice: the gradient is linear in the outputs' gradients, and its derivative by them is the product.
    So the derivatives that `func` uses must themselves be differentiable.

    Args:
        func: takes the inputs, returns a tensor or a tuple of tensors.
        inputs: a tensor or a tuple of tensors.
        v: a tensor or a tuple, shaped as said; None where a single number is meant.
        create_graph: record, so that the results can be differentiated.
        strict: raise where an output does not depend on an input, instead of giving zeros.

    Raises:
        RuntimeError: `v` has another shape or is missing, or with `strict`.
        TypeError: inputs or outputs are no tensors.

    Example:
        >>> torch.autograd.functional.jvp(lambda x: x**2, torch.tensor([1.0, 2.0]), torch.tensor([1.0, 1.0]))
        (tensor([1., 4.]), tensor([2., 4.]))
    """
    with clew.enable_grad():
        _, prepared = _prepared(inputs, create_graph, "jvp")
        direction = _vector(v, prepared, "jvp", "the input to the user-provided function")
        several_out, outputs = _outputs(func, prepared, "jvp")
        weights = tuple(clew.zeros_like(output).requires_grad_() for output in outputs)
        gradients = _gradients(outputs, prepared, weights, True, strict, "jvp")
        found = _gradients(gradients, weights, direction, create_graph, strict, "jvp")
    return _finished(outputs, several_out, create_graph), _finished(found, several_out, create_graph)


def _jacobian_of(output: Tensor, inputs: Tensors, create_graph: bool, strict: bool) -> Tensors:
    """For each input a tensor of the output's shape followed by the input's."""
    rows = [
        _gradients((element,), inputs, None, create_graph, strict, "jacobian")
        for element in output.reshape(-1).unbind()
    ]
    return tuple(
        clew.stack([row[i] for row in rows]).reshape((*output.shape, *one.shape))
        if rows
        else clew.zeros((*output.shape, *one.shape), dtype=one.dtype)
        for i, one in enumerate(inputs)
    )


def jacobian(
    func: Func,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """All derivatives of the outputs by the inputs.

    Args:
        vectorize: accepted; rows are computed one after the other.
        strategy: "reverse-mode"; forward mode is not supported yet.

    Returns:
        A tensor of the output's shape followed by the input's; with several outputs or inputs a tuple for each.

    Raises:
        NotImplementedError: another strategy.
        RuntimeError: with `strict`, an output does not depend on an input.

    Example:
        >>> torch.autograd.functional.jacobian(lambda x: x**2, torch.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])
    """
    if strategy != "reverse-mode":
        raise NotImplementedError(f"jacobian: strategy={strategy!r} is not supported yet; use 'reverse-mode'")
    with clew.enable_grad():
        several, prepared = _prepared(inputs, create_graph, "jacobian")
        several_out, outputs = _outputs(func, prepared, "jacobian")
        found = [_jacobian_of(output, prepared, create_graph, strict) for output in outputs]
    rows = tuple(_finished(row, several, create_graph) for row in found)
    return rows if several_out else rows[0]


def _scalar(func: Func, inputs: Tensors, function: str) -> tuple[bool, Tensors]:
    several, outputs = _outputs(func, inputs, function)
    if several or outputs[0].numel() != 1:
        what = f"a tuple of {len(outputs)}" if several else f"a tensor of shape {outputs[0].shape}"
        raise RuntimeError(f"{function}: expected the user-provided function to return a single element, got {what}")
    return several, (outputs[0].reshape(()),)


def hessian(
    func: Func,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """All second derivatives of a function that returns one number.

    Returns:
        A tensor of the input's shape twice; for a tuple of inputs a tuple of tuples.

    Raises:
        RuntimeError: the function returns more than one number, or with `strict`, it does not depend on an input.

    Example:
        >>> torch.autograd.functional.hessian(lambda x: (x**3).sum(), torch.tensor([1.0, 2.0]))
        tensor([[ 6.,  0.],
                [ 0., 12.]])
    """
    several = isinstance(inputs, tuple)

    def gradient(*given: Tensor) -> Any:
        _, outputs = _scalar(func, given, "hessian")
        found = _gradients(outputs, given, None, True, strict, "hessian")
        return found if several else found[0]

    return jacobian(gradient, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)


def vhp(func: Func, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """The output of `func`, one number, and the product of `v` (shaped as the inputs) with its Hessian.

    Args:
        func: takes the inputs, returns a tensor or a tuple of tensors.
        inputs: a tensor or a tuple of tensors.
        v: a tensor or a tuple, shaped as said; None where a single number is meant.
        create_graph: record, so that the results can be differentiated.
        strict: raise where an output does not depend on an input, instead of giving zeros.

    Raises:
        RuntimeError: `v` has another shape or is missing, or with `strict`.
        TypeError: inputs or outputs are no tensors.

    Example:
        >>> torch.autograd.functional.vhp(lambda x: (x**3).sum(), torch.tensor([1.0, 2.0]), torch.tensor([1.0, 1.0]))
        (tensor(9.), tensor([ 6., 12.]))
    """
    with clew.enable_grad():
        several, prepared = _prepared(inputs, create_graph, "vhp")
        direction = _vector(v, prepared, "vhp", "the input to the user-provided function")
        _, outputs = _scalar(func, prepared, "vhp")
        gradients = _gradients(outputs, prepared, None, True, strict, "vhp")
        found = _gradients(gradients, prepared, direction, create_graph, strict, "vhp")
    return _finished(outputs, False, create_graph), _finished(found, several, create_graph)


def hvp(func: Func, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """The output of `func`, one number, and the product of its Hessian with `v` (shaped as the inputs).

    The Hessian is symmetric where second derivatives are continuous, so `vhp` gives the same for less work.

    Args:
        func: takes the inputs, returns a tensor or a tuple of tensors.
        inputs: a tensor or a tuple of tensors.
        v: a tensor or a tuple, shaped as said; None where a single number is meant.
        create_graph: record, so that the results can be differentiated.
        strict: raise where an output does not depend on an input, instead of giving zeros.

    Raises:
        RuntimeError: `v` has another shape or is missing, or with `strict`.
        TypeError: inputs or outputs are no tensors.

    Example:
        >>> torch.autograd.functional.hvp(lambda x: (x**3).sum(), torch.tensor([1.0, 2.0]), torch.tensor([1.0, 1.0]))
        (tensor(9.), tensor([ 6., 12.]))
    """
    with clew.enable_grad():
        several, prepared = _prepared(inputs, create_graph, "hvp")
        direction = _vector(v, prepared, "hvp", "the input to the user-provided function")
        _, outputs = _scalar(func, prepared, "hvp")
        gradients = _gradients(outputs, prepared, None, True, strict, "hvp")
        weights = tuple(clew.zeros_like(one).requires_grad_() for one in prepared)
        products = _gradients(gradients, prepared, weights, True, strict, "hvp")
        found = _gradients(products, weights, direction, create_graph, strict, "hvp")
    return _finished(outputs, False, create_graph), _finished(found, several, create_graph)


__getattr__ = _missing_from(__name__)
