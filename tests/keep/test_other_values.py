"""6.2: a program that was recorded with ordinary data runs with zeros, NaN, infinities and ties: eager's bits.

No step may depend on values that decided something when it was recorded.
"""

import numpy as np
import public_functions
import pytest
import sampling
from ops.test_registry import Prepared
from test_replays_of_the_registry import SAMPLED, said, step, tensors

import clew

pytestmark = [
    pytest.mark.unsanitized("kernels run on the same values in other tests"),
    pytest.mark.beyond,
    pytest.mark.filterwarnings("ignore"),
]

# What they give hangs on values: how many numbers, a number or a truth of Python's.
BY_VALUES = {
    "allclose": "a truth",
    "equal": "a truth",
    "is_nonzero": "a truth",
    "lstsq": "whether there are residuals",
    "argwhere": "its shape",
    "nonzero": "its shape",
}


def with_zeros(array, rng):
    array[rng.random(array.shape) < 0.3] = 0.0


def with_one_zero(array, rng):
    array.reshape(-1)[rng.integers(array.size)] = 0.0


def zeros(array, rng):
    array[...] = 0.0


def with_nan(array, rng):
    array.reshape(-1)[rng.integers(array.size)] = np.nan


def with_infinities(array, rng):
    flat = array.reshape(-1)
    flat[rng.integers(array.size)] = np.inf
    flat[rng.integers(array.size)] = -np.inf


def with_ties(array, rng):
    array[...] = rng.choice(array.reshape(-1)[:2], array.shape)


def large(array, rng):
    array *= 1e30


def negated(array, rng):
    np.negative(array, out=array)


CHANGES = [with_one_zero, with_zeros, zeros, with_nan, with_infinities, with_ties, large, negated]


def changed(tensor, change, rng):
    array = tensor.detach().resolve_conj().contiguous().numpy().copy()
    if array.size and array.dtype.kind == "f":
        change(array, rng)
    return clew.from_numpy(array)


def bits(values):
    """Any NaN is as good as another."""
    result = []
    for one in values:
        plain = one.detach().resolve_conj().contiguous()
        array = (plain.float() if plain.dtype is clew.bfloat16 else plain).numpy().copy()
        if array.dtype.kind in "fc":
            array[np.isnan(array)] = np.nan
        result.append((array.shape, array.tobytes()))
    return result


def check(sample, changes, run=step):
    prepared = Prepared(sample)
    clew.manual_seed(0)
    try:
        with clew.keep_graph() as program:
            kept = run(prepared)
    except (clew.KeepError, RuntimeError, TypeError, ValueError, AttributeError, IndexError):
        return  # not to be called so, or not to be kept: tests of the registry and of row 6.1
    given = tensors([prepared.places, prepared.named])
    rng = np.random.default_rng(0)
    for change in changes:
        eager = Prepared(sample)
        for one, other in zip(given, tensors([eager.places, eager.named]), strict=True):
            values = changed(other, change, rng)
            one.data.copy_(values)
            other.data.copy_(values)
        for leaf in prepared.leaves:
            leaf.grad = None
        clew.manual_seed(0)
        try:
            wanted = run(eager)
        except (RuntimeError, ValueError, IndexError):
            continue  # refused, in eager execution, too
        clew.manual_seed(0)
        program.run()
        gradients = [leaf.grad for leaf in prepared.leaves if leaf.grad is not None]
        got = kept[: len(kept) - len(gradients)] + gradients
        assert bits(got) == bits(wanted), f"{sample.overload} {change.__name__}: {[*zip(got, wanted, strict=True)]}"


COMPOSED = [one for one in sampling.compositions() if one.domain and not one.unsampled and not one.draws]


@pytest.mark.parametrize("overload", [*SAMPLED, *COMPOSED], ids=said)
def test_other_values(overload):
    if "empty" in overload.name:
        pytest.skip("nothing says what it gives")
    if overload.operation in BY_VALUES:
        pytest.skip(BY_VALUES[overload.operation])
    for sample in sampling.samples(overload, seed=0, dtype="float32"):
        check(sample, CHANGES)


# What draws as many numbers as its values ask for, and what takes its limits from them.
OF_VALUES = [
    public_functions.Function("F.rrelu(x, training=True)", "x=nonzero(2, 3)"),
    public_functions.Function("torch.histc(x, 4)", "x=real(6)"),
    public_functions.Function("torch.histogram(x.detach(), 4).hist", "x=real(6)"),
    public_functions.Function("torch.histogram(x.detach(), 4).bin_edges", "x=real(6)"),
]


