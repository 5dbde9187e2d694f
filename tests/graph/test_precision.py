"""`clew.graph.precision`: planted causes are found at their line, and healthy models are left alone."""

import inspect

import numpy
import pytest

import clew
from clew import nn
from clew.utils.checkpoint import checkpoint
from tests.graph.healthy_models import HEALTHY

F = nn.functional
tensor = clew.tensor


def cancellation():
    x = clew.rand(5)
    return (x + 1e6) - 1e6  # here


def variance_by_subtraction():
    x = clew.randn(1000) + 1000
    squares = (x * x).mean()
    return squares - x.mean() ** 2  # here


def softmax_written_out():
    x = clew.randn(4, 10) * 100
    e = x.exp()  # here
    return e / e.sum(1, keepdim=True)


def log_of_softmax():
    p = F.softmax(clew.tensor([0.0, 200.0]), 0)
    return p.log()  # here


def log_of_one_plus():
    x = clew.rand(10) * 1e-6
    return (1 + x).log()  # here


def exp_minus_one():
    x = clew.rand(10) * 1e-6
    return x.exp() - 1  # here


def one_minus_cosine():
    x = clew.rand(10) * 1e-3
    return 1 - x.cos()  # here


def one_minus_sigmoid():
    p = clew.sigmoid(clew.rand(10) * 5 + 12)
    return 1 - p  # here


def long_sum():
    total = clew.zeros(())
    for _ in range(20000):
        total = total + 0.1  # here
    return total


def long_sum_of_halves():
    total = clew.zeros((), dtype=clew.float16)
    for _ in range(3000):
        total += 1.0  # here
    return total


def log_of_product():
    p = (clew.rand(300) * 0.5).prod()
    return p.log()  # here


def log_of_summed_exps():
    e = (clew.randn(10) - 200).exp().sum()
    return e.log()  # here


def length_of_a_large_vector():
    x = clew.rand(2) * 1e25 + 1e25
    square = x * x  # here
    return square.sum().sqrt()


def out_of_range_of_half():
    x = clew.ones(3) * 1e5
    return x.half()  # here


def nearly_singular():
    i = clew.arange(1, 9).float()
    hilbert = 1 / (i[:, None] + i[None, :] - 1)
    return clew.linalg.inv(hilbert)  # here


def sine_of_a_large_angle():
    angle = (clew.rand(10) * 1e6 + 1e6).mul(1.7)
    return angle.sin()  # here


def compound_interest():
    rate = 1 + tensor(1.0) / 1e7
    return rate**1e7  # here


def distance_by_products():
    a = clew.rand(6, 3) + 1000
    b = a + 1e-2
    s = a.square().sum(1) + b.square().sum(1)
    return s - 2 * (a * b).sum(1)  # here


def time_stamps():
    t = tensor([1700000000, 1700000001, 1700000005]).float()
    return t - t[0]  # here


def angle_by_arc_cosine():
    v = tensor([1.0, 1e-4])
    v = v / v.norm()
    return clew.acos(v[0])  # here


def roots_of_a_parabola():
    b = tensor(1e4)
    root = (b * b - 4).sqrt()
    return (root - b) / 2  # here


PLANTED = [
    (cancellation, "lost digits", "nearly equal"),
    (variance_by_subtraction, "lost digits", "var()"),
    (softmax_written_out, "not finite", "softmax()"),
    (log_of_softmax, "not finite", "log_softmax()"),
    (log_of_one_plus, "lost digits", "log1p"),
    (exp_minus_one, "lost digits", "expm1"),
    (one_minus_cosine, "lost digits", "sin(x / 2)**2"),
    (one_minus_sigmoid, "lost digits", "sigmoid(-x)"),
    (long_sum, "lost digits", "long sum (20,000"),
    (long_sum_of_halves, "lost digits", "long sum (3,000"),
    (log_of_product, "not finite", "sum the logarithms"),
    (log_of_summed_exps, "not finite", "logsumexp()"),
    (length_of_a_large_vector, "not finite", "hypot()"),
    (out_of_range_of_half, "not finite", "bfloat16"),
    (nearly_singular, "lost digits", "singular"),
    (sine_of_a_large_angle, "lost digits", "period"),
    (compound_interest, "lost digits", "log1p"),
    (distance_by_products, "lost digits", "nearly equal"),
    (time_stamps, "lost digits", "offset"),
    (angle_by_arc_cosine, "lost digits", "atan2()"),
    (roots_of_a_parabola, "lost digits", "nearly equal"),
]


def line_marked(function):
    lines, first = inspect.getsourcelines(function)
    return first + next(number for number, line in enumerate(lines) if line.endswith("# here\n"))


@pytest.fixture(autouse=True)
def _seed():
    clew.manual_seed(0)


