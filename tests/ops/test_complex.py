"""Complex numbers: values, gradients and second gradients against PyTorch, and gradients against differences."""

import numpy
import pytest
import torch as oracle

import clew

RANDOM = numpy.random.default_rng(7)
Z, W = (RANDOM.normal(size=(3, 4)) + 1j * RANDOM.normal(size=(3, 4)) for _ in range(2))
X, Y = RANDOM.normal(size=(3, 4)), RANDOM.normal(size=(3, 4))
WHERE = [[0, 1], [2, 3], [1, 1]]

FUNCTIONS = """
exp exp2 expm1 log log2 log10 log1p sinh cosh tanh sigmoid sin cos tan asin acos atan asinh acosh atanh sqrt rsqrt
reciprocal square neg abs angle sgn sum mean prod isnan isinf isfinite real imag var std any all count_nonzero
view_as_real t diag tril triu ravel positive isreal clone
""".split()  # noqa: SIM905
PAIRS = ["add", "sub", "mul", "div", "pow", "eq", "ne", "dot", "vdot"]


def _write(module, z, part):
    y = z * 1
    part(y)
    return y.sin()


CASES = {
    **{name: ((Z,), lambda m, z, name=name: getattr(m, name)(z).resolve_conj()) for name in FUNCTIONS},
    **{
        name: ((Z, W), lambda m, a, b, name=name: getattr(m, name)(*((a[0], b[1]) if "dot" in name else (a, b))))
        for name in PAIRS
    },
    "conj": ((Z,), lambda m, z: m.conj(z).resolve_conj()),
    "mixed": ((Z, X), lambda m, z, x: z * x + x / z - x**2),
    "complex": ((X, Y), lambda m, x, y: m.complex(x, y)),
    "polar": ((X, Y), lambda m, x, y: m.polar(x.abs(), y)),
    "numbers": (
        (Z,),
        lambda m, z: (2 + 1j) * z + z / (1 - 1j) - (3j) ** z + z**2 + z**3 + z ** (1 + 2j) + z**-1 + z**0.5,
    ),
    "real exponent": ((Z, X), lambda m, z, x: z**x),
    "alpha": ((Z, W), lambda m, a, b: m.add(a, b, alpha=2j) + m.sub(a, b, alpha=1 - 1j)),
    "write real": ((Z,), lambda m, z: _write(m, z, lambda y: y.real.mul_(2))),
    "write imag": ((Z,), lambda m, z: _write(m, z, lambda y: y.imag.copy_(y.real * 3))),
    "write part of real": ((Z,), lambda m, z: _write(m, z, lambda y: y[1:].real[:, 2].exp_())),
    "write complex view": (
        (X,),
        lambda m, x: (lambda y: (m.view_as_complex(y).mul_(1 + 1j), y)[1])(x.reshape(3, 2, 2) * 1),
    ),
    "view_as_complex": ((X,), lambda m, x: m.view_as_complex(x.reshape(3, 2, 2)).exp()),
    "sums": (
        (Z,),
        lambda m, z: [z.sum(1), z.sum((0, 1), keepdim=True), z.mean(0), z.prod(0), z.cumsum(1), z.cumprod(1)],
    ),
    "lerp": ((Z, W), lambda m, a, b: m.lerp(a, b, 0.3)),
    "addcmul": ((Z, W), lambda m, a, b: m.addcmul(a, b, a, value=2 + 1j)),
    "addcdiv": ((Z, W), lambda m, a, b: m.addcdiv(a, b, a, value=1j)),
    "where": ((Z, W), lambda m, a, b: m.where(a.real > 0, a, b)),
    "masked_fill": ((Z,), lambda m, z: z.masked_fill(z.real > 0, 1j)),
    "mm": ((Z, W), lambda m, a, b: a @ b.mT),
    "mm of views": ((Z, W), lambda m, a, b: (a[:, ::2].t() @ b[:, 1:]).contiguous()),
    "mH": ((Z, W), lambda m, a, b: (a @ b.mH).resolve_conj()),
    "bmm": ((Z, W), lambda m, a, b: m.bmm(a.expand(2, 3, 4), b.mT.expand(2, 4, 3))),
    "addmm": ((Z, W), lambda m, a, b: m.addmm(a[:, :3], a, b.mT, beta=1 + 1j, alpha=2j)),
    "baddbmm": ((Z, W), lambda m, a, b: m.baddbmm(a[None, :, :3], a[None], b.mT[None], alpha=0.5)),
    "addmv": ((Z, W), lambda m, a, b: m.addmv(a[:, 0], b, a[0], beta=2j)),
    "mv": ((Z, W), lambda m, a, b: a @ b[0]),
    "linear": ((Z, W), lambda m, a, b: m.nn.functional.linear(a, b, b[:, 0])),
    "einsum": ((Z, W), lambda m, a, b: m.einsum("ij,kj->ik", a, b)),
    "outer": ((Z, W), lambda m, a, b: m.outer(a[0], b[1])),
    "kron": ((Z, W), lambda m, a, b: m.kron(a, b)),
    "index": ((Z,), lambda m, z: z[[0, 2]][:, 1:] * z[1, 1]),
    "gather": ((Z,), lambda m, z: z.gather(1, m.tensor(WHERE))),
    "index_add": ((Z, W), lambda m, a, b: a.index_add(0, m.tensor([0, 2, 0]), b, alpha=2)),
    "scatter_add": ((Z, W), lambda m, a, b: a.scatter_add(1, m.tensor(WHERE), b[:, :2])),
    "cat": ((Z, W), lambda m, a, b: m.stack([m.cat([a, b], 1), m.cat([b, a], 1)]).roll(1, 0)),
    "pad": ((Z,), lambda m, z: m.nn.functional.pad(z, (1, 2)).flip(0)),
    "as_strided": ((Z,), lambda m, z: z.as_strided((3, 3), (2, 1))),
    "norm": ((Z,), lambda m, z: [z.norm(), m.linalg.vector_norm(z, 3, 1), z.norm(p=1)]),
    "cov": ((Z,), lambda m, z: m.cov(z)),
    "loss": ((Z, W), lambda m, a, b: ((a - b).abs() ** 2).mean()),
    "to real": ((Z,), lambda m, z: z.abs() * z.angle()),
    "trace": ((Z,), lambda m, z: z[:, :3].trace()),
    "repeat": ((Z,), lambda m, z: z.repeat(2, 1).expand(2, 6, 4)),
}


