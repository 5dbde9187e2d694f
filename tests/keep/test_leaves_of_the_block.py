"""6.1: a leaf that the block makes is made again by each replay until something outside writes to it.

Each program runs twice: its leaf is made in the block and the block is replayed; and its leaf is made before, and
Python computes each time. No write may be undone, and what was not written follows what it was made from.
"""

import gc
import weakref

import numpy
import pytest
import torch
from graph_support import line_here

import clew
from clew.nn import functional as F

pytestmark = pytest.mark.beyond


def names(program):
    return [step.op for step in program.steps]


def same(mine, theirs):
    return mine.detach().numpy().tobytes() == theirs.detach().numpy().tobytes()


def write_by_copy(x, values):
    with clew.no_grad():
        x.copy_(values)


def write_in_place(x, values):
    with clew.no_grad():
        x.zero_().add_(values)


def write_by_data(x, values):
    x.data = values.clone()


def write_into_data(x, values):
    x.data.copy_(values)


def write_through_a_view(x, values):
    with clew.no_grad():
        x.view(-1)[:].copy_(values.reshape(-1))


def write_through_detach(x, values):
    x.detach().copy_(values)


def write_a_part(x, values):
    with clew.no_grad():
        for i in range(x.shape[0]):
            x[i] = values[i]


WAYS = [
    write_by_copy,
    write_in_place,
    write_by_data,
    write_into_data,
    write_through_a_view,
    write_through_detach,
    write_a_part,
]
MADE = {
    "zeros": lambda: clew.zeros(3, requires_grad=True),
    "tensor": lambda: clew.tensor([1.0, 2.0, 3.0], requires_grad=True),
    "randn": lambda: clew.randn(3, requires_grad=True),
    "a part of a longer one": lambda: clew.arange(6.0)[1:4].requires_grad_(),
    "written": lambda: clew.empty(3).uniform_(1, 2).mul_(2).requires_grad_(),
    "reshaped": lambda: clew.ones(1, 3).reshape(3).requires_grad_(),
    "a product": lambda: (clew.ones(3) * clew.full((3,), 2.0)).requires_grad_(),
    "from numbers": lambda: clew.stack([clew.tensor(1.0), clew.tensor(2.0), clew.tensor(3.0)]).requires_grad_(),
}


@pytest.mark.parametrize("write", WAYS)
@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_what_is_written_to_a_leaf_stays(make, write):
    clew.manual_seed(0)
    with clew.keep_graph() as program:
        x = make()
        y = ((x - 1) ** 2 * clew.arange(1.0, 4.0)).sum()
    clew.manual_seed(0)
    other = make()
    for step in range(3):
        values = clew.tensor([4.0, -2.0, 0.5]) + step
        write(x, values)
        write(other, values)
        if step == 1:
            program.run()
        else:
            y.forward()
        expected = ((other - 1) ** 2 * clew.arange(1.0, 4.0)).sum()
        assert same(y, expected)
        assert same(x, values)
        x.grad = other.grad = None
        y.backward()
        expected.backward()
        assert same(x.grad, other.grad)
        state = clew.get_rng_state()
        y.forward()  # nothing is drawn
        assert clew.get_rng_state().equal(state)


def test_a_leaf_that_nobody_writes_is_made_again():
    with clew.keep_graph() as program:
        x = clew.rand(4, requires_grad=True)
        y = (x * x).sum()
    before = x.tolist()
    for _ in range(3):
        state = clew.get_rng_state()
        y.forward()
        clew.set_rng_state(state)
        assert x.tolist() == clew.rand(4).tolist() != before
        assert y.item() == (x * x).sum().item()
    program.run()
    assert "_rand" in names(program)


