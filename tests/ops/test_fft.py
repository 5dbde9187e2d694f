"""clew.fft against PyTorch, SciPy, the sum that defines the transform, and differences."""

import itertools
import os
import subprocess
import sys

import numpy
import pytest

import clew

pytest.importorskip("scipy.fft")

NAMES = [one for one in clew.fft.__all__ if not one.endswith(("freq", "shift"))]
OF_REAL = ("rfft", "ihfft")  # complex numbers are refused
NORMS = [None, "backward", "ortho", "forward"]


def is_of_real(name):
    return name.startswith(OF_REAL)


def values(shape, dtype="complex128", seed=0):
    parts = numpy.random.default_rng(seed).standard_normal((2, *shape))
    return (parts[0] + 1j * parts[1] if dtype.startswith("complex") else parts[0]).astype(dtype)


def calls_of(name):
    """Shape of the input, and the other arguments."""
    if name.endswith(("2", "n")):
        yield from [((3, 4), {}), ((2, 3, 4), {}), ((2, 3, 4), {"dim": (0, -2)}), ((4, 3), {"s": (2, 5)})]
        yield from [((3, 4, 2), {"s": (5, -1), "dim": (2, 0)}), ((3, 4, 2), {"dim": 1})]
        if name.endswith("n"):
            yield from [((5,), {}), ((2, 3, 4), {"s": (7,)}), ((2, 3, 4), {"s": 3})]
    else:
        yield from [((4,), {}), ((5,), {}), ((2, 3), {"dim": 0}), ((2, 5), {"n": 3}), ((2, 5), {"n": 8})]
        yield from [((4, 3), {"n": 7, "dim": -2}), ((3,), {"n": 1}), ((1, 2), {})]


def every_call():
    return [
        pytest.param(name, shape, {**more, "norm": norm}, id=f"{name}-{shape}-{more}-{norm}")
        for name in NAMES
        for (shape, more), norm in itertools.product(calls_of(name), NORMS)
    ]


def derivatives(module, name, x, arguments):
    """The result, and the first and second derivatives of a sum of squares of its parts."""
    x = module.from_numpy(x.copy()).requires_grad_()
    result = getattr(module.fft, name)(x, **arguments)
    parts = module.view_as_real(module.resolve_conj(result)) if result.is_complex() else result
    weights = module.linspace(0.5, 1.5, parts.numel(), dtype=parts.dtype).reshape(parts.shape)
    (first,) = module.autograd.grad((parts * parts * parts * weights).sum(), x, create_graph=True)
    (second,) = module.autograd.grad((first * first.conj()).real.sum(), x)
    return [one.detach().resolve_conj().numpy() for one in (result, first, second)]


@pytest.mark.parametrize(("name", "shape", "arguments"), every_call())
def test_values_and_derivatives_of_two_orders_are_pytorchs(oracle, name, shape, arguments):
    for dtype in ("float64",) if is_of_real(name) else ("float64", "complex128"):
        x = values(shape, dtype)
        ours, theirs = (derivatives(module, name, x, arguments) for module in (clew, oracle))
        for one, other in zip(ours, theirs, strict=True):
            assert one.shape == other.shape
            assert one.dtype == other.dtype
            numpy.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-11 * abs(other).max(initial=1))


@pytest.mark.parametrize("name", NAMES)
def test_derivatives_are_differences(name):
    for shape, arguments in calls_of(name):
        x = clew.tensor(values(shape, "float64" if is_of_real(name) else "complex128"), requires_grad=True)

        def transform(x, arguments=arguments):
            result = getattr(clew.fft, name)(x, **arguments)
            return clew.view_as_real(result) if result.is_complex() else result

        assert clew.autograd.gradcheck(transform, x)
        assert clew.autograd.gradgradcheck(transform, x)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("c2c", ([0, 2], 1, True)), ("c2c", ([1], 2, False)), ("c2r", ([1, 2], 2, 6)), ("c2r", ([0], 0, 5)),
     ("r2c", ([1, 2], 1, True, 4)), ("r2c", ([0, 2], 0, False, 4))],
)  # fmt: skip
def test_tangents_by_class_and_by_rule(name, arguments):
    """Of a linear operation it is the operation on the tangent."""
    operation = getattr(clew._core.ops, f"_fft_{name}")
    x, tangent = (clew.tensor(values((3, 2, 4), "float64" if name == "r2c" else "complex128", n)) for n in (0, 1))
    x.requires_grad_()
    expected = operation(tangent, *arguments)
    for by_rule in (False, True):
        (found,) = clew._core.jvp(operation, [operation(x.detach(), *arguments)], {x: tangent}, by_rule, x, *arguments)
        numpy.testing.assert_allclose(found.detach().numpy(), expected.numpy(), rtol=1e-12, atol=1e-12)


