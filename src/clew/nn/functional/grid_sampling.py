"""Values of images and volumes at points of a grid, between their elements."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence
from typing import Any

import clew
from clew import Tensor
from clew._domains import domain

__all__ = ["affine_grid", "grid_sample"]


def _aligned(name: str, align_corners: bool | None) -> bool:
    if align_corners is None:
        warnings.warn(
            f"Default {name} behavior has changed to align_corners=False since 1.3.0. Please specify "
            "align_corners=True if the old behavior is desired.",
            stacklevel=3,
        )
    return bool(align_corners)


def _reflected(at: Tensor, low: float, span: float) -> Tensor:
    """Points mirrored at `low` and at `low + span`, as often as it takes."""
    if span == 0:
        return at * 0
    away = at - low
    away = clew.where(away < 0, -away, away)
    turns = (away.detach() / span).floor()
    rest = away - turns * span
    return clew.where(turns % 2 == 0, rest, span - rest) + low


def _padded(at: Tensor, size: int, padding_mode: str, align_corners: bool) -> Tensor:
    """Points moved to where the padding takes its values from."""
    if padding_mode == "zeros":
        return at
    if padding_mode == "reflection":
        at = _reflected(at, 0.0, size - 1.0) if align_corners else _reflected(at, -0.5, float(size))
    # No gradient at the ends and beyond.
    return clew.where((at > 0) & (at < size - 1), at, at.detach().clamp(0, size - 1))


def _cubic_weights(part: Tensor) -> list[Tensor]:
    """Those of the four elements around a point by Keys' kernel, with the parameter -3/4."""
    a = -0.75

    def far(x: Tensor) -> Tensor:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    def near(x: Tensor) -> Tensor:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    return [far(part + 1), near(part), near(1 - part), far(2 - part)]


@domain(
    "input=real(a, b, c, d), grid=unit(a, 3, 2, 2), align_corners=False; "
    "input=real(a, b, c, d), grid=unit(a, 3, 2, 2), padding_mode='border', align_corners=True; "
    "input=real(a, b, c, d), grid=real(a, 3, 2, 2), padding_mode='reflection', align_corners=False; "
    "input=real(a, b, c, d), grid=unit(a, 3, 2, 2), mode='bicubic', align_corners=True; "
    "input=real(a, b, c, d), grid=unit(a, 3, 2, 2), mode='nearest', align_corners=False; "
    "input=real(a, b, 2, 3, 4), grid=unit(a, 2, 3, 1, 3), align_corners=False"
)
def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """Values of `input` at the points of `grid`.

    Args:
        input: images (N, C, H, W) or volumes (N, C, D, H, W).
        grid: points (N, ..., 2) or (N, ..., 3) with as many axes as `input`: x, y (and z), where -1 is the first
            element of an axis and 1 the last. NaN counts as -1.
        mode: `"bilinear"` (trilinear in volumes), `"nearest"`, or `"bicubic"` for images.
        padding_mode: outside are `"zeros"`, the nearest element (`"border"`), or mirror images (`"reflection"`).
        align_corners: -1 and 1 are the centers of the outermost elements, not their outer edges.

    Returns:
        (N, C, ...), with the axes of `grid`.

    Raises:
        ValueError: another mode or padding.
        RuntimeError: shapes or dtypes do not fit.

    Example:
        >>> image = torch.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
        >>> torch.nn.functional.grid_sample(image, torch.zeros(1, 1, 1, 2), align_corners=False)
        tensor([[[[2.5000]]]])
    """
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise ValueError(f"grid_sample: expected mode 'bilinear', 'nearest' or 'bicubic', got {mode!r}")
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(f"grid_sample: expected padding 'zeros', 'border' or 'reflection', got {padding_mode!r}")
    align = _aligned("grid_sample", align_corners)
    axes = input.dim() - 2
    if axes not in (2, 3) or grid.dim() != input.dim() or grid.shape[-1] != axes or grid.shape[0] != input.shape[0]:
        raise RuntimeError(
            "grid_sample: expected an input (N, C, H, W) or (N, C, D, H, W) and a grid (N, ..., 2) or (N, ..., 3) with "
            f"as many axes and the same N, got {list(input.shape)} and {list(grid.shape)}"
        )
    if mode == "bicubic" and axes != 2:
        raise RuntimeError("grid_sample: expected images (N, C, H, W) for 'bicubic', got volumes; use 'bilinear'")
    if input.dtype != grid.dtype or 0 in input.shape[2:]:
        raise RuntimeError(
            "grid_sample: expected an input and a grid of one dtype, and elements along each axis, got "
            f"{input.dtype}, {grid.dtype} and the shape {list(input.shape)}"
        )
    sizes = input.shape[2:]
    points = clew.where(grid == grid, grid, grid.detach().nan_to_num(-1.0)).flatten(1, -2)
    taps: list[list[tuple[Tensor, Tensor | None]]] = []  # of each axis: places, and their weights
    zero: Any = 0
    for axis, size in enumerate(sizes):
        at = points[..., axes - 1 - axis]
        at = (at + 1) / 2 * (size - 1) if align else ((at + 1) * size - 1) / 2
        if mode == "bicubic":
            first = at.detach().floor()
            weights = _cubic_weights(at - first)
            places = [_padded(first + step, size, padding_mode, align) for step in range(-1, 3)]
            taps.append(list(zip(places, weights, strict=True)))
            continue
        at = _padded(at, size, padding_mode, align)
        if mode == "nearest":
            zero = zero + at.masked_fill(clew.ones_like(at, dtype=clew.bool), 0.0)  # the gradient is zero, not none
            taps.append([(at.detach().round(), None)])
        else:
            first = at.detach().floor()
            taps.append([(first, 1 - (at - first)), (first + 1, at - first)])
    flat = input.flatten(2)
    result: Any = None
    for corner in itertools.product(*taps):
        index: Any = 0
        inside: Any = True
        weight: Any = None
        for (place, factor), size in zip(corner, sizes, strict=True):
            inside = (place >= 0) & (place <= size - 1) & inside
            index = index * size + place.clamp(0, size - 1).to(clew.int64)
            weight = factor if weight is None or factor is None else weight * factor
        values = flat.gather(2, index.unsqueeze(1).expand(-1, flat.shape[1], -1))
        scale = inside.to(input.dtype) if weight is None else weight.masked_fill(~inside, 0.0)
        part = values.masked_fill(~inside.unsqueeze(1), 0.0) * scale.unsqueeze(1)
        result = part if result is None else result + part
    if mode == "nearest":
        result = result + zero.unsqueeze(1)
    sampled: Tensor = result.unflatten(2, grid.shape[1:-1])
    return sampled