@pytest.mark.parametrize(("function", "kind", "advice"), PLANTED, ids=[one[0].__name__ for one in PLANTED])
def test_finds_what_is_planted(function, kind, advice):
    told = clew.graph.precision(function)
    found = [one for one in told.findings if one.place.line == line_marked(function)]
    assert [one.kind for one in found] == [kind], str(told)
    assert advice in found[0].advice
    assert str(told.findings[0]) in str(told)


@pytest.mark.parametrize("function", [one[0] for one in PLANTED], ids=[one[0].__name__ for one in PLANTED])
def test_finds_the_same_in_a_kept_graph(function):
    if "long_sum" in function.__name__:
        pytest.skip("the same steps, twenty thousand of them")
    with clew.keep_graph(code=False) as program:
        result = function()
    stream = clew.get_rng_state()
    before = result.clone()
    for told in (clew.graph.precision(program), clew.graph.precision(result)):
        assert line_marked(function) in [one.place.line for one in told.findings], str(told)
    numpy.testing.assert_array_equal(result.numpy(), before.numpy())
    assert clew.equal(clew.get_rng_state(), stream)


@pytest.mark.parametrize("make", HEALTHY, ids=[one.__name__ for one in HEALTHY])
def test_is_silent_on_healthy_models(make):
    told = clew.graph.precision(make().train)
    assert told.operations > 20
    assert told.findings == (), str(told)
    assert told.opaque == ()
    assert "nothing to report" in str(told)


def test_the_error_is_the_distance_to_float64():
    x = numpy.random.default_rng(0).random(100, dtype=numpy.float32)
    told = clew.graph.precision(lambda x: (x + 1e4) - 1e4, tensor(x))
    own = (x + numpy.float32(1e4)) - numpy.float32(1e4)
    exact = (x.astype(float) + 1e4) - 1e4
    error = numpy.linalg.norm(own - exact) / numpy.linalg.norm(exact)
    assert told.results[0].error == pytest.approx(error, rel=1e-12)
    assert told.results[0].digits_lost == pytest.approx(numpy.log10(error * 2**24), rel=1e-6)
    (line,) = told.lines
    rounding = numpy.linalg.norm((x + numpy.float32(1e4)) - (x.astype(float) + 1e4))
    assert line.made == pytest.approx(rounding / numpy.linalg.norm(x.astype(float) + 1e4), rel=1e-12)
    assert line.operation == "sub"


def test_a_value_that_passes_through_zero_in_a_loop_loses_nothing():
    def swing(x):
        seen = []
        for step in range(-20, 21):
            seen.append(x + (step * 0.05 - 0.3))  # near 0 once
        return clew.stack(seen)

    assert clew.graph.precision(swing, tensor([0.3 + 1e-6])).findings == ()


def test_views_and_writes_in_place_follow_the_storage():
    def write(x):
        y = x.clone()
        y[1:].add_(1e4)
        row = y.view(2, 2)[1]
        row.sub_(1e4)
        return y

    x = numpy.array([0.1, 0.2, 0.3, 0.4], dtype=numpy.float32)
    own, exact = x.copy(), x.astype(float)
    for one in (own, exact):
        one[1:] += one.dtype.type(1e4)
        one[2:] -= one.dtype.type(1e4)
    told = clew.graph.precision(write, tensor(x))
    assert told.results[0].error == pytest.approx(numpy.linalg.norm(own - exact) / numpy.linalg.norm(exact), rel=1e-9)


def test_decisions_that_float64_would_take_otherwise_are_told():
    def decide():
        x = tensor([1.0, 2.0, 3.0]) * 1e-4
        noisy = (x + 1e4) - 1e4
        largest = noisy.argmax()
        positive = noisy > 0
        if noisy.sum():
            return largest
        return positive

    told = clew.graph.precision(decide)
    decisions = [one for one in told.findings if one.kind == "decision"]
    assert [one.text.split()[0] for one in decisions] == ["argmax", "gt", "bool"]
    assert "3 of 3 elements" in decisions[1].text


def test_draws_are_the_original_ones():
    def drop(x):
        return F.dropout(x, 0.5) + clew.randn(4) + clew.bernoulli(clew.full((4,), 0.5))

    told = clew.graph.precision(drop, clew.rand(4))
    assert told.findings == ()
    assert told.results[0].error < 1e-7


