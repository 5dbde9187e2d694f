"""Sums of products written as index equations."""

from __future__ import annotations

import math
import string
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy

from .._core import Tensor
from .._domains import domain

__all__ = ["einsum"]

LETTERS = string.ascii_uppercase + string.ascii_lowercase


class Plan(NamedTuple):
    """An equation fitted to shapes: a label for each axis, and which operands to contract, step by step.

    Labels are places in LETTERS; negative ones count the axes of the ellipsis from the last.
    """

    operands: tuple[tuple[int, ...], ...]
    output: tuple[int, ...]
    steps: tuple[tuple[int, ...], ...]


class Factor(NamedTuple):
    """A tensor with a label for each of its axes, no label twice."""

    tensor: Tensor
    labels: tuple[int, ...]

    def size(self, label: int) -> int:
        return int(self.tensor.shape[self.labels.index(label)])


@domain(
    "equation='ij,jk->ik', operands=[real(a, b), real(b, c)]; "
    "equation='ii->i', operands=[real(b, b)]; "
    "equation='...i,kij,...j->...k', operands=[real(a, b), real(2, b, c), real(a, c)]"
)
def einsum(equation: Any, *operands: Any) -> Tensor:
    """Multiply tensors along named axes, and sum over the names that the output does not have (Einstein's convention).

    Args:
        equation: `"ij,jk->ik"`: a letter for each axis of each operand, and of the output. Without `->` the output has
            the letters that occur once, in alphabetical order. `...` stands for any axes, which are broadcast. A letter
            that one operand has twice takes the diagonal. Or, in place of the equation and the operands, alternating
            operands and lists of numbers below 52, perhaps with a list for the output at the end.
        operands: tensors of one dtype.

    Returns:
        A tensor whose axes are those of the output, in its order.

    Raises:
        RuntimeError: the equation is malformed or does not fit the operands.

    Example:
        >>> torch.einsum("ij,j->i", torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([1.0, 10.0]))
        tensor([21., 43.])
    """
    if isinstance(equation, Tensor):
        equation, operands = from_sublists((equation, *operands))
    elif len(operands) == 1 and isinstance(operands[0], list | tuple):
        operands = tuple(operands[0])
    if not operands:
        raise RuntimeError("einsum(): must provide at least one operand")
    plan = make_plan(equation, tuple(tuple(operand.shape) for operand in operands))
    factors = [without_repeats(operand, labels) for operand, labels in zip(operands, plan.operands, strict=True)]
    for step in plan.steps:
        chosen = [factors[place] for place in step]
        factors = [factor for place, factor in enumerate(factors) if place not in step]
        wanted = set(plan.output).union(*[factor.labels for factor in factors])
        product = chosen[0]
        for number, other in enumerate(chosen[1:], start=2):
            still_wanted = wanted.union(*[factor.labels for factor in chosen[number:]])
            product = contract(product, other, still_wanted)
        factors.append(product)
    result = summed(factors[0], set(plan.output))
    made = permuted(result, plan.output)
    # A view, never an operand itself: what is done to the result must not be done to the operand.
    return made.permute(list(range(made.dim()))) if any(made is operand for operand in operands) else made


# --------------------------------------------------------------------------------------------------------- the equation
def from_sublists(arguments: Sequence[Any]) -> tuple[str, tuple[Tensor, ...]]:
    """The equation and the operands of `einsum(a, [0, 1], b, [1, 2], [0, 2])`."""
    operands, lists = arguments[0::2], list(arguments[1::2])
    output = None
    if len(arguments) % 2:
        output, operands = operands[-1], operands[:-1]
    texts = ["".join("..." if item is Ellipsis else LETTERS[item] for item in labels) for labels in lists]
    equation = ",".join(texts)
    if output is not None:
        equation += "->" + "".join("..." if item is Ellipsis else LETTERS[item] for item in output)
    return equation, tuple(operands)


