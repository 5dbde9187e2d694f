"""6.2: y.forward() and program.run() compute again, with the inputs' present values and eager's bits."""

import gc

import numpy
import pytest
from graph_support import assert_close, assert_equal

import clew
from clew.nn import functional as F

pytestmark = pytest.mark.beyond


def twins(make):
    """The same twice: one to be kept, one to be run by Python each time."""
    clew.manual_seed(7)
    first = make()
    clew.manual_seed(7)
    return first, make()


def assert_same(mine, theirs):
    assert mine.dtype is theirs.dtype
    assert mine.detach().numpy().tobytes() == theirs.detach().numpy().tobytes()


def test_the_question_of_the_seed():
    a = clew.randn(2, 3, requires_grad=True)
    with clew.keep_graph():
        y = clew.sum(a)
    for _ in range(100):
        a.data = clew.randn(2, 3)  # Only modify its data
        assert y.forward() is y
        assert_same(y, clew.sum(a))
        y.backward()  # Backward on built graph
    assert_equal(a.grad, numpy.full((2, 3), 100))


@pytest.mark.parametrize("how", ["data", "copy_", "in place"])
def test_forward_sees_the_inputs_present_values(how):
    a = clew.tensor([1.0, 2.0], requires_grad=True)
    with clew.keep_graph():
        h = a * a
        y = (h * 3).sum()
    new = clew.tensor([3.0, 4.0])
    if how == "data":
        a.data = new
    else:
        with clew.no_grad():
            a.copy_(new) if how == "copy_" else a.add_(2)
    y.forward()
    assert (y.item(), h.tolist()) == (75, [9, 16])
    y.backward()
    y.forward()
    y.backward()  # as often as one likes
    assert_equal(a.grad, [36, 48])


def test_steps_of_many_tensors_and_memory_with_many_writers_and_views():
    class Product(clew.autograd.Function):  # keeps ten tensors
        @staticmethod
        def forward(ctx, *factors):
            ctx.save_for_backward(*factors)
            return clew.stack(factors).prod(0)

        @staticmethod
        def backward(ctx, g):
            return tuple(g * clew.stack(ctx.saved_tensors).prod(0) / one for one in ctx.saved_tensors)

    def make():
        return [clew.rand(3).add_(0.5).requires_grad_() for _ in range(10)]

    def loss_of(factors):
        rows = clew.zeros(10, 3)
        for row, factor in zip(rows.unbind(), factors, strict=True):  # ten views, each written
            row.copy_(factor.detach())
        return (clew.cat(factors) * rows.view(-1)).sum() + Product.apply(*factors).sum()

    mine, theirs = twins(make)
    with clew.keep_graph():
        y = loss_of(mine)
    for _ in range(3):
        for a, b in zip(mine, theirs, strict=True):
            a.data = b.data = clew.rand(3) + 0.5
        y.forward().backward()
        expected = loss_of(theirs)
        expected.backward()
        assert_same(y, expected)
        for a, b in zip(mine, theirs, strict=True):
            assert_same(a.grad, b.grad)


def test_versions_move_so_that_graphs_from_outside_refuse():
    a = clew.tensor([1.0], requires_grad=True)
    with clew.keep_graph():
        y = a * 2
    squared, exponential = (y * y).sum(), y.exp().sum()
    version = y._version
    a.data = clew.tensor([2.0])
    y.forward()
    assert y._version == version + 1
    for outside in (squared, exponential):  # the second saved nothing of y
        with pytest.raises(RuntimeError, match="has computed again since"):
            outside.backward()
    y.exp().sum().backward()
    assert_close(a.grad, 2 * numpy.exp([4.0]))


def test_of_two_results_the_one_that_was_not_run_again_refuses():
    a = clew.tensor([1.0], requires_grad=True)
    with clew.keep_graph():
        h = a.tanh()
        first, second = h.sum(), (h * h).sum()
        del h
    a.data = clew.tensor([2.0])
    first.forward()
    with pytest.raises(RuntimeError, match="Call forward\\(\\) on this result, too"):
        second.backward()
    second.forward()
    second.backward()
    expected = clew.tensor([2.0], requires_grad=True)
    (expected.tanh() * expected.tanh()).sum().backward()
    assert_close(a.grad, expected.grad.numpy())


