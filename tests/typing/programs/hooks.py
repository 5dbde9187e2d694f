"""Hooks on tensors and modules."""

import clew as torch
from clew import Tensor, nn

norms: list[float] = []


def note(gradient: Tensor) -> None:
    norms.append(float(gradient.norm()))


x = torch.ones(3, requires_grad=True)
handle = x.register_hook(note)
(x * 2).sum().backward()
handle.remove()
layer = nn.Linear(2, 2)
layer.register_forward_hook(lambda module, inputs, output: print(type(module).__name__, output.shape))
layer(torch.ones(1, 2))
print(norms)
