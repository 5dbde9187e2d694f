"""Public reports on indices, on writes to indexed places, and on complex numbers, each as a test.

The first line of a docstring is the report.
"""

import numpy
import pytest

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")


def test_repeated_indices_add_up(torch):
    """https://github.com/pytorch/pytorch/issues/1528, https://github.com/pytorch/pytorch/issues/1631

    Of an element that was taken several times only the last gradient counted.
    """
    at = torch.tensor([0, 0, 1])
    weight = torch.tensor([0.25, 0.5, 4.0])
    for take in (
        lambda x: x[at],
        lambda x: x.gather(0, at),
        lambda x: x.index_select(0, at),
        lambda x: x.take(at),
        lambda x: torch.take_along_dim(x, at, 0),
        lambda x: torch.nn.functional.embedding(at, x[:, None])[:, 0],
    ):
        x = torch.ones(2, requires_grad=True)
        (take(x) * weight).sum().backward()
        assert x.grad.tolist() == [0.75, 4]


def test_index_fill_of_repeated_indices(torch):
    """https://github.com/pytorch/pytorch/issues/57006

    The gradient of the value counted a place twice that the index names twice.
    """
    value = torch.tensor(2.0, requires_grad=True)
    torch.zeros(5, 5).index_fill(0, torch.tensor([2, 2]), value).sum().backward()
    assert value.grad.item() == 5


WRITES = {
    "index_put": lambda torch, x, y, at: x.index_put((at,), y),
    "index_copy": lambda torch, x, y, at: x.index_copy(0, at, y),
    "scatter": lambda torch, x, y, at: x.scatter(0, at, y),
    "put": lambda torch, x, y, at: x.put(at, y),
    "x[at] = y": lambda torch, x, y, at: written(x, y, at),
}


def written(x, y, at):
    x = x.clone()
    x[at] = y
    return x


@pytest.mark.beyond
@pytest.mark.parametrize("name", WRITES)
def test_of_several_writes_to_one_place_the_last_has_the_gradient(torch, name):
    """https://github.com/pytorch/pytorch/issues/146299, https://github.com/pytorch/pytorch/issues/473,
    https://github.com/pytorch/pytorch/issues/162242

    Where an index names a place twice, both values got the gradient, though only one of them is in the result.
    """
    at = torch.tensor([0, 2, 0])
    x, y = torch.zeros(3, dtype=torch.float64), torch.tensor([1.0, 2.0, 4.0], dtype=torch.float64)
    call = lambda y: WRITES[name](torch, x, y, at)  # noqa: E731
    assert call(y).tolist() == [4, 0, 2]
    expected = [[0, 0, 1], [0, 0, 0], [0, 1, 0]]
    columns = [torch.func.jvp(call, (y,), (one,))[1] for one in torch.eye(3, dtype=torch.float64)]
    assert torch.stack(columns, 1).tolist() == expected
    assert torch.func.jacrev(call)(y).tolist() == expected


@pytest.mark.parametrize("name", WRITES)
def test_writes_to_different_places(torch, name):
    """https://github.com/pytorch/pytorch/issues/146299

    Where no place is named twice, the value's gradient and the one of what was written over are right.
    """
    at = torch.tensor([2, 0])
    x = torch.ones(3, dtype=torch.float64, requires_grad=True)
    y = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    call = lambda x, y: WRITES[name](torch, x, y, at)  # noqa: E731
    assert torch.autograd.gradcheck(call, (x, y))
    assert torch.autograd.gradgradcheck(lambda x, y: call(x, y) ** 3, (x, y))


@pytest.mark.beyond
@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
def test_scatter_reduce_of_a_larger_source(torch, reduce):
    """https://github.com/pytorch/pytorch/issues/27614, https://github.com/pytorch/pytorch/issues/94336

    The source may be larger than the index: the rest of it has the gradient 0.
    """
    at = torch.tensor([0, 1, 0])
    source = torch.tensor([3.0, 5.0, 2.0, 9.0], dtype=torch.float64, requires_grad=True)
    base = torch.ones(2, dtype=torch.float64)
    base.scatter_reduce(0, at, source, reduce).sum().backward()
    expected = {
        "sum": [1, 1, 1, 0],
        "prod": [2, 1, 3, 0],
        "mean": [1 / 3, 1 / 2, 1 / 3, 0],
        "amax": [1, 1, 0, 0],
        "amin": [0, 0, 0, 0],
    }[reduce]
    assert source.grad.tolist() == pytest.approx(expected)


