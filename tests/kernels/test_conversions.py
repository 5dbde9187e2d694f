"""Conversions between dtypes: every half, and every case of rounding to one, against NumPy's and PyTorch's."""

import numpy
import pytest

import clew


def halves(name):
    """Every bit pattern, in float32."""
    bits = numpy.arange(1 << 16, dtype=numpy.uint16)
    if name == "float16":
        with numpy.errstate(invalid="ignore"):  # signalling NaNs, of which some processors tell
            return bits.view(numpy.float16).astype(numpy.float32)
    return (bits.astype(numpy.uint32) << 16).view(numpy.float32)


def between(name):
    """The middles of neighbouring halves, and numbers just below and above them, with signs, and what is beyond."""
    numbers = halves(name)
    numbers = numpy.sort(numbers[numpy.isfinite(numbers) & (numbers >= 0)]).astype(numpy.float64)
    largest = 2 * numbers[-1] - numbers[-2]
    middles = (numpy.append(numbers[1:], largest) + numbers) / 2
    around = [middles, numbers, numpy.geomspace(1e-45, 3e38, 20000)]
    near = numpy.concatenate(around).astype(numpy.float32)
    near = numpy.concatenate(
        [near, numpy.nextafter(near, numpy.float32(0)), numpy.nextafter(near, numpy.float32(numpy.inf))]
    )
    return numpy.concatenate([near, -near, numpy.float32([numpy.inf, -numpy.inf, numpy.nan])])


def bits(x):
    return x.view(clew.int16).numpy().astype(numpy.uint16)


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_every_half_to_float32(name):
    stored = clew.from_numpy(numpy.arange(1 << 16, dtype=numpy.uint16).view(numpy.int16)).view(getattr(clew, name))
    for x, expected in ((stored, halves(name)), (stored[::3], halves(name)[::3])):
        numpy.testing.assert_array_equal(x.float().numpy(), expected)
        numpy.testing.assert_array_equal(x.double().numpy(), expected)


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
@pytest.mark.parametrize("step", [1, 2])
def test_rounding_to_halves(name, step, oracle):
    values = between(name)[::step]
    ours = bits(clew.from_numpy(between(name))[::step].to(getattr(clew, name)))
    if name == "float16":
        with numpy.errstate(over="ignore"):
            expected = values.astype(numpy.float16).view(numpy.uint16)
    else:
        expected = oracle.from_numpy(values.copy()).bfloat16().view(oracle.int16).numpy().view(numpy.uint16)
    numbers = ~numpy.isnan(values)
    numpy.testing.assert_array_equal(ours[numbers], expected[numbers])
    assert clew.isnan(clew.from_numpy(values.copy()).to(getattr(clew, name)))[-1]


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_vectors_and_single_elements_give_the_same_bits(name):
    """NaN too."""
    stored = clew.arange(1 << 16, dtype=clew.int32).to(clew.int16).view(getattr(clew, name))
    apart = clew.zeros(1 << 16, 2, dtype=stored.dtype)
    apart[:, 0] = stored
    assert clew.equal(stored.float().view(clew.int32), apart[:, 0].float().view(clew.int32))
    numbers = clew.from_numpy(numpy.arange(0, 1 << 32, 65521, dtype=numpy.uint32).view(numpy.float32))
    apart = clew.zeros(len(numbers), 2)
    apart[:, 0] = numbers
    assert clew.equal(
        numbers.to(stored.dtype).view(clew.int16), apart[:, 0].to(stored.dtype).contiguous().view(clew.int16)
    )


@pytest.mark.parametrize("name", ["int8", "int16"])
def test_integers_wrap_and_floats_are_cut(name, oracle):
    whole = numpy.arange(-70000, 70000, 7)
    for values in (whole, whole.astype(numpy.int32), whole % 256, whole / 3, (whole / 3).astype(numpy.float32)):
        expected = oracle.from_numpy(values).to(getattr(oracle, name))
        assert clew.from_numpy(values).to(getattr(clew, name)).tolist() == expected.tolist()


@pytest.mark.parametrize("size", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("shape", [(5, 7), (64, 64), (100, 130), (3, 40, 50), (17, 4), (1, 1000)])
def test_elements_of_any_size_are_transposed(size, shape):
    dtype = {1: "int8", 2: "int16", 4: "float32", 8: "complex64", 16: "complex128"}[size]
    array = numpy.random.default_rng(0).integers(-100, 100, shape).astype(dtype)
    result = clew.from_numpy(array).transpose(-1, -2).contiguous()
    numpy.testing.assert_array_equal(result.numpy(), array.swapaxes(-1, -2))