@pytest.mark.parametrize(
    "optimizer",
    [
        lambda leaves, of: of.SGD(leaves, lr=0.1),
        lambda leaves, of: of.SGD(leaves, lr=0.1, momentum=0.9),
        lambda leaves, of: of.Adam(leaves, lr=0.1),
        lambda leaves, of: of.AdamW(leaves, lr=0.1, foreach=True),
    ],
)
def test_an_optimizer_outside_trains_a_leaf_of_the_block(optimizer):
    with clew.keep_graph():
        x = clew.zeros(2, requires_grad=True)
        y = ((x - 1) ** 2).sum()
    mine, losses = optimizer([x], clew.optim), []
    z = torch.zeros(2, requires_grad=True)
    theirs, expected = optimizer([z], torch.optim), []
    for _ in range(5):
        mine.zero_grad()
        y.backward()
        mine.step()
        y.forward()
        losses.append(y.item())
        theirs.zero_grad()
        ((z - 1) ** 2).sum().backward()
        theirs.step()
        expected.append(((z - 1) ** 2).sum().item())
    assert losses == pytest.approx(expected, rel=1e-5)


MODULES = {
    "linear": (lambda: clew.nn.Linear(3, 2), (4, 3)),
    "mlp": (lambda: clew.nn.Sequential(clew.nn.Linear(3, 5), clew.nn.Tanh(), clew.nn.Linear(5, 2)), (4, 3)),
    "convolution": (lambda: clew.nn.Conv2d(2, 3, 3, padding=1), (2, 2, 5, 5)),
    "layer norm": (lambda: clew.nn.LayerNorm(3), (4, 3)),
    "lstm": (lambda: clew.nn.LSTM(3, 4, num_layers=2), (5, 2, 3)),
    "attention": (lambda: clew.nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0), (3, 2, 4)),
    "batch norm": (lambda: clew.nn.BatchNorm1d(3), (4, 3)),
    "weight norm": (lambda: clew.nn.utils.parametrizations.weight_norm(clew.nn.Linear(3, 2)), (4, 3)),
}


@pytest.mark.parametrize(("make", "shape"), MODULES.values(), ids=MODULES)
def test_a_module_that_the_block_builds_trains_as_one_from_before(make, shape):
    def loss_of(module, x):
        result = module(x)
        return ((result[0] if isinstance(result, tuple) else result) ** 2).sum()

    x = clew.randn(shape)
    clew.manual_seed(3)
    with clew.keep_graph() as program:
        mine = make()
        loss = loss_of(mine, x)
    clew.manual_seed(3)
    theirs = make()
    optimizers = [clew.optim.SGD(module.parameters(), lr=0.05) for module in (mine, theirs)]
    assert not any(step.draws for step in program.steps)
    for _ in range(4):
        x.copy_(clew.randn(shape))
        loss.forward()
        expected = loss_of(theirs, x)
        assert same(loss, expected)
        for optimizer, one in zip(optimizers, (loss, expected), strict=True):
            optimizer.zero_grad()
            one.backward()
            optimizer.step()
    for a, b in zip(mine.parameters(), theirs.parameters(), strict=True):
        assert same(a, b)
    program.run()
    assert same(loss, loss_of(theirs, x))


def test_a_parameter_is_an_input_from_the_blocks_end_on():
    clew.manual_seed(0)
    with clew.keep_graph() as program:
        module = clew.nn.Linear(2, 1)
        z = module(clew.ones(3, 2)).sum()
        drawn = clew.rand(2)
    weight, state = module.weight.clone(), clew.get_rng_state()
    assert program.inputs[0].tensor is module.weight
    assert not [name for name in names(program) if "uniform" in name]
    assert program.inputs[1].tensor is module.bias
    z.forward()
    assert same(module.weight, weight)
    assert clew.get_rng_state().equal(state)
    program.run()  # draws `drawn` again, and nothing else
    after = clew.get_rng_state()
    clew.set_rng_state(state)
    assert clew.rand(2).equal(drawn)
    assert clew.get_rng_state().equal(after)
    program.name(w=module.weight, z=z)
    assert program["w"] is module.weight