def test_the_definition():
    x = values((5,))
    n = numpy.arange(5)
    waves = numpy.exp(-2j * numpy.pi * numpy.outer(n, n) / 5)
    numpy.testing.assert_allclose(clew.fft.fft(clew.tensor(x)).numpy(), waves @ x, rtol=1e-12)
    numpy.testing.assert_allclose(clew.fft.ifft(clew.tensor(x)).numpy(), waves.conj() @ x / 5, rtol=1e-12)
    numpy.testing.assert_allclose(clew.fft.fft(clew.tensor(x.real)).numpy(), waves @ x.real, rtol=1e-12)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("size", [4, 5])
def test_inverses(norm, size):
    x, real = clew.tensor(values((3, size))), clew.tensor(values((3, size), "float64"))
    f = clew.fft
    for there, back in ((f.fft, f.ifft), (f.fft2, f.ifft2), (f.fftn, f.ifftn)):
        clew.testing.assert_close(back(there(x, norm=norm), norm=norm), x)
    for there, back in ((f.rfft, f.irfft), (f.ihfft, f.hfft)):
        clew.testing.assert_close(back(there(real, norm=norm), size, norm=norm), real)
    for there, back in ((f.rfftn, f.irfftn), (f.rfft2, f.irfft2), (f.ihfftn, f.hfftn), (f.ihfft2, f.hfft2)):
        clew.testing.assert_close(back(there(real, norm=norm), (3, size), norm=norm), real)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float32", "float64", "complex64", "complex128"])
def test_dtypes_are_pytorchs(oracle, name, dtype):
    if is_of_real(name) and dtype.startswith("complex"):
        return
    kinds = [str(getattr(m.fft, name)(m.ones(4, 3).to(getattr(m, dtype))).dtype) for m in (clew, oracle)]
    assert kinds[0] == kinds[1]


def test_single_precision_is_kept_inside():
    """As SciPy's, which computes in the precision of the input."""
    import scipy.fft

    x = values((64,), "complex64")
    numpy.testing.assert_array_equal(clew.fft.fft(clew.tensor(x)).numpy(), scipy.fft.fft(x))


@pytest.mark.parametrize("name", NAMES)
def test_shapes_and_dtypes_without_values(name):
    for shape, arguments in calls_of(name):
        dtype = clew.float32 if is_of_real(name) else clew.complex64
        there = getattr(clew.fft, name)(clew.empty(shape, dtype=dtype, device="meta"), **arguments)
        here = getattr(clew.fft, name)(clew.zeros(shape, dtype=dtype), **arguments)
        assert (there.shape, there.dtype, there.stride(), there.is_meta) == (
            here.shape,
            here.dtype,
            here.stride(),
            True,
        )


ERRORS = [
    ("fft", "x, n=0"), ("fft", "x, n=-1"), ("rfft", "x, n=-2"), ("irfft", "x[:, :1]"), ("hfft", "x, n=0"),
    ("fft", "x, dim=2"), ("irfft", "x, dim=-3"), ("fft", "x, norm='x'"), ("rfftn", "x, norm=''"),
    ("fft", "torch.tensor(1.0)"), ("fft", "torch.ones(0)"), ("fft", "x.half()"), ("fft", "x.bfloat16()"),
    ("irfft", "x.half()"), ("rfft", "x.to(torch.complex64)"), ("ihfft", "x.to(torch.complex64)"),
    ("rfft2", "x.to(torch.complex64)"), ("ihfftn", "x.to(torch.complex64)"), ("fftn", "x, s=(3, 3, 3)"),
    ("fftn", "x, s=(3, 3), dim=(1,)"), ("fft2", "x, s=(3,)"), ("fft2", "x, dim=(0, 0)"), ("fftn", "x, dim=(0, -2)"),
    ("fftn", "x, s=(0, 3)"), ("ifftn", "x, s=(-2, 3)"), ("fftn", "x, dim=(0, 5)"), ("rfftn", "x, dim=()"),
    ("rfftn", "torch.tensor(1.0)"), ("irfftn", "x, dim=()"), ("hfftn", "x, dim=()"), ("ihfftn", "x, dim=()"),
    ("irfftn", "x, s=(0,)"), ("fft", "[1.0]"), ("fft", "x, 'a'"), ("fft", "x, n=2.5"), ("fft", "x, dim=None"),
    ("fft", "x, out=torch.empty(0)"), ("irfft", "x, out=torch.empty(0, dtype=torch.complex64)"),
    ("fft", "x.requires_grad_(), out=torch.empty(0, dtype=torch.complex64)"),
    ("fftfreq", "-1"), ("fftfreq", "5, dtype=torch.int64"), ("rfftfreq", "5, dtype=torch.int64"), ("fftfreq", "5.5"),
    ("fftshift", "x, dim=5"), ("ifftshift", "x, dim=(0, 2)"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "arguments"), ERRORS)
def test_errors_are_of_pytorchs_types(oracle, name, arguments):
    raised = []
    for module in (clew, oracle):
        with pytest.raises((RuntimeError, IndexError, TypeError)) as caught:
            eval(f"torch.fft.{name}({arguments})", {"torch": module, "x": module.ones(4, 6)})
        raised.append(caught.type)
    assert raised[0] is raised[1]


