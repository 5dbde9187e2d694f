"""Padding: more elements around the last dimensions, or fewer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

import clew
from clew import Tensor
from clew._domains import domain
from clew._operation import operation

__all__ = [
    "pad",
]

_NUMPY_MODES = {"reflection_pad": "reflect", "replication_pad": "edge", "_circular_pad": "wrap"}
_OPERATIONS = {"reflect": "reflection_pad", "replicate": "replication_pad", "circular": "_circular_pad"}


def _pairs(padding: Sequence[int], dims: int) -> list[tuple[int, int]]:
    """(before, after) of each axis, the first axis first; `padding` begins with the last."""
    pairs = list(zip(padding[::2], padding[1::2], strict=True))
    return [(0, 0)] * (dims - len(pairs)) + pairs[::-1]


def _added_back(grad: Any, padding: Sequence[int], mode: str) -> Any:
    """The transpose of padding: each element gets what its copies have."""
    for axis, (before, after) in enumerate(_pairs(padding, grad.ndim)):
        size = grad.shape[axis] - before - after
        source = numpy.pad(numpy.arange(size), (before, after), mode)  # type: ignore[call-overload]
        lanes = numpy.moveaxis(grad, axis, 0)
        total = numpy.array(lanes[before : before + size])
        for place in [*range(before), *range(before + size, len(lanes))]:
            total[source[place]] += lanes[place]
        grad = numpy.moveaxis(total, 0, axis)
    return numpy.ascontiguousarray(grad)


def _define(name: str) -> Any:
    """The operation that pads like this, and the one that its gradient is; each is the other's gradient."""
    mode = _NUMPY_MODES[name]

    @operation(
        f"{name}(Tensor self, int[] padding)",
        rules=(lambda g, padding: transposed(g, padding),),
        domain="self=real(1, 2, 4, 5), padding=(1, 2, 2, 0); self=real(2, 4), padding=(2, 1)",
    )
    def padded(self: Any, padding: Sequence[int]) -> Any:
        """The input with more elements before and after the last axes."""
        return numpy.pad(self, _pairs(padding, self.ndim), mode)  # type: ignore[call-overload]

    @operation(
        f"{'_' + name.lstrip('_')}_backward(Tensor grad_output, int[] padding)",
        rules=(lambda g, padding: padded(g, padding),),
        domain="grad_output=real(1, 2, 5, 6), padding=(1, 2, 2, 0)",
    )
    def transposed(grad_output: Any, padding: Sequence[int]) -> Any:
        """Its gradient."""
        return _added_back(grad_output, padding, mode)

    return padded


_PAD = {name: _define(name) for name in _NUMPY_MODES}


@domain(
    "real, pad=(1, 2, 0, 1), value=3.0; real, pad=(-1, 2); input=real(1, 2, 4, 5), pad=(1, 2, 2, 0), mode='reflect'; "
    "input=real(1, 2, 4, 5), pad=(1, 2, 2, 0), mode='replicate'; input=real(2, 4), pad=(2, 1), mode='circular'"
)
def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """Add `pad` = (before, after) elements around the last dimension, the next pair around the one before, ...

    Args:
        input: of any shape; for modes other than "constant" one of one or two dimensions more than are padded.
        pad: a pair for each dimension, the last one first. Negative numbers take elements away.
        mode: "constant", "reflect" (the input read backwards, without its border), "replicate" (the border again and
            again) or "circular" (the input from its other end).
        value: of a constant; zero unless given.

    Raises:
        RuntimeError: a pair too many, or a reflection or a round that is longer than the input.
        NotImplementedError: another mode, or another number of dimensions for it.

    >>> import clew
    >>> clew.nn.functional.pad(clew.tensor([[1.0, 2.0, 3.0]]), (2, 1), mode="reflect")
    tensor([[3., 2., 1., 2., 3., 2.]])
    """
    if len(pad) % 2 or len(pad) > 2 * input.dim():
        raise RuntimeError(f"pad: expected a pair for each of at most {input.dim()} dimensions, got {tuple(pad)}")
    if mode == "constant":
        result: Tensor = clew._core.ops._constant_pad_nd(input, pad[::2], pad[1::2], 0 if value is None else value)
        return result
    _check(input, pad, mode, value)
    added = [max(n, 0) for n in pad]
    if mode == "circular":  # a round goes through what is left, a reflection through what was there
        return _padded(mode, _cropped(input, pad), added)
    return _cropped(_padded(mode, input, added), pad)


def _padded(mode: str, input: Tensor, pad: list[int]) -> Tensor:
    padded: Tensor = _PAD[_OPERATIONS[mode]](input, pad)
    return padded


def _cropped(input: Tensor, pad: Sequence[int]) -> Tensor:
    """The input without what negative numbers take away."""
    taken = [min(n, 0) for n in pad]
    if not any(taken):
        return input
    left: Tensor = clew._core.ops._constant_pad_nd(input, taken[::2], taken[1::2], 0)
    return left


def _check(input: Tensor, pad: Sequence[int], mode: str, value: float | None) -> None:
    if mode not in _OPERATIONS:
        raise NotImplementedError(f"pad: Unrecognised padding mode {mode}; use constant, {', '.join(_OPERATIONS)}")
    if value:
        raise RuntimeError(f'pad: Padding mode "{mode}" doesn\'t take in value argument')
    axes = len(pad) // 2
    if axes not in (1, 2, 3) or input.dim() not in (axes + 1, axes + 2):
        raise NotImplementedError(
            f"pad: Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now; got {axes} pairs for "
            f"an input of {input.dim()} dimensions"
        )
    for axis in range(axes):
        dim, pair, size = input.dim() - 1 - axis, tuple(pad[2 * axis : 2 * axis + 2]), input.shape[-1 - axis]
        if mode == "reflect" and max(pair) >= size:
            raise RuntimeError(
                "pad: Padding size should be less than the corresponding input dimension, but got: "
                f"padding {pair} at dimension {dim} of input {list(input.shape)}"
            )
        if mode == "circular" and max(pair) > size:
            raise RuntimeError(f"pad: Padding value causes wrapping around more than once: {pair} of size {size}")
        if mode == "replicate" and size == 0:
            raise RuntimeError(f"pad: expected an input with elements to repeat, got {list(input.shape)}")
    left = [size + sum(pad[2 * axis : 2 * axis + 2]) for axis, size in enumerate(input.shape[: -axes - 1 : -1])]
    if mode != "circular" and (min(left) < 0 or max(left) == 0):
        raise RuntimeError(f"pad: expected elements to be left, got padding {tuple(pad)} of {list(input.shape)}")
