"""A module of the user's own."""

import clew as torch
from clew import Tensor, nn


class Attention(nn.Module):
    scale: float

    def __init__(self, width: int) -> None:
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.scale = width**-0.5
        self.register_buffer("mask", torch.ones(5, 5).tril())

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = self.qkv(x).chunk(3, dim=-1)
        weights = torch.softmax(query @ key.transpose(-2, -1) * self.scale, dim=-1)
        result: Tensor = weights @ value
        return result


out: Tensor = Attention(8)(torch.randn(2, 5, 8))
print(out.mean().item())
