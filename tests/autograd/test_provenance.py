"""1.7 Every node knows the user's line that made it, with no debug mode."""

import functools
import inspect
import threading
import weakref

import pytest
from graph_support import Token, collector_off, line_here, node_named, nodes_of

pytestmark = pytest.mark.beyond


def leaf(torch):
    return torch.ones(3, 3, requires_grad=True)


def assert_made_at(node, line, function):
    site = node.made_at
    assert (site.file, site.line, site.function) == (__file__, line, function)


def test_file_line_and_function(torch):
    x = leaf(torch)
    y, line = x * 2, line_here()
    assert_made_at(y.grad_fn, line, "test_file_line_and_function")
    assert type(y.grad_fn.made_at.line) is int
    assert type(y.grad_fn.made_at.file) is str


def test_a_site_prints_as_file_line_and_function(torch):
    def make():
        return leaf(torch) * 2

    site = make().grad_fn.made_at
    assert str(site) == f"{__file__.rsplit('/', 1)[-1]}:{site.line} in make"


def test_each_node_has_its_own_line(torch):
    x = leaf(torch)
    first = line_here() + 1
    y = x * 2
    z = y.exp()
    total = z.sum()
    lines = [node.made_at.line for node in (y.grad_fn, z.grad_fn, total.grad_fn)]
    assert lines == [first, first + 1, first + 2]


def test_lines_of_a_call_over_several_lines(torch):
    x = leaf(torch)
    start = line_here()
    y = torch.add(
        x,
        x,
    )
    assert start < y.grad_fn.made_at.line <= start + 4
    z = (
        x.exp()
        .tanh()
    )  # fmt: skip
    assert node_named(z, "ExpBackward").made_at.line == line_here() - 3
    assert node_named(z, "TanhBackward").made_at.line == line_here() - 3


def test_operators_methods_and_functions(torch):
    x = leaf(torch)
    makers = [
        lambda: x * x, lambda: 2 - x, lambda: x @ x, lambda: -x, lambda: x[0], lambda: x[x > 0],
        lambda: x.exp(), lambda: x.sum(dim=0), lambda: torch.exp(x), lambda: torch.cat([x, x]),
        lambda: x.max(0).values, lambda: x.unbind()[0], lambda: x.T,
    ]  # fmt: skip
    for maker in makers:
        assert_made_at(maker().grad_fn, maker.__code__.co_firstlineno, "<lambda>")


def test_functions_of_clew_written_in_python_are_not_the_users_line(torch):
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
    loss, line = torch.nn.functional.mse_loss(model(leaf(torch)), torch.zeros(3, 1)), line_here()
    function = "test_functions_of_clew_written_in_python_are_not_the_users_line"
    made = [node for node in nodes_of(loss) if "AccumulateGrad" not in node.name()]
    assert len(made) >= 4
    for node in made:
        assert_made_at(node, line, function)


def test_the_users_module_is_the_users_line(torch):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(3, 3)

        def forward(self, x):
            self.line = line_here() + 1
            return self.layer(x)

    net = Net()
    y = net(leaf(torch))
    assert_made_at(y.grad_fn, net.line, "forward")


def test_comprehensions_generators_and_exec(torch):
    x = leaf(torch)
    inside, line = [row * 2 for row in x], line_here()
    assert inside[0].grad_fn.made_at.line == line

    def generate():
        yield x * 2

    made = next(generate())
    assert_made_at(made.grad_fn, generate.__code__.co_firstlineno + 1, "generate")

    names = {"x": x}
    exec(compile("a = 1\nb = 2\nz = x * 3", "typed by hand", "exec"), names)
    site = names["z"].grad_fn.made_at
    assert (site.file, site.line, site.function) == ("typed by hand", 3, "<module>")


def test_calls_from_c_belong_to_the_line_that_runs(torch):
    x = leaf(torch)
    rows, line = list(map(torch.exp, x)), line_here()
    assert rows[2].grad_fn.made_at.line == line
    total, line = functools.reduce(torch.add, rows), line_here()
    assert total.grad_fn.made_at.line == line


def test_a_python_function_is_made_where_apply_is_called(torch):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    y, line = Double.apply(leaf(torch)), line_here()
    assert_made_at(y.grad_fn, line, inspect.currentframe().f_code.co_name)


def test_nodes_that_a_recorded_backward_makes_belong_to_its_call(torch):
    x = torch.tensor([2.0], requires_grad=True)
    (grad,), line = torch.autograd.grad(x**3, x, create_graph=True), line_here()
    assert_made_at(grad.grad_fn, line, inspect.currentframe().f_code.co_name)
    y = (x**3).sum()
    _, line = y.backward(create_graph=True), line_here()
    assert_made_at(x.grad.grad_fn, line, inspect.currentframe().f_code.co_name)


def test_in_place_operations_and_views(torch):
    x = leaf(torch)
    y = x * 1
    view, view_line = y[0], line_here()
    assert view.grad_fn.made_at.line == view_line
    _, line = view.mul_(3), line_here()
    assert y.grad_fn.name().endswith("CopySlices")
    assert y.grad_fn.made_at.line == line
    line = line_here() + 1
    y += 1
    assert y.grad_fn.made_at.line == line


def test_threads_have_their_own_lines(torch):
    made = {}

    def work(key):
        made[key] = leaf(torch) * 2

    line = work.__code__.co_firstlineno + 1
    threads = [threading.Thread(target=work, args=(key,)) for key in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for key in range(3):
        assert_made_at(made[key].grad_fn, line, "work")


def test_a_site_outlives_its_function_and_keeps_no_frame(torch):
    def make():
        local = Token()
        ended.append(weakref.ref(local))
        return leaf(torch) * 2

    ended = []
    with collector_off():
        y = make()
        assert ended[0]() is None, "the frame's locals are gone"
    line, function = make.__code__.co_firstlineno + 3, make.__name__
    del make
    assert_made_at(y.grad_fn, line, function)


def test_a_freed_graph_still_tells(torch):
    y, line = (leaf(torch) ** 2).sum(), line_here()
    y.backward()
    assert [node.made_at.line for node in nodes_of(y)[:2]] == [line, line]


def test_sequence_numbers_tell_the_order_of_making(torch):
    x = leaf(torch)
    y = x * 2
    z = x + 1
    total = (y * z).sum()
    numbers = [tensor.grad_fn.sequence_nr for tensor in (y, z, total)]
    assert numbers == sorted(numbers)
    assert len(set(numbers)) == 3
    assert (y.grad_fn.op, z.grad_fn.op, total.grad_fn.op) == ("mul", "add", "sum")
