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

_NUMPY_MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}
_NAMES = {"reflect": "reflection_pad", "replicate": "replication_pad", "circular": "_circular_pad"}
_AXES = (1, 2, 3)


Pairs = list[tuple[int, int]]


def _pairs(padding: Sequence[int], dims: int) -> Pairs:
    """(before, after) of each axis, the first axis first; `padding` begins with the last."""
    pairs = list(zip(padding[::2], padding[1::2], strict=True))
    return [(0, 0)] * (dims - len(pairs)) + pairs[::-1]


def _added(pairs: Pairs) -> Pairs:
    return [(max(before, 0), max(after, 0)) for before, after in pairs]


def _padded_sizes(x: Tensor, padding: Sequence[int], sign: int) -> list[int]:
    """The sizes of a padded x; with sign -1, those of which x is the padded form."""
    return [size + sign * (b + a) for size, (b, a) in zip(x.shape, _pairs(padding, x.ndim), strict=True)]


def _left(pairs: Pairs, shape: Sequence[int]) -> tuple[slice, ...]:
    """What of an array of this shape negative numbers leave."""
    return tuple(slice(max(-b, 0), size - max(-a, 0)) for (b, a), size in zip(pairs, shape, strict=True))


def _added_back(grad: Any, pairs: Pairs, mode: str) -> Any:
    """The transpose of padding: each element gets what its copies have."""
    for axis, (before, after) in enumerate(pairs):
        size = grad.shape[axis] - before - after
        source = numpy.pad(numpy.arange(size), (before, after), mode)  # type: ignore[call-overload]
        lanes = numpy.moveaxis(grad, axis, 0)
        total = numpy.array(lanes[before : before + size])
        for place in [*range(before), *range(before + size, len(lanes))]:
            total[source[place]] += lanes[place]
        grad = numpy.moveaxis(total, 0, axis)
    return grad


def _set_into(part: Any, shape: Sequence[int], place: tuple[slice, ...]) -> Any:
    whole = numpy.zeros(shape, part.dtype)
    whole[place] = part
    return whole


def _define(kind: str, axes: int) -> Any:
    """The operation that pads so many axes like this, and the one that its gradient is; each is the other's gradient.

    A round goes through what negative numbers leave, a reflection through what was there before.
    """
    mode, name, crops_first = _NUMPY_MODES[kind], f"{_NAMES[kind]}{axes}d", kind == "circular"
    node = "".join(map(str.capitalize, _NAMES[kind].split("_"))) + f"{axes}DBackward"
    shape, padding = "2, 3, 4, 5"[-3 * axes - 1 :], (1, 2, 2, 0, 0, 1)[: 2 * axes]

    @operation(
        f"{name}(Tensor self, int[] padding)",
        rules=(lambda g, padding: transposed(g, padding),),
        node=f"{node}0",
        derivative="self",
        infer=lambda x, padding: x.new_empty(_padded_sizes(x, padding, 1)),
        domain=f"self=real({shape}), padding={padding}; self=real({shape}), padding={(2, -1, *padding[2:])}",
    )
    def padded(self: Any, padding: Sequence[int]) -> Any:
        """The input with more elements before and after the last axes, or fewer."""
        pairs = _pairs(padding, self.ndim)
        if crops_first:
            self = self[_left(pairs, self.shape)]
        grown = numpy.pad(self, _added(pairs), mode)  # type: ignore[call-overload]
        return grown if crops_first else numpy.ascontiguousarray(grown[_left(pairs, grown.shape)])

    @operation(
        f"{'_' + name.lstrip('_')}_backward(Tensor grad_output, int[] padding)",
        rules=(lambda g, padding: padded(g, padding),),
        node=f"{node}Backward0",
        derivative="grad_output",
        infer=lambda g, padding: g.new_empty(_padded_sizes(g, padding, -1)),
        domain=f"grad_output=real({', '.join(map(str, (2, 4, 6, 8)[-axes - 1 :]))}), padding={padding}",
    )
    def transposed(grad_output: Any, padding: Sequence[int]) -> Any:
        """Its gradient."""
        pairs = _pairs(padding, grad_output.ndim)
        added = _added(pairs)
        of_input = [size - b - a for size, (b, a) in zip(grad_output.shape, pairs, strict=True)]
        if crops_first:
            back = _added_back(grad_output, added, mode)
            back = _set_into(back, of_input, _left(pairs, of_input))
        else:
            grown = [size + b + a for size, (b, a) in zip(of_input, added, strict=True)]
            back = _added_back(_set_into(grad_output, grown, _left(pairs, grown)), added, mode)
        return numpy.ascontiguousarray(back)

    return padded


_PAD = {(kind, axes): _define(kind, axes) for kind in _NAMES for axes in _AXES}


@domain(
    "real, pad=(1, 2, 0, 1), value=3.0; real, pad=(-1, 2); input=real(1, 2, 4, 5), pad=(1, 2, 2, 0), mode='reflect'; "
    "input=real(1, 2, 4, 5), pad=(1, 2, 2, 0), mode='replicate'; input=real(2, 4), pad=(2, 1), mode='circular'"
)
def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """Add `pad` = (before, after) elements around the last dimension, the next pair around the one before, ...

    Args:
        input: of any shape; for modes other than "constant" one of one or two dimensions more than are padded.
        pad: a pair for each dimension, the last one first. Negative numbers take elements away.
        mode: "constant", "reflect" (the input in reverse, without its border), "replicate" (the border again and
            again) or "circular" (the input from its other end).
        value: of a constant; zero unless given.

    Raises:
        RuntimeError: a pair too many, or a reflection or a round that is longer than the input.
        NotImplementedError: another mode, or another number of dimensions for it.

    Example:
        >>> torch.nn.functional.pad(torch.tensor([[1.0, 2.0, 3.0]]), (2, 1), mode="reflect")
        tensor([[3., 2., 1., 2., 3., 2.]])
    """
    if len(pad) % 2 or len(pad) > 2 * input.dim():
        raise RuntimeError(f"pad: expected a pair for each of at most {input.dim()} dimensions, got {tuple(pad)}")
    if mode == "constant":
        result: Tensor = clew._core.ops._constant_pad_nd(input, pad[::2], pad[1::2], 0 if value is None else value)
        return result
    _check(input, pad, mode, value)
    padded: Tensor = _PAD[mode, len(pad) // 2](input, pad)
    return padded


def _check(input: Tensor, pad: Sequence[int], mode: str, value: float | None) -> None:
    if mode not in _NAMES:
        raise NotImplementedError(f"pad: Unrecognised padding mode {mode}; use constant, {', '.join(_NAMES)}")
    if value:
        raise RuntimeError(f'pad: Padding mode "{mode}" doesn\'t take in value argument')
    axes = len(pad) // 2
    if axes not in _AXES or input.dim() not in (axes + 1, axes + 2):
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
        if mode == "circular" and size + min(pair) <= 0 < max(pair):
            raise RuntimeError(f"pad: expected elements to repeat at dimension {dim}: {pair} leaves none of {size}")
        if mode == "replicate" and size == 0:
            raise RuntimeError(f"pad: expected an input with elements to repeat, got {list(input.shape)}")
    left = [size + sum(pad[2 * axis : 2 * axis + 2]) for axis, size in enumerate(input.shape[: -axes - 1 : -1])]
    if mode != "circular" and (min(left) < 0 or max(left) == 0):
        raise RuntimeError(f"pad: expected elements to be left, got padding {tuple(pad)} of {list(input.shape)}")
