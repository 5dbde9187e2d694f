"""`clew.graph.why_grad`: planted causes are found at their line, and healthy models are left alone."""

import inspect

import numpy
import pytest

import clew
from clew import nn
from clew.utils.checkpoint import checkpoint
from tests.graph.healthy_models import HEALTHY

F = nn.functional


def detached(x, w):
    h = x.exp().detach()  # here
    return (w * h).sum()


def by_data(x, w):
    h = x.data * 2  # here
    return (w * h).sum()


def under_no_grad(x, w):
    with clew.no_grad():
        h = x * 2  # here
    return (w * h).sum()


def in_inference_mode(x, w):
    with clew.inference_mode():
        h = x * 2  # here
    return (w * h.clone()).sum()


def cast_to_integers(x, w):
    h = x.long()  # here
    return (w * h).sum()


def chosen_by_argmax(x, w):
    best = x.argmax(0, keepdim=True)  # here
    return w[best].sum()


def compared(x, w):
    mask = (x > 0.5).float()  # here
    return (w * mask).sum()


def through_a_number(x, w):
    scale = x.sum().item()  # here
    return (w * scale).sum()


def through_a_list(x, w):
    values = x.tolist()  # here
    return (w * clew.tensor(values)).sum()


def through_numpy(x, w):
    values = numpy.sin(x.detach().numpy())  # here
    return (w * clew.from_numpy(values)).sum()


def wrong_leaf(x, w):
    h = (x * 2).detach().requires_grad_()  # here
    return (w * h).sum()


def wrapped_as_a_parameter(x, w):
    h = nn.Parameter(x * 2)
    return (w * h).sum()  # here


def not_used(x, w):
    return w.sum()


def dead_relu(x, w):
    h = (x - 5).relu()  # here
    return (h * w).sum()


def clamped(x, w):
    h = (x + 5).clamp(0, 1)  # here
    return (h * w).sum()


def other_branch(x, w):
    return clew.where(x > 5, x, w).sum()  # here


def masked(x, w):
    h = (x * w).masked_fill(w > -1, 0.0)  # here
    return h.sum()


def saturated(x, w):
    p = clew.sigmoid(200 + x)  # here
    return (p * w).sum()


def rounded(x, w):
    h = (x * w).round()  # here
    return h.sum()


def times_zero(x, w):
    gate = clew.zeros(4)
    return (x * gate + w).sum()  # here


def dead_layer(x, w):
    weight = -clew.ones(3, 4)
    h = F.relu(F.linear(x, weight))  # here
    return h.sum() + w.sum()


def root_of_zero(x, w):
    h = (x - x).sqrt()  # here
    return (h * w).sum()


def branch_not_taken(x, w):
    h = (x - x).sqrt()  # here
    return clew.where(x >= 0, x, h).sum()


def logarithm_of_zero(x, w):
    h = (x * 0).log()  # here
    return (h * w).sum()


def exploding(x, w):
    for _ in range(60):
        x = x * 4  # here
    return (x * w).sum()


def vanishing(x, w):
    for _ in range(60):
        x = clew.sigmoid(x)  # here
    return (x * w).sum()


def steep(x, w):
    h = (x * 1e-6).reciprocal()  # here
    return (h * w).sum()


PLANTED = [
    (detached, "none", "detach", "leave detach() out"),
    (by_data, "none", "data", "instead of its .data"),
    (under_no_grad, "none", "no_grad", "outside of no_grad()"),
    (in_inference_mode, "none", "inference_mode", "outside of inference_mode()"),
    (cast_to_integers, "none", "cast to int64", "whole numbers"),
    (chosen_by_argmax, "none", "argmax", "softmax()"),
    (compared, "none", "gt", "sigmoid()"),
    (through_a_number, "none", "item", "keep it a tensor"),
    (through_a_list, "none", "tolist", "keep it a tensor"),
    (through_numpy, "none", "numpy", "keep it a tensor"),
    (wrong_leaf, "none", "another leaf", "requires_grad_()"),
    (wrapped_as_a_parameter, "none", "another leaf", "Parameter()"),
    (dead_relu, "zero", "passes nothing on", "leaky_relu()"),
    (clamped, "zero", "passes nothing on", "widen the limits"),
    (other_branch, "zero", "passes nothing on", "look at the mask"),
    (masked, "zero", "passes nothing on", "look at the mask"),
    (saturated, "zero", "passes nothing on", "scale its inputs down"),
    (rounded, "zero", "passes nothing on", "straight-through"),
    (times_zero, "zero", "passes nothing on", "the other factor"),
    (dead_layer, "zero", "passes nothing on", "leaky_relu()"),
    (root_of_zero, "not finite", "makes a value that is not finite", "infinite"),
    (branch_not_taken, "not finite", "makes a value that is not finite", "not taken"),
    (logarithm_of_zero, "not finite", "not finite", "away from 0"),
    (exploding, "large", "large", "factors above 1"),
    (vanishing, "small", "small", "saturated"),
    (steep, "large", "large", "near 0"),
]
NAMES = [one[0].__name__ for one in PLANTED]


