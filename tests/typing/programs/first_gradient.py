"""A gradient, and a number taken out."""

import clew as torch

x = torch.tensor([1.0, 2.0], requires_grad=True)
loss = (x**2).sum()
loss.backward()
assert x.grad is not None
slope: torch.Tensor = x.grad
number: float = loss.item()
print(slope.shape, f"{number:.3f}", number / 2)
