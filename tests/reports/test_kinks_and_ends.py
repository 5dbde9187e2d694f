"""Public reports on derivatives at kinks, ties, zeros, infinities and ends of domains, each as a test.

The first line of a docstring is the report.
"""

import math

import pytest

INF, NAN = math.inf, math.nan


def gradients(torch, function, *values, dtype=None):
    """The gradients of the sum of what a function gives, as lists."""
    inputs = [torch.tensor(value, dtype=dtype or torch.float64, requires_grad=True) for value in values]
    return [g.tolist() for g in torch.autograd.grad(function(*inputs).sum(), inputs)]


def test_where_does_not_stop_a_slope_that_is_infinite(torch):
    """https://github.com/pytorch/pytorch/issues/52248, https://github.com/pytorch/pytorch/issues/187297,
    https://github.com/jax-ml/jax/issues/347, https://github.com/jax-ml/jax/issues/5798

    The branch that `where` did not choose gives NaN: 0 times the infinite slope of `sqrt`. Choose the input first.
    """
    (x,) = gradients(torch, lambda x: torch.where(x > 0, x.sqrt(), x), [-1.0, 0.0, 4.0])
    assert math.isnan(x[0])
    assert math.isnan(x[1])
    assert x[2] == 0.25
    safe = lambda x: torch.where(x > 0, torch.where(x > 0, x, 1.0).sqrt(), x)  # noqa: E731
    assert gradients(torch, safe, [-1.0, 0.0, 4.0]) == [[1, 1, 0.25]]


@pytest.mark.beyond
@pytest.mark.filterwarnings("ignore:Anomaly Detection")
def test_anomaly_mode_says_that_nan_came_from_the_other_branch(torch):
    """https://github.com/pytorch/pytorch/issues/156212, https://github.com/pytorch/pytorch/issues/68425

    "This was terrible to debug": nothing said that the NaN came through the branch of `where` that was not chosen.
    """
    a = torch.tensor(1000.0, requires_grad=True)
    with torch.autograd.detect_anomaly(check_nan=True), pytest.raises(RuntimeError, match="where"):
        torch.where(a <= 0, a.exp(), 1 + a).backward()


def test_a_masked_write_has_no_other_branch(torch):
    """https://github.com/pytorch/pytorch/issues/108618

    Elements that are chosen by index, not by `where`, have no slope of the other formula.
    """

    def by_index(x):
        y = 2 * x
        y[x > 2] = x[x > 2].log2()
        return y

    (x,) = gradients(torch, by_index, [0.0, 2.0, 3.0])
    assert x[:2] == [2, 2]
    assert math.isclose(x[2], 1 / (3 * math.log(2)))


def test_norm_at_zero(torch):
    """https://github.com/pytorch/pytorch/issues/2421, https://github.com/pytorch/pytorch/issues/2721

    The gradient of the norm of zeros was NaN, and put NaN into all parameters; 0 is a subgradient.
    """
    assert gradients(torch, lambda x: x.norm(), [0.0, 0.0]) == [[0, 0]]
    assert gradients(torch, lambda x: torch.linalg.vector_norm(x, 3), [0.0, 0.0]) == [[0, 0]]
    assert gradients(torch, lambda x: torch.linalg.matrix_norm(x), [[0.0, 0.0]]) == [[[0, 0]]]


def test_the_norm_is_homogeneous_in_its_derivative(torch):
    """https://github.com/jax-ml/jax/issues/26248

    d||a b||/da is sign(a) ||b||, which is 0 where b is; JAX gives NaN.
    """
    assert gradients(torch, lambda a: (a * torch.zeros(2, dtype=torch.float64)).norm(), 1.3) == [0]


def test_the_squared_norm_at_zero(torch):
    """https://github.com/jax-ml/jax/issues/4177, https://github.com/jax-ml/jax/issues/6484

    ||x||^2 has the gradient 2x, also at 0, where the norm itself has none; JAX gives NaN.
    """
    assert gradients(torch, lambda x: x.norm() ** 2, [0.0, 0.0]) == [[0, 0]]


def test_std_of_equal_numbers(torch):
    """https://github.com/pytorch/pytorch/issues/4320

    The gradient of `std` of equal numbers was NaN; it is a norm, at 0.
    """
    for function in (lambda x: x.std(), lambda x: x.std(0), lambda x: torch.std_mean(x)[0]):
        assert gradients(torch, function, [1.0, 1.0, 1.0]) == [[0, 0, 0]]


