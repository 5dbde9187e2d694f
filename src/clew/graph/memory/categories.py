"""What memory is there for: a census of living tensors at the moments of a step when that can be told."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ... import _core
from ..model.protocol import Node
from ..program.modules import ModuleLog
from ..program.optimizers import state_tensors
from .timeline_records import Numbers

# From what is surest to what is left; of several the first counts.
CATEGORIES = (
    "parameters and buffers",
    "gradients",
    "optimizer state",
    "input data",
    "activations saved by the graph",
    "temporaries",
)
PARAMETERS, GRADIENTS, OPTIMIZER, INPUT, SAVED, TEMPORARY = range(6)


class Census:
    """Which storages are of which category, told by those who know: leaves, optimizers, modules, graphs."""

    def __init__(self, native: Any, module_log: ModuleLog) -> None:
        self._native = native
        self._module_log = module_log
        self._of_allocation: dict[int, int] = {}
        self.earlier: dict[int, tuple[int, int]] = {}  # bytes and category of what was there at the start, by storage
        for storage, tensor, category in self._living():
            if not _core.storage_is_foreign(tensor):
                self.earlier.setdefault(storage, (tensor._storage_nbytes, category))

    def take(self, roots: tuple[Node, ...] = ()) -> None:
        """Look at what is alive now; what the graph below ``roots`` has saved is told from what only happens to be."""
        found: dict[int, int] = {}
        for storage, _, category in self._living():
            found.setdefault(storage, category)
        for storage in _core.saved_storages(roots):
            if found.get(storage, TEMPORARY) == TEMPORARY:
                found[storage] = SAVED
        self._note(found)

    def _note(self, found: dict[int, int]) -> None:
        storages = list(found)
        for storage, number in zip(storages, self._native.allocations_of(storages), strict=True):
            category = found[storage]
            if number >= 0:
                self._of_allocation[number] = min(category, self._of_allocation.get(number, TEMPORARY))
            elif storage in self.earlier and category < self.earlier[storage][1]:
                self.earlier[storage] = self.earlier[storage][0], category

    def of_allocations(self, count: int) -> Numbers:
        """The category of each allocation since the start."""
        categories = np.full(count, TEMPORARY, dtype=np.int64)
        if self._of_allocation:
            categories[np.fromiter(self._of_allocation, np.int64)] = np.fromiter(self._of_allocation.values(), np.int64)
        return categories

    def _living(self) -> Iterator[tuple[int, Any, int]]:
        """The storages of living tensors, the surest category of each first."""
        tensors = _core.live_tensors()
        leaves = [tensor for tensor in tensors if tensor.is_leaf and tensor.requires_grad]
        yield from ((tensor._storage_id, tensor, PARAMETERS) for tensor in [*leaves, *self._module_log.buffers()])
        gradients = (leaf.grad for leaf in leaves)
        yield from ((grad._storage_id, grad, GRADIENTS) for grad in gradients if grad is not None)
        yield from ((tensor._storage_id, tensor, OPTIMIZER) for tensor in state_tensors())
        for tensor in tensors:
            yield tensor._storage_id, tensor, INPUT if not tensor.requires_grad else TEMPORARY
