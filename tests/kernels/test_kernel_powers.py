"""Powers: special cases as in C, and roundings."""

import itertools

import numpy
import pytest

from clew import _core

INTERESTING = [
    *(0.0, 1.0, 2.0, 3.0, 4.0, 0.5, 0.25, 2.5, 127.0, 149.0, 1e-45, 1e-38, 3e38, 1e9, 16777216.0, 16777217.0, 5e7),
    *(1.0000001, 0.9999999, numpy.inf),
]
# Roundings off, see core/kernels/{vector,float}_power.h: where each base has its exponent, and where all share one.
MOST, MOST_SHARED = (0.6, 1.0) if _core.isa() == "v4" else (0.51, 0.51)
VALUES = numpy.array([*INTERESTING, *[-x for x in INTERESTING], numpy.nan], "float32")


def error_in_roundings(got, exact):
    """By how many units in the last place of float32 `got` differs from the exact values."""
    unit = numpy.spacing(numpy.maximum(abs(exact), numpy.finfo("float32").tiny).astype("float32")).astype("float64")
    return abs(got.astype("float64") - exact) / unit


@pytest.mark.beyond  # PyTorch is off by more than a rounding in places
def test_special_cases():
    import clew

    base, exponent = (numpy.ascontiguousarray(x) for x in numpy.meshgrid(VALUES, VALUES, indexing="ij"))
    with numpy.errstate(all="ignore"):
        exact = base.astype("float64") ** exponent.astype("float64")
        want = exact.astype("float32")
    many = (clew.from_numpy(base) ** clew.from_numpy(exponent)).numpy()
    single = numpy.stack([(clew.from_numpy(base[:, k]) ** float(e)).numpy() for k, e in enumerate(VALUES)], 1)
    # As in PyTorch a number 2, 3, 0.5 or one of their negatives means products, roots and quotients.
    general = ~numpy.isin(abs(VALUES), [2.0, 3.0, 0.5])
    for got, columns, most in ((many, slice(None), MOST), (single, general, MOST_SHARED)):
        result, expected, to_the_bit = got[:, columns], want[:, columns], exact[:, columns]
        assert numpy.array_equal(numpy.isnan(result), numpy.isnan(expected))
        assert numpy.array_equal(numpy.isinf(result), numpy.isinf(expected))
        finite = numpy.isfinite(expected)
        assert numpy.array_equal(numpy.signbit(result[finite]), numpy.signbit(expected[finite]))
        assert error_in_roundings(result[finite], to_the_bit[finite]).max() < most
        infinite = numpy.isinf(expected)
        assert numpy.array_equal(result[infinite], expected[infinite])


@pytest.mark.beyond
@pytest.mark.parametrize(("low", "high"), [(-0.01, 0.01), (-3, 3), (-80, 80)])
def test_roundings(random, low, high):
    import clew

    base = numpy.exp(random.uniform(low, high, 200_000)).astype("float32")
    exponent = random.uniform(-6, 6, 200_000).astype("float32")
    got = (clew.from_numpy(base) ** clew.from_numpy(exponent)).numpy()
    exact = base.astype("longdouble") ** exponent.astype("longdouble")
    usual = (abs(exact) < 3e38) & (abs(exact) > 1.2e-38)
    assert usual.sum() > 40_000
    assert error_in_roundings(got[usual], exact[usual].astype("float64")).max() < MOST


@pytest.mark.beyond
@pytest.mark.parametrize("exponent", [0.1, 1 / 3, 1.5, -0.7, 2.5, -3.3, 4.9, 6, -7.99, 8, -11.3, 40.5])
@pytest.mark.parametrize("spread", [0.01, 0.5, 2])
def test_roundings_of_a_shared_exponent(random, exponent, spread):
    import clew

    base = numpy.exp(random.uniform(-spread, spread, 100_000)).astype("float32")
    got = (clew.from_numpy(base) ** exponent).numpy()
    exact = base.astype("longdouble") ** numpy.longdouble(numpy.float32(exponent))
    usual = (exact < 3e38) & (exact > 1.2e-38)
    assert usual.sum() > 80_000
    assert error_in_roundings(got[usual], exact[usual].astype("float64")).max() < MOST_SHARED


@pytest.mark.parametrize("exponent", [1, 4, 5, 7])
def test_whole_powers_that_are_floats_are_exact(torch, exponent):
    base = numpy.arange(1, 1001, dtype="float32")
    want = base.astype("float64") ** exponent
    exact = want == want.astype("float32")
    number, tensor = torch.from_numpy(base) ** float(exponent), torch.from_numpy(base) ** torch.full((1000,), exponent)
    for power in (number, tensor):
        assert numpy.array_equal(power.numpy()[exact], want[exact])


@pytest.mark.beyond
@pytest.mark.parametrize("count", [1, 5, 16, 17, 255, 256, 257, 1000, 40_001])
def test_however_it_is_cut(torch, random, bits_at_any_thread_count, count):
    x = torch.from_numpy(random.uniform(0.1, 9, 2 * count).astype("float32"))
    for exponent in (3.5, -1.7, torch.from_numpy(random.uniform(-3, 3, 2 * count).astype("float32"))):
        whole = bits_at_any_thread_count(lambda: x**exponent)  # noqa: B023
        for start, step in itertools.product((0, 1), (1, 2)):
            part = exponent if isinstance(exponent, float) else exponent[start::step]
            assert (x[start::step] ** part).numpy().tobytes() == whole[start::step].tobytes()


def test_integers_keep_their_loop(torch):
    base = torch.tensor([-3, -1, 0, 1, 2, 7])
    assert (base**3).tolist() == [-27, -1, 0, 1, 8, 343]
    assert (base ** torch.tensor([0, 5, 0, 9, 62, 2])).tolist() == [1, -1, 1, 1, 1 << 62, 49]