@pytest.mark.parametrize(
    "draw",
    [
        lambda w: clew.nn.init.trunc_normal_(w, std=1.0, a=-0.5, b=0.5),
        lambda w: clew.nn.init.trunc_normal_(w, std=1.0, a=2.0, b=3.0),
        lambda w: clew.nn.init.orthogonal_(w),
        lambda w: clew.nn.init.sparse_(w, 0.5),
        lambda w: clew.nn.init.xavier_normal_(w),
        lambda w: w.data.copy_(w.data / w.data.norm()),
    ],
)
def test_initialization_of_a_parameter_is_over(draw):
    x = clew.randn(4, 5)
    with clew.keep_graph() as program:
        layer = clew.nn.Linear(5, 6)
        draw(layer.weight)
        y = layer(x).sum()
    state = clew.get_rng_state()
    for _ in range(3):
        write_by_copy(layer.weight, layer.weight * 3 + 1)
        program.run()
        assert same(y, layer(x).sum())
    assert clew.get_rng_state().equal(state)
    assert not [one for one in program.steps if one.draws or one.op.startswith("read")]


def test_one_result_out_of_two():
    with clew.keep_graph():
        a = clew.zeros(2, requires_grad=True)
        b = clew.ones(2, requires_grad=True)
        first, second = (a * 2).sum(), (b * 3 + a).sum()
    write_by_copy(b, clew.tensor([5.0, 6.0]))
    first.forward()
    assert (first.item(), b.tolist(), second.item()) == (0.0, [5.0, 6.0], 6.0)
    write_by_copy(a, clew.tensor([1.0, 1.0]))
    second.forward()
    assert (second.item(), first.item()) == (35.0, 0.0)
    first.forward()
    assert first.item() == 4


def test_a_detached_clone_follows_what_it_was_made_from():
    x = clew.ones(2)
    with clew.keep_graph() as program:
        d = x.clone().detach().requires_grad_()
        y = (d * d).sum()
    for value in (2.0, 3.0):
        x.fill_(value)
        y.forward()
        assert d.tolist() == [value] * 2
        y.backward()
        assert d.grad.tolist() == [2 * value] * 2
        d.grad = None
    x.data = clew.full((2,), 5.0)
    program.run()
    assert (d.tolist(), y.item()) == ([5, 5], 50)


def test_a_leaf_and_what_it_was_made_from_both_changed():
    x = clew.ones(2)
    with clew.keep_graph() as program:
        d = x.clone().detach().requires_grad_()
        made = line_here() - 1
        y = (d * d).sum()
        other = (x * 3).sum()
    y.forward()
    with clew.no_grad():
        d.fill_(2.0)
        written = line_here() - 1
    x.fill_(3.0)
    changed = line_here() - 1
    for run in (y.forward, program.run, lambda: program.save("/dev/null")):
        with pytest.raises(clew.ReplayError) as failure:
            run()
        for line in (made, written, changed):
            assert f":{line} in" in str(failure.value)
    assert (d.tolist(), y.item()) == ([2, 2], 2)
    assert other.forward().item() == 18  # reads no leaf
    assert (d.tolist(), y.item()) == ([2, 2], 2)


def test_a_source_that_changes_after_the_leaf_was_written():
    x = clew.ones(2)
    with clew.keep_graph():
        d = x.clone().detach().requires_grad_()
        y = (d * d).sum()
    write_by_copy(d, clew.tensor([1.0, 2.0]))
    assert y.forward().item() == 5
    assert y.forward().item() == 5
    x.data = clew.zeros(2)
    with pytest.raises(clew.ReplayError, match=r"x\.data"):
        y.forward()
    assert d.tolist() == [1, 2]