def test_only_what_the_value_depends_on_runs():
    a, counter, other = clew.ones(2), clew.zeros(1), clew.zeros(1)
    with clew.keep_graph():
        h = a * 2
        counter.add_(1)
        y = h + counter
        other.add_(1)
        z = clew.rand(2) + a
        h.add_(5)  # after y: of no concern to it
    state = clew.random.get_rng_state()
    y.forward()
    assert (counter.item(), other.item()) == (2, 1)
    assert_equal(y, [4, 4])
    assert_equal(h, [7, 7])
    assert clew.equal(state, clew.random.get_rng_state())
    z.forward()
    assert not clew.equal(state, clew.random.get_rng_state())


def test_run_makes_a_whole_training_step():
    def make():
        model = clew.nn.Sequential(
            clew.nn.Linear(5, 8), clew.nn.BatchNorm1d(8), clew.nn.ReLU(), clew.nn.Dropout(0.3), clew.nn.Linear(8, 3)
        )
        return model, clew.optim.AdamW(model.parameters(), lr=0.01)

    (model, optimizer), (twin, its_optimizer) = twins(make)
    x, target = clew.randn(16, 5), clew.randint(0, 3, (16,))

    def step(model, optimizer):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), target)
        loss.backward()
        clew.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        return loss

    clew.manual_seed(1)
    step(model, optimizer)
    clew.manual_seed(1)
    step(twin, its_optimizer)
    clew.manual_seed(2)
    with clew.keep_graph() as program:
        loss = step(model, optimizer)
    clew.manual_seed(2)
    expected = step(twin, its_optimizer)
    assert_same(loss, expected)
    for _ in range(5):
        x.copy_(clew.randn(16, 5))
        stream = clew.random.get_rng_state()
        program.run()
        clew.random.set_rng_state(stream)
        expected = step(twin, its_optimizer)
        assert_same(loss, expected)
        for mine, theirs in zip(model.state_dict().values(), twin.state_dict().values(), strict=True):
            assert_same(mine, theirs)
            assert mine._version == theirs._version
        for mine, theirs in zip(model.parameters(), twin.parameters(), strict=True):
            assert_same(mine.grad, theirs.grad)
            for name, value in optimizer.state[mine].items():
                assert_same(value, its_optimizer.state[theirs][name])


def test_a_first_step_is_another_program():
    w = clew.nn.Parameter(clew.ones(2))
    optimizer = clew.optim.SGD([w], lr=0.1, momentum=0.9)
    with clew.keep_graph() as program:
        loss = (w * w).sum()
        loss.backward()
        optimizer.step()
    before = w.tolist()
    with pytest.raises(clew.ReplayError, match="SGD makes its state"):
        program.run()
    assert w.tolist() == before
    loss.forward()  # does not depend on it


def test_a_gradient_that_was_none_is_another_program():
    w = clew.ones(2, requires_grad=True)
    with clew.keep_graph() as program:
        (w * w).sum().backward()
    with pytest.raises(clew.ReplayError, match=r"\.grad was None then, and is there now"):
        program.run()
    assert_equal(w.grad, [2, 2])
    w.grad = None
    w.data = clew.tensor([2.0, 3.0])
    program.run()
    assert_equal(w.grad, [4, 6])
    # And with one that was there, it is added to.
    with clew.keep_graph() as program:
        (w * w).sum().backward()
    w.grad = clew.ones(2)
    program.run()
    assert_equal(w.grad, [5, 7])
    w.grad = None
    with pytest.raises(clew.ReplayError, match=r"no \.grad"):
        program.run()


def test_the_gradient_stays_one_tensor_while_it_lives():
    w = clew.ones(2, requires_grad=True)
    with clew.keep_graph() as program:
        w.grad = None
        (w * 3).sum().backward()
    grad = w.grad
    program.run()
    assert w.grad is grad
    del grad
    w.grad = None
    for _ in range(3):
        program.run()
        assert_equal(w.grad, [3, 3])


def test_run_leaves_the_graph_as_the_block_left_it():
    a = clew.tensor([1.0], requires_grad=True)
    with clew.keep_graph() as program:
        a.grad = None
        y = a.exp()
        y.backward()
    program.run()
    with pytest.raises(RuntimeError, match="a second time"):
        y.backward()
    y.forward()
    y.backward()
    y.forward()
    program.run()
    with pytest.raises(RuntimeError, match="a second time"):
        y.backward()


