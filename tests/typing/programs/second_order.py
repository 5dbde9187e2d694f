"""A gradient of a gradient."""

import clew as torch


def newton_step(x: torch.Tensor) -> torch.Tensor:
    y = (x**4 - 3 * x**2).sum()
    (first,) = torch.autograd.grad(y, x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    return (x - first / second).detach().requires_grad_()


point = torch.tensor([2.0], requires_grad=True)
for _ in range(4):
    point = newton_step(point)
print(point.tolist())