def line_marked(function):
    lines, first = inspect.getsourcelines(function)
    return first + next(number for number, line in enumerate(lines) if line.endswith("# here\n"))


@pytest.fixture
def x():
    return clew.tensor([0.1, 0.6, 0.3, 0.9], requires_grad=True)


@pytest.fixture
def w():
    return clew.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)


@pytest.mark.parametrize(("function", "verdict", "kind", "advice"), PLANTED, ids=NAMES)
def test_finds_what_is_planted(function, verdict, kind, advice, x, w):
    told = clew.graph.why_grad(function, x, x, w)
    assert told.verdict == verdict, str(told)
    first = told.reasons[0]
    assert (first.kind, first.place.line) == (kind, line_marked(function)), str(told)
    assert advice in first.advice
    assert f"gradient of `x` (4,) float32: {verdict}" in str(told)
    assert str(first) in str(told)
    assert x.grad is None
    assert w.grad is None


@pytest.mark.parametrize(("function", "verdict", "kind", "advice"), PLANTED, ids=NAMES)
def test_finds_the_same_in_a_plain_graph(function, verdict, kind, advice, x, w):
    told = clew.graph.why_grad(function(x, w), x)
    assert told.verdict == verdict, str(told)
    if verdict == "none":
        assert "why_grad(f, x, *args)" in told.needs
        assert "`w`" in told.needs
    else:
        assert told.reasons[0].place.line == line_marked(function)
        assert told.needs == ""


@pytest.mark.parametrize(("function", "verdict", "kind", "advice"), PLANTED, ids=NAMES)
def test_finds_the_line_in_a_kept_graph(function, verdict, kind, advice, x, w):
    if function in (in_inference_mode, wrapped_as_a_parameter):
        pytest.skip("can't be kept")
    with clew.keep_graph(code=False):
        loss = function(x, w)
    told = clew.graph.why_grad(loss, x)
    assert told.verdict == verdict, str(told)
    assert line_marked(function) in [reason.place.line for reason in told.reasons], str(told)
    assert told.needs == ""
    loss.backward()


def test_a_gradient_elsewhere_is_not_taken_for_the_cause_of_a_cut(x, w):
    other = clew.ones(2, requires_grad=True)
    (other * 2).sum().backward()
    assert other.grad._lost is not None
    assert other.grad._lost.site is None
    with clew.keep_graph(code=False):
        loss = through_a_list(x, w)
    told = clew.graph.why_grad(loss, x)
    assert [(one.kind, one.place.line) for one in told.reasons] == [("tolist", line_marked(through_a_list))]


def test_what_was_not_used_is_told_with_the_leaves(x, w):
    told = clew.graph.why_grad(not_used, x, x, w)
    assert [(one.kind, one.place) for one in told.reasons] == [("unused", None)]
    assert "`w`" in told.reasons[0].advice


@pytest.mark.parametrize("make", HEALTHY, ids=[one.__name__ for one in HEALTHY])
def test_is_silent_on_healthy_models(make):
    clew.manual_seed(0)
    model = make()
    for how in (model.loss, model.loss()):
        for parameter in model.parameters:
            told = clew.graph.why_grad(how, parameter)
            assert (told.verdict, told.reasons, told.needs) == ("fine", (), ""), str(told)
            assert told.path
            assert parameter.grad is None


@pytest.mark.parametrize("make", HEALTHY, ids=[one.__name__ for one in HEALTHY])
def test_the_norm_is_that_of_the_gradient(make):
    clew.manual_seed(0)
    model = make()
    loss = model.loss()
    told = [clew.graph.why_grad(loss, parameter) for parameter in model.parameters]
    loss.backward()
    for parameter, one in zip(model.parameters, told, strict=True):
        assert one.norm == pytest.approx(numpy.linalg.norm(parameter.grad.numpy().astype(float)), rel=1e-5)


def test_factors_are_those_of_calculus():
    x = clew.tensor([3.0], requires_grad=True)
    told = clew.graph.why_grad((x.square() * 5).sum(), x)
    assert [(step.node, step.norm, step.factor) for step in told.path] == [
        ("SumBackward0", 1.0, 1.0),
        ("MulBackward0", 5.0, 5.0),
        ("PowBackward0", 30.0, 6.0),
    ]


def test_the_heaviest_of_two_paths():
    x = clew.tensor([2.0], requires_grad=True)
    told = clew.graph.why_grad(x * 3 + (x * 100).tanh() * 1e-3, x)
    assert [step.node for step in told.path] == ["AddBackward0", "MulBackward0"]


def test_values_are_told_where_a_gradient_is_not_finite():
    x = clew.tensor([4.0, 0.0], requires_grad=True)
    told = clew.graph.why_grad(x.sqrt().sum(), x)
    assert "gradient 1, result 0, sent on inf" in told.reasons[0].text
    told = clew.graph.why_grad(lambda: (x - 5).sqrt().sum(), x)
    assert told.reasons[0].text == "sqrt gives nan of -1 in the forward"


