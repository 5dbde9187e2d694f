"""A backward pass without a trace: the rules of the nodes between a loss and one tensor, and the norms on the way."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from ... import _core
from ..._device import strided
from ..model.places import ReleaseRecord
from ..model.walk import walk
from .flow import element, first
from .shadow import norm_of

Target = tuple[Any, int]  # a node and the number of its output


@dataclass(slots=True)
class Edge:
    """What one node sends on along one edge."""

    below: Target
    norm: float


@dataclass(slots=True)
class Hop:
    """One node that has run: how large was what came, and what it sent on towards the tensor."""

    node: Any
    norm: float
    is_finite: bool
    edges: list[Edge] = field(default_factory=list)
    returns_none: bool = False
    at_wrong: dict[str, float] = field(default_factory=dict)
    """Of the first element that is not finite: what came, and what the node saved."""


class Backward:
    """Runs the rules that lead from ``loss`` to ``target``. No hook runs, no ``.grad`` is set, nothing is freed."""

    def __init__(self, loss: Any, target: Target) -> None:
        self.hops: list[Hop] = []
        self.target = target
        self.gradient: Any = None
        root = (loss.grad_fn, loss.output_nr)
        order = walk([loss.grad_fn])
        leads = {target[0]}
        for node in reversed(order):
            if any(below in leads for below, _ in node.next_functions):
                leads.add(node)
        waiting: dict[Target, Any] = {root: loss.detach().new_ones(loss.shape)}
        for node in order:
            if node is target[0]:
                self.gradient = waiting.get(target)
            if node in leads and node is not target[0]:
                incoming = [waiting.pop((node, number), None) for number in range(len(node.outputs))]
                if any(one is not None for one in incoming):
                    self._run(node, incoming, leads, waiting)

    def path(self) -> list[tuple[Hop, Edge]]:
        """The heaviest path from the loss to the tensor, edge by edge."""
        into: dict[Any, list[tuple[Hop, Edge]]] = defaultdict(list)
        for hop in self.hops:
            for edge in hop.edges:
                into[edge.below[0]].append((hop, edge))
        found, node = [], self.target[0]
        while into[node]:
            hop, edge = max(into[node], key=lambda one: math.inf if math.isnan(one[1].norm) else one[1].norm)
            found.append((hop, edge))
            node = hop.node
        return found[::-1]

    def _run(self, node: Any, incoming: list[Any], leads: set[Any], waiting: dict[Target, Any]) -> None:
        if node.released is not None and any(slot.state == "freed" for slot in node.saved):
            raise RuntimeError(
                "why_grad: expected a graph whose saved tensors are there, got one that was freed by "
                f"{ReleaseRecord.of(node.released)}. To do: ask before backward, or pass retain_graph=True there"
            )
        came = [one for one in incoming if one is not None]
        size = math.hypot(*map(norm, came))
        hop = Hop(node, size, all(bool(one.isfinite().all()) for one in came))
        self.hops.append(hop)
        for (below, number), made in zip(node.next_functions, _core.run_rule(node, list(incoming)), strict=True):
            if below not in leads:
                continue
            if made is None:
                hop.returns_none = True
                continue
            made = _fitted(made.detach(), below.outputs[number])
            edge = Edge((below, number), norm(made))
            hop.edges.append(edge)
            wrong = ~made.isfinite()
            if hop.is_finite and not hop.at_wrong and bool(wrong.any()):
                hop.at_wrong = _values_at(node, came[0], made, first(wrong))
            before = waiting.get((below, number))
            waiting[below, number] = made if before is None else before + made


def _fitted(gradient: Any, output: Any) -> Any:
    """As the engine passes it on: dense, real if the tensor is, and summed over axes that were broadcast."""
    shape, dtype = output
    dense = gradient if gradient.layout is strided else gradient.to_dense()
    real = dense if dtype.is_complex or not dense.dtype.is_complex else dense.real
    return real if shape is None or tuple(real.shape) == tuple(shape) else real.sum_to_size(*shape)


def norm(tensor: Any) -> float:
    """Euclidean, in float64."""
    return norm_of(tensor.to(_core.dtypes["complex128" if tensor.dtype.is_complex else "float64"]).numpy())


def saved(node: Any) -> dict[str, Any]:
    """The tensors that a node saved, by name; those that are held."""
    named = ((slot.name, getattr(node, f"_saved_{slot.name}", None)) for slot in node.saved if slot.state == "held")
    return {name: one.detach() for name, one in named if isinstance(one, _core.Tensor)}


def _values_at(node: Any, came: Any, made: Any, number: int) -> dict[str, float]:
    tensors = {"gradient": came, **saved(node), "sent on": made}
    return {
        name: element(one, number)
        for name, one in tensors.items()
        if not one.dtype.is_complex and (one.shape == made.shape or one.dim() == 0)
    }