def test_leaves_made_from_leaves():
    with clew.keep_graph():
        a = clew.ones(2, requires_grad=True)
        b = (a * 2).detach().requires_grad_()
        y = (b * b).sum()
    write_by_copy(a, clew.tensor([2.0, 3.0]))
    y.forward()  # b follows
    assert (b.tolist(), y.item()) == ([4, 6], 52)
    write_by_copy(b, clew.tensor([1.0, 1.0]))
    assert y.forward().item() == 2
    write_by_copy(a, clew.tensor([5.0, 5.0]))
    with pytest.raises(clew.ReplayError, match="copy_"):
        y.forward()

    with clew.keep_graph():
        a = clew.ones(2, requires_grad=True)
        b = (a * 2).detach().requires_grad_()
        y = (b * b).sum()
    write_by_copy(a, clew.tensor([2.0, 3.0]))
    write_by_copy(b, clew.tensor([1.0, 1.0]))
    with pytest.raises(clew.ReplayError):
        y.forward()
    assert b.tolist() == [1, 1]


def test_backward_and_optimizer_in_the_block():
    def step(x):
        ((x - 1) ** 2).sum().backward()
        with clew.no_grad():
            x -= 0.1 * x.grad

    with clew.keep_graph() as program:
        x = clew.zeros(2, requires_grad=True)
        step(x)
    other = clew.zeros(2, requires_grad=True)
    step(other)
    assert same(x, other)
    program.run()  # nothing was written outside: made again
    assert same(x, other)
    write_by_copy(x, clew.tensor([3.0, 4.0]))
    write_by_copy(other, clew.tensor([3.0, 4.0]))
    with pytest.raises(clew.ReplayError, match=r"\.grad was None then"):
        program.run()  # Python would add to it
    for _ in range(3):
        x.grad = other.grad = None
        program.run()
        step(other)
        assert same(x, other)
        assert same(x.grad, other.grad)


def test_a_training_step_of_a_module_that_the_block_builds():
    data, target = clew.randn(8, 3), clew.randn(8, 1)

    def step(module, optimizer):
        loss = F.mse_loss(module(data), target)
        loss.backward()
        optimizer.step()
        return loss

    clew.manual_seed(1)
    with clew.keep_graph() as program:
        mine = clew.nn.Linear(3, 1)
        optimizer = clew.optim.SGD(mine.parameters(), lr=0.1)
        loss = step(mine, optimizer)
    clew.manual_seed(1)
    theirs = clew.nn.Linear(3, 1)
    other = clew.optim.SGD(theirs.parameters(), lr=0.1)
    expected = step(theirs, other)
    for _ in range(5):
        assert same(loss, expected)
        assert same(mine.weight, theirs.weight)
        versions = mine.weight._version
        optimizer.zero_grad()
        other.zero_grad()
        program.run()
        expected = step(theirs, other)
        assert mine.weight._version == versions + 1


def test_views_and_aliases_of_a_leaf():
    with clew.keep_graph() as program:
        x = clew.zeros(2, 3, requires_grad=True)
        row, flat, plain = x[0], x.view(-1), x.detach()
        y = (row * 2).sum() + (flat**2).sum()
    new = clew.arange(6.0).view(2, 3)
    write_by_copy(x, new)
    y.forward()
    assert y.item() == 2 * (0 + 1 + 2) + 55
    assert (row.tolist(), flat.tolist(), plain.tolist()) == ([0, 1, 2], [*range(6)], new.tolist())
    y.backward()
    assert x.grad.tolist() == [[2, 4, 6], [6, 8, 10]]
    plain.fill_(1.0)  # writes to x, too
    assert y.forward().item() == 12
    x.data = new
    y.forward()
    assert (row.tolist(), y.item()) == ([0, 1, 2], 61)
    x.data = new + 1
    program.run()
    assert (row.tolist(), plain.tolist(), y.item()) == ([1, 2, 3], x.tolist(), 12 + 91)


