"""Every operation, of the registry or written in Python, on the dtypes that are stored and not computed in.

Values are rounded to the dtype before; results and first gradients are then PyTorch's within its rounding. Where
PyTorch has no kernel for the dtype, they are those of float32, rounded.
"""

import contextlib
import tomllib

import numpy
import pytest
import sampling
from test_registry import DEVIATIONS, SAMPLED, Prepared, every, outcome, pytorchs

import clew

INTEGERS = {"float16": "int8", "bfloat16": "int16"}
stored = pytest.mark.parametrize("floating", INTEGERS)


def rounded(value, oracle, floating):
    """The sample's arrays with values that the dtype has."""
    if isinstance(value, numpy.ndarray) and value.dtype.kind == "f":
        near = oracle.from_numpy(numpy.array(value)).to(getattr(oracle, floating)).double().numpy()
        return near.view(type(value))
    if isinstance(value, list | tuple):
        return type(value)(rounded(one, oracle, floating) for one in value)
    return value


def samples_in(overload, oracle, floating):
    made = sampling.samples(overload, integer=INTEGERS[floating])
    for sample in made:
        sample.arguments = {name: rounded(value, oracle, floating) for name, value in sample.arguments.items()}
    return made


def expected_of(sample, oracle, floating):
    """PyTorch's results in the dtype, or in float32 where it refuses that, and to be rounded; those in float64; all
    with gradients. And whether it refuses."""
    exact = pytorchs(sample, oracle, "float64")
    try:
        found, refused = pytorchs(sample, oracle, floating), False
    except RuntimeError:
        found, refused = None, True
    if found is None:
        with contextlib.suppress(RuntimeError):
            found = pytorchs(sample, oracle, "float32")
    return found, exact, refused


def assert_near(ours, theirs, exact, floating, oracle):
    """Within some units of the dtype, or twice as far from the exact numbers as PyTorch is."""
    if ours is None or theirs is None:
        assert not any(x.any() for x in (ours, theirs) if x is not None)
        return
    if not isinstance(ours, clew.Tensor):
        assert repr(ours) == repr(theirs)
        return
    if theirs.dtype == oracle.float32:
        assert str(ours.dtype) in ("torch.float32", f"torch.{floating}")
    else:
        assert str(ours.dtype) == str(theirs.dtype)
    assert tuple(ours.shape) == tuple(theirs.shape)
    if not ours.dtype.is_floating_point:
        assert ours.tolist() == theirs.tolist()
        return
    one, other, true = (numpy.array(x.tolist(), float) for x in (ours, theirs.clone(), exact.clone()))
    bounds = clew.finfo(ours.dtype)
    true[numpy.abs(true) > bounds.max] *= numpy.inf
    size = numpy.abs(true)[numpy.isfinite(true)].max(initial=0)
    with numpy.errstate(invalid="ignore", over="ignore"):
        other = numpy.where(numpy.isnan(other), true, other)  # PyTorch's matrix_exp overflows
        allowed = 4 * bounds.eps * (numpy.abs(other) + size) + 2 * numpy.nan_to_num(numpy.abs(other - true))
        near = (one == other) | (numpy.isnan(one) & numpy.isnan(other)) | (numpy.abs(one - other) <= allowed)
    assert near.all(), f"{one} is not {other}; exactly {true}"


ENTRIES = tomllib.loads(DEVIATIONS.read_text())["deviation"]
WITH_COMPLEX32 = next(one for one in ENTRIES if one["name"] == "no-complex32")["differs"][0]["operations"]


def differs(overload, floating):
    """Where PyTorch has complex32; and a rule that subtracts close numbers, each rounded."""
    without = floating == "float16" and overload.operation in WITH_COMPLEX32
    return without or overload.operation == "special_erfcx"


@pytest.mark.filterwarnings("ignore::UserWarning")
@stored
@every([overload for overload in SAMPLED if overload.is_public])
def test_values_and_gradients_are_pytorchs(overload, floating, oracle):
    for sample in [] if differs(overload, floating) else samples_in(overload, oracle, floating):
        expected, exact, refused = expected_of(sample, oracle, floating)
        if expected is None:
            continue
        try:
            results, gradients = outcome(Prepared(sample, floating=floating))
        except RuntimeError:
            if refused:
                continue
            raise
        after = clew.get_rng_state()
        clew.manual_seed(0)
        if not clew.equal(clew.get_rng_state(), after):  # float64 draws other numbers
            exact = expected
        triples = list(zip(results, expected[0], exact[0], strict=True))
        if gradients is not None and expected[1] is not None and exact[1] is not None:
            triples += zip(gradients, expected[1], exact[1], strict=True)
        for ours, theirs, true in triples:
            assert_near(ours, theirs, true, floating, oracle)


def as_integers(value, dtype):
    """The sample's floating arrays as integers."""
    if isinstance(value, numpy.ndarray) and value.dtype.kind == "f":
        return numpy.asarray(numpy.rint(3 * value), dtype)
    if isinstance(value, numpy.ndarray) and value.dtype in ("int8", "int16"):
        return value.astype(dtype)
    if isinstance(value, list | tuple):
        return type(value)(as_integers(one, dtype) for one in value)
    return value


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("dtype", ["int8", "int16"])
@every([overload for overload in SAMPLED if overload.is_public])
def test_integers_are_pytorchs(overload, dtype, oracle):
    """Where PyTorch takes integers for the samples' floating numbers."""
    for sample in sampling.samples(overload, integer=dtype):
        sample.arguments = {name: as_integers(value, dtype) for name, value in sample.arguments.items()}
        try:
            expected = pytorchs(sample, oracle)
        except RuntimeError:
            continue
        if expected is None:
            continue
        try:
            results = Prepared(sample)()
        except RuntimeError:  # no integers at all
            sample.arguments = {name: as_integers(value, "int64") for name, value in sample.arguments.items()}
            with pytest.raises(RuntimeError):
                Prepared(sample)()
            continue
        for ours, theirs in zip(results, expected[0], strict=True):
            if isinstance(ours, clew.Tensor):
                assert str(ours.dtype) == str(theirs.dtype)
                numpy.testing.assert_allclose(ours.tolist(), theirs.tolist(), rtol=1e-6, atol=1e-7)
            else:
                assert repr(ours) == repr(theirs)
