"""Indexing, shapes and reductions."""

import clew as torch

x = torch.arange(12).reshape(3, 4)
rows, columns = x.shape
first: torch.Tensor = x[0, 1:]
values, places = x.float().max(dim=1)
x[x > 5] = 0
mean = x.float().mean(dim=(0, 1), keepdim=True)
print(rows * columns, first.size(0), values.sum().item(), places.tolist(), mean.ndim)
