"""4.5 Writes through an alias with another version counter are logged while a node holds the memory, and backward
refuses a silently wrong gradient; it refuses nothing else."""

import numpy
import pytest
from graph_support import MODIFIED, assert_close, assert_equal

pytestmark = pytest.mark.beyond


def leaf(torch):
    return torch.tensor([1.0, 2.0, 3.0], requires_grad=True)


def refuses(result):
    with pytest.raises(RuntimeError, match=MODIFIED):
        result.sum().backward()


def test_the_example_of_the_tutorial(torch):
    x = leaf(torch)
    y = x**2
    x.data += 1
    assert x._version == 0, "as in PyTorch, .data has a counter of its own"
    assert_equal(x, [2, 3, 4])
    refuses(y)
    assert x.grad is None


WRITES = {
    "add_": lambda torch, data: data.add_(1),
    "setitem": lambda torch, data: data.__setitem__(0, 9.0),
    "view": lambda torch, data: data[1:].mul_(2),
    "copy_": lambda torch, data: data.copy_(torch.zeros(3)),
    "fill_": lambda torch, data: data.fill_(0),
    "mask": lambda torch, data: data.__setitem__(data > 1, 0.0),
    "out=": lambda torch, data: torch.add(torch.ones(3), 1, out=data),
    "random": lambda torch, data: data.normal_(),
    "no_grad": lambda torch, data: torch.no_grad()(lambda: data.add_(1))(),
    "detached": lambda torch, data: data.detach().add_(1),
    "data of data": lambda torch, data: data.data.add_(1),
    "scatter_": lambda torch, data: data.scatter_(0, torch.tensor([1]), torch.tensor([5.0])),
    "init": lambda torch, data: torch.nn.init.uniform_(data),
    "fused step": lambda torch, data: fused_step(torch, data),
}


def fused_step(torch, data):
    parameter = data.detach().requires_grad_()
    parameter.grad = torch.ones(3)
    torch.optim.SGD([parameter], lr=1.0).step()


@pytest.mark.parametrize("name", WRITES)
def test_every_kind_of_write_is_seen(torch, name):
    x = leaf(torch)
    y = x**2
    WRITES[name](torch, x.data)
    assert x._version == 0
    refuses(y)


@pytest.mark.parametrize(
    "make",
    [
        lambda torch, x: (x * 1).exp(),
        lambda torch, x: x * x,
        lambda torch, x: torch.nn.functional.softmax(x * 1, 0),
        lambda torch, x: x[1:] * torch.ones(2, requires_grad=True),
    ],
)
def test_saved_inputs_outputs_and_views(torch, make):
    x = leaf(torch)
    y = make(torch, x)
    (y.data if y.grad_fn.name() in ("ExpBackward0", "SoftmaxBackward0") else x.data).mul_(2)
    refuses(y)


def test_what_a_python_function_saved(torch):
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            return grad * 2 * ctx.saved_tensors[0]

    x = leaf(torch)
    y = Square.apply(x)
    x.data.add_(1)
    refuses(y)


def test_a_write_before_the_save_is_fine(torch):
    x = leaf(torch)
    x.data += 1
    y = x**2
    y.sum().backward()
    assert_equal(x.grad, [4, 6, 8])


def test_one_graph_before_and_one_after_the_write(torch):
    x = leaf(torch)
    before = x**2
    x.data += 1
    after = x**2
    after.sum().backward()
    assert_equal(x.grad, [4, 6, 8])
    refuses(before)


def test_what_was_not_saved_may_be_written(torch):
    x, w = leaf(torch), torch.ones(3)
    y = (x * w).sum() + (x + 1).sum() + x.sum()
    x.data.fill_(100)
    y.backward()
    assert_equal(x.grad, [3, 3, 3])


def test_after_the_backward_it_is_fine(torch):
    x = leaf(torch)
    y = (x**2).sum()
    y.backward()
    x.data -= 0.5 * x.grad
    assert_equal(x, [0, 0, 0])
    (x**2).sum().backward()


def test_a_retained_graph_is_refused_from_the_write_on(torch):
    x = leaf(torch)
    y = (x**2).sum()
    y.backward(retain_graph=True)
    x.data += 1
    refuses(y)
    assert_equal(x.grad, [2, 4, 6])