@pytest.mark.filterwarnings("ignore:.*degrees of freedom is <= 0")
def test_variance_of_one_number(torch):
    """https://github.com/pytorch/pytorch/issues/29372, https://github.com/pytorch/pytorch/issues/94184

    The unbiased variance of one number does not exist; its gradient was infinite in one spelling and NaN in another.
    """
    for function in (lambda x: x.var(), lambda x: x.var(0, keepdim=True), lambda x: x.std(), lambda x: x.std(0)):
        assert math.isnan(gradients(torch, function, [4.0])[0][0])
    assert gradients(torch, lambda x: x.var(unbiased=False), [4.0]) == [[0]]
    assert gradients(torch, lambda x: x.std(unbiased=False), [4.0]) == [[0]]


def test_cdist_of_equal_points(torch):
    """https://github.com/pytorch/pytorch/issues/37154, https://github.com/pytorch/pytorch/issues/37237

    `cdist` gave NaN gradients for points that coincide.
    """
    for mode in ("use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist"):
        distance = lambda x, y: torch.cdist(x, y, compute_mode=mode)  # noqa: B023, E731
        x, y = gradients(torch, distance, [[1.0, 2.0]], [[1.0, 2.0], [1.0, 3.0]])
        assert x == [[0, -1]]
        assert y == [[0, 0], [0, 1]]


def test_cdist_of_small_order_where_one_coordinate_is_equal(torch):
    """https://github.com/pytorch/pytorch/issues/36493

    For p < 1 an equal coordinate, whose slope is infinite, gave NaN; the convention is 0, as for equal points.
    """
    distance = lambda x, y: torch.cdist(x, y, p=0.5)  # noqa: E731
    assert gradients(torch, distance, [[1.0, 2.0]], [[1.0, 3.0], [1.0, 2.0]]) == [[[0, -1]], [[0, 1], [0, 0]]]


def test_equal_maxima_share_the_gradient(torch):
    """https://github.com/pytorch/pytorch/issues/56734, https://github.com/pytorch/pytorch/issues/155048

    `max(a, b)` gave all of the gradient to both of two equal numbers.
    """
    assert gradients(torch, torch.maximum, [1.0, 2.0], [1.0, 3.0]) == [[0.5, 0], [0.5, 1]]
    assert gradients(torch, torch.minimum, [1.0, 2.0], [1.0, 3.0]) == [[0.5, 1], [0.5, 0]]
    assert gradients(torch, torch.amax, [2.0, 2.0, 1.0]) == [[0.5, 0.5, 0]]
    assert gradients(torch, torch.max, [2.0, 2.0, 1.0]) == [[0.5, 0.5, 0]]
    x = gradients(torch, lambda x: x.max(0)[0], [2.0, 2.0, 1.0])[0]
    assert sorted(x) == [0, 0, 1], "with an index: the one that is named gets all of it"


def test_more_equal_maxima_than_half_precision_counts(torch):
    """https://github.com/tinygrad/tinygrad/issues/12296

    The gradient of the maximum of 70,000 equal float16 numbers was 0, because their number was counted in float16.
    """
    for function in (torch.amax, torch.max, torch.amin, torch.min, torch.median):
        x = torch.ones(70000, dtype=torch.float16, requires_grad=True)
        function(x).backward()
        assert abs(x.grad.double().sum().item() - 1) < 0.01, function


def test_clamp_at_its_limits(torch):
    """https://github.com/pytorch/pytorch/issues/7002, https://github.com/pytorch/pytorch/issues/184574

    `clamp` stopped the gradient of numbers that equal a limit; now it passes, while `hardtanh` and `relu6` stop it.
    """
    assert gradients(torch, lambda x: x.clamp(0, 1), [-1.0, 0.0, 0.5, 1.0, 2.0]) == [[0, 1, 1, 1, 0]]
    assert gradients(torch, torch.nn.functional.hardtanh, [-1.0, 0.0, 1.0]) == [[0, 1, 0]]
    assert gradients(torch, torch.nn.functional.relu6, [0.0, 3.0, 6.0]) == [[0, 1, 0]]


def test_clamp_between_tensors(torch):
    """https://github.com/pytorch/pytorch/issues/76522

    `clamp` between two tensors gives a number that equals its limit all of the gradient, and the limit none.
    """
    given = gradients(torch, torch.clamp, [-2.0, -1.0, 0.0, 1.0, 2.0], [-1.0] * 5, [1.0] * 5)
    assert given == [[0, 1, 1, 1, 0], [1, 0, 0, 0, 0], [0, 0, 0, 0, 1]]


