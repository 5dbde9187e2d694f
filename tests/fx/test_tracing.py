"""Graphs, code and results of traced programs are PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import clew

from .both import OURS, made, neutral, rows, to_clew

NAMES = [one.__name__ for one in OURS.PROGRAMS]


def example(program: Any) -> list[torch.Tensor]:
    shape = getattr(program, "example", (4, 4))
    generator = torch.Generator().manual_seed(1)
    count = 3 if getattr(program, "__name__", "") == "names" else 1
    return [torch.randn(*shape, generator=generator) for _ in range(count)]


def same(ours: Any, theirs: Any) -> None:
    if isinstance(theirs, torch.Tensor):
        np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-5, atol=1e-6)
    elif isinstance(theirs, (list, tuple)):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            same(one, other)
    elif isinstance(theirs, dict):
        assert list(ours) == list(theirs)
        same(list(ours.values()), list(theirs.values()))
    elif isinstance(theirs, torch.dtype):
        assert str(ours) == str(theirs)
    else:
        assert ours == theirs


@pytest.mark.parametrize("name", NAMES)
def test_program(name):
    ours, theirs = made(name)
    here, there = clew.fx.symbolic_trace(ours), torch.fx.symbolic_trace(theirs)
    assert rows(here.graph) == rows(there.graph)
    assert neutral(here.code) == neutral(there.code)
    args = example(ours)
    expected = theirs(*[one.clone() for one in args])
    same(here(*map(to_clew, args)), expected)
    same(clew.fx.Interpreter(here).run(*map(to_clew, args)), expected)
    again = clew.fx.symbolic_trace(here)
    assert neutral(again.code) == neutral(torch.fx.symbolic_trace(there).code)
    same(again(*map(to_clew, args)), expected)
    if name == "nothing":  # PyTorch writes code without a line
        return
    assert neutral(clew.fx.Transformer(here).transform().code) == neutral(torch.fx.Transformer(there).transform().code)