@domain(
    "theta=real(a, 2, 3), size=(2, 3, 4, 5), align_corners=False; "
    "theta=real(a, 3, 4), size=(2, 1, 2, 3, 4), align_corners=True"
)
def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The grid for `grid_sample` that maps each point of the result by an affine map.

    Args:
        theta: maps (N, 2, 3) for images, (N, 3, 4) for volumes.
        size: the sizes of the result, (N, C, H, W) or (N, C, D, H, W).
        align_corners: as in `grid_sample`.

    Returns:
        (N, H, W, 2) or (N, D, H, W, 3).

    Raises:
        ValueError: shapes or the dtype do not fit.

    Example:
        >>> theta = torch.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
        >>> torch.nn.functional.affine_grid(theta, (1, 1, 1, 2), align_corners=True)
        tensor([[[[-1.,  0.],
                  [ 1.,  0.]]]])
    """
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    align = _aligned("affine_grid", align_corners)
    axes = len(size) - 2
    if axes not in (2, 3) or tuple(theta.shape[1:]) != (axes, axes + 1) or min(size) < 1:
        raise ValueError(
            "affine_grid: expected maps (N, 2, 3) for sizes (N, C, H, W), or (N, 3, 4) for (N, C, D, H, W), all "
            f"positive, got {list(theta.shape)} for {list(size)}"
        )
    lines = []
    for count in size[2:]:
        line = clew.linspace(-1, 1, count, dtype=theta.dtype) if count > 1 else theta.new_zeros(1)
        lines.append(line if align else line * ((count - 1) / count))
    points = clew.stack([*reversed(clew.meshgrid(*lines, indexing="ij")), theta.new_ones(tuple(size[2:]))], -1)
    return (points.flatten(0, -2) @ theta.mT).unflatten(1, tuple(size[2:]))
