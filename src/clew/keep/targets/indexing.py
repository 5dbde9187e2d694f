"""Making, joining, moving, looking up and scattering."""

from __future__ import annotations

from dataclasses import replace

from .errors import Unsupported
from .kernels import Builder, loop_index
from .layout import Operand, broadcast
from .scalar import Expr, where
from .table import Call, lowers


@lowers("_full")
def _full(k: Builder, step: Call) -> None:
    k.fill(step.out, step.attributes["fill_value"])


@lowers("_empty", "_empty_strided")
def _empty(k: Builder, step: Call) -> None:
    k.fill(step.out, 0)


@lowers("_arange")
def _arange(k: Builder, step: Call) -> None:
    start, width = step.attributes["start"], step.attributes["step"]
    k.assign(step.out, lambda: loop_index(0, step.out.dtype) * width + start)


@lowers("_eye")
def _eye(k: Builder, step: Call) -> None:
    k.assign(step.out, lambda: loop_index(0).equals(loop_index(1)))


@lowers("reshape", "view", "_reshape_alias", "_unsafe_view", "flatten", "contiguous")
def _reshape(k: Builder, step: Call) -> None:
    x = step.input(0)
    k.copy(step.out.reshaped(x.shape), x)


@lowers("stack")
def _stack(k: Builder, step: Call) -> None:
    axis = step.attributes["dim"] % step.out.rank
    for place in range(len(step.inputs)):
        k.copy(step.out.sliced(axis, place, 1).without(axis), step.input(place))


@lowers("_cat")
def _cat(k: Builder, step: Call) -> None:
    axis, begin = step.attributes["dim"] % step.out.rank, 0
    for place in range(len(step.inputs)):
        part = step.input(place)
        if part.numel:
            k.copy(step.out.sliced(axis, begin, part.shape[axis]), part)
            begin += part.shape[axis]


@lowers("repeat")
def _repeat(k: Builder, step: Call) -> None:
    repeats, x, out = step.attributes["repeats"], step.input(0), step.out
    x = x.inserted(*range(len(repeats) - x.rank))
    shape = tuple(size for pair in zip(repeats, x.shape, strict=True) for size in pair)
    k.copy(out.reshaped(shape), x.inserted(*range(0, 2 * x.rank, 2)))


@lowers("flip")
def _flip(k: Builder, step: Call) -> None:
    x = step.input(0)
    for axis in step.attributes["dims"]:
        x = x.flipped(axis % x.rank)
    k.copy(step.out, x)


@lowers("roll")
def _roll(k: Builder, step: Call) -> None:
    source, out = step.input(0), step.out
    shifts, axes = step.attributes["shifts"], step.attributes["dims"]
    if not axes:
        source, out, axes = source.reshaped((source.numel,)), out.reshaped((out.numel,)), (0,)
    for shift, axis in zip(shifts, axes, strict=True):
        axis, size = axis % source.rank, source.shape[axis]
        shift = shift % size if size else 0
        target = out if axis == axes[-1] % source.rank else k.temp(out.shape, out.dtype)
        k.copy(target.sliced(axis, shift, size - shift), source.sliced(axis, 0, size - shift))
        if shift:
            k.copy(target.sliced(axis, 0, shift), source.sliced(axis, size - shift, shift))
        source = target


@lowers("tril", "triu")
def _triangle(k: Builder, step: Call) -> None:
    diagonal, lower, rank = step.attributes["diagonal"], step.op == "tril", step.out.rank

    def part(x: Expr) -> Expr:
        above = loop_index(rank - 1) - loop_index(rank - 2)
        return where(above <= diagonal if lower else above >= diagonal, x, 0)

    k.assign(step.out, part, step.input(0))


@lowers("_constant_pad_nd")
def _pad(k: Builder, step: Call) -> None:
    out, x = step.out, step.input(0)
    lead = x.rank - len(step.attributes["before"])
    k.fill(out, step.attributes["value"])
    # From the last axis backwards, as the arguments of pad.
    for axis, before in zip(reversed(range(lead, x.rank)), step.attributes["before"], strict=True):
        size, cut, moved = x.shape[axis], max(-before, 0), max(before, 0)
        length = min(size - cut, out.shape[axis] - moved)
        x, out = x.sliced(axis, cut, length), out.sliced(axis, moved, length)
    k.copy(out, x)


