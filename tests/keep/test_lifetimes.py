"""Row 6.5: a compiled function keeps no module and no batch alive, and goes itself when nobody has it."""

from __future__ import annotations

import gc
import os
import warnings
import weakref
from typing import Any

import numpy
import pytest

import clew
from clew import nn

pytestmark = pytest.mark.records_calls


class Model(nn.Module):
    """With a submodule, a buffer and a list of modules."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(3, 2)
        self.blocks = nn.ModuleList([nn.Linear(2, 2), nn.BatchNorm1d(2)])
        self.register_buffer("scale", clew.ones(2))

    def forward(self, x: Any) -> Any:
        x = self.inner(x)
        for block in self.blocks:
            x = block(x)
        return x * self.scale


def test_a_module_that_is_an_argument_dies_with_its_recording() -> None:
    function = clew.compile(lambda model, x: model(x).sum())
    models = [Model(), Model()]
    for model in models * 3:
        function(model, clew.ones(4, 3))
    assert (function.hits, function.variants) == (4, 2)
    dying = [weakref.ref(one) for one in (models[0], models[0].inner, models[0].inner.weight, models[0].scale)]
    del model, models[0]
    gc.collect()
    assert [one() for one in dying] == [None] * 4
    assert function.variants == 1
    function(models[0], clew.ones(4, 3))
    assert function.hits == 5


def test_a_global_module_that_is_replaced_dies() -> None:
    holder = {"model": Model()}
    function = clew.compile(lambda x: holder["model"](x).sum())
    for _ in range(3):
        function(clew.ones(4, 3))
    dying = weakref.ref(holder["model"])
    holder["model"] = Model()
    gc.collect()
    assert dying() is None
    assert function.variants == 0
    expected = holder["model"].eval()(clew.ones(4, 3)).sum().item()
    assert function(clew.ones(4, 3)).item() == expected
    assert function(clew.ones(4, 3)).item() == expected
    assert function.hits == 3


def test_a_module_that_dies_during_a_replay() -> None:
    holder = {"model": nn.Linear(3, 2)}

    @clew.pure
    def dropped(x: Any) -> Any:
        if len(seen) == 2:
            holder["model"] = nn.Linear(3, 2)
        seen.append(x)
        return x.detach().clone()

    seen: list[Any] = []
    function = clew.compile(lambda x: dropped(holder["model"](x)))
    first = [function(clew.ones(1, 3)).tolist() for _ in range(3)]
    assert first[0] == first[1] == first[2]
    assert function(clew.ones(1, 3)).tolist() == holder["model"](clew.ones(1, 3)).tolist()


def test_a_cycle_through_a_compiled_function_is_collected() -> None:
    class Owner:
        """Has a compiled step that reads it, a constant, and a pure function that reads it."""

        def __init__(self) -> None:
            self.weight = clew.ones(2, requires_grad=True)
            pure = clew.pure(lambda x: clew.from_numpy(numpy.sin(x.numpy())) if self else x)
            self.step = clew.compile(lambda x: (self.weight * pure(x) + clew.tensor([1.0, 2.0])).sum())

    owner = Owner()
    for _ in range(3):
        owner.step(clew.ones(2))
    assert owner.step.hits == 2
    dying = [weakref.ref(one) for one in (owner, owner.step, owner.weight)]
    gc.collect()
    gc.disable()
    try:
        del owner
        assert dying[0]() is not None  # or this is no test of the collector
        gc.collect()
    finally:
        gc.enable()
    assert [one() for one in dying] == [None] * 3


def test_dropping_the_function_frees_what_it_keeps() -> None:
    gc.collect()
    before = clew.memory.stats().live
    constant = [1.0] * 10_000
    function = clew.compile(lambda x: x + clew.tensor(constant))
    for _ in range(3):
        function(clew.ones(10_000))
    assert function.bytes > 40_000
    assert clew.memory.stats().live >= before + 40_000
    del function
    gc.collect()
    assert clew.memory.stats().live == before


batch: Any = None


class Sample:
    def __init__(self, rows: Any) -> None:
        self.rows = rows


def bytes_alive() -> int:
    return clew.memory.stats().live


@pytest.mark.parametrize("how", ["argument", "global", "attribute", "object"])
def test_batches_are_not_kept_alive(how: str) -> None:
    global batch
    weight = clew.ones(1000, requires_grad=True)

    @clew.compile
    def function(given: Any = None) -> Any:
        values = batch if given is None else given
        return (weight * (values.rows if isinstance(values, Sample) else values)).sum()

    def one_more(again: int) -> weakref.ref[Any]:
        global batch
        data = clew.rand(1000)
        died = weakref.ref(data)
        given = {"argument": data, "object": Sample(data)}.get(how)
        batch = {"global": data, "attribute": Sample(data)}.get(how)
        for _ in range(again):
            function(given).detach()
        batch = None
        return died

    gc.collect()
    gc.disable()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", clew.KeepWarning)
            one_more(3)
            before = bytes_alive()
            for _ in range(8):
                assert one_more(3)() is None
            assert bytes_alive() <= before
    finally:
        gc.enable()
    assert function.hits >= 2


def test_a_tensor_that_dies_takes_its_variant_along() -> None:
    class Holder:
        pass

    holder = Holder()
    holder.leaf = clew.rand(100, requires_grad=True)  # type: ignore[attr-defined]
    function = clew.compile(lambda x: (holder.leaf * x).sum())  # type: ignore[attr-defined]
    for _ in range(3):
        function(clew.ones(100))
    assert (function.hits, function.variants) == (2, 1)
    died = weakref.ref(holder.leaf)  # type: ignore[attr-defined]
    holder.leaf = clew.zeros(100, requires_grad=True)  # type: ignore[attr-defined]
    assert died() is None
    assert function.variants == 0
    assert function(clew.ones(100)).item() == 0
    assert function(clew.ones(100)).item() == 0
    assert (function.hits, function.variants) == (3, 1)


def test_callbacks_of_the_collector_are_not_of_the_call() -> None:
    phases = []

    def callback(phase: str, _: dict[str, int]) -> None:
        phases.append(phase)
        os.getpid()  # whose reads cannot be tracked

    @clew.compile
    def allocates(x: Any) -> Any:
        return x * len([[i] for i in range(3000)])

    gc.callbacks.append(callback)
    try:
        results = [allocates(clew.full((1,), float(i))).item() for i in range(3)]
    finally:
        gc.callbacks.remove(callback)
    assert results == [0, 3000, 6000]
    assert "start" in phases
    assert allocates.hits == 2
