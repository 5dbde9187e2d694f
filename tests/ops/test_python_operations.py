"""An operation that is written in Python is one of the registry: nodes, saved tensors, ledger, errors, `out=`."""

import gc
import weakref

import numpy
import pytest

import clew
from clew._operation import FUNCTION, METHOD, OUT, operation

pytestmark = pytest.mark.beyond


@operation(
    "_test_scaled_product(Tensor self, Tensor other, *, float by=2.0, str? note=None, int[] axes=[0, 1])",
    rules=(lambda g, other, by: g * other * by, lambda g, self, by: g * self * by),
    domain="real",
)
def scaled_product(self, other, by, note, axes):
    """self * other * by."""
    assert isinstance(self, numpy.ndarray)
    assert axes == (0, 1)
    return self * other * by


@operation(
    "_test_quotient(Tensor self, Tensor other)",
    rules=(lambda g, other: g / other, lambda grad_self, result: -grad_self * result),
    domain="real, other=positive(a, b)",
)
def quotient(self, other):
    return self / other


def gradient_of_parts(g_double, g_square, self):
    terms = [] if g_double is None else [2 * g_double]
    terms += [] if g_square is None else [2 * self * g_square]
    return sum(terms)


@operation("_test_parts(Tensor self)", outputs="double square count", rules=(gradient_of_parts,), domain="real")
def parts(self):
    return self * 2, self * self, numpy.int64(self.size)


def leaves():
    return (clew.tensor([1.0, 2.0], dtype=clew.float64, requires_grad=True) for _ in range(2))


def test_what_a_rule_names_is_saved_and_only_where_it_is_needed():
    x, y = leaves()
    node = scaled_product(x, y, by=3.0).grad_fn
    assert type(node).__name__ == node.name() == "TestScaledProductBackward0"
    assert node._saved_self is x
    assert node._saved_other is y
    assert (node._saved_by, node._saved_note, node._saved_axes) == (3.0, None, (0, 1))
    assert [below.variable for below, _ in node.next_functions] == [x, y]
    half = scaled_product(x, y.detach()).grad_fn
    assert half._saved_self is None
    assert half._saved_other is not None


def test_it_has_derivatives_of_all_orders():
    x, y = leaves()
    assert clew.autograd.gradcheck(scaled_product, (x, y))
    assert clew.autograd.gradgradcheck(scaled_product, (x, y))


def test_what_it_saved_is_counted_and_freed_with_the_graph():
    x = clew.rand(1000, requires_grad=True)
    z = scaled_product(x * 1, x)
    held = [one for one in clew.graph.ledger(z).records if one.op == "_test_scaled_product"]
    assert [(one.slot, one.storage_bytes, one.is_foreign) for one in held] == [
        ("self", 4000, False),
        ("other", 4000, False),
    ]
    gone = weakref.ref(z.grad_fn)
    z.sum().backward()
    with pytest.raises(RuntimeError, match=r"(?s)a second time.*TestScaledProductBackward0"):
        z.sum().backward()
    with pytest.raises(RuntimeError, match="freed"):
        z.grad_fn._saved_self  # noqa: B018
    gc.disable()
    try:
        del z
        assert gone() is None
    finally:
        gc.enable()


def test_a_write_to_what_it_saved_is_found():
    x, y = leaves()
    inner = x * 1
    z = scaled_product(inner, y)
    inner.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_a_rule_may_read_the_gradient_that_another_gives():
    x, y = leaves()
    node = quotient(x, y).grad_fn
    assert node._saved_other is y
    assert quotient(x.detach(), y).grad_fn._saved_result.tolist() == [1, 1]
    assert quotient(x, y.detach()).grad_fn._saved_result is None
    assert clew.autograd.gradcheck(quotient, (x, y))
    assert clew.autograd.gradgradcheck(quotient, (x.detach(), y))


def test_several_outputs():
    (x, _) = leaves()
    double, square, count = parts(x)
    assert not count.requires_grad
    assert count.dtype == clew.int64
    assert double.grad_fn is square.grad_fn
    (double.sum() + square.sum()).backward()
    assert x.grad.tolist() == [4, 6]
    assert clew.autograd.grad(parts(x)[0].sum(), x)[0].tolist() == [2, 2]
    assert clew.autograd.gradgradcheck(lambda x: parts(x)[:2], x)


def test_nothing_is_recorded_without_need():
    x, y = (clew.ones(2) for _ in range(2))
    assert scaled_product(x, y).grad_fn is None
    x.requires_grad_()
    with clew.no_grad():
        assert scaled_product(x, y).grad_fn is None


def test_numbers_come_in_the_dtype_and_memory_of_the_core():
    before = clew.memory.stats().live
    z = scaled_product(clew.ones(1000, 10), clew.ones(1000, 10))
    assert z.dtype == clew.float32
    assert clew.memory.stats().live - before >= 40000
    z = scaled_product(clew.ones(2, 3).T, clew.ones(3, 1))
    assert z.tolist() == [[2, 2], [2, 2], [2, 2]]


def test_flags_put_it_where_they_say():
    @operation("_test_placed(Tensor self)", flags=METHOD | FUNCTION | OUT, rules=(lambda g: g,), domain="real")
    def placed(self):
        return self + 1

    x = clew.zeros(2)
    assert x._test_placed().tolist() == [1, 1]
    assert clew._core.functions["_test_placed"] is placed
    out = clew.empty(0)
    assert clew._core.ops._test_placed(x, out=out) is out
    assert out.tolist() == [1, 1]
    del clew._core.functions["_test_placed"]


def test_wrong_definitions_and_calls_say_what_is_wrong():
    with pytest.raises(ValueError, match="asks for 'othr', which is no argument"):
        operation("_test_wrong(Tensor self)", rules=(lambda g, othr: g,), domain="real")(abs)
    with pytest.raises(ValueError, match="_test_quotient: an operation of this name is defined already"):
        operation("_test_quotient(Tensor self)", domain="real")(abs)
    with pytest.raises(NotImplementedError, match="lists of tensors"):
        operation("_test_list(Tensor[] tensors)", rules=(lambda g: g,), domain="real")(abs)
    with pytest.raises(TypeError, match="argument 'by' must be float"):
        scaled_product(clew.ones(1), clew.ones(1), by="two")
    wrong = operation("_test_two(Tensor self)", outputs="one two", domain="real")(lambda self: self)
    with pytest.raises(TypeError, match="_test_two: expected its forward to give 2 result"):
        wrong(clew.ones(1))


def test_errors_of_the_forward_and_of_rules_arrive():
    def broken(g):
        raise ZeroDivisionError("in the rule")

    failing = operation("_test_failing(Tensor self, bool now)", rules=(broken,), domain="real")

    @failing
    def fails(self, now):
        return self / (0 if now else 1) if not now else 1 / 0

    x = clew.ones(1, requires_grad=True)
    with pytest.raises(ZeroDivisionError):
        fails(x, True)
    with pytest.raises(ZeroDivisionError, match="in the rule"):
        fails(x, False).backward()


@pytest.mark.filterwarnings("ignore:Anomaly Detection")
def test_anomaly_mode_tells_the_line_of_the_forward():
    x, y = leaves()
    with (
        clew.autograd.detect_anomaly(),
        pytest.raises(RuntimeError, match=r"TestQuotientBackward0.*created at test_python_operations.py"),
    ):
        quotient(x, y * 0).sum().backward()
