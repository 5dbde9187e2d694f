"""Copies of a tensor with a part replaced."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .. import _core
from .._core import Tensor
from .._device import placed
from .._operation import FUNCTION, IN_PLACE, METHOD, from_forward, operation
from ._options import axis_of

_ops: Any = _core.ops


def _define_replaced(schema: str, part: Callable[..., Tensor], where: str, doc: str) -> None:
    """The operation that gives a copy of `self` whose part, a view that is also the rule of `src`, holds `src`."""
    name = schema.partition("(")[0]

    def forward(self: Tensor, src: Tensor, *place: Any) -> Tensor:
        result = self.clone()
        view = part(result, *place)
        if view.shape != src.shape:
            raise RuntimeError(
                f"{name}: expected src to have a size equal to the slice of self, {list(view.shape)}, got "
                f"{list(src.shape)}"
            )
        view.copy_(src)
        return result

    @functools.wraps(part)
    def rest(g: Tensor, *place: Any) -> Tensor:
        gone = part(g, *place)
        result: Tensor = defined(g, gone.new_zeros(gone.shape), *place)
        return result

    forward.__doc__ = doc
    kind: Any = {"flags": METHOD | FUNCTION, "derivative": "self + src", "infer": from_forward}
    define = operation(schema, rules=(rest, part), **kind, domain=where, arrays=False)
    defined = define(forward)


def _slice(g: Tensor, dim: int, start: int | None, end: int | None, step: int) -> Tensor:
    if g.dim() == 0:
        raise IndexError("slice_scatter: slice() cannot be applied to a 0-dim tensor.")
    axis = axis_of("slice_scatter", g, dim)
    if step <= 0:
        raise RuntimeError(f"slice_scatter: slice step must be positive, got {step}")
    return g[(slice(None),) * axis + (slice(start, end, step),)]


_define_replaced(
    "slice_scatter(Tensor self, Tensor src, int dim=0, int? start=None, int? end=None, int step=1)",
    _slice,
    "self=real(c, a), src=real(a, a), start=1, end=3; self=real(a, d), src=real(a, b), dim=1, step=2",
    """A copy of self with src in place of self[start:end:step] along an axis.

    Example:
        >>> torch.slice_scatter(torch.zeros(4), torch.ones(2), start=1, end=3)
        tensor([0., 1., 1., 0.])
    """,
)
_define_replaced(
    "select_scatter(Tensor self, Tensor src, int dim, int index)",
    lambda g, dim, index: g.select(dim, index),
    "self=real(a, b), src=real(a), dim=1, index=2",
    """A copy of self with src in place of self.select(dim, index).

    Example:
        >>> torch.select_scatter(torch.zeros(2, 2), torch.ones(2), 0, 1)
        tensor([[0., 0.],
                [1., 1.]])
    """,
)
_define_replaced(
    "diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1)",
    lambda g, offset, dim1, dim2: g.diagonal(offset, dim1, dim2),
    "self=real(b, b), src=real(b); self=real(b, b), src=real(a), offset=1",
    """A copy of self with src in place of a diagonal.

    Example:
        >>> torch.diagonal_scatter(torch.zeros(2, 2), torch.ones(2))
        tensor([[1., 0.],
                [0., 1.]])
    """,
)


def _gradient_of_put(g: Tensor, index: Tensor, source: Tensor, accumulate: bool) -> Tensor:
    """Of several elements that were put into one place only the last is in the result."""
    read = g.take(index)
    if not accumulate:
        with placed(g.device):
            order = _ops._arange(0, index.numel(), 1, index.dtype).reshape(index.shape)
            last = _ops._full((g.numel(),), 0, index.dtype).put(index, order)
        read = read.masked_fill(last.take(index) != order, 0)
    return read.reshape(source.shape)


@operation(
    "put(Tensor self, Tensor index, Tensor source, bool accumulate=False)",
    rules=(
        lambda g, index, accumulate: g if accumulate else g.put(index, g.new_zeros(index.shape)),
        None,
        _gradient_of_put,
    ),
    flags=METHOD | FUNCTION | IN_PLACE,
    arrays=False,
    derivative="self + source",
    infer=from_forward,
    domain="self=real(a, b), index=order(6, 2), source=real(a); "
    "self=real(a, b), index=index(6, c), source=real(c), accumulate=True",
)
def put(self: Tensor, index: Tensor, source: Tensor, accumulate: bool) -> Tensor:
    """A copy of self with the elements of source at the indices of the flattened tensor, or added to what is there.

    Example:
        >>> x = torch.tensor([1, 2, 3])
        >>> x.put(torch.tensor([2]), torch.tensor([9]))
        tensor([1, 2, 9])
    """
    if index.dtype != _core.dtypes["int64"]:
        raise RuntimeError(f"put_: expected a long tensor for index, got {index.dtype}")
    if self.dtype != source.dtype:
        raise RuntimeError(f"put_: expected self and source of one dtype, got {self.dtype} and {source.dtype}")
    if index.numel() != source.numel():
        raise IndexError(
            f"put_: expected source and index to have the same number of elements, got {source.numel()} and "
            f"{index.numel()}"
        )
    flat = self.flatten().index_put([index.flatten()], source.flatten(), accumulate)
    return self.clone().copy_(flat.reshape(self.shape))