def test_views_of_inputs_follow_new_data():
    a = clew.arange(4.0)
    with clew.keep_graph():
        v = a.view(2, 2)
        row = v[1]
        y = row * 2
    a.data = clew.tensor([5.0, 6.0, 7.0, 8.0])
    y.forward()
    assert_equal(y, [14, 16])
    assert_equal(v, [[5, 6], [7, 8]])
    row.add_(1)
    assert_equal(a, [5, 6, 8, 9])


def test_writes_through_views_and_their_history():
    a = clew.tensor([1.0, 2.0, 3.0], requires_grad=True)
    with clew.keep_graph():
        h = a * 1
        h[1:].mul_(h[:1].detach().clone())
        y = (h * h).sum()
    for values in ([1.0, 2.0, 3.0], [2.0, -1.0, 0.5]):
        a.data, a.grad = clew.tensor(values), None
        y.forward()
        y.backward()
        b = clew.tensor(values, requires_grad=True)
        g = b * 1
        g[1:].mul_(g[:1].detach().clone())
        z = (g * g).sum()
        z.backward()
        assert_same(y, z)
        assert_same(a.grad, b.grad)


def test_second_order_through_a_graph_that_was_filled_again():
    a = clew.tensor([1.0, 2.0], requires_grad=True)
    with clew.keep_graph():
        y = (a**3).sum()
    a.data = clew.tensor([2.0, -1.0])
    y.forward()
    (g,) = clew.autograd.grad(y, [a], create_graph=True)
    (h,) = clew.autograd.grad(g.sum(), [a])
    assert_equal(g, [12, 3])
    assert_equal(h, [12, -6])


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda y: y.add_(1), "been written"),
        (lambda y: y.detach_(), "another history"),
        (lambda y: setattr(y, "data", clew.zeros(2)), "other memory"),
    ],
)
def test_a_result_that_was_changed_outside(change, why):
    a = clew.ones(2, requires_grad=True)
    with clew.keep_graph():
        y = a * 2
    with clew.no_grad():
        change(y)
    with pytest.raises(RuntimeError, match=why) as caught:
        y.forward()
    assert caught.value.site.file == __file__


def test_what_nobody_kept():
    with pytest.raises(RuntimeError, match=r"with clew\.keep_graph\(\)"):
        clew.ones(2).forward()
    x = clew.ones(2)
    with clew.keep_graph():
        x + 1
    with pytest.raises(RuntimeError, match="nobody kept"):
        x.forward()


def test_results_of_one_block_are_inputs_of_the_next():
    a = clew.ones(2, requires_grad=True)
    with clew.keep_graph():
        h = a * 2
    with clew.keep_graph():
        y = (h * h).sum()
    a.data = clew.tensor([2.0, 3.0])
    y.forward()
    assert y.item() == 8  # h is as it was
    h.forward()
    with pytest.raises(clew.ReplayError, match="another history"):
        y.forward()


def test_programs_hold_what_they_need_and_no_more():
    live = clew.memory.stats().live
    a = clew.ones(1000, requires_grad=True)
    with clew.keep_graph() as program:
        y = (a * a).exp().sum()
    y.backward()
    gc.collect()
    assert clew.memory.stats().live - live == 8004  # a, its gradient, y
    program.run()
    y.backward()
    assert clew.memory.stats().live - live == 8004


def test_no_growth():
    a = clew.ones(4, requires_grad=True)
    with clew.keep_graph():
        h = (a * a)[1:]
        y = h.exp().sum()
    optimizer = clew.optim.SGD([a], lr=0.0, momentum=0.5)
    with clew.keep_graph():
        (a * 2).sum().backward()
        optimizer.step()
    with clew.keep_graph() as program:
        optimizer.zero_grad()
        loss = (a * a).sum()
        loss.backward()
        optimizer.step()

    def turn():
        y.forward()
        y.backward()
        program.run()

    for _ in range(10):
        turn()
    before = clew.memory.stats()
    for _ in range(20_000):
        turn()
    after = clew.memory.stats()
    assert (after.live, after.objects) == (before.live, before.objects)


