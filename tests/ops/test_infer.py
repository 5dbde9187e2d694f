"""What an operation would give, without computing it, is what it gives."""

import time

import pytest
import sampling
from test_registry import SAMPLED, Prepared, every

import clew
from clew import _core

pytestmark = pytest.mark.beyond

WRITES_INPUT = 256
NATIVE = [
    one
    for one in sampling.overloads()
    if one.domain
    and not one.unsampled
    and not one.has(WRITES_INPUT)
    and not one.operation.endswith("_")
    and not one.operation.startswith("_test_")  # of other tests
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


@pytest.mark.unsanitized("of paddings the plane has the space's code", cases=r"pad3d")
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


# ------------------------------------------------------------------------------------------------------------- meta
# PyTorch tells the shape of these on meta. Here they are computed over NumPy, or say that values decide.
WITHOUT_META = {"histc", "lstsq", "isin", "histogram"}


def on_meta(value):
    """The same geometry without values; leaves are exchanged by themselves."""
    if hasattr(value, "requires_grad"):
        return value if value.requires_grad else value.to("meta")
    if isinstance(value, list | tuple):
        return type(value)(map(on_meta, value))
    return value


def moved(prepared):
    """A sample on meta."""
    prepared.places = list(map(on_meta, prepared.places))
    prepared.named = {name: on_meta(value) for name, value in prepared.named.items()}
    prepared.leaves = [leaf.detach().to("meta").requires_grad_() for leaf in prepared.leaves]
    return prepared


def tensors_of(results, module=clew):
    flat = [one for result in results for one in (result if isinstance(result, list | tuple) else [result])]
    return [one for one in flat if isinstance(one, module.Tensor)]


def geometry(tensor):
    return tuple(tensor.shape), tensor.stride(), str(tensor.dtype), tensor.requires_grad


def meta_results(overload, sample):
    """None where values decide, which an error must say."""
    prepared = moved(Prepared(sample))
    try:
        with clew.device("meta"):  # for those that make tensors of nothing
            return prepared, prepared()
    except (NotImplementedError, RuntimeError) as error:
        if not any(said in str(error) for said in ("values", "no data")):
            raise
    return prepared, None


@pytest.mark.unsanitized("no kernel runs")
@every(SAMPLED)
def test_meta_gives_what_forward_gives(overload):
    for sample in sampling.samples(overload):
        real = Prepared(sample)
        wanted = tensors_of(real())
        prepared, results = meta_results(overload, sample)
        if results is None or not wanted:
            continue
        found = tensors_of(results)
        assert list(map(geometry, found)) == list(map(geometry, wanted))
        assert all(one.is_meta for one in found)
        pairs = [(real, wanted), (prepared, found)]
        views = [[base_of(one, (*who.leaves, *who.places)) is not None for one in made] for who, made in pairs]
        assert views[0] == views[1]
        check_gradients(real, wanted, prepared, found)


def check_gradients(real, wanted, prepared, found):
    """A backward gives gradients of the same geometry, without values."""

    def gradients(who, results):
        total = sum(one.sum() for one in results if one.requires_grad)
        return clew.autograd.grad(total, who.leaves, allow_unused=True)

    if not real.leaves or not any(one.requires_grad for one in wanted):
        return
    try:
        expected = gradients(real, wanted)
    except (RuntimeError, NotImplementedError):
        return  # it has no derivative, and says so
    for ours, other in zip(gradients(prepared, found), expected, strict=True):
        assert (ours is None) == (other is None)
        assert ours is None or (ours.is_meta and (ours.shape, ours.dtype) == (other.shape, other.dtype))


@pytest.mark.unsanitized("comparisons with PyTorch are made without sanitizers")
@every([one for one in SAMPLED if one.is_public])
def test_meta_gives_what_pytorchs_meta_gives(overload, oracle):
    """Where PyTorch's call is the same: it gives tensors of the same geometry from tensors with values."""
    if not sampling.calls_of(overload, oracle):
        return
    for sample in sampling.samples(overload):
        try:
            plain = tensors_of(Prepared(sample, oracle)(), oracle)
            theirs = tensors_of(moved(Prepared(sample, oracle))(), oracle)
        except (RuntimeError, TypeError, NotImplementedError, ValueError, IndexError, UserWarning):
            continue  # PyTorch has no such call, or no meta for it
        real = tensors_of(Prepared(sample)())
        if list(map(geometry, plain)) != list(map(geometry, real)):
            continue
        _, results = meta_results(overload, sample)
        if results is None:
            assert overload.operation in WITHOUT_META
            continue
        for our, their, known in zip(tensors_of(results), theirs, plain, strict=True):
            assert (tuple(our.shape), str(our.dtype)) == (tuple(their.shape), str(their.dtype))
            if their.stride() == known.stride():
                assert our.stride() == their.stride()


@pytest.mark.parametrize("name", ["amax", "amin", "argmax", "argsort", "max", "median", "msort", "nanmedian", "sort"])
def test_complex_numbers_are_not_ordered_in_inference_either(name):
    values = clew.full((2,), 1j)
    operation = vars(_core.ops)[name]
    for call in (operation, lambda x: _core.infer(operation, x)):
        with pytest.raises(NotImplementedError, match="no order"):
            call(values)
    with pytest.raises(NotImplementedError, match="no order"):
        operation(values.to("meta"))


def test_full_takes_complex_numbers(torch, oracle):
    for module in (torch, oracle):
        made = module.full((2,), 1j), module.full_like(module.zeros(2, dtype=module.complex128), 2 - 1j)
        made += (module.zeros(1, dtype=module.complex64).new_full((1,), 3j),)
        assert [str(one.dtype) for one in made] == ["torch.complex64", "torch.complex128", "torch.complex64"]
        assert [one.tolist() for one in made] == [[1j, 1j], [2 - 1j, 2 - 1j], [3j]]
        with pytest.raises(RuntimeError, match="overflow"):
            module.full((2,), 1j, dtype=module.float32)
