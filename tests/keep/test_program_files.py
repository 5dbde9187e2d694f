"""6.10: kept programs in files: they go on where they were, in a process that has no source of the model."""

import re
import subprocess
import sys
import textwrap

import numpy
import pytest

import clew
from clew import nn

pytestmark = [pytest.mark.beyond]


def bits(tensor):
    return numpy.ascontiguousarray(tensor.detach().numpy()).tobytes()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "program.clew"


def make_step(optimizer_of):
    clew.manual_seed(3)
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.GELU(), nn.Dropout(0.2), nn.Linear(8, 1))
    optimizer = optimizer_of(model.parameters())
    x, target = clew.randn(16, 4), clew.randn(16, 1)

    def step():
        optimizer.zero_grad()
        loss = (model(x) - target).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    return step, x, target


@pytest.mark.parametrize(
    "optimizer_of",
    [
        lambda parameters: clew.optim.SGD(parameters, lr=0.1, momentum=0.9),
        lambda parameters: clew.optim.AdamW(parameters, lr=0.01),
    ],
    ids=["SGD", "AdamW"],
)
def test_training_goes_on_in_another_process_with_the_curve_of_eager(path, optimizer_of, script_environment):
    step, x, target = make_step(optimizer_of)
    step()
    with clew.keep_graph() as program:
        loss = step()
    program.name(x=x, target=target, loss=loss)
    program.save(path)
    script = """
        import sys, clew
        program = clew.load_program(sys.argv[1])
        for _ in range(20):
            program.run()
            print(program["loss"].item().hex())
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), str(path)],
        capture_output=True,
        text=True,
        env=script_environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [step().item().hex() for _ in range(20)]


def test_forward_and_backward_with_new_data(path):
    x, w = clew.tensor([1.0, 2.0]), clew.tensor([3.0, 4.0], requires_grad=True)
    with clew.keep_graph() as program:
        y = (x * w).exp().sum()
    program.name(x=x, w=w, y=y)
    program.save(path)
    loaded = clew.load_program(path)
    assert loaded["y"].item() == y.item()
    loaded["x"].copy_(clew.tensor([0.5, -1.0]))
    loaded["y"].forward().backward()
    new, weight = numpy.array([0.5, -1.0], numpy.float32), numpy.array([3.0, 4.0], numpy.float32)
    numpy.testing.assert_allclose(loaded["y"].item(), numpy.exp(new * weight).sum(), rtol=1e-6)
    numpy.testing.assert_allclose(loaded["w"].grad.numpy(), new * numpy.exp(new * weight), rtol=1e-6)
    assert w.grad is None
    assert x.tolist() == [1, 2]


def test_a_graph_is_ready_after_forward_only(path):
    w = clew.ones(2, requires_grad=True)
    with clew.keep_graph() as program:
        y = w.exp().sum()
    program.name(y=y)
    program.save(path)
    y = clew.load_program(path)["y"]
    with pytest.raises(RuntimeError, match="load_program"):
        y.backward()
    y.forward().backward()


def test_inputs_are_as_they_were(path):
    whole = clew.arange(6.0)
    part, frozen, trained = whole[2:4], clew.ones(2, dtype=clew.float64), clew.ones(2, requires_grad=True)
    trained.grad = clew.tensor([5.0, 6.0])
    with clew.keep_graph() as program:
        y = (part * 2 + frozen + trained).sum() + whole.sum()
    program.name(whole=whole, part=part, trained=trained, frozen=frozen, y=y)
    program.save(path)
    loaded = clew.load_program(path)
    assert loaded["trained"].requires_grad
    assert not loaded["frozen"].requires_grad
    assert loaded["trained"].grad.tolist() == [5, 6]
    assert loaded["frozen"].dtype == clew.float64
    loaded["whole"].fill_(1)
    assert loaded["part"].tolist() == [1, 1]
    assert loaded["y"].forward().item() == 2 * 2 + 2 + 2 + 6


def test_what_has_no_name_travels_as_its_present_value(path):
    x, hidden = clew.ones(2), clew.ones(2)
    with clew.keep_graph() as program:
        y = (x * hidden).sum()
    program.name(y=y)
    hidden.fill_(7)
    program.save(path)
    loaded = clew.load_program(path)
    with pytest.raises(KeyError):
        loaded["hidden"]
    assert loaded["y"].forward().item() == 14


def test_numbers_that_no_json_has(path):
    x = clew.tensor([1.0, float("nan"), -0.0])
    with clew.keep_graph() as program:
        y = x.nan_to_num(nan=float("inf")) * -0.0 + clew.full((3,), float("-inf"))
        z = clew.tensor([1 + 2j]) * (3 - 1j)
    program.name(y=y, z=z)
    program.save(path)
    loaded = clew.load_program(path)
    before = bits(y), bits(z)
    loaded.run()
    assert (bits(loaded["y"]), bits(loaded["z"])) == before


def test_lines_of_the_source_travel_as_text(path):
    x = clew.ones(3)
    with clew.keep_graph() as program:
        y = x.exp()  # this line
    program.name(x=x, y=y)
    program.save(path)
    loaded = clew.load_program(path)
    assert [str(step.site) for step in loaded.steps] == [str(step.site) for step in program.steps]
    assert str(loaded) == str(program)
    loaded["x"].data = clew.ones(4)
    with pytest.raises(clew.ProgramError, match="shape") as caught:
        loaded.run()
    assert caught.value.site == program.steps[0].site


def test_a_guard_travels(path):
    x = clew.ones(2)
    with clew.keep_graph() as program:
        y = x * 2 if x.sum() > 0 else x * 3
    program.name(x=x, y=y)
    program.save(path)
    loaded = clew.load_program(path)
    loaded["x"].fill_(-1)
    with pytest.raises(clew.ProgramError, match="differs from the recorded run"):
        loaded.run()
    assert loaded["y"].tolist() == [2, 2]


def test_random_numbers_go_on_and_are_the_programs_own(path):
    x = clew.ones(4)
    with clew.keep_graph() as program:
        y = x * clew.rand(4)
    program.name(y=y)
    program.save(path)
    state = clew.random.get_rng_state()
    loaded = clew.load_program(path)
    loaded.run()
    assert clew.equal(state, clew.random.get_rng_state())
    assert clew.equal(loaded["y"], clew.rand(4))


def test_a_file_is_saved_again(path):
    step, x, target = make_step(lambda parameters: clew.optim.Adam(parameters, lr=0.01))
    step()
    with clew.keep_graph() as program:
        loss = step()
    program.name(x=x, target=target, loss=loss)
    program.save(path)
    loaded = clew.load_program(path)
    loaded.run()
    loaded.save(path)
    again = clew.load_program(path)
    step()
    again.run()
    assert bits(again["loss"]) == bits(step())


class Double(clew.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


def by_numpy(x):
    return clew.from_numpy(numpy.sinc(x.numpy()))


def with_hook(x):
    y = x * 2
    y.register_hook(lambda gradient: gradient)
    return y * 3


@pytest.mark.parametrize(
    ("compute", "what"),
    [
        (clew.pure(by_numpy), r"'by_numpy' is a step in Python.*test_program_files"),
        (Double.apply, r"DoubleBackward is an autograd.Function.*test_program_files"),
        (with_hook, r"MulBackward0 has hooks.*test_program_files"),
    ],
)
def test_what_a_file_cannot_hold_is_named_and_nothing_is_written(path, compute, what):
    x = clew.ones(2, requires_grad=compute is not by_numpy)
    with clew.keep_graph() as program:
        y = compute(x.detach() if "numpy" in what else x)
    program.name(y=y)
    with pytest.raises(NotImplementedError, match=what):
        program.save(path)
    assert not list(path.parent.iterdir())


def test_a_function_whose_backward_ran_in_the_block_is_operations(path):
    x = clew.ones(2, requires_grad=True)
    with clew.keep_graph() as program:
        x.grad = None
        Double.apply(x).exp().sum().backward()
    program.name(x=x)
    program.save(path)
    loaded = clew.load_program(path)
    loaded["x"].data.fill_(0.5)
    loaded["x"].grad = None
    loaded.run()
    numpy.testing.assert_allclose(loaded["x"].grad.numpy(), numpy.full(2, 2 * numpy.exp(1)), rtol=1e-6)


def test_an_input_with_hooks_or_a_history_is_refused(path):
    x = clew.ones(2, requires_grad=True)
    handle = x.register_hook(lambda gradient: gradient)
    with clew.keep_graph() as program:
        y = x * 2
    program.name(y=y)
    with pytest.raises(NotImplementedError, match="hooks"):
        program.save(path)
    handle.remove()
    older = clew.ones(2, requires_grad=True) * 2
    with clew.keep_graph() as program:
        y = older * 2
    program.name(y=y)
    told = r"input 0, of shape \[2\], read first by mul, has a history.*test_program_files"
    with pytest.raises(NotImplementedError, match=told):
        program.save(path)


def test_whoever_drops_a_loaded_program_drops_all_of_it(path):
    step, x, target = make_step(lambda parameters: clew.optim.SGD(parameters, lr=0.1, momentum=0.9))
    step()
    with clew.keep_graph() as program:
        loss = step()
    program.name(x=x, target=target, loss=loss)
    program.save(path)
    for _ in range(3):  # `nothing_is_left_behind` counts
        loaded = clew.load_program(path)
        loaded.run()
        result = loaded["loss"]
        del loaded
        result.forward().backward()


def test_a_program_is_saved_after_a_part_of_it_ran_again(path):
    """The nodes that were filled again are younger than what leads to them."""
    x = clew.tensor([1.0, 2.0], requires_grad=True)
    with clew.keep_graph() as program:
        y = (x * 2).exp()
        z = y.sum()
    program.name(x=x, y=y, z=z)
    y.forward()
    program.save(path)
    loaded = clew.load_program(path)
    with clew.no_grad():
        loaded["x"].copy_(clew.tensor([0.0, 0.5]))
    loaded["z"].forward().backward()
    numpy.testing.assert_allclose(loaded["z"].item(), 1 + numpy.e, rtol=1e-6)
    numpy.testing.assert_allclose(loaded["x"].grad.numpy(), [2, 2 * numpy.e], rtol=1e-6)


def test_a_tensor_of_another_block_gets_no_name():
    """As when a loop has bound the variable to the next batch."""
    x = clew.ones(3)
    with clew.keep_graph() as program:
        loss = (x * 2).sum()
    batch = x
    x = clew.full((3,), 7.0)
    with pytest.raises(ValueError, match="expected a tensor that the program reads or computes for 'x', got another"):
        program.name(loss=loss, x=x)
    with pytest.raises(KeyError):
        program["loss"]
    program.name(loss=loss, x=batch)
    program["x"].copy_(x)
    program.run()
    assert program["loss"].item() == 42


def test_a_folder_that_is_not_there_names_the_file(path):
    with clew.keep_graph() as program:
        y = clew.ones(2) * 2
    program.name(y=y)
    missing = path.parent / "nowhere" / "program.clew"
    with pytest.raises(FileNotFoundError, match=rf"expected a file in an existing folder: '{re.escape(str(missing))}'"):
        program.save(missing)


def test_a_backward_before_forward_is_told_what_to_do(path):
    """Nothing was shared or run before: the graph of a file has nothing saved until it is computed."""
    a = clew.ones(3, requires_grad=True)
    with clew.keep_graph() as program:
        b = a * 2
        z = (b * b).sum()
    program.name(a=a, z=z)
    program.save(path)
    loaded = clew.load_program(path)
    with pytest.raises(clew.autograd.errors.GraphFreedError, match=r"To do: call `forward\(\)` of the result, or `run"):
        loaded["z"].backward()
    loaded["z"].forward().backward()
    assert loaded["a"].grad.tolist() == [8.0] * 3
    with pytest.raises(clew.autograd.errors.GraphFreedError, match="retain_graph=True"):
        loaded["z"].backward()


WRITES = {
    "twice": lambda y: y[1:3].mul_(3.0).add_(1.0),
    "transposed": lambda y: y.t().mul_(2.0).add_(1.0),
    "of zeros": lambda y: y[0].zero_().add_(y[1].detach()),
    "with bounds": lambda y: y[1:3].mul_(3.0).clamp_(-1.0, 1.0),
}


@pytest.mark.parametrize("name", WRITES)
def test_a_second_write_through_a_view_is_refused(name, path):
    """The node of the view is made anew by the second write, with attributes that no step has."""
    x = clew.randn(4, 6, requires_grad=True)
    with clew.keep_graph() as program:
        y = x * 2
        WRITES[name](y)
        loss = y.sum()
    program.name(x=x, loss=loss)
    with pytest.raises(NotImplementedError, match=r"save: AsStridedBackward0 is of a view .*test_program_files.py:\d+"):
        program.save(path)
    assert not path.exists()


def test_writes_through_views_that_are_taken_anew_travel(path):
    x = clew.randn(4, 6, requires_grad=True)

    def block():
        y = x * 2
        y[1:3].mul_(3.0)
        y[1:3].clamp_(-1.0, 1.0)
        y[0][::2].add_(1.0)
        return (y * y).sum()

    with clew.keep_graph() as program:
        loss = block()
    program.name(x=x, loss=loss)
    program.save(path)
    loaded = clew.load_program(path)
    loaded.run()
    loaded["loss"].backward()
    block().backward()
    assert loaded["x"].grad.tolist() == x.grad.tolist()


def test_an_input_that_is_no_longer_as_it_was_is_refused(path):
    x = clew.ones(3)
    with clew.keep_graph() as program:
        y = x * 2
    program.name(x=x, y=y)
    x.data = clew.ones(4)
    with pytest.raises(NotImplementedError, match=r"save: input 0, .* its shape is \[4\] and was \[3\]; set it back"):
        program.save(path)
    assert not path.exists()
    x.data = clew.ones(3)
    program.save(path)


def test_a_named_view_that_was_written_over_is_refused_by_its_name(path):
    x = clew.ones(2, 3, requires_grad=True)
    with clew.keep_graph() as program:
        y = x.unbind(0)[1]
    program.name(x=x, y=y)
    with clew.no_grad():
        x.zero_()
    with pytest.raises(NotImplementedError, match=r"save: 'y' can't be read any more; name a clone\(\) of it"):
        program.save(path)
    assert not path.exists()