@pytest.mark.parametrize("dtype", [clew.bfloat16, clew.float16, clew.float64, clew.complex64])
def test_dtypes(dtype):
    def make():
        return clew.randn(4, 3).to(dtype).requires_grad_(), clew.randn(3, 2).to(dtype)

    (a, w), (b, v) = twins(make)

    def step(a, w):
        a.grad = None
        h = clew.cat([(a @ w).tanh() * 2, a], 1)
        y = (h * h.conj()).abs().sum()
        y.backward()
        with clew.no_grad():
            a.sub_(a.grad * 0.25)
        return y

    with clew.keep_graph() as program:
        y = step(a, w)
    step(b, v)
    for _ in range(3):
        program.run()
        assert clew.equal(y.detach(), step(b, v).detach())
        assert clew.equal(a.detach(), b.detach())
        assert clew.equal(a.grad, b.grad)


def test_tensors_without_values_are_refused():
    with pytest.raises(clew.KeepError, match="meta"), clew.keep_graph():
        clew.ones(3, device="meta") * 2


def test_a_view_that_is_read_after_a_write_to_it():
    """Its history is made anew when it is read: a node of the program, too."""

    def block(x, value):
        base = x * 2
        view = base[...]
        view[-1] = value
        return clew.logcumsumexp(view, -1)

    x, value = clew.randn(2, 3, requires_grad=True), clew.tensor(2.0)
    with clew.keep_graph() as program:
        y = block(x, value)
    for _ in range(3):
        with clew.no_grad():
            x.mul_(1.5)
        program.run()
        expected = block(x, value)
        assert clew.equal(y, expected)
        gradients = [clew.autograd.grad(one.sum(), x, retain_graph=True)[0] for one in (y, expected)]
        assert clew.equal(*gradients)


def test_a_grad_that_looks_at_an_inputs_memory_is_a_tensor_of_its_own():
    w, x = clew.ones(3, requires_grad=True), clew.ones(3)
    with clew.keep_graph() as program:
        w.grad = x.detach()
    gradient = w.grad
    program.run()
    assert w.grad is gradient
    w.grad = gradient = None
    program.run()
    assert w.grad is not x
    version = x._version
    w.grad.add_(1)
    assert x.tolist() == [2, 2, 2]
    assert x._version == version + 1


@pytest.mark.parametrize(("rows", "training", "written"), [(2, False, False), (0, True, False), (2, True, True)])
def test_statistics_that_a_node_saved_and_batch_norm_reads_or_writes(rows, training, written):
    def make():
        return clew.tensor([[1.0], [2.0]], requires_grad=True), clew.ones(rows, 3), clew.ones(3), clew.rand(3) + 1

    def block(x, batch, mean, variance):
        return x * variance, clew.batch_norm(batch, None, None, mean, variance, training, 0.1, 1e-5)

    mine, theirs = twins(make)
    with clew.keep_graph() as program:
        y, normal = block(*mine)
    assert any(step.aliases for step in program.steps if step.op == "native_batch_norm") == (written or rows == 0)
    block(*theirs)  # as the program was recorded
    for inputs in (mine, theirs):
        inputs[3].mul_(1.5)
    for _ in range(3):
        program.run()
        expected, expected_normal = block(*theirs)
        assert_same(normal, expected_normal)
        if written:
            with pytest.raises(RuntimeError, match=r"(?s)modified by an inplace operation.*batch_norm"):
                clew.autograd.grad(y.sum(), mine[0], retain_graph=True)
        else:
            gradients = [
                clew.autograd.grad(one.sum(), x, retain_graph=True)[0]
                for one, x in ((y, mine[0]), (expected, theirs[0]))
            ]
            assert_same(*gradients)


@pytest.mark.parametrize("dtype", [clew.float32, clew.float64, clew.complex64, clew.complex128])
@pytest.mark.parametrize(
    "function",
    [
        lambda x: (x * 1j).imag.sum(),
        lambda x: (x / 2j).imag.sum(),
        lambda x: (2j / x).imag.sum(),
        lambda x: clew.exp(1j * x).real.sum(),
        lambda x: (x + 1j).mul(3 - 2j).abs().sum(),
    ],
)
def test_a_complex_number_of_python(function, dtype):
    def step(x):
        x.grad = None
        function(x).backward()
        return x.grad

    first, second = ((clew.arange(1, 4) * (1 + 0.5j)).to(dtype).requires_grad_() for _ in range(2))
    compiled = clew.compile(step)
    with clew.keep_graph() as program:
        step(first)
    for _ in range(3):
        with clew.no_grad():
            for x in (first, second):
                x.mul_(0.75)
        first.grad = None
        program.run()
        assert_same(first.grad, step(second))
        assert_same(compiled(second), step(second))
    assert compiled.hits == 2
