"""5 Errors carry fields and say which line is the culprit."""

import inspect

import pytest
from graph_support import MODIFIED, SECOND_TIME, line_here, node_named

import clew

pytestmark = pytest.mark.beyond
HERE = "test_errors_that_name_the_culprit.py"


def assert_site(site, line, function=None):
    assert (site.file, site.line) == (__file__, line)
    if function is not None:
        assert site.function == function


def second_backward(torch, result):
    with pytest.raises(torch.autograd.errors.GraphFreedError, match=f"^{SECOND_TIME}") as caught:
        result.backward()
    return caught.value


def modified(torch, result):
    with pytest.raises(torch.autograd.errors.InplaceError, match=MODIFIED) as caught:
        result.sum().backward()
    return caught.value


def test_a_second_backward_names_node_and_lines(torch):
    x = torch.ones(3, requires_grad=True)
    h, made = x.exp(), line_here()
    y = h.sum()
    _, freed = y.backward(), line_here()
    error = second_backward(torch, y)
    assert error.node is h.grad_fn
    assert_site(error.made_at, made, inspect.currentframe().f_code.co_name)
    assert_site(error.freed_at, freed, inspect.currentframe().f_code.co_name)
    for told in ("ExpBackward0", f"{HERE}:{made}", f"{HERE}:{freed}"):
        assert told in str(error)


def test_the_loop_of_the_thread(torch):
    """The shared part is outside the loop: make it inside, or retain the graph."""
    x = torch.ones(3, requires_grad=True)
    h, made = x * x, line_here()
    for turn in range(2):
        y = h.sum()
        if turn:
            error = second_backward(torch, y)
        else:
            freed = line_here() + 1
            y.backward()
    assert error.node is h.grad_fn
    assert (error.made_at.line, error.freed_at.line) == (made, freed)
    text = str(error)
    for told in (f"{HERE}:{made}", f"{HERE}:{freed}", "compute it inside the loop", "retain_graph=True"):
        assert told in text


def test_freed_by_grad(torch):
    x = torch.ones(3, requires_grad=True)
    y = (x * x).sum()
    _, freed = torch.autograd.grad(y, x), line_here()
    error = second_backward(torch, y)
    assert error.freed_at.line == freed
    assert "grad" in str(error)


def test_freed_in_a_function_made_in_another(torch):
    def make(x):
        return x.exp().sum()

    def train(y):
        y.backward()

    y = make(torch.ones(3, requires_grad=True))
    train(y)
    error = second_backward(torch, y)
    assert_site(error.made_at, make.__code__.co_firstlineno + 1, "make")
    assert_site(error.freed_at, train.__code__.co_firstlineno + 1, "train")


def test_a_graph_that_was_kept_can_be_filled_again():
    a = clew.tensor([1.0, 2.0], requires_grad=True)
    with clew.keep_graph():
        y = (a * a).sum()
    outside = y * 2
    y.backward()
    for run, advice in (
        (y.backward, "call `y.forward()` before each backward"),
        (outside.backward, "call `y.forward()` before it is used again"),
    ):
        with pytest.raises(RuntimeError, match="a second time") as caught:
            run()
        assert str(caught.value).endswith(f"; or, because clew.keep_graph recorded it, {advice}")
    z = (a * a).sum()  # of no program, and beside one
    z.backward()
    with pytest.raises(RuntimeError, match="a second time") as caught:
        (z + y).backward()
    assert "forward()" not in str(caught.value)
    for _ in range(2):  # the advice is right
        y.forward()
        y.backward()
    assert a.grad.tolist() == [8.0, 16.0]  # of four backward passes


def test_reading_a_freed_slot_tells_the_same(torch):
    y, made = torch.ones(3, requires_grad=True).exp(), line_here()
    _, freed = y.sum().backward(), line_here()
    with pytest.raises(torch.autograd.errors.GraphFreedError, match=f"^{SECOND_TIME}") as caught:
        y.grad_fn._saved_result  # noqa: B018
    assert (caught.value.made_at.line, caught.value.freed_at.line) == (made, freed)
    assert caught.value.node is y.grad_fn


def test_python_functions_too(torch):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2 * ctx.saved_tensors[0]

    y, made = Double.apply(torch.ones(3, requires_grad=True)), line_here()
    z = y.sum()
    _, freed = z.backward(), line_here()
    error = second_backward(torch, z)
    assert error.node is y.grad_fn
    assert (error.made_at.line, error.freed_at.line) == (made, freed)


def test_an_in_place_error_names_what_was_saved_and_who_wrote(torch):
    h = torch.ones(3, requires_grad=True) * 1
    y, saved = h**2, line_here()
    _, written = h.add_(1), line_here()
    error = modified(torch, y)
    assert error.node is y.grad_fn
    assert_site(error.saved_at, saved, inspect.currentframe().f_code.co_name)
    assert_site(error.written_at, written, inspect.currentframe().f_code.co_name)
    for told in ("self", "pow", f"{HERE}:{saved}", "add_", f"{HERE}:{written}"):
        assert told in str(error)
    assert "is at version 1; expected version 0 instead" in str(error)


WRITES = {
    "mul_": lambda torch, h: h.mul_(2),
    "add_": lambda torch, h: h[1:].add_(2),
    "zero_": lambda torch, h: h.detach().zero_(),
    "copy_": lambda torch, h: h.copy_(torch.ones(3)),
    "exp_": lambda torch, h: torch.no_grad()(lambda: h.exp_())(),
}


