"""`nn.parallel.scatter_gather`: what is split is joined again, whatever holds it."""

import collections

import pytest

import clew
from clew.nn.parallel.scatter_gather import _is_namedtuple, gather, scatter, scatter_kwargs

Pair = collections.namedtuple("Pair", "x y")


def test_parts_and_their_joining():
    x = clew.arange(10.0).view(5, 2)
    held = {"pair": Pair(x, [x + 1]), "tuple": (x, x)}
    parts = scatter(held, [0, 1])
    assert len(parts) == 2
    assert [len(part["pair"].x) for part in parts] == [3, 2]
    joined = gather(parts, "cpu")
    assert isinstance(joined["pair"], Pair)
    assert _is_namedtuple(joined["pair"])
    assert clew.equal(joined["pair"].y[0], x + 1)
    assert clew.equal(joined["tuple"][1], x)
    assert gather([clew.tensor(1.0), clew.tensor(2.0)]).tolist() == [1.0, 2.0]
    assert gather([None, None]) is None
    with pytest.raises(ValueError, match="keys"):
        gather([{"a": x}, {"b": x}])


def test_arguments():
    x = clew.ones(4)
    places, names = scatter_kwargs((x, 3), {"y": x}, [0, 1])
    assert [len(one[0]) for one in places] == [2, 2]
    assert places[0][1] == 3
    assert [len(one["y"]) for one in names] == [2, 2]
    assert scatter_kwargs((x,), None, [0, 1])[1] == ({}, {})
    assert scatter_kwargs((), {"y": x}, [0, 1])[0] == ((), ())