def size_of(value):
    return ((value * value.conj()).real if value.is_complex() else value * value).sum()


def all_of(module, call, arrays, dtype):
    """Results, gradients of their size, and gradients of the gradients' size."""
    kinds = {
        "complex128": {"c": module.complex128, "f": module.float64},
        "complex64": {"c": module.complex64, "f": module.float32},
    }
    inputs = [module.tensor(array, dtype=kinds[dtype][array.dtype.kind]).requires_grad_() for array in arrays]
    results = call(module, *inputs)
    results = list(results) if isinstance(results, list | tuple) else [results]
    found = [result.detach() for result in results]
    for _ in range(2):
        results = [result for result in results if result is not None and result.requires_grad]
        if not results:
            break
        results = module.autograd.grad(sum(map(size_of, results)), inputs, create_graph=True, allow_unused=True)
        found += [None if gradient is None else gradient.detach() for gradient in results]
    return [None if value is None else value.resolve_conj().numpy() for value in found]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
@pytest.mark.filterwarnings("ignore")
def test_values_and_gradients_are_pytorchs(name, dtype):
    arrays, call = CASES[name]
    ours, theirs = all_of(clew, call, arrays, dtype), all_of(oracle, call, arrays, dtype)
    tolerance = 1e-8 if dtype == "complex128" else 2e-3
    for our, their in zip(ours, theirs, strict=False):
        if our is None or their is None:
            assert not numpy.any(our if their is None else their)
            continue
        assert our.dtype == their.dtype
        numpy.testing.assert_allclose(
            our, their, rtol=tolerance, atol=tolerance * max(1, numpy.abs(their).max(initial=0))
        )


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore")
def test_gradients_against_differences(name):
    arrays, call = CASES[name]
    inputs = [clew.tensor(array, requires_grad=True) for array in arrays]

    def function(*given):
        results = call(clew, *given)
        results = list(results) if isinstance(results, list | tuple) else [results]
        return [result for result in results if result.requires_grad]

    if function(*inputs):
        assert clew.autograd.gradcheck(function, inputs)
        assert clew.autograd.gradgradcheck(function, inputs)


def test_only_real_scalars_start_a_backward():
    z = clew.tensor(1 + 2j, requires_grad=True)
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for real scalar outputs"):
        (z * 2).backward()
    (z * 2).backward(clew.tensor(1.0 + 0j))
    assert z.grad.item() == 2


@pytest.mark.parametrize(
    "name", ["sort", "max", "floor", "round", "erf", "relu", "sign", "logsumexp", "softmax", "lt", "clamp", "median"]
)
def test_what_has_no_meaning_is_refused(name):
    z = clew.tensor(Z)
    arguments = {"logsumexp": (1,), "softmax": (1,), "lt": (z,), "clamp": (0,)}.get(name, ())
    with pytest.raises((NotImplementedError, RuntimeError, TypeError), match=r"complex|dtype"):
        getattr(z, name)(*arguments)