def test_a_recorded_backward_saves_too(torch):
    x = leaf(torch)
    (first,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    x.data += 1
    refuses(first)


def test_two_tensors_from_one_numpy_array(torch):
    array = numpy.array([1.0, 2.0, 3.0], dtype=numpy.float32)
    first, second = torch.from_numpy(array), torch.from_numpy(array)
    w = torch.ones(3, requires_grad=True)
    y = first * w
    second.add_(1)
    refuses(y)


def test_apart_within_one_numpy_array(torch):
    array = numpy.array([1.0, 2.0, 3.0, 4.0], dtype=numpy.float32)
    first, second = torch.from_numpy(array[:2]), torch.from_numpy(array[2:])
    w = torch.ones(2, requires_grad=True)
    y = (first * w).sum()
    second.add_(1)
    y.backward()
    assert_equal(w.grad, [1, 2])


def test_our_memory_that_came_back_from_numpy(torch):
    x = leaf(torch)
    y = x**2
    torch.from_numpy(x.detach().numpy()).add_(1)
    refuses(y)


def test_assigning_data_is_no_write(torch):
    x = leaf(torch)
    y = x**2
    x.data = torch.full((3,), 100.0)
    y.sum().backward()
    assert_equal(x.grad, [2, 4, 6])


def test_after_assigning_data_the_new_memory_may_be_written(torch):
    x = leaf(torch)
    y = x**2
    x.data = x.data + 1
    x.data += 1
    y.sum().backward()
    assert_equal(x.grad, [2, 4, 6])
    assert_equal(x, [3, 4, 5])


def test_the_old_memory_may_not_be_written_after_assigning_data(torch):
    x = leaf(torch)
    y = x**2
    old = x.data
    x.data = torch.full((3,), 100.0)
    old += 1
    refuses(y)


@pytest.mark.parametrize("swapped_by", ["copy_", "mul_"])
def test_swapping_weights_and_back_is_allowed_only_when_told(torch, swapped_by):
    def swap_and_back(w):
        kept = w.data.clone()
        if swapped_by == "copy_":
            w.data.copy_(torch.zeros(3))
        else:
            w.data.mul_(0)
        w.data.copy_(kept)

    w = leaf(torch)
    y = (w**2).sum()
    swap_and_back(w)
    refuses(y)
    w = leaf(torch)
    y = (w**2).sum()
    with torch.autograd.graph.allow_data_writes():
        swap_and_back(w)
        y.backward()
    assert_equal(w.grad, [2, 4, 6])


def test_allowing_ends_with_its_block(torch):
    w = leaf(torch)
    with torch.autograd.graph.allow_data_writes():
        w.data.mul_(1)
    y = w**2
    w.data.mul_(2)
    refuses(y)


def test_allowing_data_writes_does_not_allow_in_place_operations(torch):
    h = leaf(torch) * 1
    with torch.autograd.graph.allow_data_writes():
        y = h**2
        h.add_(1)
        refuses(y)


def test_a_training_loop_of_the_old_kind(torch):
    """Initialisation, updates, gradients zeroed and a moving average, all through .data."""
    w = torch.zeros(2, requires_grad=True)
    w.data.uniform_(-0.1, 0.1)
    average = w.data.clone()
    x, target = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), torch.tensor([1.0, 2.0, 3.0])
    for _ in range(200):
        loss = ((x @ w - target) ** 2).mean()
        if w.grad is not None:
            w.grad.data.zero_()
        loss.backward()
        w.data -= 0.3 * w.grad.data
        average.mul_(0.9).add_(w.data, alpha=0.1)
    assert_close(w, [1, 2], relative=1e-3)
    assert_close(average, [1, 2], relative=1e-2)


def test_many_writes_while_nothing_is_saved_cost_nothing(torch):
    x = leaf(torch)
    for _ in range(1000):
        x.data.add_(1)
    y = x**2
    y.sum().backward()
    assert_equal(x.grad, [2002, 2004, 2006])


def test_data_of_another_shape(torch):
    """While a graph is there that knows the old shape, the tensor can't be differentiated in the new one."""
    w = torch.ones(2, 4, requires_grad=True)
    loss = (w * 2).sum()
    w.data = torch.ones(4)
    with pytest.raises(RuntimeError, match=r"shape"):
        w[::2].sum().backward()
    del loss
    w[::2].sum().backward()
    assert_equal(w.grad, [1, 0, 1, 0])
