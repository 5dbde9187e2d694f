"""2.4 Which graphs can be run again. 2.5 A part that two results share."""

import pytest
from graph_support import SECOND_TIME, assert_close, assert_equal, node_named

RUN_AGAIN = {
    "sum": lambda torch, a: a.sum(),
    "mean": lambda torch, a: a.mean(),
    "cat": lambda torch, a: torch.cat([a, a]),
    "clone": lambda torch, a: a.clone(),
    "add": lambda torch, a: a + a,
    "add number": lambda torch, a: a + 5,
    "sub": lambda torch, a: 5 - a,
    "neg": lambda torch, a: -a,
    "reshape": lambda torch, a: a.reshape(1, 2),
    "index": lambda torch, a: a[0],
    "expand": lambda torch, a: a.expand(3, 2),
    "sum of a sum": lambda torch, a: (a.sum() + a.mean()).sum(),
}
FAIL = {
    "a * 5": lambda torch, a: a * 5,
    "a / 5": lambda torch, a: a / 5,
    "a ** 1": lambda torch, a: a**1,
    "5 * a": lambda torch, a: 5 * a,
    "5 / a": lambda torch, a: 5 / a,
    "a ** 2": lambda torch, a: a**2,
    "a * a": lambda torch, a: a * a,
    "exp": lambda torch, a: a.exp(),
    "matmul": lambda torch, a: a @ a,
    "relu": lambda torch, a: a.relu(),
    "linear": lambda torch, a: torch.nn.Linear(2, 2)(a),
    "softmax": lambda torch, a: a.softmax(0),
    "clamp": lambda torch, a: a.clamp(0, 1),
}


def backward(torch, result):
    result.backward(torch.ones_like(result))


@pytest.mark.parametrize("name", RUN_AGAIN)
def test_graphs_that_save_nothing_run_again(torch, name):
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    result = RUN_AGAIN[name](torch, a)
    backward(torch, result)
    once = a.grad.clone()
    for times in (2, 3):
        backward(torch, result)
        assert_close(a.grad, (times * once).tolist())


def test_sum_can_run_again(torch):
    a = torch.ones(2, 3, requires_grad=True)
    y = a.sum()
    for _ in range(100):
        y.backward()
    assert_equal(a.grad, [[100] * 3] * 2)


@pytest.mark.parametrize("name", FAIL)
def test_graphs_that_saved_something_fail_the_second_time(torch, name):
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    result = FAIL[name](torch, a)
    backward(torch, result)
    once = a.grad.tolist()
    with pytest.raises(RuntimeError, match=f"^{SECOND_TIME}"):
        backward(torch, result)
    assert a.grad.tolist() == once


def test_grad_frees_as_backward_does(torch):
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (a * a).sum()
    torch.autograd.grad(y, a)
    with pytest.raises(RuntimeError, match=f"^{SECOND_TIME}"):
        torch.autograd.grad(y, a)
    with pytest.raises(RuntimeError, match=f"^{SECOND_TIME}"):
        y.backward()


def test_python_functions(torch):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, save):
            ctx.saves = save
            if save:
                ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            if ctx.saves:
                assert ctx.saved_tensors[0].tolist() == [1, 1]
            return grad * 2, None

    a = torch.ones(2, requires_grad=True)
    y = Double.apply(a, False).sum()
    y.backward()
    y.backward()
    assert_equal(a.grad, [4, 4])
    y = Double.apply(a, True).sum()
    y.backward()
    with pytest.raises(RuntimeError, match=f"^{SECOND_TIME}"):
        y.backward()


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda a: a * a, "_saved_self"),
        (lambda a: a * a, "_saved_other"),
        (lambda a: a.exp(), "_saved_result"),
        (lambda a: a**2, "_saved_self"),
    ],
)
def test_reading_what_a_freed_node_saved_raises(torch, make, name):
    y = make(torch.ones(2, requires_grad=True))
    getattr(y.grad_fn, name)
    y.sum().backward()
    with pytest.raises(RuntimeError, match=f"^{SECOND_TIME}"):
        getattr(y.grad_fn, name)


def test_gradients_before_the_freed_node_were_not_added(torch):
    """The second backward fails in the lower product; nothing is half done in the leaf that it feeds."""
    a = torch.tensor([2.0], requires_grad=True)
    h = a * a
    h.backward()
    with pytest.raises(RuntimeError, match=SECOND_TIME):
        (h + 1).backward()
    assert_equal(a.grad, [4])


def test_the_shared_part_is_freed_by_the_first_backward(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    h = x.exp()
    first = h.sum()
    first.backward()
    second = (h * 2).sum()
    product = node_named(second, "MulBackward")
    ran = []
    product.register_hook(lambda *_: ran.append("rebuilt"))
    h.grad_fn.register_hook(lambda *_: ran.append("shared"))
    with pytest.raises(RuntimeError, match=f"^{SECOND_TIME}"):
        second.backward()
    assert ran == ["rebuilt"], "the part that was rebuilt ran; the shared part failed"


def test_the_example_of_the_thread(torch):
    layer = torch.nn.Linear(3, 3)
    a = torch.randn(2, 3)
    out = layer(a)
    y = torch.sum(out)
    y.backward()
    once = layer.weight.grad.tolist()
    y = torch.sum(out)
    with pytest.raises(RuntimeError, match=f"^{SECOND_TIME}"):
        y.backward()
    assert layer.weight.grad.tolist() == once
    torch.sum(layer(a)).backward()
    assert_close(layer.weight.grad, [[2 * number for number in row] for row in once])


@pytest.mark.beyond
def test_the_error_names_the_shared_part(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    h = x.exp()
    h.sum().backward()
    with pytest.raises(torch.autograd.errors.GraphFreedError) as caught:
        (h * 2).sum().backward()
    assert caught.value.node is h.grad_fn


def test_a_shared_part_that_saved_nothing_is_fine(torch):
    x = torch.ones(2, requires_grad=True)
    h = x + 1
    for _ in range(3):
        (h * 2).sum().backward()
    assert_equal(x.grad, [6, 6])
