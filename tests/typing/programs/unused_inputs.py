"""Inputs that may be unused have gradients that may be None."""

import clew as torch

x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
found = torch.autograd.grad((x * 2).sum(), [x, y], allow_unused=True)
sizes: list[int] = [0 if gradient is None else gradient.numel() for gradient in found]
print(sizes)
