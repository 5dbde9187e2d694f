"""How much memory will the backward need? Known before it runs.

Note [Predicting the peak]
What a derivative takes depends on its operation, its shapes and what is broadcast; a table of that would drift from the
engine. So each rule is run once, alone, with its kernels skipped, and the memory that it takes and gives is measured;
rules of the same line and shapes (the layers of a loop) once together. Where values decide, it computes. Then the whole
backward is played through with sizes only, in the engine's order: which gradients wait, which are added in place, what
each node frees when it has run. The prediction itself never needs more than one rule at a time.

Where gradients of several megabytes pass through elementwise operations, the engine takes them strip by strip and never
has the ones between whole (Note [Strips]): it then needs less than is predicted.

Python that runs inside a backward (custom functions, hooks, what saved_tensors_hooks unpack) is not run: a custom
function is taken to give fresh gradients and to need nothing else.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from typing import Any

from ... import _core
from ...autograd.context import FunctionCtx
from ...memory import stats
from ..model.protocol import Node, tensors_of
from ..model.walk import walk
from .rule_costs import Buffer, Gradient, Rule, dense, guessed, has_no_gaps, measured


class _Memory:
    """Live bytes and their peak."""

    def __init__(self) -> None:
        self.live = self.peak = stats().live

    def take(self, nbytes: int) -> Buffer:
        self.live += nbytes
        self.peak = max(self.peak, self.live)
        return Buffer(nbytes)

    def touch(self, nbytes: int) -> None:
        """So many more for a moment."""
        self.peak = max(self.peak, self.live + nbytes)

    def hold(self, gradient: Gradient) -> Gradient:
        if gradient.buffer is not None:
            gradient.buffer.references += 1
        return gradient

    def drop(self, gradient: Gradient) -> None:
        if gradient.buffer is None:
            return
        gradient.buffer.references -= 1
        if gradient.buffer.references == 0:
            self.live -= gradient.buffer.nbytes


def predict_peak(tensors: Any, *, retain_graph: bool = False) -> int:
    """The most bytes of tensor data that will be alive at once while ``backward()`` of these tensors runs.

    Nothing is freed or accumulated. It allocates memory for one operation at a time, without writing to it. It computes
    only the few derivatives whose memory depends on values. Like :func:`clew.memory.stats`, the answer includes what is
    alive now.

    Args:
        tensors: a tensor, or a sequence of tensors, from which backward would be called.
        retain_graph: as in ``backward``: whether saved tensors are retained.

    Returns:
        Bytes.

    Raises:
        TypeError: ``tensors`` is neither a tensor nor a sequence of them.
        RuntimeError: there is no graph, or it was freed.

    Example:
        >>> x = clew.ones(1000, requires_grad=True)
        >>> loss = x.exp().exp().sum()
        >>> expected = clew.graph.predict_peak(loss)
        >>> clew.memory.reset_peak()
        >>> loss.backward()
        >>> clew.memory.stats().peak == expected
        True
    """
    roots = tensors_of("predict_peak", tensors)
    for root in roots:
        if root.grad_fn is None:
            raise RuntimeError("predict_peak: expected a tensor with a graph, got one without grad_fn; see explain(x)")
    return _Simulation(roots, retain_graph).run()


class _Simulation:
    """A backward played through with sizes only."""

    def __init__(self, roots: Sequence[Any], retain_graph: bool) -> None:
        nodes = walk([root.grad_fn for root in roots])
        for node in nodes:
            if any(slot.state == "freed" for slot in node.saved):
                by = node.released.site if node.released else "a backward"
                raise RuntimeError(
                    f"predict_peak: expected a graph that can run, got one whose {type(node).__name__} (created at "
                    f"{node.made_at}) was freed by {by}; make the value again"
                )
        self._retain = retain_graph
        self._rules: dict[object, Rule] = {}
        self._waiting = dict.fromkeys(nodes, 0)
        for node in nodes:
            for below, _ in node.next_functions:
                if below is not None:
                    self._waiting[below] += 1
        self._saved = _SavedBytes(nodes)
        self._memory = _Memory()
        self._pending: dict[tuple[Node, int], Gradient] = {}
        self._ready: list[tuple[int, int, Node]] = []
        self._roots = roots

    def run(self) -> int:
        for root in self._roots:
            ones = self._memory.take(root.numel() * root.dtype.itemsize)
            self._add(root.grad_fn, root.output_nr, self._fresh(tuple(root.shape), root.dtype, ones))
        for node in {root.grad_fn for root in self._roots}:
            if self._waiting[node] == 0:
                self._push(node)
        while self._ready:
            self._evaluate(heapq.heappop(self._ready)[2])
        return self._memory.peak

    def _push(self, node: Any) -> None:
        heapq.heappush(self._ready, (-node._sequence_nr(), len(self._ready), node))

    def _fresh(self, shape: tuple[int, ...], dtype: Any, buffer: Buffer) -> Gradient:
        return self._memory.hold(Gradient(shape, dense(shape), dtype, buffer))

    def _evaluate(self, node: Any) -> None:
        incoming = [self._pending.pop((node, index), None) for index in range(len(node.outputs))]
        if isinstance(node, _core.AccumulateGrad):
            self._accumulate(node, incoming[0])
            return
        results: list[Gradient | None] = [None] * len(node.next_functions)
        if any(gradient is not None for gradient in incoming):
            results = self._apply(node, incoming)
            if not self._retain:
                self._memory.live -= self._saved.release(node)
        for gradient in incoming:
            if gradient is not None:
                self._memory.drop(gradient)
        for (below, index), result in zip(node.next_functions, results, strict=True):
            if below is None:
                continue
            if result is not None:
                self._add(below, index, self._fit(result, *below.outputs[index]))
            self._waiting[below] -= 1
            if self._waiting[below] == 0:
                self._push(below)

    def _apply(self, node: Any, incoming: Sequence[Gradient | None]) -> list[Gradient | None]:
        rule = self._rule(node, incoming)
        self._memory.touch(rule.most)
        fresh: dict[int, Buffer] = {}
        results: list[Gradient | None] = []
        for made in rule.results:
            if made is None:
                results.append(None)
                continue
            buffer = None
            if made.source == "fresh":
                if made.index not in fresh:
                    fresh[made.index] = self._memory.take(made.nbytes)
                buffer = fresh[made.index]
            elif made.source == "incoming":
                before = incoming[made.index]
                buffer = before.buffer if before is not None else None
            gradient = Gradient(made.shape, made.strides, made.dtype, buffer, made.is_view)
            results.append(self._memory.hold(gradient))
        return results

    def _fit(self, gradient: Gradient, shape: Any, dtype: Any) -> Gradient:
        """As the engine does: what was broadcast is summed, what was promoted is cast."""
        shape = tuple(shape)
        if gradient.shape == shape and gradient.dtype == dtype:
            return gradient
        size = math.prod(shape) * int(dtype.itemsize)
        fitted = self._fresh(shape, dtype, self._memory.take(size))
        self._memory.drop(gradient)
        return fitted

    def _add(self, node: Any, index: int, gradient: Gradient) -> None:
        into = self._pending.get((node, index))
        if into is None:
            self._pending[node, index] = gradient
            return
        if into.is_alone and into.strides == gradient.strides:
            self._memory.drop(gradient)
        elif gradient.is_alone and into.strides == gradient.strides:
            self._memory.drop(into)
            self._pending[node, index] = gradient
        else:
            total = self._fresh(into.shape, into.dtype, self._memory.take(into.nbytes))
            self._memory.drop(into)
            self._memory.drop(gradient)
            self._pending[node, index] = total

    def _accumulate(self, node: Any, gradient: Gradient | None) -> None:
        if gradient is None:
            return
        leaf = node.variable
        if leaf is None or leaf.grad is not None:
            self._memory.drop(gradient)
            return
        whole = gradient.buffer is not None and gradient.buffer.nbytes == gradient.nbytes
        alone = gradient.buffer is not None and gradient.buffer.references == 1
        strides = leaf.stride() if has_no_gaps(leaf.shape, leaf.stride()) else dense(leaf.shape)
        lies_as_leaf = all(
            size == 1 or one == other
            for size, one, other in zip(gradient.shape, gradient.strides, strides, strict=True)
        )
        if not (whole and alone and lies_as_leaf):
            self._memory.take(gradient.nbytes)
            self._memory.drop(gradient)

    # Rules -----------------------------------------------------------------------------------------------------------

    def _rule(self, node: Any, incoming: Sequence[Gradient | None]) -> Rule:
        if isinstance(node, FunctionCtx) or any(slot.state == "packed" for slot in node.saved):
            return guessed(node)
        key = (
            node.op,
            str(node.made_at),
            node.outputs,
            tuple((slot.shape, slot.dtype) for slot in node.saved),
            tuple(below is None for below, _ in node.next_functions),
            tuple(gradient and (gradient.strides, gradient.is_view, gradient.is_alone) for gradient in incoming),
        )
        rule = self._rules.get(key)
        if rule is None:
            rule = self._rules[key] = measured(node, incoming)
        return rule


class _SavedBytes:
    """What goes when a node has run: storages that nothing holds but nodes that have run."""

    def __init__(self, nodes: Sequence[Any]) -> None:
        self._holders: dict[int, int] = {}
        self._bytes: dict[int, int] = {}
        for slot in (slot for node in nodes for slot in node.saved):
            if slot.state == "held" and not slot.is_foreign:
                self._holders[slot.storage] = self._holders.get(slot.storage, 0) + 1
                self._bytes[slot.storage] = slot.nbytes
        for tensor in _core.live_tensors():
            self._holders.pop(tensor._storage_id, None)

    def release(self, node: Any) -> int:
        freed = 0
        for slot in node.saved:
            if slot.storage not in self._holders:
                continue
            self._holders[slot.storage] -= 1
            if self._holders[slot.storage] == 0:
                freed += self._bytes[slot.storage]
        return freed
