"""Where memories that live for a part of the program lie in one arena for each dtype."""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy

from .kernels import Kernel
from .layout import Memory
from .rolling import Nodes, instances, leaves

Array = numpy.ndarray[Any, Any]
Life = tuple[int, int]
"""The first and the last kernel that needs it."""


@dataclass(frozen=True)
class Plan:
    """`places`: the first element of each memory in the arena of its dtype; `sizes`: elements of each arena."""

    places: dict[Memory, int]
    sizes: dict[str, int]
    least: int
    """Bytes that any plan needs: of what lives at the same time, for each dtype."""

    @property
    def bytes(self) -> int:
        return sum(size * numpy.dtype(dtype).itemsize for dtype, size in self.sizes.items())


@dataclass
class _Block:
    """Memories that lie at multiples of one size: what a kernel of a loop makes in each of its iterations.

    Those that don't live at the same time share a place. So all lie at one place if each lives within its iteration, at
    two in turn if each lives until the next one, and one behind the other if a backward needs them all.
    """

    memories: list[Memory]
    step: int
    """Elements of the largest one."""
    slots: list[int]
    starts: Array
    ends: Array
    """Of the times at which one of them lives."""

    @property
    def size(self) -> int:
        return (max(self.slots) + 1) * self.step

    def meets(self, other: _Block) -> bool:
        """Whether both live at some time, if neither begins when the other one has ended for good."""
        if len(self.starts) == len(other.starts) == 1:
            return True
        begun = numpy.searchsorted(other.starts, self.ends, "right") - 1
        return bool(((begun >= 0) & (other.ends[begun] >= self.starts)).any())


def plan(kernels: list[Kernel], memories: list[Memory], nodes: Nodes) -> Plan:
    """The largest first, each at the lowest place that is free while it lives."""
    lives = _lives(kernels, set(memories))
    donors = _donors(kernels, lives, nodes)
    blocks = sorted(_blocks(kernels, lives, nodes), key=lambda one: -one.size)
    places: dict[Memory, int] = {}
    sizes: dict[str, int] = {}
    for dtype in dict.fromkeys(one.memories[0].dtype for one in blocks):
        alike = [one for one in blocks if one.memories[0].dtype == dtype]
        first, last = (numpy.array([edge(one) for one in alike]) for edge in (_begin, _end))
        begins, ends = numpy.zeros(len(alike), numpy.int64), numpy.zeros(len(alike), numpy.int64)
        for i, block in enumerate(alike):
            beside = numpy.flatnonzero((first[:i] <= last[i]) & (last[:i] >= first[i]))
            beside = beside[numpy.array([block.meets(alike[j]) for j in beside.tolist()], bool)]
            beside = beside[numpy.argsort(begins[beside], kind="stable")]
            tops = numpy.maximum.accumulate([0, *ends[beside].tolist()])
            gaps = numpy.flatnonzero(begins[beside] - tops[:-1] >= block.size)
            place = int(tops[gaps[0]] if len(gaps) else tops[-1])
            begins[i], ends[i] = place, place + block.size
            places |= {one: place + slot * block.step for one, slot in zip(block.memories, block.slots, strict=True)}
        sizes[dtype] = int(ends.max())
    for memory, donor in donors.items():
        places[memory] = places[donor]
    return Plan(places, sizes, _most_alive(lives, len(kernels)))


def _most_alive(lives: dict[Memory, Life], count: int) -> int:
    dtypes = {memory.dtype for memory in lives}
    changes: dict[str, Array] = {dtype: numpy.zeros(count + 1, numpy.int64) for dtype in dtypes}
    for memory, (start, end) in lives.items():
        size = memory.size * numpy.dtype(memory.dtype).itemsize
        changes[memory.dtype][start] += size
        changes[memory.dtype][end + 1] -= size
    return sum(int(numpy.cumsum(one).max()) for one in changes.values())


def _begin(block: _Block) -> int:
    return int(block.starts[0])


