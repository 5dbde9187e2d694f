"""6.2: programs of which a stale replay would be wrong. Each is as eager would be, or refuses and changes nothing."""

import contextlib
import types

import numpy
import pytest

import clew
from clew.nn import functional as F

pytestmark = pytest.mark.beyond

CASES = {}


def case(expected):
    """Registers a program: a function of a namespace that makes what comes before, returns (block, change).

    `expected` says what becomes of a second run after the change: "equal", or what the error's text says.
    """

    def register(function):
        CASES[function.__name__] = (function, expected)
        return function

    return register


@case("another path")
def an_item_that_chooses(s):
    s.x = clew.tensor([2.0])

    def block():
        s.y = s.x * (10 if s.x.item() > 1 else 20)

    return block, lambda: s.x.fill_(0.5)


@case("equal")
def a_bool_that_stays(s):
    s.x = clew.tensor([2.0])

    def block():
        s.y = s.x * 10 if s.x > 1 else s.x * 20

    return block, lambda: s.x.fill_(3.0)


@case("another path")
def a_bool_that_changes(s):
    block, _ = a_bool_that_stays(s)
    return block, lambda: s.x.fill_(0.0)


@case("another path")
def a_float_handed_on(s):
    s.x, s.w = clew.tensor([2.0]), clew.ones(2)

    def block():
        s.y = s.w * float(s.x)

    return block, lambda: s.x.fill_(3.0)


@case("another path")
def a_list(s):
    s.x = clew.tensor([1.0, 2.0])

    def block():
        s.y = clew.tensor(s.x.tolist()) * 2

    return block, lambda: s.x.fill_(3.0)


@case("another path")
def a_tensor_of_tensors(s):
    s.x = clew.tensor([1.0, 2.0])

    def block():
        s.y = clew.tensor([s.x[0], s.x[1]]) * 2

    return block, lambda: s.x.fill_(3.0)


@case("another path")
def through_numpy(s):
    s.x = clew.tensor([1.0, 2.0])

    def block():
        s.y = clew.from_numpy(numpy.sin(s.x.numpy())) * 2

    return block, lambda: s.x.fill_(3.0)


@case("another path")
def an_index(s):
    s.i, s.x = clew.tensor(1), clew.arange(4.0)

    def block():
        s.y = s.x[: int(s.i)] * 2

    return block, lambda: s.i.fill_(2)


@case("equal")
def an_index_that_is_an_operand(s):
    s.i, s.x = clew.tensor([1]), clew.arange(4.0)

    def block():
        s.y = s.x[s.i] * 2

    return block, lambda: s.i.fill_(2)


@case("out of bounds|out of range")
def an_index_that_is_outside(s):
    s.i, s.x, s.n = clew.tensor([1]), clew.arange(4.0), clew.zeros(1)

    def block():
        s.n.add_(1)
        s.y = s.x[s.i] * 2

    return block, lambda: s.i.fill_(7)


@case(r"another result than in the recorded run: its shape is \[3, 1\] and was \[2, 1\]")
def as_many_as_there_are(s):
    s.x = clew.tensor([1.0, 0.0, 2.0])

    def block():
        s.y = s.x.nonzero().sum()

    return block, lambda: s.x.fill_(3.0)


@case(r"another result than in the recorded run: its shape is \[3\] and was \[2\]")
def a_mask(s):
    s.x = clew.tensor([1.0, -1.0, 2.0])

    def block():
        s.y = s.x[s.x > 0] * 2

    return block, lambda: s.x.fill_(3.0)


@case("equal")
def a_mask_of_as_many(s):
    s.x = clew.tensor([1.0, -1.0, 2.0])

    def block():
        s.y = s.x[s.x > 0] * 2

    return block, lambda: s.x.copy_(clew.tensor([1.0, 5.0, -1.0]))


@case(r"its shape is \[3\] and was \[2\]")
def another_shape(s):
    s.x = clew.ones(2)

    def block():
        s.y = s.x.sum() * s.x.shape[0]

    return block, lambda: setattr(s.x, "data", clew.ones(3))


@case(r"its strides are \[1, 2\] and were \[2, 1\]")
def other_strides(s):
    s.x = clew.arange(4.0).view(2, 2)

    def block():
        s.y = s.x.reshape(4) * 2

    return block, lambda: setattr(s.x, "data", clew.arange(4.0).view(2, 2).t())


@case("its dtype is float64 and was float32")
def another_dtype(s):
    s.x = clew.ones(2)

    def block():
        s.y = s.x * 2

    return block, lambda: setattr(s.x, "data", clew.ones(2, dtype=clew.float64))


