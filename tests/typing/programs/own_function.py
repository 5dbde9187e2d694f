"""A Function with a backward of its own."""

from typing import Any

import clew as torch
from clew import Tensor


class Clamp(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, limit: float) -> Tensor:
        ctx.save_for_backward(x)
        ctx.limit = limit
        return x.clamp(-limit, limit)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (x,) = ctx.saved_tensors
        return gradient * (x.abs() <= ctx.limit), None


x = torch.linspace(-2, 2, 5, requires_grad=True)
Clamp.apply(x, 1.0).sum().backward()
print(x.grad)
