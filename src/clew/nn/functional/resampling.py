"""Interpolation: images, sequences and volumes in another size."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from clew import Tensor
from clew._domains import domain
from clew._operation import operation

from . import adaptive_pooling

__all__ = ["interpolate"]

# Of each element of the result along one axis: the places it is made of, and their weights (None: one place, as it is).
# Both have a row for each element. In each column the places never fall, on which `_spread` relies.
Taps = tuple[Any, Any]


# ----------------------------------------------------------------------------------------------------------------- taps
def _step(size: int, out: int, align_corners: bool, scale: float) -> numpy.float32 | float:
    """How far apart in the input two neighbours of the result are."""
    if align_corners:
        return (size - 1) / (out - 1) if out > 1 else 0.0
    return 1.0 / scale if scale > 0 else size / out


def _nearest(size: int, out: int, align_corners: bool, scale: float, shift: float = 0.0) -> Taps:
    step = numpy.float32(_step(size, out, False, scale))  # float32 decides in PyTorch which place is nearest
    if not shift and out in (size, 2 * size):
        return (numpy.arange(out) // (out // size))[:, None], None
    at = numpy.floor((numpy.arange(out, dtype=numpy.float32) + numpy.float32(shift)) * step).astype(int)
    return numpy.minimum(at, size - 1)[:, None], None


def _nearest_exact(size: int, out: int, align_corners: bool, scale: float) -> Taps:
    return _nearest(size, out, align_corners, scale, 0.5)


def _sources(size: int, out: int, align_corners: bool, scale: float) -> Any:
    """Where in the input the elements of the result are, between the places."""
    step, at = _step(size, out, align_corners, scale), numpy.arange(out)
    return at * step if align_corners else (at + 0.5) * step - 0.5


def _linear(size: int, out: int, align_corners: bool, scale: float) -> Taps:
    source = numpy.maximum(_sources(size, out, align_corners, scale), 0)
    first = numpy.minimum(source.astype(int), size - 1)
    part = numpy.clip(source - first, 0, 1)
    return numpy.stack([first, numpy.minimum(first + 1, size - 1)], 1), numpy.stack([1 - part, part], 1)


def _cubic_kernel(x: Any, a: float) -> Any:
    """Keys' kernel (1981), with the parameter a."""
    x = numpy.abs(x)
    near, far = ((a + 2) * x - (a + 3)) * x * x + 1, ((x - 5) * x + 8) * x * a - 4 * a
    return numpy.where(x <= 1, near, numpy.where(x < 2, far, 0.0))


def _cubic(size: int, out: int, align_corners: bool, scale: float) -> Taps:
    source = _sources(size, out, align_corners, scale)
    first = numpy.floor(source).astype(int)
    places = first[:, None] + numpy.arange(-1, 3)
    return numpy.clip(places, 0, size - 1), _cubic_kernel(source[:, None] - places, -0.75)


def _antialiased(kernel: Callable[[Any], Any], width: float) -> Callable[..., Taps]:
    """Taps of a kernel that is stretched when the result is smaller, so that every place counts."""

    def taps(size: int, out: int, align_corners: bool, scale: float) -> Taps:
        step = float(_step(size, out, align_corners, scale))
        stretch, half = max(step, 1.0), 0.5
        center = (numpy.arange(out) + half) * step
        begin = numpy.maximum((center - width * stretch + 0.5).astype(int), 0)
        end = numpy.minimum((center + width * stretch + 0.5).astype(int), size)
        places = begin[:, None] + numpy.arange(max(int((end - begin).max()), 1))
        weights = kernel((places - center[:, None] + half) / stretch) * (places < end[:, None])
        return numpy.minimum(places, size - 1), weights / weights.sum(1, keepdims=True)

    return taps


# name: (taps, axes, node). Names as in PyTorch's library of operations.
_KINDS: dict[str, tuple[Callable[..., Taps], int, str]] = {
    **{f"nearest{n}d": (_nearest, n, f"UpsampleNearest{n}D") for n in (1, 2, 3)},
    **{f"nearest_exact{n}d": (_nearest_exact, n, f"UpsampleNearestExact{n}D") for n in (1, 2, 3)},
    "linear1d": (_linear, 1, "UpsampleLinear1D"),
    "bilinear2d": (_linear, 2, "UpsampleBilinear2D"),
    "trilinear3d": (_linear, 3, "UpsampleTrilinear3D"),
    "bicubic2d": (_cubic, 2, "UpsampleBicubic2D"),
    "bilinear2d_aa": (_antialiased(lambda x: numpy.maximum(1 - numpy.abs(x), 0), 1.0), 2, "UpsampleBilinear2DAa"),
    "bicubic2d_aa": (_antialiased(lambda x: _cubic_kernel(x, -0.5), 2.0), 2, "UpsampleBicubic2DAa"),
}  # fmt: skip