def test_what_differs_is_refused():
    with pytest.raises(RuntimeError, match="rfftfreq: expected a number of points"):
        clew.fft.rfftfreq(-2)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["fftfreq", "rfftfreq"])
def test_frequencies_have_pytorchs_bits(oracle, name, dtype):
    for n, d in itertools.product((0, 1, 2, 5, 8, 37), (1.0, 0.25, 0.3, 0.0, -2.0)):
        ours, theirs = (getattr(m.fft, name)(n, d, dtype=getattr(m, dtype)).numpy() for m in (clew, oracle))
        assert ours.tobytes() == theirs.tobytes() or numpy.isnan(theirs).any(), (n, d)
        numpy.testing.assert_array_equal(ours, theirs)


def test_options_of_frequencies():
    found = clew.fft.fftfreq(4, 0.5, dtype=clew.float64, requires_grad=True)
    assert (found.dtype, found.requires_grad, found.tolist()) == (clew.float64, True, [0.0, 0.5, -1.0, -0.5])
    out = clew.empty(3)
    assert clew.fft.rfftfreq(4, out=out) is out
    assert out.tolist() == [0.0, 0.25, 0.5]
    assert clew.fft.fftfreq(4, device="meta").is_meta


@pytest.mark.parametrize("shape", [(4,), (5,), (3, 4), (2, 3, 5)])
def test_shifts(oracle, shape):
    x = values(shape, "float64")
    for name in ("fftshift", "ifftshift"):
        for dim in (None, 0, -1, (0,), tuple(range(len(shape)))):
            ours, theirs = (getattr(m.fft, name)(m.from_numpy(x), dim) for m in (clew, oracle))
            assert ours.tolist() == theirs.tolist()


def test_a_batch_of_none():
    assert clew.fft.fft(clew.ones(0, 3)).shape == (0, 3)
    assert clew.fft.irfft(clew.ones(0, 3, dtype=clew.complex64)).shape == (0, 4)


def test_scipy_is_imported_when_it_is_called():
    program = "import sys, clew, clew.fft; assert 'scipy' not in sys.modules; clew.fft.fft(clew.ones(2))"
    subprocess.run([sys.executable, "-c", f"{program}; assert 'scipy.fft' in sys.modules"], check=True)


def test_each_primitive_is_forty_lines():
    """Schema, forward, rule, class, shapes and domain, the docstring and the function of the rule included."""
    import ast
    import inspect

    from clew.fft import _operations

    tree = ast.parse(inspect.getsource(_operations))
    functions = {one.name: one for one in tree.body if isinstance(one, ast.FunctionDef)}
    for name in ("c2c", "r2c", "c2r"):
        parts = [
            functions[name],
            *([functions[f"_transpose_of_{name}"]] if f"_transpose_of_{name}" in functions else []),
        ]
        lines = sum(one.end_lineno - min([one.lineno, *(d.lineno for d in one.decorator_list)]) + 1 for one in parts)
        assert lines <= 40, name


@pytest.mark.unsanitized("it starts a process, and computes nothing new")
def test_numpy_computes_where_scipy_is_missing(tmp_path):
    (tmp_path / "scipy.py").write_text("raise ModuleNotFoundError(name='scipy')\n")
    script = """
import numpy, pytest, clew
fft = clew.fft
for dtype in ("float32", "float64", "complex64", "complex128"):
    x = clew.arange(12.0).reshape(3, 4).sin().to(getattr(clew, dtype)).requires_grad_()
    array = x.detach().numpy()
    for name in ("fft", "ifft", "fft2", "fftn", "rfft", "rfftn", "ihfft", "irfft", "hfft"):
        if name in ("rfft", "rfftn", "ihfft") and x.is_complex():
            continue
        for norm in ("backward", "ortho", "forward"):
            y = getattr(fft, name)(x, norm=norm)
            expected = getattr(numpy.fft, name)(array, norm=norm)
            single = dtype in ("float32", "complex64")
            assert y.dtype.itemsize == (4 if single else 8) * (2 if y.is_complex() else 1), (name, dtype, y.dtype)
            numpy.testing.assert_allclose(y.detach().numpy(), expected, atol=1e-5 if single else 1e-12)
            clew.view_as_real(y).sum().backward() if y.is_complex() else y.sum().backward()
for call, who in ((lambda: clew.special.zeta(clew.ones(1) * 2, 1), "special.zeta"),
                  (lambda: clew.quasirandom.SobolEngine(2), "quasirandom.SobolEngine")):
    with pytest.raises(ImportError, match="^" + who + r": expected SciPy.* To do: pip install 'clew\\[scipy\\]'"):
        call()
"""
    subprocess.run([sys.executable, "-c", script], check=True, env={**os.environ, "PYTHONPATH": str(tmp_path)})