@case("requires_grad")
def it_wants_a_gradient_now(s):
    s.x = clew.ones(2)

    def block():
        s.y = s.x * 2

    return block, lambda: s.x.requires_grad_()


@case("shares memory with another input now")
def two_become_one(s):
    s.a, s.b = clew.ones(2), clew.zeros(2)

    def block():
        s.a.add_(1)
        s.y = s.b * 2

    return block, lambda: setattr(s.b, "data", s.a.data)


@case("no longer shares memory")
def one_becomes_two(s):
    s.a = clew.ones(2)
    s.b = s.a.detach()

    def block():
        s.a.add_(1)
        s.y = s.b * 2

    return block, lambda: setattr(s.b, "data", clew.zeros(2))


@case("equal")
def one_memory_twice(s):
    s.a = clew.ones(2)
    s.b = s.a.detach()

    def block():
        s.a.add_(1)
        s.y = s.b * 2

    return block, lambda: s.b.mul_(3)


@case("hooks came or went")
def a_hook_of_a_leaf(s):
    s.w = clew.ones(2, requires_grad=True)

    def block():
        s.w.grad = None
        (s.w * 2).sum().backward()
        s.y = s.w.grad

    return block, lambda: s.w.register_hook(lambda grad: grad * 10) and None


@case("equal")
def a_hook_that_was_there(s):
    s.w = clew.ones(2, requires_grad=True)
    s.w.register_hook(lambda grad: grad * s.w.detach())

    def block():
        s.w.grad = None
        (s.w * 2).sum().backward()
        s.y = s.w.grad * 1

    return block, lambda: setattr(s.w, "data", clew.tensor([5.0, 6.0]))


@case("another history")
def an_input_with_another_history(s):
    s.w = clew.ones(2, requires_grad=True)
    s.z = s.w * 2

    def block():
        s.y = s.z * 3

    return block, lambda: s.z.mul_(s.w)


@case("equal")
def another_gradient_object(s):
    s.w = clew.ones(2, requires_grad=True)
    s.w.grad = clew.ones(2)

    def block():
        s.y = s.w.grad * 2

    return block, lambda: setattr(s.w, "grad", clew.tensor([3.0, 4.0]))


@case("another history|no .grad|\\.grad then")
def a_gradient_that_is_gone(s):
    s.w = clew.ones(2, requires_grad=True)
    s.w.grad = clew.ones(2)

    def block():
        s.y = clew.zeros(2) if s.w.grad is None else s.w.grad * 2

    return block, lambda: setattr(s.w, "grad", None)


@case("equal")
def gradients_add_up(s):
    s.w = clew.ones(2, requires_grad=True)
    s.w.grad = clew.ones(2)

    def block():
        (s.w * s.w).sum().backward()
        s.y = s.w.grad * 2

    return block, lambda: s.w.grad.fill_(0.5)


@case("equal")
def a_gradient_assigned_by_hand(s):
    s.w, s.x = clew.ones(2, requires_grad=True), clew.ones(2)

    def block():
        s.w.grad = s.x * 3
        s.y = s.w.grad + 1

    return block, lambda: s.x.fill_(4.0)


@case("equal")
def statistics_of_batch_norm(s):
    s.m, s.x = clew.nn.BatchNorm1d(2), clew.arange(6.0).view(3, 2)

    def block():
        s.y = s.m(s.x).detach()

    return block, lambda: s.x.mul_(-2)


@case("equal")
def a_running_average(s):
    s.average, s.x = clew.zeros(2), clew.ones(2)

    def block():
        s.average.mul_(0.9).add_(s.x, alpha=0.1)
        s.y = s.average * 1

    return block, lambda: s.x.fill_(5.0)


@case("equal")
def draws(s):
    s.own = clew.Generator().manual_seed(5)

    def block():
        s.y = clew.rand(3, generator=s.own) + clew.randn(3, generator=s.own)

    return block, lambda: None


@case("equal")
def a_view_of_what_is_written(s):
    s.x = clew.arange(6.0)

    def block():
        v = s.x.view(2, 3)
        v[0] *= 2
        s.y = v.t() @ v

    return block, lambda: s.x.add_(1)


@case("equal")
def out_into_an_older_tensor(s):
    s.x, s.out = clew.ones(2), clew.zeros(2)

    def block():
        clew.mul(s.x, 3, out=s.out)
        s.y = s.out + 1

    return block, lambda: s.x.fill_(2.0)


@case("equal")
def a_constant_that_is_written(s):
    s.x = clew.ones(2)

    def block():
        c = clew.tensor([1.0, 2.0])
        c += s.x
        s.y = c * 2

    return block, lambda: s.x.fill_(2.0)


