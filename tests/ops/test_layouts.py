"""Where results lie in memory: without gaps, in the order of their inputs, as PyTorch's do."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch as pytorch
from sampling import ELEMENTWISE, Overload, Sample, call_of, overloads, samples

import clew as torch


def transposed(x: numpy.ndarray) -> numpy.ndarray:
    return numpy.ascontiguousarray(x.T).T


def spread(x: numpy.ndarray) -> numpy.ndarray:
    """With gaps along each axis."""
    wide = numpy.zeros([2 * size for size in x.shape], x.dtype)
    wide[tuple(slice(None, None, 2) for _ in x.shape)] = x
    return wide[tuple(slice(None, None, 2) for _ in x.shape)]


def spread_transposed(x: numpy.ndarray) -> numpy.ndarray:
    return spread(numpy.ascontiguousarray(x.T)).T


def channels_last(x: numpy.ndarray) -> numpy.ndarray:
    return x if x.ndim < 3 else numpy.moveaxis(numpy.ascontiguousarray(numpy.moveaxis(x, 1, -1)), -1, 1)


LAYOUTS: tuple[Callable[[numpy.ndarray], numpy.ndarray], ...] = (
    numpy.ascontiguousarray,
    transposed,
    spread,
    spread_transposed,
    channels_last,
)


def laid_out(module: Any, x: numpy.ndarray) -> Any:
    """A tensor with the array's values and strides, which are whole numbers of elements."""
    tensor = module.empty_strided(x.shape, tuple(step // x.itemsize for step in x.strides), dtype=str_dtype(module, x))
    tensor.copy_(module.from_numpy(numpy.array(x)))
    return tensor


def str_dtype(module: Any, x: numpy.ndarray) -> Any:
    return getattr(module, str(x.dtype))


def same_everywhere(ours: Any, theirs: Any, arguments: dict[str, numpy.ndarray]) -> None:
    """Both functions give the same strides and values, however the arguments lie."""
    alike = [dict.fromkeys(arguments, layout) for layout in LAYOUTS]
    apart = [
        {name: one if name == which else other for name in arguments}
        for one, other in itertools.permutations(LAYOUTS, 2)
        for which in arguments
        if len(arguments) > 1
    ]
    for combination in alike + apart:
        arrays = {name: combination[name](x) if x.ndim else x for name, x in arguments.items()}
        got = ours({name: laid_out(torch, x) for name, x in arrays.items()})
        wanted = theirs({name: laid_out(pytorch, x) for name, x in arrays.items()})
        assert got.stride() == wanted.stride(), {name: x.strides for name, x in arrays.items()}
        numpy.testing.assert_allclose(got.numpy(), wanted.numpy(), rtol=1e-6, atol=1e-9)


def has_samples(overload: Overload) -> bool:
    try:
        return overload.is_public and bool(overload.domain) and bool(samples(overload))
    except ValueError:  # the domain leaves something out, which tests of domains tell
        return False


SWEPT = [
    overload
    for overload in overloads()
    if overload.has(ELEMENTWISE) and has_samples(overload) and call_of(overload, pytorch) is not None
]


@pytest.mark.parametrize("overload", SWEPT, ids=[o.name for o in SWEPT])
def test_elementwise(overload: Overload) -> None:
    """All elementwise operations of the registry, of two and three axes, and with one operand broadcast."""
    theirs = call_of(overload, pytorch)
    ours = call_of(overload, torch)
    sample = samples(overload, seed=1)[0]
    tensors = {name: x for name, x in sample.arguments.items() if isinstance(x, numpy.ndarray)}
    rest = {name: x for name, x in sample.arguments.items() if name not in tensors}

    def with_rest(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(given: dict[str, Any]) -> Any:
            places, named = Sample(overload, rest | given).positional()
            return function(*places, **named)

        return call

    deep = {name: numpy.stack([x, x, x, x]) if x.ndim else x for name, x in tensors.items()}
    mixed = [deep | {name: tensors[name]} for name in tensors] if len(tensors) > 1 else []
    for arguments in (tensors, deep, *mixed):
        same_everywhere(with_rest(ours), with_rest(theirs), arguments)


X = numpy.arange(1.0, 25.0).reshape(2, 3, 4)
BINARY = ["add", "sub", "mul", "lt", "eq", "logical_and", "maximum"]


def by_place(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda given: function(*given.values())


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("other", [X[::-1].copy(), X[:, :1], X[0], X[:1, :, :1], numpy.asarray(X[0, 0, 0])], ids=str)
def test_two_operands(name: str, other: numpy.ndarray) -> None:
    for a, b in ((X, other), (other, X)):
        same_everywhere(*(by_place(getattr(module, name)) for module in (torch, pytorch)), {"a": a, "b": b})


@pytest.mark.parametrize(
    "shape", [(3, 1), (1, 3), (4, 1, 1), (2, 1, 3), (0, 3), (3, 0), (1, 1), (2, 0, 3), (5,)], ids=str
)
def test_axes_of_one_element_and_none(shape: tuple[int, ...]) -> None:
    x = numpy.zeros(shape)
    for name in ("neg", "exp", "clone", "double", "int", "abs"):
        call = by_place(lambda x: getattr(x, name)())  # noqa: B023
        same_everywhere(call, call, {"x": x})
    for call in (by_place(lambda x: x * 2), by_place(lambda x: x / x)):
        same_everywhere(call, call, {"x": x})
    add = by_place(lambda x, y: x + y)
    same_everywhere(add, add, {"x": x, "y": x})


@pytest.mark.parametrize(
    "call",
    [
        lambda m, x: m.zeros_like(x),
        lambda m, x: m.empty_like(x, dtype=m.int64).zero_(),
        lambda m, x: m.full_like(x, 3),
        lambda m, x: x.to(m.float32),
        lambda m, x: x.float() + x,
        lambda m, x: m.where(x > 3, x, 0.0),
        lambda m, x: m.clamp(x, m.full_like(x, 2.0), None),
        lambda m, x: m.nan_to_num(x),
        lambda m, x: m.nn.functional.logsigmoid(x),
        lambda m, x: x.sort(0).values,
        lambda m, x: x.sort(0).indices,
        lambda m, x: x.flip(0),
        lambda m, x: m.softmax(x, 0),
        lambda m, x: x.cumsum(0),
        lambda m, x: x.expand(2, *x.shape).transpose(0, 1).neg(),
        lambda m, x: m.nn.functional.gelu(x) * x.sigmoid(),
    ],
)
def test_others(call: Callable[[Any, Any], Any]) -> None:
    same_everywhere(*(lambda given, m=m: call(m, given["x"]) for m in (torch, pytorch)), {"x": X})


def test_a_result_on_a_transposed_matrix_is_transposed() -> None:
    x = torch.ones(3, 2).t()
    assert x.neg().stride() == (1, 2)
    assert (x + torch.ones(2, 3)).stride() == (1, 2)  # the first decides
    assert (torch.ones(2, 3) + x).stride() == (3, 1)
    assert (torch.ones(3) + x).stride() == (1, 2)  # it is broadcast along the axis in question


def test_random_numbers_go_where_pytorchs_go() -> None:
    for draw in ("bernoulli", "dropout", "rand_like"):
        results = []
        for module in (torch, pytorch):
            module.manual_seed(3)
            x = module.full((40, 30), 0.5).t()
            function = module.nn.functional.dropout if draw == "dropout" else getattr(module, draw)
            results.append(function(x))
        assert results[0].stride() == results[1].stride()
        assert numpy.array_equal(results[0].numpy(), results[1].numpy())


def test_in_place_and_out_keep_their_own_layout() -> None:
    x, y = torch.arange(6.0).reshape(2, 3), torch.arange(6.0).reshape(3, 2).t()
    sums = (x + y).tolist()
    out = torch.empty(3, 2).t()
    assert torch.add(x, y, out=out).stride() == (1, 2)
    assert out.tolist() == sums
    kept = y.clone()
    kept += x
    assert kept.stride() == (1, 2)
    assert kept.tolist() == sums


@pytest.mark.parametrize("size", [(300, 400), (400, 300)])
def test_what_is_written_over_lies_as_a_fresh_result_would(size: tuple[int, int]) -> None:
    """A large intermediate gives its memory to the result only where that is to lie so."""
    results = []
    for module in (torch, pytorch):
        x = module.arange(120000.0).reshape(*size).t() / 7
        y = module.ones(*reversed(size))
        results.append([(x + 1) * y, y * (x + 1), (y + x) * 2, x * (y + 1) + (x + y)])
    for got, wanted in zip(*results, strict=True):
        assert got.stride() == wanted.stride()
        assert numpy.array_equal(got.numpy(), wanted.numpy())


def test_overlapping_memory_is_copied_apart() -> None:
    x = torch.arange(9.0).as_strided((3, 3), (2, 2))
    for copy in (x.clone(), x.neg().neg(), x.double()):
        assert sorted(copy.stride()) == [1, 3]
        assert copy.tolist() == x.tolist()