def test_the_gradient_of_holomorphic_functions_is_conjugate(torch):
    """https://github.com/pytorch/pytorch/issues/98946, https://github.com/pytorch/pytorch/issues/60180

    Of a a at a the gradient is the conjugate of 2 a: the direction of the steepest ascent of the real part.
    """
    a = torch.tensor(0.8 + 0.3j, dtype=torch.complex128, requires_grad=True)
    (a * a).real.backward()
    assert a.grad.item() == pytest.approx(2 * (0.8 - 0.3j))
    with torch.no_grad():
        step = 1e-6 * a.grad
        assert ((a + step) ** 2).real > (a**2).real


def test_complex_results_need_a_gradient(torch):
    """https://github.com/pytorch/pytorch/issues/104514

    `backward()` of one complex number raises: which real function is meant is not known.
    """
    a = torch.tensor(1 + 1j, requires_grad=True)
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for real scalar outputs"):
        (a * a).backward()


def test_real_leaves_of_complex_functions(torch):
    """https://github.com/pytorch/pytorch/issues/43349

    `mag * exp(1j * phase)` had no gradient to its real arguments; it is the real part of the complex one.
    """
    mag = torch.tensor(5.0, dtype=torch.float64, requires_grad=True)
    phase = torch.tensor(3.0, dtype=torch.float64, requires_grad=True)
    value = mag * torch.exp(1j * phase)
    (value.real + 2 * value.imag).backward()
    assert mag.grad.item() == pytest.approx(numpy.cos(3) + 2 * numpy.sin(3))
    assert phase.grad.item() == pytest.approx(5 * (2 * numpy.cos(3) - numpy.sin(3)))


def test_two_ways_to_the_imaginary_part(torch):
    """https://github.com/pytorch/pytorch/issues/47200

    (z - z*) / 2j and `z.imag` have to have the same gradient.
    """
    for imaginary in (lambda z: ((z - z.conj()) / 2j).real, lambda z: z.imag, lambda z: torch.view_as_real(z)[..., 1]):
        z = torch.tensor([1 + 2j], dtype=torch.complex128, requires_grad=True)
        imaginary(z).sum().backward()
        assert z.grad.item() == 1j


def test_angles(torch):
    """https://github.com/pytorch/pytorch/issues/46144

    The gradient of `angle()` differed from that of `atan2(imag, real)`.
    """
    z = torch.tensor([1 + 2j, -3 + 0.5j, -1 - 1j], dtype=torch.complex128, requires_grad=True)
    (angle,) = torch.autograd.grad(z.angle().sum(), z)
    (arc,) = torch.autograd.grad(torch.atan2(z.imag, z.real).sum(), z)
    assert torch.allclose(angle, arc)
    assert torch.autograd.gradgradcheck(torch.angle, z)


def test_there_and_back_by_fourier(torch):
    """https://github.com/pytorch/pytorch/issues/109448

    The gradient of `ifft(fft(x))` is what came in; for a gradient of 0 it is 0.
    """
    x = torch.randn(8, dtype=torch.complex128, requires_grad=True)
    out = torch.fft.ifft(torch.fft.fft(x))
    for incoming in (torch.zeros(8, dtype=torch.complex128), torch.randn(8, dtype=torch.complex128)):
        (given,) = torch.autograd.grad(out, x, incoming, retain_graph=True)
        assert torch.allclose(given, incoming)


@pytest.mark.parametrize("n", [9, 10])
def test_real_transforms_of_even_and_odd_lengths(torch, n):
    """https://github.com/pytorch/pytorch/issues/43475

    `irfft(rfft(x))` has the length of `x` if it is told; gradients of half spectra count their mirror images.
    """
    x = torch.randn(n, dtype=torch.float64, requires_grad=True)
    assert torch.allclose(torch.fft.irfft(torch.fft.rfft(x), n=n), x)
    assert torch.autograd.gradcheck(torch.fft.rfft, x)
    assert torch.autograd.gradgradcheck(torch.fft.rfft, x, fast_mode=True)
    half = torch.fft.rfft(x).detach().requires_grad_()
    assert torch.autograd.gradcheck(lambda z: torch.fft.irfft(z, n=n), half)
    assert torch.autograd.gradgradcheck(lambda z: torch.fft.irfft(z, n=n), half, fast_mode=True)


def test_the_sign_of_a_determinant(torch):
    """https://github.com/pytorch/pytorch/issues/15605

    A loss that used the sign that `slogdet` gives failed with an internal assertion; the sign is constant.
    """
    a = torch.tensor([[2.0, 1.0], [1.0, -3.0]], dtype=torch.float64, requires_grad=True)
    sign, logarithm = torch.linalg.slogdet(a)
    assert sign.item() == -1
    (sign * logarithm).backward()
    assert torch.allclose(a.grad, -torch.linalg.inv(a.detach()).mT)


