"""Clearing gradients, for modules and optimizers."""

from __future__ import annotations

from clew import Tensor


def clear_grad(tensor: Tensor, set_to_none: bool) -> None:
    """Drop `tensor.grad` or, if it is to stay, cut its history and fill it with zeros."""
    if set_to_none:
        tensor.grad = None
        return
    grad = tensor.grad
    if grad is not None:
        if grad.grad_fn is not None:
            grad.detach_()
        else:
            grad.requires_grad_(False)
        grad.zero_()
