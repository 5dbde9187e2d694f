"""clew.special against SciPy, from the smallest arguments to the largest, and against PyTorch for names and dtypes."""

import numpy
import pytest

import clew

scipy_special = pytest.importorskip("scipy.special")

REALS = [-1e5, -700.0, -50.0, -39.0, -3.0, -1.0, -1e-8, 0.0, 1e-8, 0.5, 1.0, 3.0, 8.9, 9.1, 39.9, 40.1, 700.0, 1e5]
POSITIVE = [x for x in REALS if x > 0] + [1e-3, 0.1, 20.0]
FRACTIONS = [0.0, 1e-300, 1e-20, 1e-5, 0.1, 0.3, 0.5, 0.7, 0.999, 1 - 1e-15, 1.0, -1.0, 2.0]
UNARY = {
    "bessel_j0": ("j0", [x for x in REALS if abs(x) <= 700]),
    "bessel_j1": ("j1", [x for x in REALS if abs(x) <= 700]),
    "entr": ("entr", REALS),
    "erfcx": ("erfcx", REALS),
    "expit": ("expit", REALS),
    "gammaln": ("gammaln", POSITIVE),
    "i0": ("i0", REALS),
    "i0e": ("i0e", REALS),
    "i1": ("i1", REALS),
    "i1e": ("i1e", REALS),
    "log_ndtr": ("log_ndtr", REALS),
    "logit": ("logit", FRACTIONS),
    "modified_bessel_i0": ("i0", REALS),
    "modified_bessel_k0": ("k0", POSITIVE),
    "modified_bessel_k1": ("k1", POSITIVE),
    "ndtr": ("ndtr", REALS),
    "ndtri": ("ndtri", FRACTIONS),
    "psi": ("digamma", POSITIVE),
    "scaled_modified_bessel_k0": ("k0e", POSITIVE),
    "scaled_modified_bessel_k1": ("k1e", POSITIVE),
}


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_values_are_scipys(name, dtype):
    scipys, arguments = UNARY[name]
    x = numpy.array(arguments, dtype)
    with numpy.errstate(all="ignore"):
        expected = getattr(scipy_special, scipys)(x.astype("float64"))
        limit = expected.astype(dtype)
    ours = getattr(clew.special, name)(clew.tensor(x))
    assert str(ours.dtype) == f"torch.{dtype}"
    tolerance = 1e-12 if dtype == "float64" else 2e-5
    numpy.testing.assert_allclose(ours.numpy(), limit, rtol=tolerance, atol=1e-300 if dtype == "float64" else 1e-30)


@pytest.mark.parametrize("name", [one for one in clew.special.__all__ if one != "round"])
def test_pytorch_has_the_name_and_the_same_dtypes(oracle, name):
    assert hasattr(oracle.special, name)
    more = {"polygamma": (1,), "multigammaln": (2,)}.get(name, ())
    also = (0,) if name in ("log_softmax", "softmax", "logsumexp") else ()
    for kind in ("int64", "float32", "float64"):
        if kind == "int64" and name in ("log_softmax", "softmax", "polygamma", "gammainc", "gammaincc"):
            continue
        results = []
        for module in (clew, oracle):
            x = module.tensor([2, 3]).to(getattr(module, kind))
            if name == "polygamma":
                arguments = (1, x)
            elif name in ("gammainc", "gammaincc", "xlogy", "xlog1py", "zeta"):
                arguments = (x, x)
            else:
                arguments = (x, *more, *also)
            results.append(getattr(module.special, name)(*arguments))
        ours, theirs = results
        assert str(ours.dtype) == str(theirs.dtype)
        numpy.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=2e-5 if kind != "float64" else 1e-6)


@pytest.mark.parametrize("name", [one for one in clew.special.__all__ if one not in ("round", "polygamma")])
def test_complex_numbers_are_refused_or_as_pytorchs(oracle, name):
    also = {"multigammaln": (2,), "log_softmax": (0,), "softmax": (0,), "logsumexp": (0,)}.get(name, ())
    two = name in ("gammainc", "gammaincc", "xlogy", "xlog1py", "zeta")
    values = [0.3 + 0.4j, 0.0j, 0.7 - 0.2j]

    def call(module):
        x = module.tensor(values)
        return getattr(module.special, name)(*((x, x) if two else (x, *also)))

    try:
        expected = call(oracle)
    except RuntimeError:  # of which NotImplementedError is one
        expected = None
    try:
        ours = call(clew)
    except NotImplementedError:
        return
    assert ours.is_complex()  # no part is dropped
    if expected is not None:
        numpy.testing.assert_allclose(ours.numpy(), expected.numpy(), rtol=2e-5)


def test_slopes_of_entr_at_its_end_are_pytorchs(oracle):
    slopes = []
    for module in (clew, oracle):
        x = module.tensor([0.0, -1.0, float("nan"), 0.25, float("inf")], requires_grad=True)
        (slope,) = module.autograd.grad(module.special.entr(x).sum(), x, create_graph=True)
        (second,) = module.autograd.grad(slope.sum(), x)
        slopes.append((slope.tolist(), second.tolist()))
    numpy.testing.assert_allclose(*slopes, rtol=1e-6)


def test_what_has_no_derivative_says_so():
    x = clew.ones(2, requires_grad=True)
    for name in ("bessel_j0", "modified_bessel_k1"):
        with pytest.raises(NotImplementedError, match=name):
            getattr(clew.special, name)(x)
        with clew.no_grad():
            assert getattr(clew.special, name)(x).shape == (2,)


def test_out():
    out = clew.empty(2)
    assert clew.special.ndtr(clew.zeros(2), out=out) is out
    assert out.tolist() == [0.5, 0.5]
    assert clew.special.i0(clew.zeros(2), out=out) is out
    assert out.tolist() == [1, 1]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_erfinv_is_right_to_the_last_digits(dtype):
    """In the middle, near 0 and near 1, as vectors and as single numbers; PyTorch's is within 3 and 4 ulp."""
    kind = numpy.dtype(dtype).type
    digits = numpy.finfo(kind).nmant
    middle, near_one = numpy.linspace(-1, 1, 20001)[1:-1], 1 - 2.0 ** -numpy.arange(1, digits + 1)
    near_zero = 10.0 ** numpy.arange(-300 if digits > 23 else -37, 0)
    x = numpy.concatenate([middle, near_one, -near_one, near_zero, [numpy.nextafter(kind(0.5), kind(1))]]).astype(kind)
    expected = scipy_special.erfinv(x.astype(numpy.float64))
    error = numpy.abs(clew.from_numpy(x).erfinv().numpy() - expected) / numpy.spacing(numpy.abs(expected).astype(kind))
    assert error.max() < (3 if digits == 23 else 6), x[error.argmax()]
    for place in (0, 1234, -1, -20):
        assert clew.tensor(x[place]).erfinv().item() == clew.from_numpy(x).erfinv()[place].item()
    edges = clew.tensor([1.0, -1.0, 1.5, -2.0, numpy.inf, numpy.nan, 0.0, -0.0], dtype=getattr(clew, dtype)).erfinv()
    numpy.testing.assert_array_equal(edges, [numpy.inf, -numpy.inf, numpy.nan, numpy.nan, numpy.nan, numpy.nan, 0, 0])
    assert numpy.signbit(edges.numpy()[-2:]).tolist() == [False, True]