def part_of(whole: Operand, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Operand:
    """As as_strided of a result that is contiguous."""
    if not whole.is_contiguous():
        raise Unsupported("of a result that is not contiguous")
    return Operand(whole.memory, shape, strides, whole.offset + offset)


@lowers("_embed")
def _embed(k: Builder, step: Call) -> None:
    given = step.attributes
    k.fill(step.out, 0)
    part = part_of(step.out, given["part_sizes"], given["part_strides"], given["offset"])
    k.accumulate(part, lambda g: g, step.input(0))


@lowers("_as_strided_scatter")
def _as_strided_scatter(k: Builder, step: Call) -> None:
    given = step.attributes
    k.copy(step.out, step.input(0))
    k.copy(part_of(step.out, given["size"], given["stride"], given["offset"]), step.input(1))


@lowers("index_select")
def _index_select(k: Builder, step: Call) -> None:
    x = step.input(0)
    axis = step.attributes["dim"] % x.rank
    k.copy(step.out, x.picked(axis, _along(step.input(1), axis, x.rank)))


def _along(index: Operand, axis: int, rank: int) -> Operand:
    """An index of one axis as one of `rank` axes."""
    index = index.inserted(0) if index.rank == 0 else index
    return index.inserted(*(i for i in range(rank) if i != axis))


@lowers("gather")
def _gather(k: Builder, step: Call) -> None:
    x, index = step.input(0), step.input(1)
    k.copy(step.out, x.picked(step.attributes["dim"] % x.rank, index))


@lowers("scatter", "scatter_add")
def _scatter(k: Builder, step: Call) -> None:
    if step.attributes.get("reduce") is not None:
        raise Unsupported(f"with reduce={step.attributes['reduce']!r}")
    x, index, out = step.input(0), step.input(1), step.out
    axis = step.attributes["dim"] % out.rank
    _copy_first(k, step, x)
    target = out
    for i, size in enumerate(index.shape):
        if i != axis:
            target = target.sliced(i, 0, size)
    _put(k, target.picked(axis, index), index.shape, step, 2, adds=step.op == "scatter_add")


def _copy_first(k: Builder, step: Call, x: Operand) -> None:
    """Of an operation that writes into a copy of its input, if it isn't in place."""
    if not x.same_place(step.out):
        k.copy(step.out, x)


def _put(
    k: Builder, target: Operand, shape: tuple[int, ...], step: Call, source: int, adds: bool, alpha: float = 1
) -> None:
    target = replace(target, shape=shape)
    if source >= len(step.inputs):
        value = step.attributes["value"]
        return k.assign(target, lambda: value)
    values = step.input(source)
    if values.rank == len(shape):
        for i, size in enumerate(shape):
            if values.shape[i] > size:
                values = values.sliced(i, 0, size)
    if adds:
        return k.accumulate(target, lambda x: x * alpha, values)
    return k.assign(target, lambda x: x, values)


@lowers("index_add", "index_copy", "index_fill")
def _index_write(k: Builder, step: Call) -> None:
    out = step.out
    axis = step.attributes["dim"] % out.rank
    index = step.input(1)
    _copy_first(k, step, step.input(0))
    shape = (*out.shape[:axis], index.numel, *out.shape[axis + 1 :])
    target = out.picked(axis, _along(index, axis, out.rank))
    _put(k, target, shape, step, 2, adds=step.op == "index_add", alpha=step.attributes.get("alpha", 1))


@lowers("embedding")
def _embedding(k: Builder, step: Call) -> None:
    weight, index = step.input(0), step.input(1)
    k.copy(
        step.out,
        weight.inserted(*range(index.rank - 1)).picked(index.rank - 1, index.inserted(index.rank))
        if index.rank
        else weight.chosen(0, index),
    )


@lowers("embedding_dense_backward")
def _embedding_backward(k: Builder, step: Call) -> None:
    g, index, out = step.input(0), step.input(1), step.out
    padding = step.attributes["padding_idx"]
    k.fill(out, 0)
    target = out.chosen(0, index.inserted(index.rank)).expanded(g.shape)
    column = index.inserted(index.rank)
    k.accumulate(target, lambda g, i: where(i.equals(padding), 0, g), g, column, raw=(1,))


def indexed(x: Operand, indices: list[Operand | None]) -> Operand:
    """x[indices], NumPy's rules; all of them integers."""
    places = [axis for axis, index in enumerate(indices) if index is not None]
    if any(index is not None and index.dtype == "bool" for index in indices):
        raise Unsupported("by a mask: the shape of the result depends on values")
    given = [index for index in indices if index is not None]
    rank = max(index.rank for index in given)
    together = places == list(range(places[0], places[-1] + 1))
    lead = places[0] if together else 0
    rest = [axis for axis in range(x.rank) if axis not in places]
    before, after = rest[:lead], rest[lead:]
    shape = broadcast(*(index.shape for index in given))
    picked = x
    for axis, index in zip(places, given, strict=True):
        spread = index.expanded(shape).inserted(*range(lead), *range(lead + rank, rank + len(rest)))
        picked = picked.picked(axis, spread, wraps=True)
    ordered = picked.permuted((*before, *after))
    return Operand(
        x.memory,
        (*ordered.shape[:lead], *shape, *ordered.shape[lead:]),
        (*ordered.strides[:lead], *(0,) * rank, *ordered.strides[lead:]),
        x.offset,
        ordered.picks,
    )


@lowers("_index")
def _index(k: Builder, step: Call) -> None:
    k.copy(step.out, indexed(step.input(0), list(step.inputs[1:])))


@lowers("index_put")
def _index_put(k: Builder, step: Call) -> None:
    _copy_first(k, step, step.input(0))
    target = indexed(step.out, list(step.inputs[1:-1]))
    values = step.input(len(step.inputs) - 1)
    if step.attributes["accumulate"]:
        k.accumulate(target, lambda v: v, values)
    else:
        k.assign(target, lambda v: v, values)


@lowers("take")
def _take(k: Builder, step: Call) -> None:
    x, index = step.input(0), step.input(1)
    flat = x.reshaped((x.numel,)) if x.is_contiguous() else k.temp((x.numel,), x.dtype)
    if not x.is_contiguous():
        k.copy(flat.reshaped(x.shape), x)
    k.copy(step.out, flat.chosen(0, index, wraps=True))