def _end(block: _Block) -> int:
    return int(block.ends[-1])


def _donors(kernels: list[Kernel], lives: dict[Memory, Life], nodes: Nodes) -> dict[Memory, Memory]:
    """Memories that are written in the place of one that is read for the last time, element by element.

    They leave `lives`; the one whose place they have lives as long as they. In all iterations of a loop it is the same
    operand, so that places come again.
    """
    given: list[tuple[int, Memory, Memory]] = []
    for place, axes in leaves(nodes):
        every = instances(place, axes).ravel().tolist()
        fitting = [_fitting(kernels[i], i, lives) for i in every]
        if counts := Counter(operand for one in fitting for operand in one):
            most = max(counts.values())  # but for the first and the last iteration, whose operands may have names
            best = min(operand for operand, count in counts.items() if count + 2 >= most)
            pairs = zip(every, fitting, strict=True)
            given += [(i, kernels[i].out.memory, kernels[i].operands[best].memory) for i, one in pairs if best in one]
    donors: dict[Memory, Memory] = {}
    for _, memory, donor in sorted(given, key=lambda one: one[0]):
        donors[memory] = donor = donors.get(donor, donor)
        lives[donor] = (lives[donor][0], lives.pop(memory)[1])
    return donors


def _fitting(kernel: Kernel, i: int, lives: dict[Memory, Life]) -> list[int]:
    """The operands in whose place a kernel may write its result."""
    out, operands = kernel.out, kernel.operands
    picked = out.picks or any(one.picks for one in operands)
    if kernel.combine != "set" or kernel.axes or picked or lives.get(out.memory, (-1, -1))[0] != i:
        return []
    return [
        place
        for place, one in enumerate(operands)
        if one.memory is not out.memory
        and lives.get(one.memory, (-1, -1))[1] == i
        and (one.dtype, one.memory.size) == (out.dtype, out.memory.size)
        and all(
            (other.strides, other.offset) == (out.strides, out.offset)
            for other in operands
            if other.memory is one.memory
        )
    ]


def _blocks(kernels: list[Kernel], lives: dict[Memory, Life], nodes: Nodes) -> list[_Block]:
    blocks, grouped = [], set()
    for place, axes in leaves(nodes):
        made = [(kernels[i].out.memory, i) for i in instances(place, axes).ravel().tolist()]
        group = [memory for memory, i in made if memory in lives and lives[memory][0] == i]
        if group:
            grouped |= set(group)
            blocks.append(_block(group, [lives[memory] for memory in group]))
    return blocks + [_block([memory], [life]) for memory, life in lives.items() if memory not in grouped]


def _block(memories: list[Memory], lives: list[Life]) -> _Block:
    starts, ends = [lives[0][0]], [lives[0][1]]
    for start, end in lives[1:]:
        if start <= ends[-1]:
            ends[-1] = max(ends[-1], end)
        else:
            starts.append(start)
            ends.append(end)
    return _Block(memories, max(one.size for one in memories), _slots(lives), numpy.array(starts), numpy.array(ends))


def _slots(lives: list[Life]) -> list[int]:
    """The lowest that is free, for lives in the order of their beginnings."""
    slots: list[int] = []
    free: list[int] = []
    busy: list[Life] = []  # the end, and the slot
    for start, end in lives:
        while busy and busy[0][0] < start:
            heapq.heappush(free, heapq.heappop(busy)[1])
        slot = heapq.heappop(free) if free else len(busy)
        heapq.heappush(busy, (end, slot))
        slots.append(slot)
    return slots


def _lives(kernels: list[Kernel], memories: set[Memory]) -> dict[Memory, Life]:
    lives: dict[Memory, Life] = {}
    for i, kernel in enumerate(kernels):
        for memory in (*kernel.read(), kernel.out.memory):
            if memory in memories:
                lives[memory] = (lives.get(memory, (i, i))[0], i)
    return lives
