"""`.grad` lies in memory as its leaf does, and large gradients pass through rules as they lie."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch as pytorch

import clew as torch

LEAVES = {
    "contiguous": lambda m: m.arange(6.0).reshape(2, 3),
    "transposed": lambda m: m.arange(6.0).reshape(3, 2).t(),
    "with gaps": lambda m: m.arange(12.0).reshape(2, 6)[:, ::2],
    "expanded": lambda m: m.arange(3.0).expand(2, 3),
}
PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda m, x: x.sum(),
    "square": lambda m, x: (x * x).sum(),
    "contiguous": lambda m, x: (x.contiguous() * 2).sum(),
    "copied transposed": lambda m, x: (x.t().contiguous() ** 2).sum(),
    "matrix product": lambda m, x: (x @ m.arange(12.0).reshape(3, 4)).sum(),
    "product from the left": lambda m, x: (m.arange(8.0).reshape(4, 2) @ x).sum(),
    "indexed": lambda m, x: x[0].sum() + x[:, 1].sum(),
    "cast": lambda m, x: x.double().exp().sum(),
}


@pytest.mark.parametrize("leaf", LEAVES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_strides_of_the_first_and_second_gradient(leaf: str, program: str) -> None:
    found = []
    for module in (torch, pytorch):
        x = LEAVES[leaf](module).detach().requires_grad_()
        strides = []
        for _ in range(2):
            PROGRAMS[program](module, x).backward()
            strides.append(x.grad.stride())
        found.append((strides, x.grad.tolist()))
    assert found[0] == found[1]


@pytest.mark.filterwarnings("ignore:Using backward")
@pytest.mark.parametrize("leaf", LEAVES)
def test_recorded_gradients(leaf: str) -> None:
    found = []
    for module in (torch, pytorch):
        x = LEAVES[leaf](module).detach().requires_grad_()
        (x**3).sum().backward(create_graph=True)
        node = x.grad.grad_fn
        first = x.grad
        found.append((first.stride(), node.name().split("::")[-1], len(node.next_functions)))
        x.grad = None
        first.sum().backward()
        found[-1] += (x.grad.tolist(), x.grad.stride())
    assert found[0] == found[1]


def test_a_gradient_that_nobody_holds_is_taken_over() -> None:
    """Of a transposed leaf, too: its gradient takes no second block."""
    x = torch.ones(300, 400).t().requires_grad_()
    y = (x * x).sum()
    seen: list[int] = []
    x.register_hook(lambda g: seen.append(g.data_ptr()))
    y.backward()
    assert x.grad.stride() == x.stride()
    assert x.grad.data_ptr() == seen[0]


SIZE = (1030, 1025)  # more than 4 MiB of float32: cut in strips


def program(x: Any) -> Any:
    y = x.sin() * x.exp() - (x * x + 1.0).log()
    return y / (1.0 + y.sigmoid()) + y.tanh()


@pytest.mark.parametrize("gradient", ["one number", "dense", "other order"])
def test_strips_of_transposed_tensors(gradient: str) -> None:
    """The same bits as of the contiguous tensor, in the leaf's order."""
    values = numpy.random.default_rng(0).standard_normal(SIZE).astype("float32")
    given = numpy.random.default_rng(1).standard_normal(SIZE).astype("float32")
    grads = []
    for transpose in (False, True):
        leaf = torch.tensor(values)
        leaf = leaf.t().contiguous().t() if transpose else leaf
        leaf.requires_grad_()
        y = program(leaf)
        if gradient == "one number":
            y.sum().backward()
        else:
            factor = torch.tensor(given)
            y.backward(factor.t().contiguous().t() if transpose == (gradient == "dense") else factor)
        assert leaf.grad.stride() == leaf.stride()
        grads.append(leaf.grad.numpy())
    assert numpy.array_equal(*grads)


@pytest.mark.parametrize("kind", ["SGD", "Adam", "AdamW"])
@pytest.mark.parametrize("leaf", ["transposed", "with gaps"])
def test_optimizers_step_parameters_as_they_lie(kind: str, leaf: str) -> None:
    options = {"lr": 0.1, "momentum": 0.9} if kind == "SGD" else {"lr": 0.1, "amsgrad": True}
    ends = []
    for name in ("contiguous", leaf):
        parameter = LEAVES[leaf](torch).detach()
        parameter = (parameter.contiguous() if name == "contiguous" else parameter).requires_grad_()
        optimizer = getattr(torch.optim, kind)([parameter], **options)
        for _ in range(3):
            optimizer.zero_grad()
            (parameter.sin() * torch.arange(6.0).reshape(2, 3)).sum().backward()
            optimizer.step()
        ends.append(parameter.detach().tolist())
    assert ends[0] == ends[1]


def test_gradients_without_elements_have_the_strides_of_fresh_results() -> None:
    strides = []
    for module in (torch, pytorch):
        x = module.ones(2, 0, dtype=module.float64, requires_grad=True)
        y = x.to(module.float32).log1p_()
        (slope,) = module.autograd.grad(y, [x], module.ones(2, 0), create_graph=True)
        (curvature,) = module.autograd.grad(slope.sum(), [x])
        strides.append((slope.stride(), curvature.stride()))
    assert strides[0] == strides[1]


@pytest.mark.parametrize("function", [lambda other, x: other / x, lambda other, x: (other * x).exp()])
def test_an_expanded_gradient_of_one_element_leaves_no_stride_of_zero(function):
    def strides(m):
        x, other = m.tensor([0.5]).requires_grad_(), m.tensor([2.0], dtype=m.float64)
        ones = m.ones(1, dtype=m.float64)
        (first,) = m.autograd.grad(function(other, x), x, ones, create_graph=True)
        (second,) = m.autograd.grad(first.sum(), x)
        return first.stride(), second.stride()

    assert strides(torch) == strides(pytorch)
