"""Whether two results are equal, in PyTorch's process: tolerances, special values, and a referee of higher precision.

A difference beyond the tolerances of `torch.testing.assert_close` is looked at again: both results are held against
what PyTorch computes in the next wider dtype. A long sum has errors of its own in either library.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch

TOLERANCES = {  # of the value, and absolute
    torch.float16: (1e-3, 1e-5),
    torch.bfloat16: (1.6e-2, 1e-5),
    **dict.fromkeys((torch.float32, torch.complex64), (1.3e-6, 1e-5)),
    **dict.fromkeys((torch.float64, torch.complex128), (1e-7, 1e-7)),
}
_ROUNDINGS = 32  # of the largest element, in a result that is a sum over others
_AS_BAD_AS_PYTORCH = 8  # so many times PyTorch's own largest error
_CHOOSES = {"sort", "topk", "kthvalue", "median", "nanmedian", "mode", "max", "min", "cummax", "cummin"}
_CHOOSES |= {"argmax", "argmin"}


class Difference(NamedTuple):
    """Two results that are not equal."""

    what: str
    """One line: by how much, at which element."""
    tolerance: str


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
        return Difference(f"shape {tuple(ours.shape)}, PyTorch {tuple(theirs.shape)}", "the same shape")
    if ours.dtype != theirs.dtype:
        return Difference(f"dtype {ours.dtype}, PyTorch {theirs.dtype}".replace("torch.", ""), "the same dtype")
    ours, theirs = ours.detach(), theirs.detach()
    if torch.equal(ours, theirs):
        return None
    rtol, atol = TOLERANCES.get(theirs.dtype, (0.0, 0.0))
    is_plain = theirs.is_floating_point() and theirs.numel() > 0
    if is_plain and float((ours - theirs).abs_().sub_(theirs.abs(), alpha=rtol).max()) <= atol:
        return None  # the quick way; NaN is looked at below
    beyond = _beyond(ours, theirs, rtol, atol)
    if not bool((beyond > 1).any()):
        return None
    reference = wider() if theirs.dtype in TOLERANCES else None
    if reference is not None and reference.shape == theirs.shape:
        reference = reference.detach()
        atol += _AS_BAD_AS_PYTORCH * _largest(_wide(theirs) - _wide(reference))
        if not elementwise:
            atol += _ROUNDINGS * torch.finfo(theirs.dtype).eps * _largest(_wide(reference))
        beyond = _beyond(ours, reference, rtol, atol)
        if not bool((beyond > 1).any()):
            return None
    worst = int(beyond.argmax())
    index = [int(i) for i in torch.unravel_index(torch.tensor(worst), theirs.shape)] if theirs.ndim else []
    a, b = ours.flatten()[worst].item(), theirs.flatten()[worst].item()
    gap = f", a difference of {abs(a - b):.3g}" if isinstance(a, float | complex) else ""
    many = f", {int((beyond > 1).sum()):,} of {theirs.numel():,} elements" if index else ""
    what = f"{_number(a)}, PyTorch {_number(b)}{f' at {index}' if index else ''}{gap}{many}"
    return Difference(what, f"{rtol:.2g} of the value + {atol:.2g}" if theirs.dtype in TOLERANCES else "the same value")


def _wide(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.to(torch.complex128 if tensor.is_complex() else torch.float64)


def _largest(tensor: torch.Tensor) -> float:
    sizes = tensor.abs()
    sizes = sizes[torch.isfinite(sizes)]
    return float(sizes.max()) if sizes.numel() else 0.0


def _beyond(ours: torch.Tensor, theirs: torch.Tensor, rtol: float, atol: float) -> torch.Tensor:
    """By how many times the tolerance they differ; infinite where one of them is NaN or infinite."""
    a, b = _wide(ours), _wide(theirs)
    times = (a - b).abs() / (atol + rtol * b.abs())
    same = (a == b) | (torch.isnan(a) & torch.isnan(b))
    return torch.where(same, 0.0, torch.where(torch.isfinite(times), times, torch.inf))


def _number(value: Any) -> str:
    return f"{value:.7g}" if isinstance(value, float) else str(value)


def is_another_choice(name: str, values: Any, ours: torch.Tensor, theirs: torch.Tensor, outs: Any) -> bool:
    """Whether it is another choice among equal values, or another basis of the same factorization.

    Args:
        name: of the operation.
        values: its arguments, the tensor first.
        ours, theirs: the result that differs.
        outs: all results of clew.
    """
    x = values[0]
    if not isinstance(x, torch.Tensor) or ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return False
    if theirs.dtype == torch.int64 and name in _CHOOSES:
        dims = [value for value in values[1:] if type(value) is int][name in ("topk", "kthvalue") :]
        if not dims or x.ndim == 0:
            return bool(torch.equal(x.flatten()[ours.flatten()], x.flatten()[theirs.flatten()]))
        if ours.ndim < x.ndim:
            ours, theirs = ours.unsqueeze(dims[0]), theirs.unsqueeze(dims[0])
        return bool(torch.equal(x.gather(dims[0], ours), x.gather(dims[0], theirs)))
    if name == "linalg_qr":
        again = outs[0] @ outs[1]
    elif name == "_linalg_svd":
        again = outs[0][..., : outs[1].shape[-1]] * outs[1].unsqueeze(-2) @ outs[2][..., : outs[1].shape[-1], :]
    elif name == "_linalg_eigh":
        again = outs[1] * outs[0].unsqueeze(-2) @ outs[1].mT
    else:
        return False
    x = x.detach()
    tolerance = 64 * torch.finfo(x.dtype).eps * float(x.abs().max()) * max(x.shape[-2:])
    return again.shape == x.shape and bool(((again - x).abs() <= tolerance).all())