def test_relu_and_maximum_at_zero(torch):
    """https://github.com/pytorch/pytorch/issues/184572

    Three spellings of max(x, 0) have three conventions at 0.
    """
    assert gradients(torch, torch.relu, [0.0]) == [[0]]
    assert gradients(torch, lambda x: torch.maximum(x, torch.zeros(1, dtype=torch.float64)), [0.0]) == [[0.5]]
    assert gradients(torch, lambda x: x.clamp_min(0), [0.0]) == [[1]]


def test_abs_at_zero(torch):
    """https://github.com/jax-ml/jax/issues/37820

    JAX gives 1 for the derivative of `abs` at 0, where `sign` gives 0.
    """
    assert gradients(torch, torch.abs, [0.0, -0.0, -2.0]) == [[0, 0, -1]]


def test_logsumexp_and_logaddexp_at_infinities(torch):
    """https://github.com/pytorch/pytorch/issues/49724, https://github.com/tinygrad/tinygrad/pull/17822

    logaddexp(x, inf) has the gradient (0, 1); with numbers that are finite and others that are -inf all is finite.
    """
    assert gradients(torch, torch.logaddexp, [1.0], [INF]) == [[0], [1]]
    assert gradients(torch, torch.logaddexp, [1.0], [-INF]) == [[1], [0]]
    assert gradients(torch, lambda x: x.logsumexp(0), [-INF, 2.0, -INF]) == [[0, 1, 0]]
    x = torch.tensor([-INF, -INF], dtype=torch.float64)
    assert x.logsumexp(0).item() == -INF
    assert torch.logcumsumexp(torch.tensor([-INF, -INF, 2.0]), 0).tolist() == [-INF, -INF, 2]


def test_logsumexp_of_nothing_but_minus_infinity(torch):
    """https://github.com/pytorch/pytorch/issues/31829

    All weights are 0/0 there: the gradient is NaN, and users replace the row first.
    """
    assert all(math.isnan(g) for g in gradients(torch, lambda x: x.logsumexp(0), [-INF, -INF])[0])
    assert all(math.isnan(y) for y in torch.softmax(torch.tensor([-INF, -INF]), 0).tolist())
    row = lambda x: torch.where(x.isinf().all(), torch.zeros_like(x), x).logsumexp(0)  # noqa: E731
    assert gradients(torch, row, [-INF, -INF]) == [[0, 0]]


def test_softmax_beside_masked_places(torch):
    """https://github.com/pytorch/pytorch/issues/31829, https://github.com/tensorflow/tensorflow/issues/11756

    Masked places (-inf) get the gradient 0, not NaN, from `softmax`, `log_softmax` and `cross_entropy`.
    """
    functional = torch.nn.functional
    p = 1 / (1 + math.e)
    (x,) = gradients(torch, lambda x: functional.softmax(x, 0)[1], [-INF, 1.0, 2.0])
    assert x == pytest.approx([0, p * (1 - p), -p * (1 - p)])
    (x,) = gradients(torch, lambda x: functional.log_softmax(x, 0)[1], [-INF, 1.0, 2.0])
    assert x == pytest.approx([0, 1 - p, p - 1])
    target = torch.tensor([1])
    (x,) = gradients(torch, lambda x: functional.cross_entropy(x[None], target), [-INF, 1.0, 2.0])
    assert x == pytest.approx([0, p - 1, 1 - p])


@pytest.mark.parametrize("bias", [False, True])
def test_attention_of_a_row_that_sees_nothing(torch, bias):
    """https://github.com/pytorch/pytorch/issues/103963, https://github.com/pytorch/pytorch/issues/41508

    A row whose mask hides every key gave NaN, and NaN gradients for all that shares its weights.
    """
    q, k, v = (torch.rand(1, 3, 4, dtype=torch.float64, requires_grad=True) for _ in range(3))
    mask = torch.tensor([[True, False, True], [False, False, False], [True, True, True]])
    if bias:
        mask = torch.zeros(3, 3, dtype=torch.float64).masked_fill(~mask, -INF)
    out = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    assert out[0, 1].tolist() == [0] * 4
    for g in torch.autograd.grad(out[:, [0, 2]].sum() + out[:, 1].sum(), (q, k, v)):
        assert g.isfinite().all()


def test_attention_does_not_see_what_is_masked(torch):
    """https://github.com/pytorch/pytorch/issues/101967

    A masked key of NaN made the result NaN: 0 times NaN. That is what `0 * nan` means, and the mask has no say in it.
    """
    q = torch.arange(8.0).reshape(1, 2, 4)
    mask = torch.tensor([[True, False], [True, False]])
    attention = torch.nn.functional.scaled_dot_product_attention
    plain = attention(q, q, q, attn_mask=mask)
    other = q.clone()
    other[0, 1, 0] = 1e10
    assert attention(q, other, q, attn_mask=mask).equal(plain)