def test_gradients_of_a_cholesky_factor_are_symmetric(torch):
    """https://github.com/pytorch/pytorch/issues/18825

    Through A -> L -> inverse the gradient was triangular: it has to be the symmetric one, as a step keeps A symmetric.
    """
    root = torch.randn(4, 4, dtype=torch.float64)
    a = (root @ root.mT + torch.eye(4, dtype=torch.float64)).requires_grad_()
    inverse = torch.linalg.inv(torch.linalg.cholesky(a))
    (inverse.mT @ inverse).diagonal().sum().backward()
    square = torch.linalg.inv(a.detach()) @ torch.linalg.inv(a.detach())
    assert torch.allclose(a.grad, -square)


def test_eigenvectors_of_equal_eigenvalues(torch):
    """https://github.com/pytorch/pytorch/issues/47599, https://github.com/jax-ml/jax/issues/2311

    Where eigenvalues are equal their vectors have no derivative: the gradient must not be finite and wrong. The values
    have one.
    """
    a = torch.diag(torch.tensor([1.0, 2.0, 2.0], dtype=torch.float64)).requires_grad_()
    values, vectors = torch.linalg.eigh(a)
    (g,) = torch.autograd.grad(vectors[0, 1] + vectors[1, 2], a, retain_graph=True)
    assert not g.isfinite().all()
    (g,) = torch.autograd.grad(values.sum(), a)
    assert torch.allclose(g, torch.eye(3, dtype=torch.float64))


def test_singular_values_of_rank_deficient_matrices(torch):
    """https://github.com/pytorch/pytorch/issues/49886

    Singular values have gradients where several are 0 or equal, as long as the loss does not use the vectors.
    """
    a = torch.tensor([[3.0, 0.0, 0.0], [0.0, 3.0, 0.0], [0.0, 0.0, 0.0]], dtype=torch.float64, requires_grad=True)
    (g,) = torch.autograd.grad((torch.linalg.svdvals(a) ** 2).sum(), a)
    assert torch.allclose(g, 2 * a)
    (g,) = torch.autograd.grad(torch.linalg.svdvals(a)[:2].sum(), a)
    assert torch.allclose(g, torch.diag(torch.tensor([1.0, 1.0, 0.0], dtype=torch.float64)))


def test_eigenvectors_read_one_triangle(torch):
    """https://github.com/pytorch/pytorch/issues/76531

    `eigh` of a matrix of which only a triangle is filled has finite gradients where the eigenvalues differ.
    """
    lower = torch.tensor(
        [[-0.33, 0.0, 0.0], [0.02, -0.12, 0.0], [-0.016, -0.07, 0.98]], dtype=torch.float64, requires_grad=True
    )
    (g,) = torch.autograd.grad((torch.linalg.eigh(lower)[1] ** 2)[:, 0] @ torch.arange(3.0, dtype=torch.float64), lower)
    assert g.isfinite().all()

    def of_symmetric(x):
        full = x.tril() + x.tril(-1).mT
        return (torch.linalg.eigh(full)[1] ** 2)[:, 0]

    assert torch.autograd.gradcheck(of_symmetric, lower)


@pytest.mark.parametrize("shape", [(3, 3), (4, 2)])
def test_qr_of_full_rank(torch, shape):
    """https://github.com/pytorch/pytorch/issues/42792

    Gradients of `qr` are wrong near matrices without full rank; of full rank both orders have to be right.
    """
    a = (torch.eye(*shape, dtype=torch.float64) * 3 + torch.rand(shape, dtype=torch.float64)).requires_grad_()
    assert torch.autograd.gradcheck(torch.linalg.qr, a)
    assert torch.autograd.gradgradcheck(torch.linalg.qr, a, fast_mode=True)


@pytest.mark.parametrize("shape", [(3, 2), (2, 3), (3, 3)])
def test_pseudoinverses(torch, shape):
    """https://github.com/pytorch/pytorch/issues/27036

    `pinv` and `lstsq` of tall, wide and square matrices of full rank have both derivatives.
    """
    a = (torch.eye(*shape, dtype=torch.float64) * 2 + torch.rand(shape, dtype=torch.float64)).requires_grad_()
    assert torch.autograd.gradcheck(torch.linalg.pinv, a, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(torch.linalg.pinv, a, fast_mode=True)
    if shape[0] >= shape[1]:
        b = torch.rand(shape[0], 1, dtype=torch.float64, requires_grad=True)
        solve = lambda a, b: torch.linalg.lstsq(a, b).solution  # noqa: E731
        assert torch.autograd.gradgradcheck(solve, (a, b), fast_mode=True)
