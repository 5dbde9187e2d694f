"""Rows of an explanation say which module a node belongs to, where a parameter of it proves that."""

from __future__ import annotations

import clew
from clew import nn


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(4, 12)

    def forward(self, x: clew.Tensor) -> clew.Tensor:
        q, k, v = self.qkv(x).chunk(3, -1)
        return clew.softmax(q @ k.T, -1) @ v


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([Attention(), Attention()])

    def forward(self, x: clew.Tensor) -> clew.Tensor:
        for block in self.blocks:
            x = x + block(x)
        return x


def test_a_node_that_uses_a_modules_parameter_is_the_modules() -> None:
    model = Model()
    told = clew.explain(model(clew.ones(3, 4)).sum())
    modules = {node.module for node in told.nodes if node.name == "AddmmBackward0"}
    assert modules == {"model.blocks.0.qkv · Linear", "model.blocks.1.qkv · Linear"}
    assert "model.blocks.1.qkv · Linear: AddmmBackward0 (3, 12)" in str(told)


def test_what_uses_no_parameter_is_said_to_be_in_no_module() -> None:
    model = Model()
    told = clew.explain(model(clew.ones(3, 4)).sum())
    others = {node.name: node.module for node in told.nodes if node.module is None}
    assert {"SumBackward0", "SoftmaxBackward0", "AddBackward0"} <= set(others)


def test_attributes_of_what_is_no_module_are_no_module() -> None:
    class Plain:
        w = None

    holder = Plain()
    holder.w = clew.ones(3, requires_grad=True)  # type: ignore[assignment]
    told = clew.explain(holder.w * 2)
    assert [node.leaf.name for node in told.nodes if node.leaf] == ["holder.w"]
    assert all(node.module is None for node in told.nodes)
