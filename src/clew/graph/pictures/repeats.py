"""Where a sequence says the same thing again and again: the loops of a program, seen in what it left behind."""

from __future__ import annotations

from collections.abc import Sequence

import numpy

FEWEST_ITEMS = 4  # two additions on one line are no loop
MOST_PERIODS = 8  # how many candidates for a period are tried at one place


def find_repeats(signatures: Sequence[int]) -> list[tuple[int, int, int]]:
    """Parts of a sequence that repeat, as ``(start, period, count)``, from left to right and without overlap.

    At each place the period that covers most wins, and the shorter of two that cover the same.

    Example:
        >>> find_repeats([9, 1, 2, 1, 2, 1, 2, 7])
        [(1, 2, 3)]
    """
    total = len(signatures)
    following = _next_same(signatures)
    values = numpy.asarray(signatures, dtype=numpy.int64)
    found: list[tuple[int, int, int]] = []
    start = 0
    while start < total:
        best = (0, 0, 0)  # covered, -period, count
        candidate = start
        for _ in range(MOST_PERIODS):
            candidate = following[candidate]
            period = candidate - start
            if candidate < 0 or start + 2 * period > total:
                break
            count = 1 + _agreement(signatures, values, start, period) // period
            best = max(best, (period * count if count > 1 else 0, -period, count))
        covered, negative_period, count = best
        if covered >= FEWEST_ITEMS:
            found.append((start, -negative_period, count))
            start += covered
        else:
            start += 1
    return found


def _next_same(signatures: Sequence[int]) -> list[int]:
    """For each place the next one with the same signature, or -1."""
    following = [-1] * len(signatures)
    last: dict[int, int] = {}
    for place in range(len(signatures) - 1, -1, -1):
        following[place] = last.get(signatures[place], -1)
        last[signatures[place]] = place
    return following


def _agreement(
    signatures: Sequence[int], values: numpy.ndarray[tuple[int], numpy.dtype[numpy.int64]], start: int, period: int
) -> int:
    """How many items from ``start`` on equal the one that is a period later."""
    total = len(signatures) - period
    place = start
    while place < min(total, start + 16):  # most candidates fail here, before an array operation pays
        if signatures[place] != signatures[place + period]:
            return place - start
        place += 1
    size = 64
    while place < total:
        end = min(total, place + size)
        differs = numpy.flatnonzero(values[place:end] != values[place + period : end + period])
        if differs.size:
            return place + int(differs[0]) - start
        place, size = end, 2 * size
    return max(0, place - start)
