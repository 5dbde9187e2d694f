"""What the engine asks of sparse gradients; its C++ calls these functions by name."""

from __future__ import annotations

from typing import Any

import clew
from clew import Tensor

from ._operations import add
from ._tensor import TABLE, SparseTensor, adopt, alike, gradient_of, make, unsupported


def accumulated(before: Any, gradient: Any, in_place: bool) -> Tensor:
    """`before + gradient`, one of them sparse; `before` may be None, and is written if it can be."""
    if before is None:
        return alike(gradient, gradient._content.clone(memory_format=clew.contiguous_format))
    if not isinstance(before, SparseTensor):
        total: Tensor = before.add_(gradient) if in_place else add(before, gradient)
        return total
    if not isinstance(gradient, SparseTensor):
        return add(gradient, before)
    total = add(before, gradient)
    return adopt(before, total) if in_place and isinstance(total, SparseTensor) else total


def made_dense(sparse: Any) -> Tensor:
    """The same gradient for those that take dense ones only."""
    dense: Tensor = sparse.to_dense()
    return dense


def of_rows(gradient: Tensor, indices: Tensor, count: int, padding: int) -> Tensor:
    """The gradient of a table of `count` rows of which `indices` were looked up."""
    rows = indices.reshape(-1).to(clew.int64)
    content = gradient.reshape(rows.shape[0], gradient.shape[-1])
    if padding >= 0:
        kept = (rows != padding).nonzero()[:, 0]
        rows, content = rows[kept], content.index_select(0, kept)
    return make(rows.unsqueeze(0), content, (count, gradient.shape[-1]))


def of_picked(gradient: Tensor, index: Tensor, axis: int, sizes: Any) -> Tensor:
    """The gradient of a tensor of these sizes of which `index` picked elements along an axis."""
    places = list(clew.meshgrid(*[clew.arange(size) for size in index.shape], indexing="ij"))
    places[axis] = index.to(clew.int64)
    return make(clew.stack([one.reshape(-1) for one in places]), gradient.reshape(-1), sizes)


def without_sparse(ctx: Any, inputs: Any, outputs: Any, saved: tuple[Any, ...]) -> tuple[Any, ...]:
    """What a Function saves, with the values of sparse tensors in their place; the context keeps the rest of them."""
    for one in (*inputs, *outputs):
        if isinstance(one, SparseTensor) and (one.requires_grad or any(one is output for output in outputs)):
            raise NotImplementedError(
                "autograd.Function: expected strided inputs that require grad, and strided outputs, got a sparse one; "
                "give its values and indices"
            )
    places = {i: one for i, one in enumerate(saved) if isinstance(one, SparseTensor)}
    if not places:
        return saved
    ctx._sparse = {i: one.detach() for i, one in places.items()}
    return tuple(one._content if i in places else one for i, one in enumerate(saved))


def with_sparse(places: dict[int, Any], saved: tuple[Any, ...]) -> tuple[Any, ...]:
    """The opposite, of what was unpacked."""
    return tuple(alike(places[i], one) if i in places else one for i, one in enumerate(saved))


def _grad(outputs: Any, inputs: Any, grad_outputs: Any = None, *args: Any, **kwargs: Any) -> tuple[Tensor | None, ...]:
    """`autograd.grad` for sparse inputs, whose gradients are those of their values."""
    if any(isinstance(one, SparseTensor) for one in [outputs, *(outputs if isinstance(outputs, list | tuple) else ())]):
        raise unsupported("autograd.grad", "reduce it by sparse.sum")
    wanted = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    values = [one._content if isinstance(one, SparseTensor) else one for one in wanted]
    found = clew.autograd.grad(outputs, values, _dense(grad_outputs), *args, **kwargs)
    return tuple(
        gradient_of(one, gradient) if isinstance(one, SparseTensor) and gradient is not None else gradient
        for one, gradient in zip(wanted, found, strict=True)
    )


def _dense(given: Any) -> Any:
    if isinstance(given, list | tuple):
        return [_dense(one) for one in given]
    return given.to_dense() if isinstance(given, SparseTensor) else given


def _backward(tensors: Any, gradient: Any = None, *args: Any, **kwargs: Any) -> None:
    if not isinstance(tensors, Tensor) or isinstance(tensors, SparseTensor):
        raise unsupported("backward", "reduce it by sparse.sum")
    tensors.backward(_dense(gradient), *args, **kwargs)


TABLE["grad"], TABLE["backward"] = _grad, _backward
