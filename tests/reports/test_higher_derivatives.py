"""Public reports on second and third derivatives, each as a test. The first line of a docstring is the report."""

import itertools
import math

import pytest

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")


def derivative(torch, function, ways, t):
    """A derivative of a function of one number: each letter is an order, g by `grad`, j by `jvp`, from the inside."""
    for way in ways:
        if way == "g":
            function = torch.func.grad(function)
        else:
            function = lambda t, inner=function: torch.func.jvp(inner, (t,), (torch.ones_like(t),))[1]  # noqa: E731
    return function(torch.tensor(t, dtype=torch.float64)).item()


def second_difference(torch, function, t, step=0.02):
    """The second derivative by differences of the values, three times extrapolated."""

    def plain(h):
        low, middle, high = (function(torch.tensor(t + d, dtype=torch.float64)).item() for d in (-h, 0.0, h))
        return (low - 2 * middle + high) / h**2

    estimates = [plain(step / 2**k) for k in range(4)]
    for power in (4, 16, 64):
        estimates = [(power * fine - coarse) / (power - 1) for coarse, fine in itertools.pairwise(estimates)]
    return estimates[0]


def stack(torch, t, rows):
    return torch.stack([entry + 0 * t for row in rows for entry in row]).reshape(len(rows), len(rows[0]))


def weighted(torch, y):
    return (y * torch.arange(1.0, 1 + y.numel(), dtype=y.dtype).reshape(y.shape)).sum()


def determinant(torch, t):
    return torch.linalg.det(stack(torch, t, [[t + 2, 1], [1, 2 * t + 3]]))


def logarithm_of_the_determinant(torch, t):
    return torch.linalg.slogdet(stack(torch, t, [[t + 2, 1], [1, 2 * t + 3]]))[1]


def solution(torch, t):
    a, b = stack(torch, t, [[t + 2, 1], [0, t + 3]]), stack(torch, t, [[t, 2 * t + 1], [t + 1, 3 - t]])
    return weighted(torch, torch.linalg.solve(a, b, left=False))


def triangular_solution(torch, t):
    a, b = stack(torch, t, [[t + 2, 0], [t * t, t + 3]]), stack(torch, t, [[t], [1]])
    return weighted(torch, torch.linalg.solve_triangular(a, b, upper=False))


def inverse_by_a_factor(torch, t):
    return weighted(torch, torch.cholesky_inverse(stack(torch, t, [[t + 2, 0], [t, 2]])))


def solution_by_a_factor(torch, t):
    factor = torch.stack([stack(torch, t, [[2, 0], [t, 3]]), stack(torch, t, [[3, 0], [2 * t + 1, 2]])])
    return weighted(torch, torch.cholesky_solve(torch.tensor([[1.0, 2], [-1, 3]], dtype=t.dtype), factor))


def factor_of_cholesky(torch, t):
    return weighted(torch, torch.linalg.cholesky(stack(torch, t, [[t * t + 2, t], [t, 3]])))


def reflections(torch, t):
    return weighted(torch, torch.linalg.householder_product(stack(torch, t, [[1], [t]]), (2 / (1 + t * t)).reshape(1)))


def pseudoinverse(torch, t):
    return weighted(torch, torch.linalg.pinv(stack(torch, t, [[t + 2, 1], [1, 2 * t + 3], [t, t * t]])))


def least_squares(torch, t):
    a, b = stack(torch, t, [[t + 2, 1], [1, 2 * t + 3], [t, t * t]]), stack(torch, t, [[t], [1], [t * t]])
    return weighted(torch, torch.linalg.lstsq(a, b)[0])


def exponential(torch, t):
    return weighted(torch, torch.linalg.matrix_exp(stack(torch, t, [[t, 1], [t * t, -t]])))


def eigenvalues(torch, t):
    return weighted(torch, torch.linalg.eigvalsh(stack(torch, t, [[t + 2, t], [t, -1]])))


def singular_values(torch, t):
    return weighted(torch, torch.linalg.svdvals(stack(torch, t, [[t + 2, t], [1, -1], [t * t, 2]])))


def qr(torch, t):
    q, r = torch.linalg.qr(stack(torch, t, [[t + 2, 1], [t, -1], [1, t * t]]))
    return weighted(torch, q.abs()) + weighted(torch, r.abs())


