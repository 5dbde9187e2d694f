"""Running a graph: `backward` and `grad`."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, overload

from .. import _core
from .._core import Tensor
from .._methods import publish
from . import graph

__all__ = ["backward", "grad"]

_Tensors: TypeAlias = Tensor | graph.GradientEdge | Sequence[Tensor | graph.GradientEdge]
_ONE = (Tensor, graph.GradientEdge)
_Gradients: TypeAlias = Tensor | Sequence[Tensor | None] | None


def backward(
    tensors: _Tensors,
    grad_tensors: _Gradients = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: _Gradients = None,
    inputs: _Tensors | None = None,
) -> None:
    """Add the gradients of `tensors` to the `.grad` of the leaves that they were computed from.

    Args:
        tensors: what to differentiate, one tensor or several; they are run as one graph.
        grad_tensors: for each of them the gradient that it starts from, of its shape; None for one-element tensors,
            which start from 1.
        retain_graph: keep what the graph saved, for another backward. Default: the value of `create_graph`.
        create_graph: record the backward itself, so that gradients can be differentiated.
        inputs: accumulate only into these.

    Raises:
        NoGradError: one of `tensors` has no history.
        GraphFreedError: the graph was freed by an earlier backward.

    Example:
        >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> torch.autograd.backward([(x * x).sum(), x.sum()])
        >>> x.grad
        tensor([3., 5.])
    """
    if grad_variables is not None:
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. Please only "
                "use `grad_tensors`."
            )
        grad_tensors = grad_variables
    if inputs is not None:
        inputs = _several(inputs)
        if not inputs:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    _core.run_backward(_several(tensors), _gradients(grad_tensors), retain_graph, create_graph, inputs, True)


@overload
def grad(
    outputs: _Tensors,
    inputs: _Tensors,
    grad_outputs: _Gradients = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: Literal[False] | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor, ...]: ...
@overload
def grad(
    outputs: _Tensors,
    inputs: _Tensors,
    grad_outputs: _Gradients = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]: ...
def grad(
    outputs: _Tensors,
    inputs: _Tensors,
    grad_outputs: _Gradients = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """The gradients of the sum of `outputs` with respect to `inputs`. No `.grad` is touched.

    Args:
        outputs: what to differentiate, one tensor or several.
        inputs: with respect to what: leaves or tensors in the graph.
        grad_outputs: for each output the gradient that it starts from; None for one-element tensors.
        retain_graph: keep what the graph saved. Default: the value of `create_graph`.
        create_graph: record, so that the gradients can be differentiated.
        only_inputs: deprecated, without effect: the gradients of `inputs` are all that is computed.
        allow_unused: give None for inputs that the outputs do not depend on, instead of an error. Default: the value of
            `materialize_grads`.
        is_grads_batched: `grad_outputs` have an axis more in front, and so have the results: the gradients for each
            entry, all at once, by `vmap`.
        materialize_grads: give zeros for such inputs.

    Returns:
        A tuple with a gradient for each input.

    Raises:
        RuntimeError: an input is not part of the graph, and that is not allowed.
        NoGradError, GraphFreedError: as for `backward`.

    Example:
        >>> x = torch.tensor(3.0, requires_grad=True)
        >>> (first,) = torch.autograd.grad(x**3, x, create_graph=True)
        >>> torch.autograd.grad(first, x)
        (tensor(18.),)
    """
    if not only_inputs:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for "
            "other parts of the graph, please use torch.autograd.backward.",
            FutureWarning,
            stacklevel=2,
        )
    if is_grads_batched:
        return _batched_grad(outputs, inputs, grad_outputs, retain_graph, create_graph, allow_unused, materialize_grads)
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    wanted = _several(inputs)
    if not wanted:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    found: tuple[Tensor | None, ...] = _core.run_backward(
        _several(outputs), _gradients(grad_outputs), retain_graph, create_graph, wanted, False
    )
    for gradient in found:
        if gradient is None:
            break
    else:
        return found
    if materialize_grads:
        return tuple(
            _zeros_for(one, create_graph) if gradient is None else gradient
            for gradient, one in zip(found, wanted, strict=True)
        )
    if not allow_unused:
        unused = next(index for index, gradient in enumerate(found) if gradient is None)
        name = f" (`{name}`)" if (name := _name_of(wanted[unused])) else ""
        raise RuntimeError(
            f"The differentiated Tensor at index {unused}{name} appears to not have been used in the graph. "
            f"Set allow_unused=True if this is the desired behavior.{_where_cut(_several(outputs))}"
        )
    return found


def _batched_grad(
    outputs: _Tensors, inputs: _Tensors, grad_outputs: Any, retain_graph: Any, create_graph: bool, *unused: Any
) -> tuple[Tensor | None, ...]:
    from ..func._vmap import vmap

    allow_unused, materialize_grads = unused
    missing: list[bool] = []

    def one(gradients: Any) -> tuple[Tensor, ...]:
        found = grad(
            outputs,
            inputs,
            gradients,
            retain_graph,
            create_graph,
            allow_unused=allow_unused,
            materialize_grads=materialize_grads,
        )
        missing.extend(gradient is None for gradient in found)
        return tuple(gradient for gradient in found if gradient is not None)

    if grad_outputs is None:
        raise RuntimeError(
            "grad: expected grad_outputs with an axis for the batch where is_grads_batched=True, got None"
        )
    batched = iter(vmap(one)(_gradients(grad_outputs)))
    return tuple(None if gone else next(batched) for gone in missing)


def _name_of(wanted: Tensor | graph.GradientEdge) -> str | None:
    from ..graph.explanations.culprits import name_of

    return name_of(wanted) if isinstance(wanted, Tensor) else None


def _where_cut(outputs: tuple[Any, ...]) -> str:
    site = _core.find_cut([one for one in outputs if isinstance(one, Tensor)])
    return f" Its graph was cut by clew.graph.cut at {site}." if site else ""


def _several(tensors: Any) -> tuple[Any, ...]:
    return (tensors,) if isinstance(tensors, _ONE) else tuple(tensors)


def _gradients(gradients: Any) -> tuple[Any, ...] | None:
    return None if gradients is None else _several(gradients)


def _zeros_for(wanted: Tensor | graph.GradientEdge, requires_grad: bool) -> Tensor:
    from ..ops.creation import zeros
    from ..ops.creation_like import zeros_like

    if isinstance(wanted, Tensor):
        return zeros_like(wanted, requires_grad=requires_grad)
    shape, dtype = wanted.node.outputs[wanted.output_nr]
    return zeros(shape, dtype=dtype, requires_grad=requires_grad)


# Here, so that modules which import `grad` from this one call what users can override, too.
publish(["grad"], globals(), "clew.autograd")
backward.__module__ = "clew.autograd"