@case("equal")
def weights_by_exponential_average(s):
    s.w, s.e = clew.ones(2, requires_grad=True), clew.ones(2)

    def block():
        with clew.no_grad():
            s.w.sub_(clew.tensor([0.5, 0.25]))
            s.e.lerp_(s.w, 0.1)
        s.y = s.e * 1

    return block, lambda: None


@case("equal")
def a_functions_saved_values(s):
    class Scale(clew.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x.exp())
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.saved_tensors[0]

    s.w = clew.ones(2, requires_grad=True)

    def block():
        (s.y,) = clew.autograd.grad(Scale.apply(s.w).sum(), [s.w])

    return block, lambda: setattr(s.w, "data", clew.tensor([2.0, 3.0]))


@case("equal")
def dropout(s):
    s.x = clew.ones(20)

    def block():
        s.y = F.dropout(s.x, 0.5)

    return block, lambda: s.x.fill_(2.0)


def snapshot(s):
    found = {}
    for name, value in vars(s).items():
        tensors = {name: value} if isinstance(value, clew.Tensor) else {}
        if isinstance(value, clew.nn.Module):
            tensors = {f"{name}.{key}": one for key, one in value.state_dict().items()}
        for key, tensor in tensors.items():
            found[key] = tensor.detach().numpy().tobytes(), tensor.detach().dtype
            if tensor.requires_grad and tensor.is_leaf and tensor.grad is not None:
                found[f"{key}.grad"] = tensor.grad.numpy().tobytes()
        if isinstance(value, clew.Generator):
            found[name] = value.get_state().numpy().tobytes()
    return found


@pytest.mark.parametrize("name", CASES)
def test_no_stale_number(name):
    make, expected = CASES[name]
    mine, theirs = types.SimpleNamespace(), types.SimpleNamespace()
    runs = []
    for space in (mine, theirs):
        clew.manual_seed(1)
        runs.append(make(space))
    clew.manual_seed(2)
    with clew.keep_graph() as program:
        runs[0][0]()
    clew.manual_seed(2)
    runs[1][0]()
    assert snapshot(mine) == snapshot(theirs)
    for _, change in runs:
        with clew.no_grad() if name != "an_input_with_another_history" else contextlib.nullcontext():
            change()
    before, stream = snapshot(mine), clew.random.get_rng_state()
    if expected != "equal":
        with pytest.raises(clew.ReplayError, match=expected) as caught:
            program.run()
        assert caught.value.site.file == __file__
        assert snapshot(mine) == before
        assert clew.equal(clew.random.get_rng_state(), stream)
        return
    for turn in range(3):
        stream = clew.random.get_rng_state()
        program.run()
        clew.random.set_rng_state(stream)
        runs[1][0]()
        assert snapshot(mine) == snapshot(theirs), f"run {turn}"


def test_the_error_names_the_input_and_both_shapes():
    model, x = clew.nn.Linear(3, 2), clew.ones(4, 3)
    with clew.keep_graph() as program:
        y = model(x).sum()
    model.weight.data = clew.ones(2, 5)
    for again in (program.run, y.forward):
        with pytest.raises(clew.ReplayError, match=r"`model.weight` \(input 0\).*\[2, 5\] and was \[2, 3\]") as caught:
            again()
        error = caught.value
        assert error.input is model.weight
        assert (error.input_name, error.recorded_shape, error.got_shape) == ("model.weight", (2, 3), (2, 5))
    program.name(weights=model.weight)  # what the program calls it comes first
    with pytest.raises(clew.ReplayError, match="expected `weights`"):
        program.run()


def test_the_error_names_the_tensor_whose_grad_is_missing():
    w = clew.ones(2, requires_grad=True)
    w.sum().backward()
    with clew.keep_graph() as program:
        half = w.grad / 2
    w.grad = None
    with pytest.raises(clew.ReplayError, match=r"expected `w\.grad` .* there is no \.grad") as caught:
        program.run()
    assert caught.value.is_grad
    assert caught.value.recorded_shape is None
    assert half.tolist() == [0.5, 0.5]


@pytest.mark.parametrize("write", [lambda z: z.add_(1), lambda z: (z.add_(1), z[:2].mul_(2))])
def test_a_write_is_told_with_versions_from_0_on(write):
    """Of a value that nobody has outside, whose memory is new in each run."""
    x = clew.ones(3, requires_grad=True)
    with clew.keep_graph() as program:
        z = x.exp()
        total = (z * z).sum()
        write(z)
    del z
    program.run()
    with pytest.raises(clew.autograd.errors.InplaceError, match="is at version 1; expected version 0") as caught:
        total.backward()
    assert caught.value.written_by in ("add_", "mul_")
    assert caught.value.written_at.line == write.__code__.co_firstlineno
