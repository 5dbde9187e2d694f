"""Derivatives of functions as wholes: Jacobians, Hessians, and their products with vectors.

Note [Arguments]
Everywhere, `func` takes tensors and returns a tensor or a tuple of them; `inputs` is a tensor or a tuple, and results
have the same structure. `create_graph` makes the results differentiable. With `strict`, an output that does not depend
on an input is an error; otherwise its derivative is zero.

Note [Weights of ones]
A gradient is linear in the weights of the outputs, so its derivative by them is the same at all weights. At zeros a
rule of a user may have none, where it takes a logarithm or compares.
"""

from __future__ import annotations

from typing import Any

import clew

from .._core import Tensor
from .._unsupported import missing_from as _missing_from
from ._function_gradients import (
    Func,
    Tensors,
    as_tuple,
    call,
    call_scalar,
    check_vector,
    finish,
    first_gradients,
    gradients,
    prepare,
)

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


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
        several, prepared = prepare(inputs, create_graph, "vjp")
        several_out, outputs = call(func, prepared, "vjp")
        weights = check_vector(v, outputs, "vjp", "the output of the user-provided function")
        found = gradients(outputs, prepared, weights, create_graph, strict, "vjp")
    return finish(outputs, several_out, create_graph), finish(found, several, create_graph)


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
        _, prepared = prepare(inputs, create_graph, "jvp")
        direction = check_vector(v, prepared, "jvp", "the input to the user-provided function")
        several_out, outputs = call(func, prepared, "jvp")
        weights = tuple(clew.ones_like(output).requires_grad_() for output in outputs)  # Note [Weights of ones]
        first = gradients(outputs, prepared, weights, True, strict, "jvp")
        found = gradients(first, weights, direction, create_graph, strict, "jvp")
    return finish(outputs, several_out, create_graph), finish(found, several_out, create_graph)


def _jacobian_of(output: Tensor, inputs: Tensors, create_graph: bool, strict: bool) -> Tensors:
    """For each input a tensor of the output's shape followed by the input's."""
    rows = [
        gradients((element,), inputs, None, create_graph, strict, "jacobian") for element in output.reshape(-1).unbind()
    ]
    return tuple(
        clew.stack([row[i] for row in rows]).reshape((*output.shape, *one.shape))
        if rows
        else clew.zeros((*output.shape, *one.shape), dtype=one.dtype)
        for i, one in enumerate(inputs)
    )


def _all_rows_of(output: Tensor, inputs: Tensors, create_graph: bool) -> Tensors:
    """The same by one backward for all rows."""
    rows = clew.eye(output.numel(), dtype=output.dtype).reshape(-1, *output.shape)
    if not output.requires_grad or not output.numel():
        return tuple(clew.zeros((*output.shape, *one.shape), dtype=one.dtype) for one in inputs)
    found = clew.autograd.grad(
        output, inputs, rows, True, create_graph, is_grads_batched=True, materialize_grads=False, allow_unused=True
    )
    return tuple(
        clew.zeros((*output.shape, *one.shape), dtype=one.dtype)
        if row is None
        else row.reshape((*output.shape, *one.shape))
        for row, one in zip(found, inputs, strict=True)
    )


def _all_columns(func: Func, inputs: Any, create_graph: bool, strict: bool, vectorize: bool) -> Any:
    """`jacobian` in forward mode."""
    if strict:
        raise RuntimeError(
            'torch.autograd.functional.jacobian: `strict=True` and `strategy="forward-mode"` are not supported '
            'together (yet). Please either set `strict=False` or `strategy="reverse-mode"`.'
        )
    if not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian is only implemented for "
            "`vectorize=True`."
        )
    several, prepared = as_tuple(inputs, "jacobian: inputs")

    def checked(*given: Tensor) -> Any:
        several_out, outputs = call(func, given, "jacobian")
        return outputs if several_out else outputs[0]

    with clew.set_grad_enabled(create_graph):
        found = clew.func.jacfwd(checked, argnums=0 if not several else tuple(range(len(prepared))))(*prepared)
    return found


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
        vectorize: run one backward for all rows, by `vmap`, instead of one after the other.
        strategy: "reverse-mode", or "forward-mode" (with `vectorize`): column by column, all at once, by `func.jacfwd`.

    Returns:
        A tensor of the output's shape followed by the input's; with several outputs or inputs a tuple for each.

    Raises:
        NotImplementedError: forward mode without `vectorize`.
        RuntimeError: with `strict`, an output does not depend on an input; `strict` with `vectorize` or forward mode.

    Example:
        >>> torch.autograd.functional.jacobian(lambda x: x**2, torch.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(f"Expected strategy to be either 'forward-mode' or 'reverse-mode', got {strategy!r}")
    if strategy == "forward-mode":
        return _all_columns(func, inputs, create_graph, strict, vectorize)
    if strict and vectorize:
        raise RuntimeError(
            "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported together. "
            "Please either set `strict=False` or `vectorize=False`."
        )
    with clew.enable_grad():
        several, prepared = prepare(inputs, create_graph, "jacobian")
        several_out, outputs = call(func, prepared, "jacobian")
        found = [
            _all_rows_of(output, prepared, create_graph)
            if vectorize
            else _jacobian_of(output, prepared, create_graph, strict)
            for output in outputs
        ]
    rows = tuple(finish(row, several, create_graph) for row in found)
    return rows if several_out else rows[0]


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
    if outer_jacobian_strategy == "forward-mode":
        chosen = tuple(range(len(inputs))) if several else 0
        scalar = clew.func.grad(lambda *given: call_scalar(func, given, "hessian")[1][0], argnums=chosen)
        return _all_columns(scalar, inputs, create_graph, strict, vectorize)

    def gradient(*given: Tensor) -> Any:
        _, outputs = call_scalar(func, given, "hessian")
        found = first_gradients(outputs, given, strict, "hessian")
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
        several, prepared = prepare(inputs, create_graph, "vhp")
        direction = check_vector(v, prepared, "vhp", "the input to the user-provided function")
        _, outputs = call_scalar(func, prepared, "vhp")
        first = first_gradients(outputs, prepared, strict, "vhp")
        found = gradients(first, prepared, direction, create_graph, strict, "vhp")
    return finish(outputs, False, create_graph), finish(found, several, create_graph)


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
        several, prepared = prepare(inputs, create_graph, "hvp")
        direction = check_vector(v, prepared, "hvp", "the input to the user-provided function")
        _, outputs = call_scalar(func, prepared, "hvp")
        first = first_gradients(outputs, prepared, strict, "hvp")
        weights = tuple(clew.ones_like(one).requires_grad_() for one in prepared)  # Note [Weights of ones]
        products = gradients(first, prepared, weights, True, strict, "hvp")
        found = gradients(products, weights, direction, create_graph, strict, "hvp")
    return finish(outputs, False, create_graph), finish(found, several, create_graph)


__getattr__ = _missing_from(__name__)
