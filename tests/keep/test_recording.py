"""6.1: every operation of a block is written down, with its line; what can't be run again is refused at its end."""

import gc
import re
import weakref

import numpy
import pytest
from graph_support import assert_equal, line_here

import clew
from clew.nn import functional as F

pytestmark = pytest.mark.beyond


def names(program):
    return [step.op for step in program.steps]


def test_each_operation_is_a_step_with_its_line():
    x = clew.ones(3, requires_grad=True)
    with clew.keep_graph() as program:
        y = x * 2
        line = line_here() - 1
        s = y.exp().sum()
    assert names(program) == ["mul", "exp", "sum"]
    assert [step.site.line for step in program.steps] == [line, line + 2, line + 2]
    assert [step.inputs for step in program.steps][1:] == [program.steps[0].outputs, program.steps[1].outputs]
    assert s.item() == pytest.approx(3 * numpy.exp(2), rel=1e-6)


def test_what_the_block_did_not_make_is_an_input_by_identity():
    x, w = clew.ones(2), clew.ones(2, requires_grad=True)
    with clew.keep_graph() as program:
        y = (x * w).sum() + x.sum()
    assert [one.tensor for one in program.inputs] == [x, w] or all(
        a is b for a, b in zip([one.tensor for one in program.inputs], [x, w], strict=True)
    )
    del y


def test_writes_in_place_make_new_values_of_one_memory():
    with clew.keep_graph() as program:
        h = clew.zeros(3)
        v = h[1:]
        v.add_(1)
        y = h * 2
    zeros, view, write, product = program.steps
    assert write.op == "add_"
    assert write.outputs[0] not in view.outputs
    # The write through the view is a new value of the base, too, and that is what the product reads.
    assert product.inputs[0] != zeros.outputs[0]
    assert (product.inputs[0], zeros.outputs[0]) in write.aliases
    assert_equal(y, [0, 2, 2])


def test_turns_of_a_loop_whose_attributes_look_alike():
    """One line, and attributes that differ in a bit, in a type, in how many there are, or in what is left out."""
    x = clew.arange(1.0, 7.0)
    numbers = (0.0, -0.0, 0.0, 1, True, 1.0, 2.5, numpy.nan, -numpy.inf)
    shapes = ((6,), (6, 1), (2, 3), (2, 3, 1), (3, 2), (6,))
    bounds = (slice(None), slice(0, None), slice(None, 0), slice(0, 6), slice(0, 6, 2), slice(-6, None), slice(1, 1))
    limits = ((None, 3.0), (3.0, None), (None, 3), (2.0, 3.0), (3.0, 2.0))

    def work():
        filled = [clew.full_like(x, number) for number in numbers]
        scaled = [clew.add(x, x, alpha=number) for number in numbers if number is not True]
        viewed = [x.view(shape) for shape in shapes]
        parts = [x[bound] for bound in bounds]
        clamped = [x.clamp(low, high) for low, high in limits]
        summed = [viewed[3].sum(dim) for dim in (0, 1, (0, 1), (1, 0), -1, None)]
        return [*filled, *scaled, *viewed, *parts, *clamped, *summed]

    with clew.keep_graph() as program:
        kept = work()
    for _ in range(3):
        x.copy_(clew.rand(6))
        program.run()
        for got, expected in zip(kept, work(), strict=True):
            assert got.shape == expected.shape
            assert got.numpy().tobytes() == expected.numpy().tobytes()


def test_views_alias():
    x = clew.ones(4)
    with clew.keep_graph() as program:
        v = x.view(2, 2).t()
    view, turned = program.steps
    assert view.aliases == ((view.outputs[0], view.inputs[0]),)
    assert turned.aliases == ((turned.outputs[0], turned.inputs[0]),)
    del v


def test_a_whole_training_step():
    model = clew.nn.Linear(2, 1)
    optimizer = clew.optim.SGD(model.parameters(), lr=0.1)
    x = clew.ones(3, 2)
    with clew.keep_graph() as program:
        optimizer.zero_grad()
        F.mse_loss(model(x), clew.zeros(3, 1)).backward()
        optimizer.step()
    ran = names(program)
    assert ran.count("sgd_step") == 2
    assert ran.count("set_grad") == 4  # to None, and to the gradient
    assert "addmm" in ran
    assert any(step.in_backward for step in program.steps)


def test_autograd_grad_and_second_order_are_steps_too():
    x = clew.tensor([2.0], requires_grad=True)
    with clew.keep_graph() as program:
        (g,) = clew.autograd.grad((x**3).sum(), [x], create_graph=True)
        (h,) = clew.autograd.grad(g.sum(), [x])
    assert h.item() == 12
    with clew.no_grad():
        x.fill_(3.0)
    program.run()
    assert (g.item(), h.item()) == (27, 18)


def test_draws_come_with_their_generator():
    own = clew.Generator().manual_seed(3)
    with clew.keep_graph() as program:
        a = clew.rand(2)
        b = clew.rand(2, generator=own)
    assert [step.op for step in program.steps if step.draws] == ["uniform_", "uniform_"] or any(
        step.draws for step in program.steps
    )
    again = clew.Generator().manual_seed(3)
    clew.rand(2, generator=again)
    del own
    gc.collect()
    program.run()
    assert clew.equal(b, clew.rand(2, generator=again))
    del a