def batch_norm(torch, t):
    x = torch.stack([(i + 1) * t + (i % 3 - 1) * t * t + i for i in range(8)]).reshape(2, 2, 2)
    weight, bias = torch.tensor([1.5, -0.5], dtype=t.dtype), torch.tensor([0.25, 1.0], dtype=t.dtype)
    return weighted(torch, torch.nn.functional.batch_norm(x, None, None, weight, bias, training=True, eps=0.25))


def layer_norm(torch, t):
    weight, bias = torch.tensor([1.0, 2.0], dtype=t.dtype), torch.zeros(2, dtype=t.dtype)
    return torch.nn.functional.layer_norm(stack(torch, t, [[t, 0]]), [2], weight, bias, eps=0.25).sum()


def group_norm(torch, t):
    x = torch.stack([t, t * t, 1 - t, 2 + 0 * t, t**3, 3 * t, -t, t + 1]).reshape(1, 4, 2)
    return weighted(torch, torch.nn.functional.group_norm(x, 2, eps=0.25))


def cumulative_product(torch, t):
    x = stack(torch, t, [[t, t + 1, 2 - t], [t - 1, 2 * t + 1, t + 3]])
    return weighted(torch, torch.cumprod(x, -1))


def product(torch, t):
    return torch.prod(torch.stack([t, t - 1, t + 2, 2 * t - 2]))


def sinc(torch, t):
    y = torch.sinc(torch.stack([t, 2 * t + 1, -t / 2 + 2]))
    return 2 * y[0] - 3 * y[1] + 5 * y[2]


def log_add_exp(torch, t):
    x = torch.stack([t + 2, -2 * t]).reshape(2, 1)
    return weighted(torch, torch.logaddexp(x, torch.stack([t / 2 - 1, 3 - t, 2 * t + 1]).reshape(1, 3)))


def log_cum_sum_exp(torch, t):
    x = stack(torch, t, [[t, 1 - t, 2 * t + 3], [-t, t + 2, 3 * t - 1]])
    return weighted(torch, torch.logcumsumexp(x, -1))


def reused_product(torch, t):
    m = t.sin()
    return (m * m) * m


SMOOTH = {  # name: (function, point, PyTorch's issues)
    "det": (determinant, 0.7, "196696, 192540"),
    "slogdet": (logarithm_of_the_determinant, 0.7, "192540"),
    "solve": (solution, -0.5, "196695"),
    "solve_triangular": (triangular_solution, 0.7, "196695"),
    "cholesky_inverse": (inverse_by_a_factor, 0.7, "196682"),
    "cholesky_solve": (solution_by_a_factor, 0.3, "196694"),
    "cholesky": (factor_of_cholesky, 0.7, "18825"),
    "householder_product": (reflections, 0.7, "196698"),
    "pinv": (pseudoinverse, 0.7, "198017"),
    "lstsq": (least_squares, 0.7, "27036, 93982"),
    "matrix_exp": (exponential, 0.7, "198017"),
    "eigvalsh": (eigenvalues, 0.7, "47599"),
    "svdvals": (singular_values, 0.7, "49886"),
    "qr": (qr, 0.7, "42792"),
    "batch_norm": (batch_norm, -6.0, "196699"),
    "layer_norm": (layer_norm, 0.7, "196700"),
    "group_norm": (group_norm, 0.7, "196700"),
    "cumprod at a zero": (cumulative_product, 1.0, "196701"),
    "prod at two zeros": (product, 1.0, "106789, 773"),
    "sinc at 0": (sinc, -0.5, "196703, 89459"),
    "logaddexp": (log_add_exp, 0.7, "196704"),
    "logcumsumexp": (log_cum_sum_exp, 0.7, "196705"),
    "a product of what is used again": (reused_product, 0.7, "tensorflow#127753"),
}


@pytest.mark.beyond
@pytest.mark.parametrize("ways", ["gg", "gj", "jg", "jj"])
@pytest.mark.parametrize("name", SMOOTH)
def test_second_derivatives_each_way(torch, name, ways):
    """https://github.com/pytorch/pytorch/issues/198017, and the issues in the table above

    A family of reports: the second derivative is wrong, in silence, where forward mode takes part in it.
    """
    function, t, _ = SMOOTH[name]
    call = lambda t: function(torch, t)  # noqa: E731
    expected = second_difference(torch, call, t)
    assert derivative(torch, call, ways, t) == pytest.approx(expected, rel=1e-6, abs=1e-6)