def read_labels(text: str, where: str) -> list[int | None]:
    """The labels of one operand; None stands for the ellipsis."""
    labels: list[int | None] = []
    rest = text.replace(" ", "")
    while rest:
        if rest.startswith("..."):
            if None in labels:
                raise RuntimeError(f"einsum(): found '...' for {where} more than once; give it at most once")
            labels.append(None)
            rest = rest[3:]
            continue
        if rest[0] not in LETTERS:
            raise RuntimeError(
                f"einsum(): invalid subscript given for {where}: '{rest[0]}'; subscripts must be in [a-zA-Z]"
            )
        labels.append(LETTERS.index(rest[0]))
        rest = rest[1:]
    return labels


def fill_ellipsis(labels: Sequence[int | None], count: int) -> tuple[int, ...]:
    """The labels with `count` negative ones in place of the ellipsis."""
    filled: list[int] = []
    for label in labels:
        filled += range(-count, 0) if label is None else [label]
    return tuple(filled)


def fit_operand(labels: Sequence[int | None], shape: tuple[int, ...], place: int) -> tuple[int, ...]:
    """The labels of an operand for its shape."""
    named = len(labels) - (None in labels)
    if None not in labels and named != len(shape):
        raise RuntimeError(
            f"einsum(): the number of subscripts in the equation ({named}) does not match the number of dimensions "
            f"({len(shape)}) for operand {place} and no ellipsis was given"
        )
    if named > len(shape):
        raise RuntimeError(
            f"einsum(): the number of subscripts in the equation ({named}) is more than the number of dimensions "
            f"({len(shape)}) for operand {place}"
        )
    return fill_ellipsis(labels, len(shape) - named)