def test_a_python_body_is_opaque_and_named():
    class Sine(clew.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return clew.from_numpy(numpy.sin(x.detach().numpy()))

        @staticmethod
        def backward(ctx, gradient):
            return gradient

    told = clew.graph.precision(lambda: Sine.apply(clew.rand(3, requires_grad=True)).sum().backward())
    ((name, place, _),) = told.opaque
    assert name.endswith("Sine.forward")
    assert f"opaque: {name} at {place.short}" in str(told)
    pure = clew.pure(lambda x: clew.from_numpy(numpy.sin(x.numpy())))
    with clew.keep_graph(code=False) as program:
        pure(clew.rand(3))
    ((name, _, why),) = clew.graph.precision(program).opaque
    assert name == "<lambda>"
    assert "Python" in why


def test_what_numpy_writes_is_taken_as_exact():
    def write():
        x = clew.full((3,), 0.1) * 3
        x.numpy()[:] += 5
        y = x * 2
        x.add_(1)
        return y + x

    told = clew.graph.precision(write)
    assert told.findings == ()
    assert told.results[0].error < 1e-7


def test_a_training_step_is_told_by_module_and_leaves_no_trace():
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))

    def step():
        model(clew.ones(2, 3)).square().mean().backward()

    told = clew.graph.precision(step)
    assert {line.module for line in told.lines} >= {"0 · Linear", "1 · Tanh", "2 · Linear"}
    assert any(line.in_backward and line.module == "2 · Linear" for line in told.lines)
    gradient = model[0].weight.grad.clone()
    model.zero_grad()
    step()
    assert clew.equal(model[0].weight.grad, gradient)


def test_a_program_that_steps_an_optimizer_is_left_as_it_is():
    model = nn.Linear(3, 1)
    optimizer = clew.optim.SGD(model.parameters(), lr=0.1)
    x = clew.rand(4, 3)

    def step():
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    step()
    with clew.keep_graph(code=False) as program:
        loss = step()
    weight, gradient = model.weight.detach().clone(), model.weight.grad.clone()
    told = clew.graph.precision(program)
    assert told.operations > 5
    assert told.findings == ()
    assert clew.equal(model.weight, weight)
    assert clew.equal(model.weight.grad, gradient)
    program.run()
    assert clew.isfinite(loss)


def under_compile(x):
    compiled = clew.compile(lambda x: (x + 1e5) - 1e5)
    for _ in range(3):
        result = compiled(x)
    return result


def under_vmap(x):
    return clew.func.vmap(lambda row: (row + 1e5) - 1e5)(x[None])


def under_grad(x):
    return clew.func.grad(lambda x: ((x + 1e5) - 1e5).square().sum())(x)


def under_jacrev(x):
    return clew.func.jacrev(lambda x: (x + 1e5) - 1e5 + x)(x)


def under_checkpoint(x):
    x = x.clone().requires_grad_()
    checkpoint(lambda x: ((x + 1e5) - 1e5).square(), x, use_reentrant=False).sum().backward()
    return x.grad


def in_inference_mode(x):
    with clew.inference_mode():
        y = x * 1
        y += 1e5
        y -= 1e5
        return y


def of_complex_parts(x):
    z = clew.complex(x, x)
    clew.view_as_real(z).add_(1e5)
    return z - (1e5 + 1e5j)


def after_resize(x):
    y = x * 1
    y.resize_(20).fill_(0.1)
    return (y + 1e5) - 1e5


def by_the_way(x):
    first, second = (x + 1e5).split(2)
    return clew.cat([second, first]) - 1e5


@pytest.mark.parametrize(
    "function",
    [
        under_compile, under_vmap, under_grad, under_jacrev, under_checkpoint, in_inference_mode, of_complex_parts,
        after_resize, by_the_way,
    ],
)  # fmt: skip
def test_whoever_calls_the_operations(function):
    told = clew.graph.precision(function, clew.rand(4))
    assert told.findings[0].kind == "lost digits"
    assert told.findings[0].text.startswith("sub leaves an error")
    assert told.opaque == ()


@pytest.mark.parametrize("sparse", [False, True])
def test_steps_of_optimizers(sparse):
    table = nn.Embedding(10, 4, sparse=sparse)
    optimizer = (clew.optim.SparseAdam if sparse else clew.optim.AdamW)(table.parameters())

    def step():
        table(tensor([1, 2])).square().sum().backward()
        optimizer.step()
        return table.weight.sum()

    told = clew.graph.precision(step)
    assert told.findings == ()
    assert told.results[0].error < 1e-6


def test_float64_alone_has_nothing_to_compare():
    told = clew.graph.precision(lambda: (clew.rand(3, dtype=clew.float64) + 1e6) - 1e6)
    assert told.findings == ()
    assert "nothing but float64" in str(told)


def test_bad_input_is_refused_in_words():
    x = clew.ones(2, requires_grad=True)
    with pytest.raises(TypeError, match=r"precision: expected a result of keep_graph\(\).*a plain graph"):
        clew.graph.precision((x * 2).sum())
    with pytest.raises(TypeError, match="got int"):
        clew.graph.precision(3)
    with clew.keep_graph(code=False) as program:
        x * 2
    with pytest.raises(TypeError, match="got arguments"):
        clew.graph.precision(program, 1)
