"""Collectives of Python objects, which travel as pickles: only among ranks that trust each other."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import numpy

from ._check import agree, header
from ._groups import group_of
from ._ranks import root_of
from ._work import collective

_Steps = Iterator[Any]


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """Put the object of rank `i` into `object_list[i]`, on all ranks.

    Raises:
        ValueError: the list has not one place for each rank.
    """
    chosen = group_of(group)
    _check_length("all_gather_object", "object_list", object_list, chosen.size())
    mine = _pickled(obj)

    def steps() -> _Steps:
        yield from agree(chosen.comm, header("all_gather_object"))
        sizes = numpy.empty(chosen.size(), dtype=numpy.int64)
        yield chosen.comm.Iallgather(_size(mine), sizes)
        whole = numpy.empty(int(sizes.sum()), dtype=numpy.uint8)
        yield chosen.comm.Iallgatherv(mine, (whole, sizes.tolist()))
        object_list[:] = _loaded(whole, sizes)

    collective(chosen, "all_gather_object", steps(), (), False)


def gather_object(
    obj: Any,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: Any = None,
    group_dst: int | None = None,
) -> None:
    """Put the object of rank `i` into `object_gather_list[i]` of rank `dst`, by default 0.

    Raises:
        ValueError: the list of `dst` has not one place for each rank.
    """
    chosen = group_of(group)
    root = root_of("gather_object", "dst", chosen, dst, group_dst)
    at_root = chosen.rank() == root
    if at_root:
        _check_length("gather_object", "object_gather_list", object_gather_list, chosen.size())
    mine = _pickled(obj)

    def steps() -> _Steps:
        yield from agree(chosen.comm, header("gather_object", root=root))
        sizes = numpy.empty(chosen.size(), dtype=numpy.int64)
        yield chosen.comm.Igather(_size(mine), sizes if at_root else None, root)
        whole = numpy.empty(int(sizes.sum()) if at_root else 0, dtype=numpy.uint8)
        yield chosen.comm.Igatherv(mine, (whole, sizes.tolist()) if at_root else None, root)
        if at_root and object_gather_list is not None:
            object_gather_list[:] = _loaded(whole, sizes)

    collective(chosen, "gather_object", steps(), (), False)


def broadcast_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
) -> None:
    """Put the objects of rank `src`, by default 0, into the list of each rank; lists are equally long.

    Raises:
        ValueError: `object_list` is no list.
        DistError: ranks differ in the length or in `src`.
    """
    chosen = group_of(group)
    root = root_of("broadcast_object_list", "src", chosen, src, group_src)
    _check_length("broadcast_object_list", "object_list", object_list, None)
    mine = _pickled(list(object_list)) if chosen.rank() == root else numpy.empty(0, dtype=numpy.uint8)

    def steps() -> _Steps:
        yield from agree(chosen.comm, header("broadcast_object_list", root=root, numbers=[len(object_list)]))
        size = _size(mine)
        yield chosen.comm.Ibcast(size, root)
        whole = mine if chosen.rank() == root else numpy.empty(int(size[0]), dtype=numpy.uint8)
        yield chosen.comm.Ibcast(whole, root)
        if chosen.rank() != root:
            object_list[:] = pickle.loads(whole.tobytes())

    collective(chosen, "broadcast_object_list", steps(), (), False)


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None,
    src: int | None = None,
    group: Any = None,
    group_src: int | None = None,
) -> None:
    """Put `scatter_object_input_list[i]` of rank `src`, by default 0, first into the output list of rank `i`.

    Raises:
        ValueError: an output list has no place, or the input list of `src` not one object for each rank.
    """
    chosen = group_of(group)
    root = root_of("scatter_object_list", "src", chosen, src, group_src)
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ValueError("scatter_object_list: expected an output list with one place at least, got none")
    parts: list[Any] = []
    if chosen.rank() == root:
        _check_length("scatter_object_list", "scatter_object_input_list", scatter_object_input_list, chosen.size())
        parts = [_pickled(one) for one in scatter_object_input_list or []]

    def steps() -> _Steps:
        yield from agree(chosen.comm, header("scatter_object_list", root=root))
        size = numpy.empty(1, dtype=numpy.int64)
        sizes = numpy.array([part.size for part in parts], dtype=numpy.int64)
        yield chosen.comm.Iscatter(sizes if parts else None, size, root)
        mine = numpy.empty(int(size[0]), dtype=numpy.uint8)
        given = (numpy.concatenate(parts), sizes.tolist()) if parts else None
        yield chosen.comm.Iscatterv(given, mine, root)
        scatter_object_output_list[0] = pickle.loads(mine.tobytes())

    collective(chosen, "scatter_object_list", steps(), (), False)


def _check_length(call: str, name: str, values: Any, length: int | None) -> None:
    if not isinstance(values, list) or (length is not None and len(values) != length):
        wanted = "a list" if length is None else f"a list with {length} places, one for each rank"
        got = f"{len(values)}" if isinstance(values, list) else type(values).__name__
        raise ValueError(f"{call}: expected {name} to be {wanted}, got {got}")


def _pickled(value: Any) -> Any:
    return numpy.frombuffer(pickle.dumps(value, pickle.HIGHEST_PROTOCOL), dtype=numpy.uint8)


def _size(array: Any) -> Any:
    return numpy.array([array.size], dtype=numpy.int64)


def _loaded(whole: Any, sizes: Any) -> list[Any]:
    ends = numpy.cumsum(sizes)
    return [pickle.loads(whole[end - size : end].tobytes()) for size, end in zip(sizes, ends, strict=True)]