def _column(weights: Any, tap: int, x: Any, axis: int) -> Any:
    """The weights of one tap, shaped to multiply x along the axis."""
    return weights[:, tap].astype(x.dtype).reshape([-1 if dim == axis else 1 for dim in range(x.ndim)])


def _gathered(x: Any, axis: int, taps: Taps) -> Any:
    places, weights = taps
    if weights is None:
        return x.take(places[:, 0], axis)
    return sum(x.take(places[:, tap], axis) * _column(weights, tap, x, axis) for tap in range(places.shape[1]))


def _spread(grad: Any, axis: int, taps: Taps, size: int) -> Any:
    """The transpose of `_gathered`."""
    places, weights = taps
    shape = list(grad.shape)
    shape[axis] = size
    total = numpy.moveaxis(numpy.zeros(shape, grad.dtype), axis, 0)
    for tap in range(places.shape[1]):
        column = places[:, tap]
        first = numpy.flatnonzero(numpy.diff(column, prepend=-1))
        parts = grad if weights is None else grad * _column(weights, tap, grad, axis)
        total[column[first]] += numpy.moveaxis(numpy.add.reduceat(parts, first, axis), axis, 0)
    return numpy.moveaxis(total, 0, axis)


def _define(name: str) -> Any:
    """The operation of this kind, and the one that its gradient is; each is the other's gradient."""
    make, axes, node = _KINDS[name]
    attributes = "int[] output_size, int[] input_size, bool align_corners, float scale_d, float scale_h, float scale_w"
    sizes = {1: ((2, 3), (5,), (3,)), 2: ((1, 2, 3, 4), (5, 3), (3, 4)), 3: ((1, 1, 2, 3, 2), (3, 2, 4), (2, 3, 2))}
    shape, output, own = sizes[axes]
    rest = f"output_size={output}, input_size={own}, align_corners=False, scale_d=0.0, scale_h=0.0, scale_w=0.0"
    batch = (1, *shape[:-axes])[-2:]

    def each(output_size: Sequence[int], input_size: Sequence[int], align: bool, *scales: float) -> Any:
        for place in range(axes):
            scale = scales[3 - axes + place]
            yield 2 + place, make(input_size[place], output_size[place], align, scale), input_size[place]

    @operation(
        f"_upsample_{name}(Tensor self, {attributes})",
        rules=(lambda g, output_size, input_size, align_corners, scale_d, scale_h, scale_w: transposed(
            g, output_size, input_size, align_corners, scale_d, scale_h, scale_w
        ),),
        node=f"{node}Backward0",
        derivative="self",
        infer=lambda x, output_size, *_: x.new_empty((*x.shape[:2], *output_size)),
        domain=f"self=real{(*batch, *own)}, {rest}",
    )  # fmt: skip
    def resampled(self: Any, *attributes: Any) -> Any:
        """The input in another size."""
        for axis, taps, _ in each(*attributes):
            self = _gathered(self, axis, taps)
        return self

    @operation(
        f"_upsample_{name}_backward(Tensor grad_output, {attributes})",
        rules=(lambda g, output_size, input_size, align_corners, scale_d, scale_h, scale_w: resampled(
            g, output_size, input_size, align_corners, scale_d, scale_h, scale_w
        ),),
        node=f"{node}BackwardBackward0",
        derivative="grad_output",
        infer=lambda g, output_size, input_size, *_: g.new_empty((*g.shape[:2], *input_size)),
        domain=f"grad_output=real{(*batch, *output)}, {rest}",
    )  # fmt: skip
    def transposed(grad_output: Any, *attributes: Any) -> Any:
        """Its gradient."""
        for axis, taps, size in each(*attributes):
            grad_output = _spread(grad_output, axis, taps, size)
        return numpy.ascontiguousarray(grad_output)

    return resampled


_RESAMPLE = {name: _define(name) for name in _KINDS}


# ------------------------------------------------------------------------------------------------------------ functions
_CORNERS = ("linear", "bilinear", "bicubic", "trilinear")
_RANKS = {"linear": 3, "bilinear": 4, "bicubic": 4, "trilinear": 5}


