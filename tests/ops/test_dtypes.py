"""Every operation, of the registry or written in Python, on the dtypes that are stored and not computed in.

Values are rounded to the dtype before; results and first gradients are then PyTorch's within its rounding. Where PyTorch
has no kernel for the dtype, they are those of float32, rounded.
"""

import math

import numpy
import pytest
import sampling
from test_registry import SAMPLED, Prepared, every, outcome, pytorchs

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
    """PyTorch's results in the dtype, or in float32 and to be rounded; and those in float64, all with gradients."""
    exact = pytorchs(sample, oracle, "float64")
    try:
        found = pytorchs(sample, oracle, floating)
    except (RuntimeError, NotImplementedError) as error:
        if "not implemented" not in str(error):
            raise
        found = None
    if found is None:
        found = pytorchs(sample, oracle, "float32")
    return found, exact


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
    one, other = numpy.array(ours.tolist()), theirs.detach().double().numpy()
    true = exact.detach().double().numpy() if exact is not None else other
    eps = clew.finfo(ours.dtype).eps
    size = numpy.nan_to_num(numpy.abs(true), posinf=0, neginf=0)
    allowed = 4 * eps * (numpy.abs(other) + size.max(initial=0)) + 2 * numpy.nan_to_num(numpy.abs(other - true))
    bad = ~((one == other) | (numpy.isnan(one) & numpy.isnan(other)) | (numpy.abs(one - other) <= allowed))
    assert not bad.any(), f"{one} is not {other}; exactly {true}"


@pytest.mark.filterwarnings("ignore::UserWarning")
@stored
@every([overload for overload in SAMPLED if overload.is_public])
def test_values_and_gradients_are_pytorchs(overload, floating, oracle):
    for sample in samples_in(overload, oracle, floating):
        expected, exact = expected_of(sample, oracle, floating)
        if expected is None:
            continue
        results, gradients = outcome(Prepared(sample, floating=floating))
        triples = list(zip(results, expected[0], exact[0], strict=True))
        if gradients is not None and expected[1] is not None and exact[1] is not None:
            triples += zip(gradients, expected[1], exact[1], strict=True)
        for ours, theirs, true in triples:
            assert_near(ours, theirs, true, floating, oracle)