def test_leaves_that_share_memory():
    with clew.keep_graph():
        flat = clew.zeros(4)
        a, b = flat[:2].requires_grad_(), flat[2:].requires_grad_()
        y = (a * 2 + b * b).sum()
    optimizer = clew.optim.SGD([a, b], lr=0.5)
    y.backward()
    optimizer.step()
    y.forward()
    assert (a.tolist(), b.tolist(), flat.tolist(), y.item()) == ([-1, -1], [0, 0], [-1, -1, 0, 0], -4)
    a.data = clew.ones(2)
    with pytest.raises(clew.ReplayError, match="memory"):
        y.forward()
    assert a.tolist() == [1, 1]


def test_a_leaf_beside_a_result_with_history():
    x = clew.ones(2, requires_grad=True)
    with clew.keep_graph():
        h = x * 2
        d = h.detach().requires_grad_()  # the memory of h
        y = (d * d).sum() + h.sum()
    write_by_copy(d, clew.tensor([7.0, 7.0]))
    with pytest.raises(clew.ReplayError, match="written"):
        y.forward()
    assert d.tolist() == [7, 7]


def test_what_the_block_computes_from_is_no_leaf():
    """A write to it would be undone, and what is computed from it does not follow."""
    x = clew.ones(2, requires_grad=True)
    with clew.keep_graph() as program:
        h = x * 2
        y = h.exp().sum()
        z = (x + 1).sum()
    with clew.no_grad():
        h.zero_()
        line = line_here() - 1
    for run in (y.forward, program.run):
        with pytest.raises(clew.ReplayError, match=f":{line} in"):
            run()
    assert h.tolist() == [0, 0]
    assert z.forward().item() == 4


def test_a_result_that_nothing_reads_is_computed_again():
    x = clew.ones(2)
    with clew.keep_graph() as program:
        y = x * 2
    for value in (3.0, 4.0):
        y.zero_()
        x.fill_(value)
        program.run()
        assert y.tolist() == [2 * value] * 2


def test_a_buffer_that_is_made_from_no_input():
    x = clew.ones(2)
    with clew.keep_graph() as program:
        scale = clew.tensor(2.0)
        mask = clew.zeros(2)
        mask[0] = 1.0
        y = (x * scale * mask).sum()
    scale.fill_(3.0)
    assert y.forward().item() == 3
    mask.fill_(1.0)
    program.run()
    assert y.item() == 6
    x.fill_(2.0)
    assert y.forward().item() == 12
    assert (scale.item(), mask.tolist()) == (3, [1, 1])


def test_statistics_that_are_reset_are_kept_from_then_on():
    x = clew.randn(8, 2)
    with clew.keep_graph():
        norm = clew.nn.BatchNorm1d(2)
        y = norm(x).sum()
    other = clew.nn.BatchNorm1d(2)
    norm.reset_running_stats()
    for _ in range(3):
        x.copy_(clew.randn(8, 2))
        y.forward()
        assert same(y, other(x).sum())
        assert same(norm.running_mean, other.running_mean)
        assert same(norm.running_var, other.running_var)


def test_buffers_of_a_module_that_are_written():
    x = clew.randn(8, 2)
    with clew.keep_graph():
        norm = clew.nn.BatchNorm1d(2).eval()
        y = norm(x).sum()
    other = clew.nn.BatchNorm1d(2).eval()
    for module in (norm, other):
        module.running_mean.fill_(0.5)
        module.running_var.fill_(4.0)
    y.forward()
    assert same(y, other(x).sum())


def test_checks_of_another_shape_or_dtype():
    with clew.keep_graph():
        x = clew.zeros(2, requires_grad=True)
        y = (x * 2).sum()
    x.data = clew.zeros(3)
    with pytest.raises(clew.ReplayError, match=r"shape is \[3\] and was \[2\]"):
        y.forward()
    x.data = clew.ones(2)
    assert y.forward().item() == 4
    x.requires_grad_(False)
    with pytest.raises(clew.ReplayError, match="requires_grad"):
        y.forward()