def test_xlogy_at_zero(torch):
    """https://github.com/huggingface/trl/pull/7252, https://github.com/JuliaAI/MLJBase.jl/issues/373

    0 log 0 of an entropy or a cross entropy is NaN, and so is its gradient; `xlogy` and `entr` have 0 there.
    """
    x, y = gradients(torch, torch.xlogy, [0.0, 1.0], [2.0, 2.0])
    assert x == pytest.approx([math.log(2)] * 2)
    assert y == [0, 0.5]
    assert torch.special.entr(torch.zeros(1)).item() == 0


def test_powers_of_zero(torch):
    """https://github.com/pytorch/pytorch/issues/27134

    d/db of 0^b is 0 for b > 0; it was NaN (0 log 0).
    """
    a, b = gradients(torch, torch.pow, [0.0, 2.0], [1.0, 1.0])
    assert a == [1, 1]
    assert b == pytest.approx([0, 2 * math.log(2)])


def test_sinc_at_zero(torch):
    """https://github.com/pytorch/pytorch/issues/56760, https://github.com/pytorch/pytorch/issues/53989

    The derivative of `sinc` at 0 was NaN; it is 0.
    """
    assert gradients(torch, torch.sinc, [0.0]) == [[0]]


def test_complex_abs_and_angle_at_zero(torch):
    """https://github.com/pytorch/pytorch/issues/46144

    The gradient of `angle` was wrong; of z = 3 + 4j it is (-y + xj) / |z|^2, at 0 the convention is 0.
    """
    z = torch.tensor([3 + 4j, 0j], dtype=torch.complex128, requires_grad=True)
    (angle,) = torch.autograd.grad(z.angle().sum(), z)
    assert angle.tolist() == pytest.approx([(-4 + 3j) / 25, 0])
    (size,) = torch.autograd.grad(z.abs().sum(), z)
    assert size.tolist() == pytest.approx([(3 + 4j) / 5, 0])


def test_median_of_equals(torch):
    """https://github.com/PaddlePaddle/Paddle/pull/42385

    Which of several equal numbers is the median: all of them without an axis, the one that is named with one.
    """
    assert gradients(torch, torch.median, [1.0, 2.0, 2.0, 3.0]) == [[0, 0.5, 0.5, 0]]
    x = torch.tensor([1.0, 2.0, 2.0, 3.0], requires_grad=True)
    value, place = x.median(0)
    value.backward()
    assert x.grad.nonzero().item() == place.item()
    values = [NAN, 2.0, 3.0, 2.0, 3.0, NAN]
    x = torch.tensor(values, requires_grad=True)
    value, place = x.nanmedian(0)
    value.backward()
    assert value.item() == values[place.item()] == 2
    assert x.grad.nonzero().item() == place.item()


@pytest.mark.parametrize("name", ["sort", "topk", "kthvalue", "cummax"])
def test_gradients_go_where_the_index_points(torch, name):
    """https://github.com/pytorch/pytorch/issues/1712

    The second derivative of functions that select lost the gradient of what they did not select.
    """
    select = {
        "sort": lambda x: x.sort(0),
        "topk": lambda x: x.topk(2, 0),
        "kthvalue": lambda x: x.kthvalue(2, 0),
        "cummax": lambda x: x.cummax(0),
    }[name]
    x = torch.tensor([3.0, 1.0, 2.0, 2.0], dtype=torch.float64, requires_grad=True)
    values, places = select(x)
    weight = torch.arange(1.0, 1 + values.numel(), dtype=torch.float64).reshape(values.shape)
    (g,) = torch.autograd.grad((values**3 * weight).sum(), x, create_graph=True)
    picked = torch.zeros(4, dtype=torch.float64).index_add(0, places.reshape(-1), weight.reshape(-1))
    assert torch.allclose(g, 3 * x**2 * picked)
    (second,) = torch.autograd.grad(g.sum(), x)
    assert torch.allclose(second, 6 * x * picked)


def test_quantile_between_equals(torch):
    """https://github.com/pytorch/pytorch/pull/188394

    Gradients at tied values are a choice; they have to add up to 1 and stay with the tied ones.
    """
    (x,) = gradients(torch, lambda x: x.quantile(0.5), [1.0, 2.0, 2.0, 4.0])
    assert sum(x) == 1
    assert x[0] == x[3] == 0
