"""A backward run one node at a time, to look at each gradient on its way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ... import _core
from ..._device import strided
from ..model.notebook import Shown
from ..model.places import Place
from ..model.protocol import Node, is_tensor, tensors_of


@dataclass(frozen=True, slots=True)
class Step(Shown):
    """What happened at one node.

    ``number`` counts the nodes in the order in which they run, from 1; :func:`clew.explain` numbers them as it prints
    them. ``incoming`` are the gradients of its outputs, ``outgoing`` those of its inputs; None where there is none.
    They are the engine's own tensors: clone one before you write to it.

    Example:
        >>> x = clew.tensor([3.0], requires_grad=True)
        >>> [(at.number, type(at.node).__name__) for at in clew.graph.step((x * 2).sum())]
        [(1, 'SumBackward0'), (2, 'MulBackward0'), (3, 'AccumulateGrad')]
    """

    number: int
    node: Node
    incoming: tuple[Any, ...]
    outgoing: tuple[Any, ...]

    @property
    def made_at(self) -> Place | None:
        """The line that made the node."""
        return Place.of(self.node.made_at)

    def __str__(self) -> str:
        came = ", ".join(map(_summary, self.incoming))
        sent = ", ".join(map(_summary, self.outgoing))
        place = self.made_at
        where = f"  {place}: {place.source}" if place and place.source else f"  {place}" if place else ""
        arrow = f" → {sent}" if self.outgoing else " → .grad of a leaf"
        return f"{self.number:>4} {type(self.node).__name__}: {came}{arrow}{where}"


def step(
    tensors: Any,
    gradient: Any = None,
    *,
    retain_graph: bool | None = None,
    create_graph: bool = False,
) -> Iterator[Step]:
    """Run ``backward()`` of a tensor, or of a sequence of tensors, node by node. Each node is yielded after it has run.

    When the iterator is exhausted, the state is that after ``backward()``. If you stop before, the rest does not run:
    the nodes that have run are freed (without ``retain_graph``), and gradients that have not arrived are lost. Between
    the steps you may do anything, even run other backward passes.

    Args:
        tensors: where to begin.
        gradient: as in ``backward``: one for each tensor; scalars need none.
        retain_graph, create_graph: as in ``backward``.

    Raises:
        TypeError: ``tensors`` is neither a tensor nor a sequence of them.
        RuntimeError: whatever ``backward`` would raise for these arguments, before the first step.

    Example:
        >>> x = clew.tensor([3.0], requires_grad=True)
        >>> for at in clew.graph.step((x**2).sum()):
        ...     print(type(at.node).__name__, *(gradient.tolist() for gradient in at.incoming))
        SumBackward0 1.0
        PowBackward0 [1.0]
        AccumulateGrad [6.0]
        >>> x.grad
        tensor([6.])
    """
    roots = tensors_of("step", tensors)
    gradients: list[Any] | None = None if gradient is None else [gradient] if is_tensor(gradient) else list(gradient)
    return _steps(_core.stepped_backward(roots, gradients, retain_graph, create_graph))


def _steps(run: Any) -> Iterator[Step]:
    number = 0
    while (happened := run.next()) is not None:
        number += 1
        yield Step(number, *happened)


def _summary(gradient: Any) -> str:
    """``(3, 4) norm 1.2e-03``, with what is not finite said."""
    if gradient is None:
        return "none"
    sparse = gradient.layout is not strided
    value = gradient.coalesce().values().detach() if sparse else gradient.detach()
    size = float((value * value).sum() ** 0.5)
    broken = "" if bool(value.isfinite().all()) else " NOT FINITE"
    shape = tuple(gradient.shape)
    return f"{shape} norm {size:.3g}{broken}" if shape else f"{float(value):.4g}{broken}"
