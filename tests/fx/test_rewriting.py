"""Patterns are found and replaced as by PyTorch; parts and shapes are PyTorch's."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.fx.passes.shape_prop
import torch.fx.passes.split_module

import clew
import clew.fx.passes.shape_prop
import clew.fx.passes.split_module

from .both import made, neutral, to_clew


def chain(m: Any) -> Any:
    return lambda x, w: m.relu(m.neg(x) + w) * m.relu(m.neg(w) + x)


def concatenations(m: Any) -> Any:
    def f(x, w1, w2):
        first = m.cat([w1, w2]).sum()
        second = m.cat([w1, w2]).sum()
        return x + m.max(first) + m.max(second)

    return f


def reused(m: Any) -> Any:
    def f(x):
        y = m.neg(x)
        return m.relu(y) + y

    return f


def literals(m: Any) -> Any:
    return lambda x: (m.add(x, 1) * 2, m.add(x, 3) * 2, x.sum(dim=0))


CASES = {
    "sum": (chain, lambda m: lambda a, b: m.relu(m.neg(a) + b), lambda m: lambda a, b: m.sigmoid(a) - b),
    "cat": (concatenations, lambda m: lambda a, b: m.cat([a, b]), lambda m: lambda a, b: m.stack([a, b])),
    "leaks": (reused, lambda m: lambda a: m.relu(m.neg(a)), lambda m: lambda a: m.abs(a)),
    "overlaps": (
        lambda m: lambda x: m.neg(m.neg(m.neg(x))), lambda m: lambda a: m.neg(m.neg(a)), lambda m: lambda a: a.exp()
    ),
    "identity": (chain, lambda m: lambda a: m.neg(a), lambda m: lambda a: a),
    "none": (chain, lambda m: lambda a: m.exp(a), lambda m: lambda a: a),
    "literal": (literals, lambda m: lambda a: m.add(a, 1), lambda m: lambda a: m.sub(a, 5)),
    "method": (literals, lambda m: lambda a: a.sum(dim=0), lambda m: lambda a: a.mean(dim=0)),
    "two results": (chain, lambda m: lambda a, b: (m.neg(a), m.neg(b)), lambda m: lambda a, b: (a.sin(), b.cos())),
    "unused": (chain, lambda m: lambda a, b: m.neg(a) + b, lambda m: lambda a, b: m.relu(a)),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_replacement(case):
    def program(m: Any) -> Any:
        function, pattern, replacement = (make(m) for make in CASES[case])
        traced = m.fx.symbolic_trace(function)
        found = m.fx.replace_pattern(traced, pattern, replacement)
        traced.graph.lint()
        names = [(one.anchor.name, [(key.name, node.name) for key, node in one.nodes_map.items()]) for one in found]
        return traced.code, names

    ours, theirs = program(clew), program(torch)
    assert ours[0] == theirs[0]
    assert ours[1] == theirs[1]


def test_literals_are_ignored_and_places_filtered():
    def program(m: Any) -> Any:
        traced = m.fx.symbolic_trace(literals(m))
        found = m.fx.subgraph_rewriter.replace_pattern_with_filters(
            traced,
            lambda a: m.add(a, 7),
            lambda a: m.sub(a, 5),
            match_filters=[lambda match, graph, pattern: "add_1" in {n.name for n in match.nodes_map.values()}],
            ignore_literals=True,
        )
        return traced.code, [[node.name for node in one.replacements] for one in found]

    assert program(clew) == program(torch)


def test_modules_of_the_replacement_are_taken_over():
    def program(m: Any) -> Any:
        class New(m.nn.Module):
            def __init__(self):
                super().__init__()
                self.fresh = m.nn.Linear(3, 3)

            def forward(self, x):
                return self.fresh(x)

        traced = m.fx.symbolic_trace(lambda x: m.relu(x) + 1)
        m.fx.replace_pattern(traced, lambda x: m.relu(x), m.fx.symbolic_trace(New()))
        return traced.code, [name for name, _ in traced.named_parameters()]

    assert program(clew) == program(torch)


@pytest.mark.parametrize("name", ["Layers", "Weights", "Nested", "Convolutions", "functions", "unpacking", "operators"])
def test_parts(name):
    programs = made(name)

    def program(m: Any, model: Any) -> Any:
        seen = []
        traced = m.fx.symbolic_trace(model)
        order = {node: place for place, node in enumerate(traced.graph.nodes)}
        for options in ({}, {"keep_original_order": True}, {"keep_original_node_name": True, "partition_affix": "p"},
                        {"tuple_return": True, "keep_original_input_name": False}):  # fmt: skip
            names: dict[str, str] = {}
            split = m.fx.passes.split_module.split_module(
                traced, model, lambda node: order[node] // 3, names, **options
            )
            inner = [child.code for child in split.children() if isinstance(child, m.fx.GraphModule)]
            seen.append((split.code, inner, names))
        return neutral(repr(seen))

    assert program(clew, programs[0]) == program(torch, programs[1])


def test_parts_that_need_each_other_are_refused():
    traced = clew.fx.symbolic_trace(lambda x: x.sin().cos().exp())
    split = clew.fx.passes.split_module.split_module
    with pytest.raises(RuntimeError, match="cycle"):
        split(traced, None, lambda node: int(node.name == "cos"))


@pytest.mark.parametrize("name", ["Layers", "Convolutions", "Recurrent"])
@pytest.mark.parametrize("fake", [None, True])
def test_shapes(name, fake):
    ours, theirs = made(name)
    x = torch.randn(*getattr(ours, "example", (4, 4)))
    here, there = clew.fx.symbolic_trace(ours), torch.fx.symbolic_trace(theirs)
    clew.fx.passes.shape_prop.ShapeProp(here, fake).propagate(to_clew(x))
    torch.fx.passes.shape_prop.ShapeProp(there).propagate(x)

    def told(meta: Any) -> Any:
        if hasattr(meta, "dtype"):
            return tuple(meta.shape), str(meta.dtype), meta.requires_grad, tuple(meta.stride)
        return [told(one) for one in meta] if isinstance(meta, (tuple, list)) else meta

    for one, other in zip(here.graph.nodes, there.graph.nodes, strict=True):
        assert told(one.meta.get("tensor_meta")) == told(other.meta.get("tensor_meta")), one


@pytest.mark.beyond
def test_generated_code_is_compiled_kept_and_explained():
    model, _ = made("Layers")
    traced = clew.fx.symbolic_trace(model)
    x = clew.arange(8.0).reshape(2, 4)
    compiled = clew.compile(traced)
    for _ in range(4):
        assert clew.equal(compiled(x), model(x))
    assert "relu = torch.nn.functional.relu(first" in str(clew.explain(traced(x)))