@domain(
    "input=real(1, 2, 3, 4), size=(5, 3); input=real(1, 2, 3, 4), scale_factor=2.0, mode='bilinear'; "
    "input=real(1, 2, 3, 4), size=(6, 2), mode='bicubic', align_corners=True; "
    "input=real(1, 2, 5), size=3, mode='linear'; input=real(1, 2, 5), scale_factor=1.7, mode='nearest-exact'; "
    "input=real(1, 1, 2, 3, 2), size=3, mode='trilinear'; input=real(1, 2, 3, 4), scale_factor=0.7, mode='area'; "
    "input=real(1, 2, 6, 7), size=(2, 3), mode='bilinear', antialias=True"
)
def interpolate(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Sequences (N, C, L), images (N, C, H, W) or volumes (N, C, D, H, W) in another size.

    Args:
        size: of the result's axes of space, or one number for all.
        scale_factor: instead of `size`: by what to multiply the input's.
        mode: "nearest", "nearest-exact" (which rounds where the other cuts), "linear", "bilinear", "trilinear" (for 1,
            2, 3 axes), "bicubic" (for 2), or "area" (means).
        align_corners: whether the outermost elements of both lie on each other, not their outer edges.
        recompute_scale_factor: with `scale_factor`: take the quotient of the sizes for positions, not the factor.
        antialias: for "bilinear" and "bicubic": let every element count in a smaller result.

    Raises:
        ValueError: arguments that do not go together.
        NotImplementedError: a mode that the input's number of dimensions does not have.
        RuntimeError: a size is zero.

    Example:
        >>> torch.nn.functional.interpolate(torch.tensor([[[1.0, 2.0]]]), scale_factor=2, mode="linear")
        tensor([[[1.0000, 1.2500, 1.7500, 2.0000]]])
    """
    if mode not in _CORNERS and align_corners is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
        )
    axes = input.dim() - 2
    sizes, scales = _targets(input, size, scale_factor, recompute_scale_factor or (mode == "area" and size is None))
    if antialias and not (mode in ("bilinear", "bicubic") and axes == 2):
        raise ValueError(
            "Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D tensor as input"
        )
    if axes not in (1, 2, 3) or mode not in (*_RANKS, "nearest", "nearest-exact", "area"):
        raise NotImplementedError(
            "Input Error: Only 3D, 4D and 5D input Tensors supported "
            f"(got {input.dim()}D) for the modes: nearest | linear | bilinear | bicubic | trilinear | area | "
            f"nearest-exact (got {mode})"
        )
    if _RANKS.get(mode, input.dim()) != input.dim():
        raise NotImplementedError(f"Got {input.dim()}D input, but {mode} mode needs {_RANKS[mode]}D input")
    if min(*sizes, *input.shape[2:]) <= 0:
        raise RuntimeError(
            "interpolate: Input and output sizes should be greater than 0, but got input "
            f"{tuple(input.shape[2:])} and output {tuple(sizes)}"
        )
    if mode == "area":
        averaged: Tensor = getattr(adaptive_pooling, f"adaptive_avg_pool{axes}d")(input, sizes)
        return averaged
    kind = f"{mode.replace('-', '_')}{axes}d" + ("_aa" if antialias else "")
    placed = [0.0] * (3 - axes) + scales
    result: Tensor = _RESAMPLE[kind](input, sizes, list(input.shape[2:]), bool(align_corners), *placed)
    return result


def _targets(input: Tensor, size: Any, scale_factor: Any, recompute: bool) -> tuple[list[int], list[float]]:
    """The result's sizes; and the factors, 0 where the sizes tell them."""
    axes = max(input.dim() - 2, 0)
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    given = size if scale_factor is None else scale_factor
    each = list(given) if isinstance(given, list | tuple) else [given] * axes
    if len(each) != axes:
        raise ValueError(
            f"Input and {'output' if scale_factor is None else 'scale_factor'} must have the same number of spatial "
            f"dimensions, but got input with spatial dimensions of {list(input.shape[2:])} and {given}"
        )
    if scale_factor is None:
        if recompute:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        return [int(one) for one in each], [0.0] * axes
    sizes = [math.floor(own * float(scale)) for own, scale in zip(input.shape[2:], each, strict=True)]
    return sizes, [0.0] * axes if recompute else [float(scale) for scale in each]