class Cube(clew.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 3 * x * x


def test_a_function_is_what_it_ran():
    x = clew.tensor([2.0], requires_grad=True)
    with clew.keep_graph() as program:
        y = Cube.apply(x)
    assert names(program) == ["mul", "mul"]
    x.data = clew.tensor([3.0])
    y.forward()
    y.backward()
    assert (y.item(), x.grad.item()) == (27, 27)


def test_reads_are_witnesses():
    x = clew.tensor([2.0, 0.0])
    with clew.keep_graph() as program:
        factor = x[0].item()
        if x.sum() > 1:
            y = x * factor
        y.tolist()
    assert [step.op for step in program.steps if step.op.startswith("read.")] == [
        "read.item",
        "read.bool",
        "read.tolist",
    ]


def test_print_lists_steps_lines_shapes_bytes_and_guards():
    x = clew.ones(2, 3, requires_grad=True)
    with clew.keep_graph() as program:
        y = (x * 2.5).sum()
        y.item()
    program.name(x=x)
    text = str(program)
    assert "1 input, 3 steps, 1 guard" in text
    assert "%0 = input float32[2, 3] 24 B x" in text
    assert "mul(%0, 2.5)" in text
    assert "test_recording.py:" in text
    assert "guard" in text


def test_names():
    x = clew.ones(2)
    with clew.keep_graph() as program:
        y = x + 1
    program.name(x=x, y=y)
    assert program["y"] is y
    with pytest.raises(KeyError, match=r"program\.name\(z=tensor\)"):
        program["z"]
    with pytest.raises(ValueError, match="another tensor already"):
        program.name(x=y)
    with pytest.raises(TypeError, match="expected a tensor"):
        program.name(z=1)


def numpy_sine(x):
    return clew.from_numpy(numpy.sin(x.detach().numpy()))


class Sine(clew.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return numpy_sine(x)

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.saved_tensors[0].cos()


class PureSine(Sine):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return clew.pure(numpy_sine)(x)


def test_numpy_in_a_function_is_refused_unless_it_is_pure():
    x = clew.tensor([0.5], requires_grad=True)
    with pytest.raises(clew.KeepError, match=r"@clew\.pure.*test_recording\.py"), clew.keep_graph():
        Sine.apply(x)
    with clew.keep_graph() as program:
        y = PureSine.apply(x)
    assert names(program) == ["numpy_sine"]
    x.data = clew.tensor([0.25])
    y.forward()
    y.backward()
    assert y.item() == numpy.sin(numpy.float32(0.25))
    assert x.grad.item() == pytest.approx(numpy.cos(0.25), rel=1e-6)


def test_a_pure_function_takes_constants_and_gives_several():
    @clew.pure
    def parts(x, where, *, sign):
        first, second = numpy.split(x.numpy() * sign, [where])
        return clew.from_numpy(first), clew.from_numpy(second)

    x = clew.arange(3.0)
    with clew.keep_graph():
        first, second = parts(x, 1, sign=-1)
    x.add_(1)
    first.forward()
    assert_equal(first, [-1])
    second.forward()
    assert_equal(second, [-2, -3])


def test_a_pure_function_that_fails_is_a_replay_error_with_its_cause():
    @clew.pure
    def checked(x):
        if x[0] > 1:
            raise ValueError("too large")
        return x * 2

    x = clew.zeros(1)
    with clew.keep_graph():
        y = checked(x)
    x.fill_(5)
    with pytest.raises(clew.ReplayError, match="checked") as caught:
        y.forward()
    assert isinstance(caught.value.__cause__, ValueError)
    assert y.item() == 0


def write_numpy_memory(x, w):
    h = x * 2
    array = h.numpy()
    h.add_(1)
    return h * float(array[0])


def set_data(x, w):
    x.data = clew.ones(2)
    return x * 2


def older_graph(x, w, z):
    z.sum().backward()


def with_hooks(x, w):
    with clew.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        return w.exp()


REFUSED = {
    "seed": (lambda x, w: clew.manual_seed(0), "random generator"),
    "own seed": (lambda x, w: clew.Generator().manual_seed(0), "random generator"),
    "x.data = ...": (set_data, "other memory"),
    "out= of another shape": (lambda x, w: clew.add(x, 1, out=clew.empty(0)), "other memory"),
    "numpy, then written": (write_numpy_memory, "hands out memory"),
    "hook of a leaf": (lambda x, w: (w.register_hook(lambda g: g), w * 2), "hook"),
    "requires_grad_ after a use": (lambda x, w: (x * 2, x.requires_grad_()), "requires_grad"),
    "t_()": (lambda x, w: x.unsqueeze_(0), "shape of a tensor from before"),
    "saved_tensors_hooks": (with_hooks, "saved_tensors_hooks"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_at_the_end_of_the_block(name):
    block, why = REFUSED[name]
    x, w = clew.ones(2), clew.ones(2, requires_grad=True)
    with pytest.raises(clew.KeepError, match=why) as caught, clew.keep_graph():
        result = block(x, w)
    assert caught.value.reasons[0][1].file.endswith("test_recording.py")
    if isinstance(result, clew.Tensor):
        with pytest.raises(RuntimeError, match="nobody kept"):
            result.forward()


def test_histories_from_before_the_block_are_refused():
    w = clew.ones(2, requires_grad=True)
    z = w * 2
    with pytest.raises(clew.KeepError, match="MulBackward0, which was made before the block"), clew.keep_graph():
        z.sum().backward()
    z = w * 2
    with pytest.raises(clew.KeepError, match="another history"), clew.keep_graph():
        z.add_(w)


def test_one_block_at_a_time():
    with clew.keep_graph(), pytest.raises(NotImplementedError, match="in one another"), clew.keep_graph():
        pass
    block = clew.keep_graph()
    with block:
        pass
    with pytest.raises(RuntimeError, match="a new one for each block"), block:
        pass


def test_a_block_that_fails_keeps_nothing():
    x = clew.ones(2)
    block = clew.keep_graph()
    program = block.__enter__()
    y = x * 2
    block.__exit__(ValueError, ValueError(), None)
    with pytest.raises(RuntimeError, match="nobody kept"):
        y.forward()
    with pytest.raises(RuntimeError, match="failed"):
        program.run()


def test_a_failed_operation_inside_is_no_step():
    x = clew.ones(2)
    with clew.keep_graph() as program:
        with pytest.raises(RuntimeError):
            x @ clew.ones(3)
        y = x + 1
    assert names(program)[-1] == "add"
    program.run()
    assert_equal(y, [2, 2])


def test_results_keep_the_program_and_go_with_it():
    def block():
        with clew.keep_graph() as program:
            y = clew.ones(2).exp()
        return y, weakref.ref(program._core)

    y, core = block()
    y.forward()
    assert core() is not None
    del y
    assert core() is None


def test_a_gradient_does_not_keep_the_program():
    w = clew.ones(2, requires_grad=True)
    with clew.keep_graph() as program:
        (w * w).sum().backward()
    core = weakref.ref(program._core)
    del program
    assert core() is None  # without the collector
    assert w.grad is not None


def test_a_cycle_through_python_is_collected():
    w = clew.ones(2, requires_grad=True)
    with clew.keep_graph() as program:
        y = w * 2
    core = weakref.ref(program._core)
    w.register_hook(lambda grad, y=y: grad)
    del program, y, w
    gc.collect()
    assert core() is None


def test_a_block_that_was_not_entered_is_not_left():
    with pytest.raises(RuntimeError, match="expected a block that was entered"):
        clew.keep_graph().__exit__(None, None, None)


def assert_single_assignment(program):
    """Each value is listed once, before it is read."""
    known = set()
    for line in str(program).splitlines()[1:]:
        code, _, notes = line.strip().partition("  # ")
        made, read = code.split(" = ", 1) if re.match(r"[%\d, ]+ = ", code) else ("", code)
        assert set(re.findall(r"%\d+", read)) <= known, line
        new = re.findall(r"%\d+", made) + re.findall(r"is now (%\d+)", notes)
        assert known.isdisjoint(new), line
        assert len(set(new)) == len(new), line
        known |= set(new)


def step_with_vmap(x, w):
    clew.func.vmap(lambda row: F.mse_loss(row * w, row))(x).sum().backward()


BLOCKS = {
    "vmap": step_with_vmap,
    "grad under vmap": lambda x, w: clew.vmap(clew.func.grad(lambda a: (a * w).sum() ** 2))(x),
    "LSTM": lambda x, w: clew.nn.LSTM(3, 4)(x)[0].sum().backward(),
    "the same view twice": lambda x, w: x[0] * x[0] + x.view(x.shape)[0],
    "a write to what has views": lambda x, w: (h := x * 2, h[0], h[0], v := h[0], h.add_(1), v * 2, v.mul_(2), h.sum()),
    "a constant": lambda x, w: x + clew.tensor([1.0, 2.0, 3.0]),
}


@pytest.mark.parametrize("block", BLOCKS)
def test_the_listing_is_in_single_static_assignment(block):
    x, w = clew.randn(5, 3), clew.randn(3, requires_grad=True)
    with clew.keep_graph() as program:
        BLOCKS[block](x, w)
    assert_single_assignment(program)


def test_an_lstm_and_its_kin_have_their_public_names():
    for layer, name in (
        (clew.nn.LSTM(3, 4), "lstm"),
        (clew.nn.GRU(3, 4), "gru"),
        (clew.nn.RNN(3, 4), "rnn_tanh"),
        (clew.nn.RNN(3, 4, nonlinearity="relu"), "rnn_relu"),
    ):
        with clew.keep_graph() as program:
            layer(clew.randn(5, 3))[0].sum().backward()
        assert {name, f"{name}_backward"} <= set(names(program))
        assert "_recurrent_layer" not in str(program)
        with pytest.raises(NotImplementedError, match=rf"can't express .*; {name} \(at .*; {name}_backward \(at "):
            program.to_c("/nowhere/at/all")
