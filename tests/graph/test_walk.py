"""The traversal, on the engine's graphs and on made-up ones of awkward shapes."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import pytest

import clew
from clew.graph.explanations.layout import lay_out
from clew.graph.model.walk import nearest, walk


@dataclass(eq=False)
class Fake:
    """A node that has edges and nothing else."""

    name: str
    below: list[Any] = field(default_factory=list)

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        return tuple((node, 0) for node in self.below)


def names(nodes: Any) -> str:
    return "".join(node.name for node in nodes)


def random_graph(seed: int, size: int) -> list[Fake]:
    """Nodes whose edges lead to later ones only."""
    chance = random.Random(seed)
    nodes = [Fake(str(number)) for number in range(size)]
    for number, node in enumerate(nodes):
        later = nodes[number + 1 :]
        node.below = chance.sample(later, min(len(later), chance.randrange(4))) + [None] * chance.randrange(2)
    return nodes


def test_a_node_comes_before_its_inputs_and_the_first_edge_first() -> None:
    shared = Fake("s")
    root = Fake("r", [Fake("a", [shared]), None, Fake("b", [Fake("c", [shared])])])
    assert names(walk([root])) == "rabcs"


@pytest.mark.parametrize("seed", range(20))
def test_order_is_topological_complete_and_stable(seed: int) -> None:
    nodes = random_graph(seed, 60)
    order = walk(nodes[:3])
    place = {node: number for number, node in enumerate(order)}
    assert len(place) == len(order)
    for node in order:
        assert all(place[node] < place[below] for below in node.below if below is not None)
    reached, stack = set(), list(nodes[:3])
    while stack:
        node = stack.pop()
        if node not in reached:
            reached.add(node)
            stack.extend(below for below in node.below if below is not None)
    assert reached == set(order)
    assert walk(nodes[:3]) == order


def test_several_roots_are_listed_in_their_order_and_once() -> None:
    shared = Fake("s")
    a, b = Fake("a", [shared]), Fake("b", [shared])
    assert names(walk([a, b])) == "abs"
    assert names(walk([a, a])) == "as"
    assert walk([]) == []


def test_seen_leaves_out_what_was_walked_before() -> None:
    shared = Fake("s", [Fake("t")])
    seen: set[Any] = set()
    assert names(walk([Fake("a", [shared])], seen)) == "ast"
    assert names(walk([Fake("b", [shared, Fake("c")])], seen)) == "bc"


def test_a_deep_graph_needs_no_deep_stack() -> None:
    y = clew.ones(1, requires_grad=True)
    z = y
    for _ in range(300_000):
        z = z * 1.0
    order = walk([z.grad_fn])
    assert len(order) == 300_001
    assert order[0] is z.grad_fn
    assert order[-1].variable is y


def test_a_graph_that_doubles_is_linear() -> None:
    """Forty levels with two edges each: 2**40 paths, 40 nodes."""
    node = Fake("x")
    for _ in range(40):
        node = Fake("x", [node, node])
    assert len(walk([node])) == 41
    assert len(nearest([node], 1000)) == 41


def test_nearest_is_breadth_first() -> None:
    deep = Fake("d", [Fake("e", [Fake("f")])])
    root = Fake("r", [deep, Fake("b", [Fake("c")])])
    assert names(nearest([root], 3)) == "rdb"
    assert names(nearest([root], 100)) == "rdbecf"


def test_names_of_a_small_graph() -> None:
    x = clew.tensor([3.0], requires_grad=True)
    order = walk([(x**2 + x**3).grad_fn])
    assert [type(node).__name__ for node in order] == ["AddBackward0", "PowBackward0", "PowBackward0", "AccumulateGrad"]


@pytest.mark.parametrize("seed", range(20))
def test_layout_prints_each_node_once_under_a_consumer_of_its(seed: int) -> None:
    order = walk(random_graph(seed, 60)[:3])
    layout = lay_out(order)
    assert sorted(layout.order, key=id) == sorted(order, key=id)
    printed = {node: number for number, node in enumerate(layout.order)}
    for node, above in layout.parent.items():
        if above is not None:
            assert node in above.below
            assert printed[above] < printed[node]


def test_layout_puts_the_end_of_a_skip_connection_below_what_it_skips() -> None:
    x = Fake("x")
    add = Fake("+", [x, Fake("1", [Fake("2", [x])])])
    layout = lay_out(walk([add]))
    assert names(layout.order) == "+12x"
    assert layout.parent[x].name == "2"


def test_layout_prints_the_longest_line_of_inputs_last() -> None:
    root = Fake("r", [Fake("a", [Fake("b", [Fake("c")])]), Fake("l"), Fake("t", [Fake("w")])])
    assert names(lay_out(walk([root])).order) == "rltwabc"