def fit_output(text: str | None, operands: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The labels of the output, given or implied."""
    everything = [label for labels in operands for label in labels]
    dots = sorted({label for label in everything if label < 0})
    if text is None:
        return (*dots, *sorted(label for label in set(everything) if label >= 0 and everything.count(label) == 1))
    output = fill_ellipsis(read_labels(text, "the output"), len(dots))
    for label in output:
        if output.count(label) > 1:
            raise RuntimeError(f"einsum(): output subscript {LETTERS[label]} appears more than once in the output")
        if label not in everything:
            raise RuntimeError(
                f"einsum(): output subscript {LETTERS[label]} does not appear in the equation for any input operand"
            )
    return output


def check_sizes(operands: Sequence[tuple[int, ...]], shapes: Sequence[tuple[int, ...]]) -> None:
    """Fail unless each label has one size in an operand, and one size or 1 among operands."""
    sizes: dict[int, int] = {}
    for place, (labels, shape) in enumerate(zip(operands, shapes, strict=True)):
        own: dict[int, int] = {}
        for label, size in zip(labels, shape, strict=True):
            name = "..." if label < 0 else LETTERS[label]
            if own.setdefault(label, size) != size:
                raise RuntimeError(
                    f"einsum(): subscript {name} is repeated for operand {place} but the sizes don't match, "
                    f"{size} != {own[label]}"
                )
            known = sizes.setdefault(label, size)
            if 1 not in (known, size) and known != size:
                raise RuntimeError(
                    f"einsum(): subscript {name} has size {size} for operand {place} which does not broadcast with "
                    f"previously seen size {known}; shapes are {list(map(list, shapes))}"
                )
            if known == 1:
                sizes[label] = size


@lru_cache(maxsize=1024)
def make_plan(equation: str, shapes: tuple[tuple[int, ...], ...]) -> Plan:
    """Parse the equation and choose an order of contractions."""
    text, arrow, output_text = equation.partition("->")
    texts = text.split(",")
    if len(texts) != len(shapes):
        more_or_fewer = "more" if len(shapes) > len(texts) else "fewer"
        raise RuntimeError(
            f"einsum(): {more_or_fewer} operands were provided than specified in the equation: "
            f"expected {len(texts)}, got {len(shapes)}"
        )
    operands = tuple(
        fit_operand(read_labels(one, f"operand {place}"), shape, place)
        for place, (one, shape) in enumerate(zip(texts, shapes, strict=True))
    )
    output = fit_output(output_text if arrow else None, operands)
    check_sizes(operands, shapes)
    return Plan(operands, output, choose_steps(operands, output, shapes))


def choose_steps(
    operands: Sequence[tuple[int, ...]], output: Sequence[int], shapes: Sequence[tuple[int, ...]]
) -> tuple[tuple[int, ...], ...]:
    """Which operands to contract at each step; the result goes to the end of the list."""
    count = len(operands)
    if count <= 2:
        return (tuple(range(count)),) if count == 2 else ()
    labels = sorted({label for one in operands for label in one})
    if len(labels) > len(LETTERS):
        return (tuple(range(count)),)
    name = {label: LETTERS[place] for place, label in enumerate(labels)}
    # A letter twice in one operand is the diagonal, taken before.
    unique = [dict(zip(one, shape, strict=True)) for one, shape in zip(operands, shapes, strict=True)]
    terms = ",".join("".join(name[label] for label in one) for one in unique)
    equation = f"{terms}->{''.join(name[label] for label in output)}"
    dummies = [numpy.broadcast_to(numpy.float32(0), tuple(one.values())) for one in unique]
    path = numpy.einsum_path(equation, *dummies, optimize="greedy")[0]
    return tuple(tuple(step) for step in path[1:])


# ----------------------------------------------------------------------------------------------------- the contractions
def without_repeats(tensor: Tensor, labels: tuple[int, ...]) -> Factor:
    """The diagonals where one label stands for several axes."""
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            tensor = tensor.diagonal(0, first, second)
            rest = [one for place, one in enumerate(labels) if place not in (first, second)]
            labels = (*rest, label)
    return Factor(tensor, labels)


def summed(factor: Factor, wanted: set[int]) -> Factor:
    """The sum over the axes whose labels nobody wants any more."""
    axes = [place for place, label in enumerate(factor.labels) if label not in wanted]
    if not axes:
        return factor
    return Factor(factor.tensor.sum(axes), tuple(label for label in factor.labels if label in wanted))


def permuted(factor: Factor, labels: Sequence[int]) -> Tensor:
    """The tensor with its axes in the order of the labels."""
    order = [factor.labels.index(label) for label in labels]
    return factor.tensor if order == list(range(len(order))) else factor.tensor.permute(order)


def without_broadcast(factor: Factor, other: Factor) -> Factor:
    """Drop axes of size 1 that the other factor has in another size: multiplying broadcasts them anyway."""
    for label in factor.labels:
        if label in other.labels and factor.size(label) == 1 != other.size(label):
            place = factor.labels.index(label)
            factor = Factor(factor.tensor.squeeze(place), factor.labels[:place] + factor.labels[place + 1 :])
    return factor


def contract(left: Factor, right: Factor, wanted: set[int]) -> Factor:
    """The product of two factors, summed over what they share and nobody wants: one batched matrix product."""
    left, right = without_broadcast(left, right), without_broadcast(right, left)
    left = summed(left, wanted | set(right.labels))
    right = summed(right, wanted | set(left.labels))
    shared = [label for label in left.labels if label in right.labels]
    batch = [label for label in shared if label in wanted]
    inner = [label for label in shared if label not in wanted]
    rows = [label for label in left.labels if label not in shared]
    columns = [label for label in right.labels if label not in shared]
    sizes = {
        **dict(zip(right.labels, right.tensor.shape, strict=True)),
        **dict(zip(left.labels, left.tensor.shape, strict=True)),
    }

    def shape(labels: Sequence[int]) -> list[int]:
        return [int(sizes[label]) for label in labels]

    def count(labels: Sequence[int]) -> int:
        return math.prod(shape(labels))

    labels = (*batch, *rows, *columns)
    if not inner:
        a = permuted(left, [*batch, *rows]).reshape([*shape(batch), *shape(rows), *(1 for _ in columns)])
        b = permuted(right, [*batch, *columns]).reshape([*shape(batch), *(1 for _ in rows), *shape(columns)])
        return Factor(a * b, labels)
    lead = [count(batch)] if batch else []
    a = permuted(left, [*batch, *rows, *inner]).reshape([*lead, count(rows), count(inner)])
    b = permuted(right, [*batch, *inner, *columns]).reshape([*lead, count(inner), count(columns)])
    product = a.bmm(b) if batch else a.mm(b)
    return Factor(product.reshape(shape(labels)), labels)
