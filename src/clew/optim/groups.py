"""Groups of parameters: what they may be made from, and which of a group's parameters a step updates."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import clew
from clew import Tensor, strided
from clew._core import sparse_made

Params = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]


class _Required:
    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()  # a default that every group has to give itself


def listed_params(param_group: dict[str, Any], differentiable: bool) -> dict[str, Any]:
    """The group with its parameters as a checked list and, if they came with names, these."""
    params = param_group["params"]
    if isinstance(params, set):
        raise TypeError(
            "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets "
            "will change between runs. Please use a list instead."
        )
    listed = [params] if isinstance(params, Tensor) else list(params)
    group = {**param_group, "params": listed}
    if listed and all(isinstance(entry, tuple) for entry in listed):
        group["params"] = [parameter for _, parameter in listed]
        group["param_names"] = [name for name, _ in listed]
    for parameter in group["params"]:
        if not isinstance(parameter, Tensor):
            raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(parameter).__name__}")
        if not (parameter.is_leaf or parameter.retains_grad or differentiable):
            raise ValueError(f"can't optimize a non-leaf Tensor: {_said_of_result(parameter)}")
    return group


def _said_of_result(result: Tensor) -> str:
    """Which one it is, where it was made, and what to do."""
    from clew._cells import place_text
    from clew.graph.explanations.culprits import name_of

    node: Any = result.grad_fn
    name, made = name_of(result), node.made_at if node is not None else None
    called = f"`{name}`" if name else f"one of shape {tuple(result.shape)}"
    where = f" at {place_text(made.file, made.line)}" if made is not None else ""
    return (
        f"expected leaves, got {called}, which {node.op if node is not None else 'an operation'} computed{where}. "
        "To do: optimize the tensor that it is computed from, and compute it anew in each step; or, if it is a start "
        "value, detach it: x.detach().requires_grad_()"
    )


def is_sparse(grad: Tensor) -> bool:
    """Whether a gradient is a sparse tensor. While nothing has loaded their class, there is none."""
    return sparse_made() and grad.layout is not strided


def with_values(sparse: Tensor, values: Tensor) -> Tensor:
    """Other values at the entries of a coalesced gradient."""
    return clew.sparse_coo_tensor(sparse.indices(), values, sparse.shape, is_coalesced=True)


def with_gradients(group: dict[str, Any], refuser: str = "") -> tuple[list[Tensor], list[Tensor]]:
    """The parameters of the group that have a gradient, and these; `refuser` is an optimizer that takes dense ones.

    Raises:
        RuntimeError: a gradient is sparse, and somebody refuses it.
    """
    params, grads = [], []
    for parameter in group["params"]:
        grad = parameter.grad
        if grad is not None:
            params.append(parameter)
            grads.append(grad)
    if refuser and sparse_made() and any(map(is_sparse, grads)):
        better = ", please consider SparseAdam instead" if refuser in ("Adam", "AdamW") else ""
        raise RuntimeError(f"{refuser} does not support sparse gradients{better}")
    return params, grads