@pytest.mark.parametrize("op", WRITES)
def test_the_writing_operation_is_named(torch, op):
    h = torch.ones(3, requires_grad=True) * 1
    y = h**2
    WRITES[op](torch, h)
    error = modified(torch, y)
    assert error.written_at.line == WRITES[op].__code__.co_firstlineno
    assert op in str(error)


def test_the_last_writer_is_told(torch):
    h = torch.ones(3, requires_grad=True) * 1
    y = h**2
    h.add_(1)
    _, written = h.mul_(1), line_here()
    assert modified(torch, y).written_at.line == written


def test_the_last_overlapping_write_is_told_for_data(torch):
    x = torch.ones(4, requires_grad=True)
    y, saved = x[:2] ** 2, line_here()
    _, written = x.data[1:3].mul_(2), line_here()
    x.data[3].add_(1)
    error = modified(torch, y)
    assert (error.saved_at.line, error.written_at.line) == (saved, written)
    assert "mul_" in str(error)
    assert f"{HERE}:{written}" in str(error)


def test_saved_outputs(torch):
    y, saved = torch.ones(3, requires_grad=True).tanh(), line_here()
    node = y.grad_fn
    written = line_here() + 1
    y += 1
    error = modified(torch, y)
    assert error.node is node
    assert (error.saved_at.line, error.written_at.line) == (saved, written)
    assert "result" in str(error)


def test_the_last_write_can_be_asked(torch):
    x = torch.ones(3)
    assert x._last_write is None
    _, written = x.mul_(2), line_here()
    write = x._last_write
    assert (write.op, write.site.line) == ("mul_", written)
    x[0] = 5.0
    assert x._last_write.site.line == written + 3
    assert x._last_write.serial > write.serial
    assert x.detach()._last_write.site.line == written + 3


def lost_by(torch, name):
    """Lose history in the way named; return the tensor and the line."""
    import numpy

    x = torch.ones(3, requires_grad=True)
    if name == "detach":
        return x.detach(), line_here()
    if name == "data":
        return x.data, line_here()
    if name == "cast to int64":
        return x.long(), line_here()
    if name == "from_numpy":
        return torch.from_numpy(numpy.ones(3, dtype=numpy.float32)), line_here()
    with torch.no_grad():
        return x * 2, line_here()


CAUSES = ["detach", "no_grad", "cast to int64", "data", "from_numpy"]


@pytest.mark.parametrize("cause", CAUSES)
def test_a_tensor_knows_where_its_history_was_lost(torch, cause):
    tensor, line = lost_by(torch, cause)
    assert tensor._lost.cause == cause
    assert_site(tensor._lost.site, line, "lost_by")


@pytest.mark.parametrize("cause", CAUSES)
def test_the_first_place_is_passed_on(torch, cause):
    tensor, line = lost_by(torch, cause)
    other = torch.ones(3)
    for later in (
        tensor * 2,
        other + tensor,
        torch.cat([other, tensor]),
        tensor[0],
        (tensor + 1).sum(),
        tensor.detach(),
    ):
        assert later._lost.cause == cause
        assert later._lost.site.line == line


def test_history_is_not_lost_while_one_input_has_it(torch):
    x = torch.ones(3, requires_grad=True)
    assert (x.detach() * x)._lost is None
    assert x._lost is None
    assert (x * 2)._lost is None
    assert torch.ones(3)._lost is None
    assert (torch.ones(3) * 2)._lost is None
    with torch.no_grad():
        assert (torch.ones(3) * 2)._lost is None


@pytest.mark.parametrize("cause", CAUSES)
def test_backward_of_such_a_tensor(torch, cause):
    tensor, _ = lost_by(torch, cause)
    with pytest.raises(RuntimeError, match="does not require grad and does not have a grad_fn"):
        tensor[0].backward()


def test_explain_tells_where(torch):
    tensor, line = lost_by(torch, "detach")
    told = torch.explain(tensor * 2)
    assert told.lost_by == "detach"
    assert told.lost_at.line == line


def test_exceptions_are_runtime_errors_with_fields(torch):
    errors = torch.autograd.errors
    for name in ("GraphFreedError", "InplaceError", "NoGradError", "NonFiniteError"):
        assert issubclass(getattr(errors, name), RuntimeError)
    x = torch.ones(3, requires_grad=True)
    y = x.exp().sum()
    y.backward()
    freed = second_backward(torch, y)
    assert all(hasattr(freed, field) for field in ("node", "made_at", "freed_at"))
    h = x * 1
    y = h**2
    h.add_(1)
    written = modified(torch, y)
    assert all(hasattr(written, field) for field in ("node", "made_at", "saved_at", "written_at"))


def test_fields_outlive_the_graph(torch):
    def fail():
        y = torch.ones(3, requires_grad=True).exp().sum()
        y.backward()
        return second_backward(torch, y)

    error = fail()
    assert error.node.name() == "ExpBackward0"
    assert error.made_at.line == fail.__code__.co_firstlineno + 1
    assert error.freed_at.line == fail.__code__.co_firstlineno + 2


def test_errors_in_nested_backwards_name_the_inner_node(torch):
    inner = torch.ones(3, requires_grad=True).exp().sum()
    inner.backward()
    y = torch.ones(1, requires_grad=True) * 2
    y.register_hook(lambda grad: inner.backward())
    error = second_backward(torch, y)
    assert error.node is node_named(inner, "ExpBackward")
