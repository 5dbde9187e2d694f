"""Gradients of functions of trees of tensors: grad, grad_and_value, vjp."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import clew

from .._core import Tensor
from ..utils._pytree import tree_flatten
from ._inputs import Argnums, Func, Inputs, chosen_of, loose, outputs_of, replaced, with_aux

__all__ = ["grad", "grad_and_value", "vjp"]


def grad_and_value(func: Func, argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that gives the gradient of `func`, which returns one number, and the number.

    Args:
        func: takes tensors, or trees of them; returns a tensor of one number.
        argnums: which arguments to differentiate by: a number, or a tuple, for which the gradient is a tuple.
        has_aux: `func` returns a tuple of the number and something else, which comes back with the number.

    Raises:
        RuntimeError: `func` returns something else.

    Example:
        >>> torch.func.grad_and_value(lambda x: (x**2).sum())(torch.tensor([1.0, 2.0]))
        (tensor([2., 4.]), tensor(5.))
    """

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        inputs = Inputs(chosen_of(args, argnums, "grad"), "grad")
        with clew.enable_grad():
            result = func(*replaced(args, argnums, inputs.tree()), **kwargs)
            output, aux = with_aux(result, has_aux, "grad_and_value(f)(*args)")
            if not isinstance(output, Tensor):
                raise RuntimeError(
                    f"grad_and_value(f)(*args): Expected f(*args) to return a tensor, got {type(output)}"
                )
            if output.ndim:
                raise RuntimeError(
                    "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with "
                    f"{output.ndim} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
                )
            below = inputs.batches.below(output)
            record = inputs.outside([below])
            found = inputs.finished(inputs.gradients([below], [clew.ones_like(below)], False, record), [output])
        if not record:
            output, aux = loose(output), loose(aux)
        return (found, (output, aux)) if has_aux else (found, output)

    return wrapped


def grad(func: Func, argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that gives the gradient of `func`, which returns one number.

    It may be nested, and vmapped: that gives a gradient for each sample.

    Args:
        func: takes tensors, or trees of them; returns a tensor of one number.
        argnums: which arguments to differentiate by: a number, or a tuple, for which the gradient is a tuple.
        has_aux: `func` returns a tuple of the number and something else, which comes back with the gradient.

    Raises:
        RuntimeError: `func` returns something else.

    Example:
        >>> cube = lambda x: x**3
        >>> torch.func.grad(torch.func.grad(cube))(torch.tensor(2.0))
        tensor(12.)
        >>> torch.vmap(torch.func.grad(cube))(torch.tensor([1.0, 2.0]))
        tensor([ 3., 12.])
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        found, rest = both(*args, **kwargs)
        return (found, rest[1]) if has_aux else found

    return wrapped


def vjp(func: Func, *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """The output of `func`, and a function from a gradient of the output to gradients of the inputs.

    Args:
        func: takes the primals; returns a tensor or a tree of tensors.
        primals: tensors or trees of them.
        has_aux: `func` returns a tuple of the output and something else, which comes third.

    Returns:
        The output and the function. That takes a tree as the output is, returns a tuple with a gradient for each
        primal, and may be called again.

    Raises:
        RuntimeError: `func` returns no tensors, or a gradient has another structure.

    Example:
        >>> output, pull = torch.func.vjp(torch.sin, torch.tensor([0.0, 1.0]))
        >>> pull(torch.ones(2))
        (tensor([1.0000, 0.5403]),)
    """
    inputs = Inputs(primals, "vjp")
    with clew.enable_grad():
        output, aux = with_aux(func(*inputs.tree()), has_aux, "vjp(f, *primals)")
        found, spec = outputs_of(output, "vjp(f, *primals)")
        below = [inputs.batches.below(one) for one in found]
        record = inputs.outside(below)

    def pull(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        """From a gradient of the output to gradients of the inputs."""
        given, spec_given = tree_flatten(cotangents)
        if spec_given != spec:
            raise RuntimeError(
                f"Expected pytree structure of cotangents to be the same as pytree structure of outputs to the "
                f"function. cotangents: {spec_given}, primal output: {spec}"
            )
        asked = any(isinstance(one, Tensor) and one.requires_grad for one in given)
        weights = [inputs.batches.below(one) for one in given]
        again = record or asked if create_graph is None else create_graph
        with clew.enable_grad():
            return inputs.finished(inputs.gradients(below, weights, retain_graph, again), [*found, *given])

    result = output if record else loose(output)
    return (result, pull, aux if record else loose(aux)) if has_aux else (result, pull)