def test_forward_of_the_leaf_itself():
    with clew.keep_graph():
        x = clew.tensor([1.0], requires_grad=True)
        p = clew.nn.Parameter(clew.rand(2))
        y = (x * p).sum()
    assert x.forward() is x
    write_by_copy(x, clew.tensor([2.0]))
    before = p.tolist()
    assert x.forward().tolist() == [2]
    assert p.forward().tolist() == before
    assert y.forward().item() == pytest.approx(2 * sum(before))


def test_saved_programs(tmp_path):
    path = tmp_path / "program.clew"
    with clew.keep_graph() as program:
        x = clew.ones(2, requires_grad=True)
        p = clew.nn.Parameter(clew.full((2,), 2.0))
        y = (x * p).sum()
    program.name(x=x, p=p, y=y)
    with pytest.raises(NotImplementedError, match="a leaf that was made in the block"):
        program.save(path)
    write_by_copy(x, clew.tensor([5.0, 6.0]))
    program.save(path)  # what is written is in the file
    loaded = clew.load_program(path)
    assert loaded["y"].forward().item() == 22
    write_by_copy(loaded["p"], clew.tensor([3.0, 3.0]))
    assert loaded["y"].forward().item() == 33
    write_by_copy(loaded["x"], clew.tensor([2.0, 2.0]))
    assert loaded["y"].forward().item() == 12
    loaded["y"].backward()
    assert (loaded["x"].grad.tolist(), loaded["p"].grad.tolist()) == ([3, 3], [2, 2])
    again = clew.load_program(path)
    assert again["y"].forward().item() == 22
    assert again["x"].tolist() == [5, 6]
    again.save(path)
    assert clew.load_program(path)["y"].forward().item() == 22


def test_exports_take_a_parameter_and_a_written_leaf_as_inputs(tmp_path):
    with clew.keep_graph() as program:
        x = clew.ones(2, requires_grad=True)
        module = clew.nn.Linear(2, 1)
        y = module(x).sum()
    program.name(x=x, weight=module.weight, bias=module.bias, y=y)
    with clew.no_grad():
        module.weight.copy_(clew.tensor([[2.0, 3.0]]))
        module.bias.fill_(1.0)
    write_by_copy(x, clew.tensor([4.0, 5.0]))
    program.to_c(tmp_path)
    text = (tmp_path / "program.h").read_text()
    assert all(f"program_{name}[" in text for name in ("x", "weight", "bias", "y"))
    jax = pytest.importorskip("jax")
    function = program.to_jax()
    assert function({})["y"].item() == 24
    assert function({"x": numpy.zeros(2, numpy.float32)})["y"].item() == 1
    slope = jax.grad(lambda w: function({"weight": w})["y"])(jax.numpy.zeros((1, 2)))
    assert slope.tolist() == [[4, 5]]
    onnx = pytest.importorskip("onnx")
    program.to_onnx(tmp_path / "program.onnx")
    model = onnx.load(str(tmp_path / "program.onnx"))
    assert {one.name for one in model.graph.input} >= {"x", "weight", "bias"}


def test_the_listing_changes_with_it():
    with clew.keep_graph() as program:
        x = clew.rand(2, requires_grad=True)
        y = (x * 2).sum()
    assert names(program) == ["_rand", "mul", "sum"]
    assert program.inputs == []
    write_by_copy(x, clew.zeros(2))
    assert names(program) == ["mul", "sum"]
    assert program.inputs[0].tensor is x
    assert "rand" not in str(program)
    del y


def test_what_else_a_step_makes_is_still_made():
    with clew.keep_graph() as program:
        values, places = clew.tensor([3.0, 1.0, 2.0]).sort()
        x = values.requires_grad_()
        y = (x * places).sum()
    write_by_copy(x, clew.tensor([1.0, 10.0, 100.0]))
    y.forward()
    assert (places.tolist(), y.item()) == ([1, 2, 0], 21)
    program.run()
    assert y.item() == 21