@pytest.mark.beyond
@pytest.mark.parametrize("ways", ["ggg", "jjj", "jgj", "gjg"])
@pytest.mark.parametrize("name", ["batch_norm", "layer_norm", "group_norm", "det", "sinc at 0", "prod at two zeros"])
def test_third_derivatives(torch, name, ways):
    """https://github.com/pytorch/pytorch/issues/186256

    From the third derivative on the saved mean and deviation of a norm counted as constants.
    """
    function, t, _ = SMOOTH[name]
    call = lambda t: function(torch, t)  # noqa: E731
    step = 1e-3
    high, low = (derivative(torch, call, "gg", t + sign * step) for sign in (1, -1))
    further, lower = (derivative(torch, call, "gg", t + 2 * sign * step) for sign in (1, -1))
    expected = (8 * (high - low) - (further - lower)) / (12 * step)
    assert derivative(torch, call, ways, t) == pytest.approx(expected, rel=1e-6, abs=1e-6)


BY_VECTORS = {  # name: (function, point, Hessian)
    "cumprod at a zero": (lambda m, x: x.cumprod(0).sum(), [0, 3, -1], [[0, 0, 3], [0, 0, 0], [3, 0, 0]]),
    "cumprod at zeros": (lambda m, x: x.cumprod(0).sum(), [0, 0, 2], [[0, 3, 0], [3, 0, 0], [0, 0, 0]]),
    "prod at zeros": (lambda m, x: x.prod(), [0, 0, 2], [[0, 2, 0], [2, 0, 0], [0, 0, 0]]),
    "i0 at 0": (lambda m, x: m.special.i0(x).sum(), [0, 0, 0], [[0.5, 0, 0], [0, 0.5, 0], [0, 0, 0.5]]),
    "i1 at 0": (lambda m, x: m.special.i1(x).sum(), [0, 0, 0], [[0] * 3] * 3),
    "huber at 0": (
        lambda m, x: m.nn.functional.huber_loss(x, m.zeros_like(x), reduction="sum"),
        [0, 0, 0.5],
        [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    ),
    "normalize at 0": (lambda m, x: m.nn.functional.normalize(x, dim=0).sum(), [0, 0, 0], [[0] * 3] * 3),
    "cosine at 0": (lambda m, x: m.cosine_similarity(x, m.ones_like(x), dim=0), [0, 0, 0], [[0] * 3] * 3),
    "renorm at 0": (lambda m, x: m.renorm(x[None], 2, 0, 1.0).sum(), [0, 0, 0], [[0] * 3] * 3),
}


@pytest.mark.beyond
@pytest.mark.parametrize("outer", ["jacrev", "jacfwd"])
@pytest.mark.parametrize("inner", ["jacrev", "jacfwd"])
@pytest.mark.parametrize("name", BY_VECTORS)
def test_hessians_each_way_at_special_points(torch, name, outer, inner):
    """https://github.com/jax-ml/jax/issues/1212, https://github.com/pytorch/functorch/issues/1097,
    https://github.com/jax-ml/jax/issues/40627, https://github.com/deepmodeling/deepmd-kit/pull/4668

    At zeros a Hessian was NaN, 0 or refused one way, and right another way or at a perturbed point.
    """
    function, point, expected = BY_VECTORS[name]
    derivative_of = getattr(torch.func, outer)(getattr(torch.func, inner)(lambda x: function(torch, x)))
    found = derivative_of(torch.tensor(point, dtype=torch.float64))
    assert torch.allclose(found, torch.tensor(expected, dtype=torch.float64), atol=1e-12)


def test_exact_values_of_the_reports(torch):
    """https://github.com/pytorch/pytorch/issues/196696, https://github.com/pytorch/pytorch/issues/196703

    The second derivative of (t + 2)(2t + 3) - 1 is 4, of sinc at 0 it is -pi^2 / 3.
    """
    assert derivative(torch, lambda t: determinant(torch, t), "gg", 0.7) == pytest.approx(4)


@pytest.mark.beyond
def test_sinc_has_all_derivatives_at_zero(torch):
    """https://github.com/pytorch/pytorch/issues/89459

    The second derivative of `sinc` at 0 was NaN; sinc is 1 - (pi x)^2 / 6 + (pi x)^4 / 120 - ...
    """
    for ways in ("gg", "jj", "gj", "jg"):
        assert derivative(torch, torch.sinc, ways, 0.0) == pytest.approx(-(math.pi**2) / 3)
    for ways in ("gggg", "jgjg"):
        assert derivative(torch, torch.sinc, ways, 0.0) == pytest.approx(math.pi**4 / 5)


@pytest.mark.beyond
def test_second_derivative_of_logaddexp_of_finite_numbers(torch):
    """https://github.com/pytorch/pytorch/issues/196704

    For logits 800 apart the second derivative was NaN; it is that of one of two straight lines, so 0.
    """
    x = torch.tensor([800.0, -800.0, 3.0], dtype=torch.float64, requires_grad=True)
    y = torch.tensor([-800.0, 801.0, 3.0], dtype=torch.float64, requires_grad=True)
    (g,) = torch.autograd.grad(torch.logaddexp(x, y).sum(), x, create_graph=True)
    assert torch.autograd.grad(g.sum(), x)[0].tolist() == pytest.approx([0, 0, 0.25])


@pytest.mark.beyond
def test_tangent_of_logcumsumexp_far_below_the_maximum(torch):
    """https://github.com/pytorch/pytorch/issues/196705

    The tangent of the first of several numbers was lost where a later one is 700 larger.
    """

    def function(t):
        x = torch.stack((t, 1 - t, 2 * t + 3, -t, t + 2, 3 * t - 1)).reshape(2, 3)
        return (torch.logcumsumexp(x, -1) * torch.tensor([[1, 2, -1], [3, -2, 4]], dtype=t.dtype)).sum()

    assert derivative(torch, function, "j", -400.0) == pytest.approx(-5)
    assert derivative(torch, function, "g", -400.0) == pytest.approx(-5)


def test_product_of_one_zero(torch):
    """https://github.com/pytorch/pytorch/issues/82644, https://github.com/pytorch/pytorch/issues/773

    `tensor([0.]).prod(0).backward()` failed, and the gradient of a product with zeros was NaN.
    """
    x = torch.tensor([0.0], requires_grad=True)
    x.prod(0).backward()
    assert x.grad.tolist() == [1]
    x = torch.tensor([[2.0, 0.0, 3.0], [0.0, 0.0, 3.0]], requires_grad=True)
    x.prod(1).sum().backward()
    assert x.grad.tolist() == [[0, 6, 0], [0, 0, 0]]


def test_second_derivative_of_a_product_with_two_zeros(torch):
    """https://github.com/pytorch/pytorch/issues/106789

    The gradient of a product with two zeros required no gradient; its derivative there is not 0.
    """
    x = torch.tensor([2.0, 3.0, 0.0, 0.0], dtype=torch.float64, requires_grad=True)
    (g,) = torch.autograd.grad(torch.prod(x), x, create_graph=True)
    assert g.tolist() == [0, 0, 0, 0]
    assert torch.autograd.grad(g[2], x)[0].tolist() == [0, 0, 0, 6]
    assert torch.autograd.gradgradcheck(torch.prod, x)


def test_cumulative_products_of_nothing(torch):
    """https://github.com/pytorch/pytorch/issues/31782

    The backward of `cumprod` and `cumsum` of tensors without elements raised.
    """
    for function in (torch.cumprod, torch.cumsum, torch.logcumsumexp):
        x = torch.zeros(2, 0, requires_grad=True)
        function(x, -1).sum().backward()
        assert x.grad.shape == (2, 0)


def test_cumprod_with_zeros(torch):
    """https://github.com/pytorch/pytorch/issues/174016, https://github.com/tracel-ai/burn/pull/5141

    A formula that divides by the input gives NaN or 0 at zeros: [2, 0, 3, 4] has the gradient [1, 32, 0, 0].
    """
    x = torch.tensor([2.0, 0.0, 3.0, 4.0], dtype=torch.float64, requires_grad=True)
    x.cumprod(0).sum().backward()
    assert x.grad.tolist() == [1, 32, 0, 0]
    for zeros in ([0, 1, 0, 2], [1, 2, 0, 0], [0, 0, 0, 0]):
        x = torch.tensor(zeros, dtype=torch.float64, requires_grad=True)
        assert torch.autograd.gradcheck(lambda x: x.cumprod(0), x)
        assert torch.autograd.gradgradcheck(lambda x: x.cumprod(0), x)


@pytest.mark.beyond
def test_determinant_of_singular_matrices(torch):
    """https://github.com/pytorch/pytorch/issues/80761, https://github.com/pytorch/pytorch/issues/104675

    The gradient of the determinant of a singular matrix was 0; it is the matrix of cofactors.
    """
    x = torch.tensor([[0.0]], dtype=torch.float64, requires_grad=True)
    torch.det(x).backward()
    assert x.grad.tolist() == [[1]]
    x = torch.tensor([[0.0, 1.0], [0.0, 1.0]], dtype=torch.float64, requires_grad=True)
    torch.det(x).backward()
    assert torch.allclose(x.grad, torch.tensor([[1.0, 0.0], [-1.0, 0.0]], dtype=torch.float64), atol=1e-12)


@pytest.mark.beyond
@pytest.mark.parametrize("diagonal", [(1.0, 1.0, 1.0), (1.0, 2.0, 3.0), (0.0, 1.0, 1.0), (0.0, 0.0, 1.0)])
@pytest.mark.parametrize("way", ["jacfwd(jacrev)", "jacrev(jacrev)", "jacfwd(jacfwd)", "hessian"])
def test_second_derivatives_of_the_determinant_where_singular_values_meet(torch, diagonal, way):
    """https://github.com/pytorch/pytorch/issues/192521

    All second derivatives of `det` at the identity were NaN. Those of a 3 x 3 determinant are signed entries.
    """
    func = torch.func
    hessian = {
        "jacfwd(jacrev)": func.jacfwd(func.jacrev(torch.linalg.det)),
        "jacrev(jacrev)": func.jacrev(func.jacrev(torch.linalg.det)),
        "jacfwd(jacfwd)": func.jacfwd(func.jacfwd(torch.linalg.det)),
        "hessian": func.hessian(torch.linalg.det),
    }[way](torch.diag(torch.tensor(diagonal, dtype=torch.float64)))
    parity = {(0, 1, 2): 1, (1, 2, 0): 1, (2, 0, 1): 1, (0, 2, 1): -1, (2, 1, 0): -1, (1, 0, 2): -1}
    expected = torch.zeros(3, 3, 3, 3, dtype=torch.float64)
    for (i, k, m), rows in parity.items():
        for (j, n, o), columns in parity.items():
            expected[i, j, k, n] = rows * columns * (diagonal[m] if m == o else 0.0)
    assert torch.allclose(hessian, expected, atol=1e-9)


@pytest.mark.beyond
def test_powers_at_the_base_zero(torch):
    """https://github.com/pytorch/pytorch/issues/95180

    The second derivative of base^x to x at base 0 was NaN; it is base^x log(base)^2, whose limit is 0 for x > 0.
    """
    base = torch.tensor(0.0, dtype=torch.float64, requires_grad=True)
    x = torch.tensor([2.0], dtype=torch.float64, requires_grad=True)
    (first,) = torch.autograd.grad(base**x, x, create_graph=True)
    assert first.tolist() == [0]
    assert torch.autograd.grad(first, x)[0].tolist() == [0]
    (first,) = torch.autograd.grad(base**x, base, create_graph=True)
    assert torch.autograd.grad(first, base)[0].item() == 2


def test_mixed_derivatives_of_a_kernel_at_equal_points(torch):
    """https://github.com/pytorch/pytorch/issues/92075, https://github.com/pytorch/functorch/issues/1097

    exp(-|x - y|^2 / l^2) written with a norm: its mixed derivative at x = y is 2 / l^2, and came out as 0 in silence.
    """
    length = 0.5
    a = torch.arange(4.0, dtype=torch.float64)
    square = lambda x, y: torch.exp(-((x / length - y / length) ** 2).sum())  # noqa: E731
    func = torch.func
    for mixed in (func.jacfwd(func.grad(square), argnums=1), func.jacrev(func.grad(square), argnums=1)):
        assert torch.allclose(mixed(a, a), 2 / length**2 * torch.eye(4, dtype=torch.float64))


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN", "LSTMCell", "GRUCell"])
def test_second_derivatives_of_recurrent_layers(torch, kind):
    """https://github.com/pytorch/pytorch/issues/25315, https://github.com/pytorch/pytorch/issues/5261,
    https://github.com/pytorch/pytorch/issues/20449

    There was no second derivative of recurrent layers, so no gradient penalty through them.
    """
    layer = getattr(torch.nn, kind)(2, 2).double()
    x = torch.randn(1, 2, dtype=torch.float64, requires_grad=True)

    def result(x, *weights):
        (names, _) = zip(*layer.named_parameters(), strict=True)
        given = torch.func.functional_call(layer, dict(zip(names, weights, strict=True)), (x,))
        return given if kind == "GRUCell" else given[0]

    assert torch.autograd.gradgradcheck(result, (x, *(p.detach().requires_grad_() for p in layer.parameters())))


@pytest.mark.parametrize(
    "settings",
    [
        {"groups": 2},
        {"groups": 2, "stride": 2, "padding": 1},
        {"dilation": 2},
        {"stride": 2, "dilation": 2, "padding": 2},
        {"stride": 3},
    ],
    ids=str,
)
@pytest.mark.parametrize("transposed", [False, True])
def test_second_derivatives_of_convolutions(torch, settings, transposed):
    """https://github.com/pytorch/pytorch/issues/1972, https://github.com/pytorch/pytorch/issues/80766

    The second derivative failed for groups, for parts that the stride leaves out, and for transposed ones.
    """
    functional = torch.nn.functional
    groups = settings.get("groups", 1)
    x = torch.randn(1, 2, 4, 5, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(2, 2 // groups, 2, 2, dtype=torch.float64, requires_grad=True)
    bias = torch.randn(2, dtype=torch.float64, requires_grad=True)
    convolve = functional.conv_transpose2d if transposed else functional.conv2d
    call = lambda x, w, b: convolve(x, w, b, **settings)  # noqa: E731
    assert torch.autograd.gradcheck(call, (x, weight, bias), fast_mode=True)
    assert torch.autograd.gradgradcheck(call, (x, weight, bias), fast_mode=True)


def test_transposed_convolution_with_dilation_and_stride(torch):
    """https://github.com/pytorch/pytorch/issues/1565

    A transposed convolution ignored its dilation: of ones, every second element has to be 0.
    """
    layer = torch.nn.ConvTranspose1d(1, 1, 3, stride=2, padding=1, output_padding=1, bias=False, dilation=2)
    torch.nn.init.ones_(layer.weight)
    out = layer(torch.ones(1, 1, 6)).flatten()
    assert out[0::2].tolist() == [0] * len(out[0::2])
    assert (out[1::2] > 0).all()


def test_gradient_of_a_transposed_convolution_of_one_tap(torch):
    """https://github.com/pytorch/pytorch/issues/63314

    With a kernel of 1 and a stride of 2 the gradient was taken from the wrong element.
    """
    layer = torch.nn.ConvTranspose2d(1, 1, kernel_size=1, bias=False, stride=2)
    x = torch.randn(1, 1, 1, 2, requires_grad=True)
    layer(x).backward(torch.tensor([[[[1.5, 0.0, 0.7]]]]))
    assert torch.allclose(x.grad.flatten(), torch.tensor([1.5, 0.7]) * layer.weight.item())


def test_output_padding_that_no_stride_allows(torch):
    """https://github.com/pytorch/pytorch/issues/5112

    `output_padding` as large as stride and dilation was not checked, and its backward crashed.
    """
    layer = torch.nn.ConvTranspose2d(4, 1, 3, output_padding=1, dilation=2, bias=False)
    x = torch.ones(1, 4, 1, 1, requires_grad=True)
    layer(x).sum().backward()
    assert torch.allclose(x.grad.flatten(), layer.weight.sum((1, 2, 3)))
    with pytest.raises((RuntimeError, ValueError), match="output padding must be smaller"):
        torch.nn.functional.conv_transpose2d(x, layer.weight, output_padding=2, dilation=2)


def test_a_gradient_penalty(torch):
    """https://github.com/pytorch/pytorch/issues/7714, https://github.com/brownvc/R3GAN/issues/20

    The penalty is differentiated again, to the parameters; without a graph of the gradient it would be a constant.
    """
    x = torch.tensor([[0.5, -1.0]], dtype=torch.float64, requires_grad=True)
    start = torch.tensor([[1.0, 2.0], [3.0, -1.0]], dtype=torch.float64)

    def penalty(weight):
        out = (x @ weight).tanh().sum()
        (g,) = torch.autograd.grad(out, x, create_graph=True, retain_graph=True)
        return ((g.norm(2, dim=1) - 1) ** 2).mean()

    weight = start.clone().requires_grad_()
    penalty(weight).backward()
    step = 1e-6
    for i, j in itertools.product(range(2), range(2)):
        shift = torch.zeros(2, 2, dtype=torch.float64)
        shift[i, j] = step
        difference = (penalty(start + shift) - penalty(start - shift)).item() / (2 * step)
        assert weight.grad[i, j].item() == pytest.approx(difference, rel=1e-6)


def test_batch_norm_twice(torch):
    """https://github.com/pytorch/pytorch/issues/186256

    The second derivative in training mode has terms through the batch's mean and deviation.
    """
    x = torch.randn(3, 2, 2, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(2, dtype=torch.float64, requires_grad=True)
    bias = torch.randn(2, dtype=torch.float64, requires_grad=True)
    for training in (True, False):

        def call(x, w, b, training=training):
            mean, deviation = torch.zeros(2, dtype=torch.float64), torch.ones(2, dtype=torch.float64)
            return torch.nn.functional.batch_norm(x, mean, deviation, w, b, training=training)

        assert torch.autograd.gradcheck(call, (x, weight, bias), fast_mode=True)
        assert torch.autograd.gradgradcheck(call, (x, weight, bias), fast_mode=True)


def test_second_derivative_twice(torch):
    """https://github.com/pytorch/pytorch/issues/18619

    The second derivative of a custom function could be taken once only, even though the graph was retained.
    """

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x**2
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            return g * 2 * y / x

    x = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    y = Double.apply(x)
    torch.autograd.grad(y, x, create_graph=True)
    for _ in range(2):
        (g,) = torch.autograd.grad(y, x, create_graph=True)
        assert g.item() == 4
        assert torch.autograd.grad(g, x, retain_graph=True)[0].item() == 2


def test_hessian_vector_products_agree(torch):
    """https://github.com/pytorch/pytorch/issues/10223

    A Hessian-vector product by forward mode over reverse mode was right for linear networks only.
    """
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2)).double()
    x, target = torch.randn(5, 3, dtype=torch.float64), torch.randn(5, 2, dtype=torch.float64)
    parameters = {name: p.detach() for name, p in net.named_parameters()}
    directions = {name: torch.randn_like(p) for name, p in parameters.items()}

    def loss(parameters):
        return ((torch.func.functional_call(net, parameters, (x,)) - target) ** 2).mean()

    forward = torch.func.jvp(torch.func.grad(loss), (parameters,), (directions,))[1]
    leaves = {name: p.clone().requires_grad_() for name, p in parameters.items()}
    gradients = torch.autograd.grad(loss(leaves), list(leaves.values()), create_graph=True)
    dot = sum((g * v).sum() for g, v in zip(gradients, directions.values(), strict=True))
    for name, expected in zip(leaves, torch.autograd.grad(dot, list(leaves.values())), strict=True):
        assert torch.allclose(forward[name], expected), name


def test_hessian_in_a_batch(torch):
    """https://github.com/pytorch/functorch/issues/597

    `vmap(hessian(f))` raised where `vmap(jacrev(jacrev(f)))` did not.
    """
    x = torch.randn(3, 5, 2, dtype=torch.float64)
    a = torch.randn(3, 2, 2, dtype=torch.float64)
    loss = lambda a, x, y: ((y - (a @ x.t()).t()) ** 2).sum()  # noqa: E731
    func = torch.func
    one = torch.vmap(func.hessian(loss))(a, x, x)
    other = torch.vmap(func.jacrev(func.jacrev(loss)))(a, x, x)
    expected = 2 * torch.einsum("ik,bnj,bnl->bijkl", torch.eye(2, dtype=torch.float64), x, x)
    assert torch.allclose(one, expected)
    assert torch.allclose(other, expected)