@pytest.mark.parametrize("function", [*public_functions.functions(), *OF_VALUES], ids=str)
def test_other_values_of_public_functions(function, monkeypatch):
    call, arrays = function.on(clew)
    seed = clew.manual_seed
    monkeypatch.setattr(clew, "manual_seed", lambda seed: None)  # which these functions call; a block may not

    def run(values):
        results = call(*values)
        if differentiable := [one for one in results if one.requires_grad]:
            sum((one * one).sum() for one in differentiable).backward()
        return results

    values = [clew.from_numpy(one.copy()).requires_grad_() for one in arrays]
    seed(0)
    with clew.keep_graph() as program:
        kept = run(values)
    rng = np.random.default_rng(0)
    for change in CHANGES:
        copies = [array.copy() for array in arrays]
        for copy in copies[:1]:
            if copy.size:
                change(copy, rng)
        for one, copy in zip(values, copies, strict=True):
            one.data.copy_(clew.from_numpy(copy))
            one.grad = None
        eager = [clew.from_numpy(copy).requires_grad_() for copy in copies]
        seed(0)
        try:
            wanted = run(eager)
        except (RuntimeError, ValueError, IndexError):
            continue  # refused, in eager execution, too
        seed(0)
        program.run()
        wanted += [one.grad for one in eager if one.grad is not None]
        got = [*kept, *[one.grad for one in values if one.grad is not None]]
        assert bits(got) == bits(wanted), f"{change.__name__}: {[*zip(got, wanted, strict=True)]}"


def twice(prepared):
    """The second derivative."""
    results = tensors(prepared.operation(*prepared.places, **prepared.named))
    differentiable = [one for one in results if one.requires_grad and not one.is_complex() and one.numel()]
    if not differentiable or not prepared.leaves:
        return results
    total = sum((one * one).sum() for one in differentiable)
    slopes = clew.autograd.grad(total, prepared.leaves, create_graph=True, allow_unused=True)
    slopes = [one for one in slopes if one is not None]
    bent = [one for one in slopes if one.requires_grad and not one.is_complex()]
    if bent:
        sum((one * one).sum() for one in bent).backward()
    # Where the way that was not taken adds its zero, -0 becomes 0.
    return results + slopes + [leaf.grad for leaf in prepared.leaves if leaf.grad is not None]


@pytest.mark.parametrize("name", ["prod", "cumprod", "max", "min", "amax", "median", "nanmedian", "std", "norm"])
def test_second_derivatives(name):
    for overload in SAMPLED:
        if overload.operation != name:
            continue
        for sample in sampling.samples(overload, seed=0, dtype="float32"):
            check(sample, [with_one_zero, with_zeros, with_ties], twice)


def test_the_mean_of_all_batches_goes_on():
    batches = [clew.randn(8, 3) for _ in range(4)]
    layer, eager = clew.nn.BatchNorm1d(3, momentum=None), clew.nn.BatchNorm1d(3, momentum=None)
    x = batches[0].clone()
    with clew.keep_graph() as program:
        layer(x)
    for batch in batches[1:]:
        x.copy_(batch)
        program.run()
    for batch in batches:
        eager(batch)
    for kept, value in zip(layer.buffers(), eager.buffers(), strict=True):
        assert clew.equal(kept, value)
    assert clew.allclose(layer.running_mean, clew.cat(batches).mean(0), atol=1e-6)


@pytest.mark.parametrize("dim", [None, 0, 1])
@pytest.mark.parametrize("name", ["norm", "std"])
def test_recorded_with_ordinary_numbers_run_with_tiny_ones(name, dim):
    """The gradient over a norm is one factor where that has all its digits, and is divided by parts elsewhere."""

    def gradient(x, g):
        y = getattr(x, name)() if dim is None else getattr(x, name)(dim)
        return clew.autograd.grad(y, x, g.expand_as(y))[0]

    first = clew.linspace(0.5, 2.0, 48).reshape(3, 16)
    x, g = first.clone().requires_grad_(), clew.ones(())
    with clew.keep_graph() as program:
        kept = gradient(x, g)
    for scale, size in [(1e-30, 1.0), (1e-39, 1.0), (1e-30, 1e30), (1e30, 1e-30), (1.0, 0.0)]:
        x.data.copy_(first * scale)
        g.copy_(clew.full((), size))
        program.run()
        assert bits([kept]) == bits([gradient(x, g)])
        exact = gradient(x.detach().double().requires_grad_(), g.double())
        np.testing.assert_allclose(kept.double().numpy(), exact.numpy(), rtol=1e-5, atol=1e-5 * size)
