"""What an operation would give, without computing it, is what it gives."""

import time

import pytest
import sampling
from test_registry import Prepared, every

import clew
from clew import _core

pytestmark = pytest.mark.beyond

WRITES_INPUT = 256
NATIVE = [
    one
    for one in sampling.overloads()
    if one.domain and not one.unsampled and not one.has(WRITES_INPUT) and not one.operation.endswith("_")
]


def inferred(prepared):
    operation = getattr(_core.ops, prepared.sample.overload.operation)
    return _core.infer(operation, *prepared.places, **prepared.named)


def with_other_values(value):
    """The same geometry with values that no operation expects."""
    if isinstance(value, clew.Tensor):
        other = clew.empty_like(value.detach(), requires_grad=False)
        return other.fill_(float("nan") if other.is_floating_point() else 1 if other.dtype == clew.bool else 77)
    if isinstance(value, list | tuple):
        return type(value)(map(with_other_values, value))
    return value


def base_of(result, arguments):
    for one in arguments:
        if isinstance(one, list | tuple):
            found = base_of(result, one)
            if found is not None:
                return found
        elif isinstance(one, clew.Tensor) and one._storage_id == result._storage_id:
            return one
    return None


def unknown(overload):
    """Whether infer() says that values decide."""
    for sample in sampling.samples(overload):
        try:
            inferred(Prepared(sample))
        except NotImplementedError:
            return True
    return False


@every(NATIVE)
def test_it_says_what_forward_gives(overload):
    if unknown(overload):
        return
    for sample in sampling.samples(overload):
        prepared = Prepared(sample)
        prepared.by_parts = False
        results = prepared()
        for found, result in zip(inferred(prepared), results, strict=True):
            size, stride, dtype, base = found
            assert (size, stride, dtype) == (result.shape, result.stride(), result.dtype)
            assert base is base_of(result, (*prepared.places, *prepared.named.values()))
        prepared.places = list(map(with_other_values, prepared.places))
        prepared.named = {name: with_other_values(value) for name, value in prepared.named.items()}
        for found, result in zip(inferred(prepared), results, strict=True):
            assert found[:3] == (result.shape, result.stride(), result.dtype)


SIZED_BY_VALUES = 524288


def test_only_those_that_say_so_depend_on_values():
    dependent = {one.operation for one in NATIVE if unknown(one)}
    places = {"_split_long", "tensor_split"}  # tensors of places where to cut
    assert dependent <= places | {one.operation for one in NATIVE if one.has(SIZED_BY_VALUES)}
    assert {"nonzero", "masked_select"} <= dependent


def test_nothing_is_computed():
    a = clew.empty(30_000, 30_000)  # 3.6 GB that nobody touches; the product would take minutes
    before = _core.memory_stats()["live"]
    begin = time.process_time()
    ((size, stride, dtype, base),) = _core.infer(_core.ops.matmul, a, a)
    assert time.process_time() - begin < 1
    assert (size, stride, dtype, base) == ((30_000, 30_000), (30_000, 1), clew.float32, None)
    assert _core.memory_stats()["live"] == before


def test_nothing_is_drawn_or_written():
    clew.manual_seed(0)
    state = clew.get_rng_state()
    x, running = clew.ones(2, 3), clew.ones(3)
    for name, arguments in (
        ("dropout", (x, 0.5, True)),
        ("dropout_", (x, 0.5, True)),
        ("bernoulli", (x,)),
        ("poisson", (x,)),
        ("multinomial", (x, 2)),
        ("_rand", ((3,), clew.float32)),
        ("native_batch_norm", (x, None, None, running, running, True, 0.1, 1e-5)),
    ):
        _core.infer(getattr(_core.ops, name), *arguments)
    assert clew.equal(clew.get_rng_state(), state)
    assert x.tolist() == [[1.0] * 3] * 2
    assert running.tolist() == [1.0] * 3
    assert (x._version, running._version) == (0, 0)


def test_errors_of_sizes_come_from_it():
    with pytest.raises(RuntimeError, match="mat1 and mat2 shapes cannot be multiplied"):
        _core.infer(_core.ops.mm, clew.ones(2, 3), clew.ones(2, 3))
    with pytest.raises(NotImplementedError, match="infer: the result depends on values of tensors"):
        _core.infer(_core.ops.nonzero, clew.ones(2))
    with pytest.raises(NotImplementedError, match="fill_ writes its input"):
        _core.infer(_core.ops.fill_, clew.ones(2), 1.0)
    with pytest.raises(TypeError, match="expected an operation"):
        _core.infer(clew.ones(2))
    assert (clew.ones(2) + 1).tolist() == [2.0, 2.0]  # kernels run again
