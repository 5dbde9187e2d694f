"""Whether two results are equal, in PyTorch's process: tolerances, special values, and a referee of higher precision.

A difference beyond the tolerances of `torch.testing.assert_close` is looked at again: both results are held against
what PyTorch computes in the next wider dtype. A long sum has errors of its own in either library.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch

TOLERANCES = {
    torch.float16: (1e-3, 1e-5),
    torch.bfloat16: (1.6e-2, 1e-5),
    torch.float32: (1.3e-6, 1e-5),
    torch.float64: (1e-7, 1e-7),
    torch.complex64: (1.3e-6, 1e-5),
    torch.complex128: (1e-7, 1e-7),
}
_ROUNDINGS = 32  # of the largest element, in a result that is a sum over others
_AS_BAD_AS_PYTORCH = 8  # so many times PyTorch's own largest error


class Difference(NamedTuple):
    """Two results that are not equal."""

    what: str
    """One line: by how much, at which element."""
    tolerance: str
    size: float
    """The largest difference beside the tolerance."""


class _Limits(NamedTuple):
    rtol: float
    atol: float

    def __str__(self) -> str:
        return f"{self.rtol:.2g} of the value + {self.atol:.2g}"


def difference(
    ours: torch.Tensor, theirs: torch.Tensor, wider: Callable[[], torch.Tensor | None], elementwise: bool
) -> Difference | None:
    """None if they are equal within the tolerance.

    Args:
        ours, theirs: the results of clew and of PyTorch.
        wider: gives the same in a wider dtype, or None where there is none.
        elementwise: each element depends on one of each input, so that large ones are no excuse for small ones.
    """
    if ours.shape != theirs.shape:
        return Difference(f"shape {tuple(ours.shape)}, PyTorch {tuple(theirs.shape)}", "the same shape", float("inf"))
    if ours.dtype != theirs.dtype:
        return Difference(f"dtype {_name(ours.dtype)}, PyTorch {_name(theirs.dtype)}", "the same dtype", float("inf"))
    ours, theirs = ours.detach(), theirs.detach()
    if torch.equal(ours, theirs):
        return None
    limits = _Limits(*TOLERANCES.get(theirs.dtype, (0.0, 0.0)))
    if theirs.is_floating_point() and theirs.numel():  # a quick look: NaN is seen below
        beyond = (ours - theirs).abs_().sub_(theirs.abs(), alpha=limits.rtol).max()
        if float(beyond) <= limits.atol:
            return None
    wrong, beyond = _beyond(ours, theirs, limits)
    if not bool(wrong.any()):
        return None
    if theirs.dtype in TOLERANCES:
        reference = wider()
        if reference is not None and reference.shape == theirs.shape:
            limits = _widened(theirs, reference, limits, elementwise)
            wrong, beyond = _beyond(ours, reference, limits)
            if not bool(wrong.any()):
                return None
    return _described(ours, theirs, wrong, beyond, limits)


def _wide(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.is_complex():
        return tensor.to(torch.complex128)
    return tensor.to(torch.float64)


def _beyond(ours: torch.Tensor, theirs: torch.Tensor, limits: _Limits) -> tuple[torch.Tensor, torch.Tensor]:
    """Which elements differ by more than the limits, and by how many times as much."""
    a, b = _wide(ours), _wide(theirs)
    gap = (a - b).abs()
    same = (a == b) | (torch.isnan(a) & torch.isnan(b))
    times = gap / (limits.atol + limits.rtol * b.abs())
    wrong = ~same & ~(times <= 1)
    return wrong, torch.where(torch.isfinite(times), times, torch.inf)


def _widened(theirs: torch.Tensor, reference: torch.Tensor, limits: _Limits, elementwise: bool) -> _Limits:
    """With PyTorch's own error, and the roundings of a long sum."""
    error = (_wide(theirs) - _wide(reference)).abs()
    error = error[torch.isfinite(error)]
    atol = limits.atol + (_AS_BAD_AS_PYTORCH * float(error.max()) if error.numel() else 0.0)
    if not elementwise:
        size = _wide(reference).abs()
        size = size[torch.isfinite(size)]
        if size.numel():
            atol += _ROUNDINGS * torch.finfo(theirs.dtype).eps * float(size.max())
    return _Limits(limits.rtol, atol)


def _described(
    ours: torch.Tensor, theirs: torch.Tensor, wrong: torch.Tensor, beyond: torch.Tensor, limits: _Limits
) -> Difference:
    count = int(wrong.sum())
    flat = int(torch.where(wrong, beyond, -1.0).argmax())
    index = tuple(int(i) for i in torch.unravel_index(torch.tensor(flat), theirs.shape)) if theirs.ndim else ()
    a, b = ours[index].item(), theirs[index].item()
    where = f" at {list(index)}" if index else ""
    many = f", {count:,} of {theirs.numel():,} elements" if theirs.numel() > 1 else ""
    gap = f", a difference of {abs(a - b):.3g}" if isinstance(a, float | complex) else ""
    size = float(beyond.flatten()[flat])
    tolerance = str(limits) if theirs.dtype in TOLERANCES else "the same value"
    return Difference(f"{_number(a)}, PyTorch {_number(b)}{where}{gap}{many}", tolerance, size)


def _number(value: Any) -> str:
    return f"{value:.7g}" if isinstance(value, float) else str(value)


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