def test_a_tensor_that_needs_no_gradient_says_why(w):
    fixed, whole = clew.ones(4), clew.ones(4, dtype=clew.int64)
    loss = (w * fixed * whole).sum()
    assert clew.graph.why_grad(loss, fixed).reasons[0].kind == "requires_grad"
    assert clew.graph.why_grad(loss, whole).reasons[0].kind == "integer"
    lost = (w * 2).detach()
    told = clew.graph.why_grad((w * lost).sum(), lost)
    assert (told.verdict, told.reasons[0].kind) == ("none", "detach")
    assert clew.graph.why_grad(lost.sum(), w).reasons[0].kind == "detach"


def test_a_result_is_no_leaf(w):
    h = w * 2
    told = clew.graph.why_grad(h.sum(), h)
    assert [(one.kind, one.advice) for one in told.reasons] == [("not a leaf", "call retain_grad() before backward()")]
    h.retain_grad()
    assert clew.graph.why_grad(h.sum(), h).reasons == ()


def test_another_leaf_with_the_same_values(x):
    copy = x.detach().clone().requires_grad_()
    told = clew.graph.why_grad((copy * 2).sum(), x)
    assert told.reasons[0].kind == "another leaf"
    assert "`copy`" in told.reasons[0].text


def test_a_function_that_gives_no_gradient(x):
    class Stop(clew.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            return None

    told = clew.graph.why_grad(Stop.apply(x).sum(), x)
    assert (told.verdict, told.reasons[0].kind) == ("none", "returns None")
    assert "StopBackward" in told.reasons[0].text


def by_parts(x, w):
    first, second = x.unbind(0)[:2]
    return first * 3 + second


def in_place(x, w):
    h = x.clone()
    h.mul_(2)
    h[:2].add_(w[:2])
    return (h * h).sum()


def under_checkpoint(x, w):
    return checkpoint(lambda x: x.exp().sin(), x, use_reentrant=False).sum()


def of_complex_numbers(x, w):
    return (x * (w + 2j)).abs().sum()


def recurrent(x, w):
    clew.manual_seed(0)
    return nn.LSTM(4, 4)(x[None, None])[0].sum()


def compiled(x, w):
    function = clew.compile(lambda x, w: (x * w).sum())
    for _ in range(3):
        loss = function(x, w)
    return loss


def long_chain(x, w):
    for _ in range(5000):
        x = x * 1.0001
    return x.sum()


@pytest.mark.parametrize(
    "function", [by_parts, in_place, under_checkpoint, of_complex_numbers, recurrent, compiled, long_chain]
)
def test_the_norm_is_that_of_autograd(function, x, w):
    for told in (clew.graph.why_grad(function, x, x, w), clew.graph.why_grad(function(x, w), x)):
        (gradient,) = clew.autograd.grad(function(x, w), x)
        assert told.verdict == "fine"
        assert told.norm == pytest.approx(numpy.linalg.norm(gradient.numpy().astype(float)), rel=1e-5)


def test_a_sparse_gradient():
    table = nn.Embedding(10, 4, sparse=True)
    loss = (table(clew.tensor([1, 2, 1])) * 2).sum()
    assert clew.graph.why_grad(loss, table.weight).norm == pytest.approx(4 * 5**0.5)


def test_leaves_the_graph_as_it_is(x):
    seen = []
    x.register_hook(lambda gradient: seen.append(gradient))
    loss = (x * x).sum()
    before = x._version
    clew.graph.why_grad(loss, x)
    assert (seen, x.grad, x._version) == ([], None, before)
    loss.backward(retain_graph=True)
    assert clew.graph.why_grad(loss, x).verdict == "fine"
    numpy.testing.assert_array_equal(x.grad.numpy(), 2 * x.detach().numpy())
    loss.backward()
    with pytest.raises(RuntimeError, match=r"freed by backward\(\) at .*retain_graph=True"):
        clew.graph.why_grad(loss, x)


def test_bad_input_is_refused_in_words(x):
    loss = (x * 2).sum()
    with pytest.raises(TypeError, match="expected the tensor whose gradient is asked for, got str"):
        clew.graph.why_grad(loss, "x")
    with pytest.raises(TypeError, match="expected a tensor, or a function that returns one, got int"):
        clew.graph.why_grad(3, x)
    with pytest.raises(TypeError, match="expected a function before its arguments"):
        clew.graph.why_grad(loss, x, x)
    with pytest.raises(TypeError, match="return the loss, got NoneType"):
        clew.graph.why_grad(lambda: None, x)


def test_a_complex_loss_and_one_whose_sum_overflows():
    x = clew.tensor([1 + 2j], requires_grad=True)
    told = clew.graph.why_grad((x * 2).sum(), x)
    assert (told.verdict, told.norm) == ("fine", 2.0)
    x = clew.full((2,), 3e38, requires_grad=True)
    told = clew.graph.why_grad(x * 1.0, x)
    assert (told.verdict, told.reasons) == ("fine", ())


def test_a_python_number_is_no_tensor_without_history():
    x, other = clew.ones(2, requires_grad=True), clew.zeros(2, requires_grad=True)
    assert "reads values without history at" in clew.graph.why_grad((other * 2).sum(), x).needs
