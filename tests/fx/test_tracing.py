"""Graphs, code and results of traced programs are PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import clew

from .both import OURS, THEIRS, made, neutral, rows, to_clew

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


def test_parameters_are_seen_where_a_class_overrides_getattr():
    def program(m: Any) -> Any:
        class Asked(m.nn.Module):
            def __init__(self):
                super().__init__()
                self.scale = m.nn.Parameter(m.ones(2))
                self.inner = m.nn.Linear(2, 2)

            def __getattr__(self, name):
                return super().__getattr__("scale" if name == "alias" else name)

            def forward(self, x):
                return self.inner(x) * self.alias + self.scale * self.inner.bias

        return m.fx.symbolic_trace(Asked()).code

    assert program(clew) == program(torch)


def test_a_trace_leaves_modules_as_they_were():
    from clew.nn.modules.attributes import Attributes

    before = [dict(vars(one)) for one in (clew.nn.Module, Attributes)]
    with pytest.raises(clew.fx.proxy.TraceError):
        clew.fx.symbolic_trace(lambda x: clew.nn.ReLU() if x else x)
    clew.fx.symbolic_trace(clew.nn.Linear(2, 2))
    assert [dict(vars(one)) for one in (clew.nn.Module, Attributes)] == before


def test_a_tracer_may_patch_by_itself_what_is_called():
    """As torch_geometric's does, which replaces `trace`."""

    def program(m: Any) -> Any:
        private = m.fx._symbolic_trace

        class Own(m.fx.Tracer):
            @private.compatibility(is_backward_compatible=True)
            def trace(self, root, concrete_args=None):
                self.root, self.submodule_paths = root, {one: name for name, one in root.named_modules()}
                self.graph, self.tensor_attrs = m.fx.Graph(tracer_cls=type(self)), {}
                function, args = self.create_args_for_root(type(root).forward, True, concrete_args)
                cache = {}

                def reading(module, name):
                    return self.getattr(name, private._orig_module_getattr(module, name), cache)

                def calling(module, *args, **kwargs):
                    def forward(*args, **kwargs):
                        return private._orig_module_call(module, *args, **kwargs)

                    return self.call_module(module, forward, args, kwargs)

                with private._Patcher() as patcher:
                    patcher.patch_method(m.nn.Module, "__getattr__", reading, deduplicate=False)
                    patcher.patch_method(m.nn.Module, "__call__", calling, deduplicate=False)
                    private._patch_wrapped_functions(patcher)
                    private._autowrap_check(patcher, function.__globals__, self._autowrap_function_ids)
                    self.create_node("output", "output", (self.create_arg(function(*args)),), {})
                return self.graph

        model = made("SharedTwice")[m is torch]
        return neutral(m.fx.GraphModule(model, Own().trace(model)).code)

    assert program(clew) == program(torch)


def test_a_tensor_on_the_left_is_recorded():
    """As a function, where PyTorch records a method: here, they are the same."""
    ours, theirs = (one.tensor_first for one in (OURS, THEIRS))
    here, there = clew.fx.symbolic_trace(ours), torch.fx.symbolic_trace(theirs)
    assert [node.name for node in here.graph.nodes] == [node.name for node in there.graph.nodes]
    x = torch.randn(4, 4)
    same(here(to_clew(x)), theirs(x))
