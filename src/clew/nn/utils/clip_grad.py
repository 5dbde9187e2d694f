"""Limiting gradients."""

from __future__ import annotations

from collections.abc import Iterable

import clew
from clew import Tensor


def _grads(parameters: Tensor | Iterable[Tensor]) -> list[Tensor]:
    parameters = [parameters] if isinstance(parameters, Tensor) else parameters
    return [parameter.grad for parameter in parameters if parameter.grad is not None]


def get_total_norm(
    tensors: Iterable[Tensor],
    norm_type: float | str = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The norm of all tensors, as if they were one vector.

    Args:
        norm_type: the p of the norm: a number, or a text that `float` reads, as "inf".

    Raises:
        RuntimeError: it is not finite and `error_if_nonfinite`.

    Example:
        >>> torch.nn.utils.get_total_norm([torch.tensor([3.0]), torch.tensor([4.0])])
        tensor(5.)
    """
    norm_type = float(norm_type)
    norms = [tensor.norm(norm_type) for tensor in tensors]
    if not norms:
        return clew.tensor(0.0)
    total = clew.stack([norm.to(norms[0].dtype) for norm in norms]).norm(norm_type)
    if error_if_nonfinite and not bool(clew.isfinite(total)):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be "
            "clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
            "`error_if_nonfinite=False`"
        )
    return total


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float | str = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale all gradients by one factor, in place, so that their total norm is at most `max_norm`.

    Args:
        norm_type: the p of the norm: a number, or "inf".
        error_if_nonfinite: raise if the norm is infinite or NaN.
        foreach: accepted, without effect.

    Returns:
        The norm before, a tensor of shape ().

    Raises:
        RuntimeError: the norm is not finite and `error_if_nonfinite`.

    Example:
        >>> weight = torch.nn.Parameter(torch.tensor([3.0, 4.0]))
        >>> (weight * weight).sum().backward()
        >>> torch.nn.utils.clip_grad_norm_([weight], max_norm=1.0)
        tensor(10.)
        >>> weight.grad
        tensor([0.6000, 0.8000])
    """
    del foreach  # a hint on how, not on what
    with clew.no_grad():
        grads = _grads(parameters)
        total = get_total_norm(grads, norm_type, error_if_nonfinite)
        # The small number keeps the quotient finite where all gradients are zero.
        factor = (float(max_norm) / (total + 1e-6)).clamp(max=1.0)
        for grad in grads:
            grad.mul_(factor.to(grad.dtype))
        return total


def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None) -> None:
    """Clamp each element of each gradient to `[-clip_value, clip_value]`, in place.

    Example:
        >>> weight = torch.nn.Parameter(torch.tensor([3.0, 0.25]))
        >>> (weight * weight).sum().backward()
        >>> torch.nn.utils.clip_grad_value_([weight], 1.0)
        >>> weight.grad
        tensor([1.0000, 0.5000])
    """
    del foreach
    with clew.no_grad():
        for grad in _grads(parameters):
            grad.clamp_(-float(clip_value), float(clip_value))
