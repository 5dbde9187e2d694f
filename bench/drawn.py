"""Data and weights for `bench/libraries`, drawn by NumPy so that each engine starts with the same ones."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import torch

_generator = np.random.default_rng(0)
SHOWN = 4  # a tensor with more elements is shown by two norms


def restart() -> None:
    """Begin all draws anew, those of the libraries' own generators included."""
    global _generator
    _generator = np.random.default_rng(0)
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)


def normal(*shape: int) -> torch.Tensor:
    """Standard normal numbers, float32."""
    return torch.from_numpy(_generator.standard_normal(shape).astype(np.float32))


def uniform(*shape: int) -> torch.Tensor:
    """Numbers in [0, 1), float32."""
    return torch.from_numpy(_generator.random(shape, dtype=np.float32))


def integers(high: int, *shape: int) -> torch.Tensor:
    """Numbers in 0, 1, ..., high - 1, int64."""
    return torch.from_numpy(_generator.integers(0, high, shape))


def array(*shape: int) -> Any:
    """Standard normal numbers as an array of NumPy, float32."""
    return _generator.standard_normal(shape).astype(np.float32)


def filled(module: Any) -> Any:
    """The module with drawn parameters: matrices anew, by the size of their rows; vectors near what they were."""
    with torch.no_grad():
        for _, parameter in sorted(module.named_parameters()):
            if not parameter.is_floating_point():
                continue
            drawn = normal(*parameter.shape).to(parameter.dtype)
            if parameter.dim() > 1:
                parameter.copy_(drawn / math.sqrt(parameter[0].numel()))
            else:
                parameter.add_(0.1 * drawn)
    return module


def trained(loss: Callable[[], torch.Tensor], of: Any, steps: int = 5, rate: float = 0.01) -> list[float]:
    """The losses of some steps: of an optimizer, or of Adam on the parameters of a module or those given."""
    if isinstance(of, torch.nn.Module):
        of = list(of.parameters())
    optimizer = torch.optim.Adam(of, lr=rate) if isinstance(of, list) else of
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        value = loss()
        value.backward()
        optimizer.step()
        losses.append(float(value.detach()))
    return losses


def perceptron(inputs: int = 4, outputs: int = 2, hidden: int = 16) -> Any:
    """A network of two layers, filled."""
    return filled(
        torch.nn.Sequential(torch.nn.Linear(inputs, hidden), torch.nn.Tanh(), torch.nn.Linear(hidden, outputs))
    )


def batches(
    count: int = 4, size: int = 8, inputs: int = 4, classes: int = 2
) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Some batches of points and classes."""
    return [(normal(size, inputs), integers(classes, size)) for _ in range(count)]


def numbers(result: Any) -> Iterator[float]:
    """All numbers of a result: those of small tensors, and two norms of each larger one."""
    if isinstance(result, dict):
        result = list(result.values())
    if isinstance(result, (np.ndarray, np.generic)):
        result = torch.from_numpy(np.array(result))
    if isinstance(result, torch.Tensor):
        result = result.detach()
        if result.is_complex():
            result = torch.view_as_real(result)
        values = result.to(torch.float64).reshape(-1)
        if len(values) <= SHOWN:
            yield from values.tolist()
        else:
            ramp = torch.cos(torch.arange(len(values), dtype=torch.float64))
            size = torch.linalg.vector_norm(values)
            yield float(size)
            yield float(torch.linalg.vector_norm(values + ramp * size / math.sqrt(len(values))))
    elif isinstance(result, Iterable):
        for one in result:
            yield from numbers(one)
    else:
        yield float(result)
