"""How far to go along a direction: a step that satisfies the strong Wolfe conditions.

Nocedal & Wright, Numerical Optimization, algorithms 3.5 (bracketing) and 3.6 (zoom), with cubic interpolation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from clew import Tensor

DECREASE = 1e-4  # the share of the decrease that the slope promises that has to come true
FLATTEN = 0.9  # the share of the slope that may be left


class Point(NamedTuple):
    """A step length, and the loss, its gradient and its slope along the direction there."""

    t: float
    loss: float
    grad: Tensor
    slope: float


def strong_wolfe(
    evaluate: Callable[[float], Point], start: Point, t: float, reach: float, tolerance: float, limit: int
) -> Point:
    """The point at a good step length.

    Args:
        evaluate: gives the point at a step length.
        start: the point at 0.
        t: the first length to try.
        reach: the largest component of the direction.
        tolerance: stop when no component of the step can change by more than this.
        limit: how many lengths to try after the first.
    """
    before, point = start, evaluate(t)
    for tries in range(limit):
        if _too_high(point, start) or (tries > 1 and point.loss >= before.loss):
            return _zoom(evaluate, start, before, point, reach, tolerance, limit - tries)
        if _is_flat(point, start):
            return point
        if point.slope >= 0:
            return _zoom(evaluate, start, before, point, reach, tolerance, limit - tries)
        further = least_of_cubic(before, point, point.t + 0.01 * (point.t - before.t), point.t * 10)
        before, point = point, evaluate(further)
    return start if start.loss <= point.loss else point


def _zoom(
    evaluate: Callable[[float], Point],
    start: Point,
    one: Point,
    other: Point,
    reach: float,
    tolerance: float,
    limit: int,
) -> Point:
    """Narrow the bracket between two points, of which `low` has the smaller loss."""
    low, high = (one, other) if one.loss <= other.loss else (other, one)
    slow = False
    for _ in range(limit):
        if high.t == low.t or abs(high.t - low.t) * reach < tolerance:
            break
        left, right = min(low.t, high.t), max(low.t, high.t)
        t = least_of_cubic(low, high, left, right)
        margin = 0.1 * (right - left)
        near_end = min(right - t, t - left) < margin
        if near_end and (slow or t >= right or t <= left):
            t = right - margin if right - t < t - left else left + margin
            near_end = False
        slow = near_end
        point = evaluate(t)
        if _too_high(point, start) or point.loss >= low.loss:
            low, high = (low, point) if low.loss <= point.loss else (point, low)
            continue
        if _is_flat(point, start):
            return point
        if point.slope * (high.t - low.t) >= 0:
            high = low
        low = point
    return low


def _too_high(point: Point, start: Point) -> bool:
    return point.loss > start.loss + DECREASE * point.t * start.slope


def _is_flat(point: Point, start: Point) -> bool:
    return abs(point.slope) <= -FLATTEN * start.slope


def least_of_cubic(a: Point, b: Point, lowest: float, highest: float) -> float:
    """Where the cubic through two points with their slopes is least, within bounds; their middle if nowhere."""
    if a.t > b.t:
        a, b = b, a
    mean = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = mean**2 - a.slope * b.slope
    if not square >= 0:
        return (lowest + highest) / 2
    root = math.sqrt(square)
    bend = b.slope - a.slope + 2 * root
    if bend == 0:
        return (lowest + highest) / 2
    place = b.t - (b.t - a.t) * ((b.slope + root - mean) / bend)
    return min(max(place, lowest), highest)