def test_second_derivatives_follow_a_written_leaf():
    with clew.keep_graph():
        x = clew.tensor([2.0], requires_grad=True)
        (g,) = clew.autograd.grad((x**3).sum(), [x], create_graph=True)
        y = (g * g).sum()
    write_by_copy(x, clew.tensor([3.0]))
    y.forward()
    assert (g.item(), y.item()) == (27, 729)
    y.backward()
    assert x.grad.item() == 4 * 9 * 27  # d/dx (3x^2)^2 = 36 x^3


def test_gradients_of_the_block_may_be_clipped():
    """A .grad that the block makes is new in each run, whatever was done to the one before."""
    w = clew.ones(2, requires_grad=True)
    with clew.keep_graph() as program:
        w.grad = None
        (w * w).sum().backward()
    for _ in range(3):
        clew.nn.utils.clip_grad_norm_([w], 0.1)
        program.run()
        assert w.grad.tolist() == [2, 2]


def test_compiled_functions_make_leaves_anew():
    @clew.compile
    def attack(x):
        d = x.clone().detach().requires_grad_()
        (slope,) = clew.autograd.grad((d**2).sum(), [d])
        return d, slope

    for value in (1.0, 2.0, 3.0, 4.0):
        d, slope = attack(clew.full((2,), value))
        assert (d.tolist(), slope.tolist()) == ([value] * 2, [2 * value] * 2)
        with clew.no_grad():
            d.fill_(9.0)
    assert attack.hits > 0


def test_writes_that_nobody_sees():
    """By NumPy, before and after a replay; what was only looked at is made again."""
    with clew.keep_graph():
        x = clew.zeros(2, requires_grad=True)
        d = (x + 1).detach().requires_grad_()
        y = (x * 2).sum() + d.sum()
    array, other = x.detach().numpy(), d.detach().numpy()
    y.forward()
    array[:] = 3.0
    y.forward()
    assert (x.tolist(), d.tolist(), y.item()) == ([3, 3], [4, 4], 20)
    other[0] = 0.0
    assert y.forward().item() == 16
    with clew.keep_graph():
        x = clew.zeros(2, requires_grad=True)
        array = x.detach().numpy()
        y = (x * 2).sum()
    array[:] = 5.0
    with pytest.raises(clew.ReplayError, match="numpy"):  # Python has read another value
        y.forward()
    assert x.tolist() == [5, 5]


def test_nothing_is_kept_alive_by_a_leaf():
    with clew.keep_graph() as program:
        module = clew.nn.Linear(2, 2)
        y = module(clew.ones(1, 2)).sum()
    y.forward()
    watch = weakref.ref(program)
    del program, y
    gc.collect()
    assert watch() is None
    assert module.weight.shape == (2, 2)


def test_without_provenance():
    with clew.keep_graph():
        x = clew.zeros(2, requires_grad=True)
        z = clew.zeros(2, requires_grad=True)
        y = (x * 2 + z).sum()
    clew._core.provenance(False)
    try:
        write_by_copy(x, clew.ones(2))
        z.data.fill_(3.0)
    finally:
        clew._core.provenance(True)
    assert y.forward().item() == 10


def test_leaves_that_share_memory_which_numpy_has_seen():
    x = clew.arange(6.0).view(2, 3)
    with clew.keep_graph():
        y = x.clone()
        whole, row = y.detach().requires_grad_(), y.detach()[0].requires_grad_()
    seen = whole.detach().numpy()
    for number, leaf in enumerate([whole, row, whole], 1):
        x.add_(1.0)
        leaf.forward()
        assert seen.tolist() == [[number, number + 1, number + 2], [number + 3, number + 4, number + 5]]
        assert row.tolist() == seen[0].tolist()
