"""Where memories that live for a part of the program lie in one arena for each dtype."""

from __future__ import annotations

from dataclasses import dataclass

from .kernels import Kernel
from .layout import Memory


@dataclass(frozen=True)
class Plan:
    """`places`: the first element of each memory in the arena of its dtype; `sizes`: elements of each arena."""

    places: dict[Memory, int]
    sizes: dict[str, int]


def plan(kernels: list[Kernel], memories: list[Memory]) -> Plan:
    """The largest first, each at the lowest place that is free while it lives."""
    lives = _lives(kernels, set(memories))
    places: dict[Memory, int] = {}
    sizes: dict[str, int] = {}
    for memory in sorted(lives, key=lambda one: -one.size):
        first, last = lives[memory]
        beside = sorted(
            (place, place + other.size)
            for other, place in places.items()
            if other.dtype == memory.dtype and lives[other][0] <= last and first <= lives[other][1]
        )
        place = 0
        for begin, end in beside:
            if place + memory.size <= begin:
                break
            place = max(place, end)
        places[memory] = place
        sizes[memory.dtype] = max(sizes.get(memory.dtype, 0), place + memory.size)
    return Plan(places, sizes)


def _lives(kernels: list[Kernel], memories: set[Memory]) -> dict[Memory, tuple[int, int]]:
    lives: dict[Memory, tuple[int, int]] = {}
    for i, kernel in enumerate(kernels):
        for memory in (*kernel.read(), kernel.out.memory):
            if memory in memories:
                lives[memory] = (lives.get(memory, (i, i))[0], i)
    return lives
