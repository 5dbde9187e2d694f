"""Everything that computes, writes, rebinds or reads passes one place, where interpreters see it."""

import contextlib
import copy
import inspect
import io
import pickle

import numpy
import pytest
from test_registry import SAMPLED
from watching import Log, Witness

import clew
from clew import _core
from clew.nn import functional as F


def leaf(*values):
    return clew.tensor(values or [1.0, 2.0, 3.0, 4.0], requires_grad=True)


def setitem(key, value):
    def write(x):
        x[key] = value

    return write


class Doubled(clew.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


def iadd(x):
    x += 1


def load(x):
    module = clew.nn.Module()
    module.register_buffer("x", x)
    module.load_state_dict({"x": clew.zeros(4)})


def statistics(x):
    x.abs_()
    F.batch_norm(clew.arange(8.0).reshape(2, 4), clew.zeros(4), x, training=True)


def holding(x):
    module = clew.nn.Module()
    module.x = clew.nn.Parameter(x)
    return module


def moving_average(x):
    average = clew.optim.swa_utils.AveragedModel(holding(clew.zeros(4)))
    average.module.x.data = x
    for _ in range(2):
        average.update_parameters(holding(clew.zeros(4)))


def unscale(x):
    holder = clew.zeros(4, requires_grad=True)
    holder.grad = x
    scaler = clew.amp.GradScaler("cpu", init_scale=4.0)
    scaler.scale(clew.ones(1))
    scaler.unscale_(clew.optim.SGD([holder], lr=1))


def clip(x):
    holder = clew.zeros(4, requires_grad=True)
    holder.grad = x
    clew.nn.utils.clip_grad_norm_([holder], 0.1)


def zero_grad(x):
    holder = clew.zeros(4, requires_grad=True)
    holder.grad = x
    clew.optim.SGD([holder], lr=1).zero_grad(set_to_none=False)


def accumulate(x):
    holder = clew.zeros(4, requires_grad=True)
    holder.grad = x
    (holder * 3).sum().backward()


# Each writes elements of the tensor that it gets, or gives it other memory.
WRITES = {
    "add_": lambda x: x.add_(1),
    "+=": iadd,
    "x[0] = 1": setitem(0, 7.0),
    "x[1:] = tensor": setitem(slice(1, None), clew.zeros(3)),
    "x[mask] = 1": setitem(clew.tensor([True, False, True, False]), 7.0),
    "x[[0, 1]] = 1": setitem([0, 1], 7.0),
    "x[...] = 1": setitem(..., 7.0),
    "copy_": lambda x: x.copy_(clew.zeros(4)),
    "copy_ of a part of itself": lambda x: x[1:].copy_(x[:3]),
    "fill_": lambda x: x.fill_(7),
    "fill_ by a tensor": lambda x: x.fill_(clew.tensor(7.0)),
    "zero_": lambda x: x.zero_(),
    "masked_fill_": lambda x: x.masked_fill_(x > 2, 7),
    "index_add_": lambda x: x.index_add_(0, clew.tensor([1]), clew.tensor([5.0])),
    "scatter_": lambda x: x.scatter_(0, clew.tensor([1]), 5.0),
    "a view": lambda x: x.view(2, 2)[0].mul_(3),
    "a detached one": lambda x: x.detach().mul_(3),
    ".data": lambda x: x.data.mul_(3),
    "out=": lambda x: clew.add(clew.ones(4), 1, out=x),
    "out= of an expression of itself": lambda x: clew.mul(x, 2, out=x),
    "out= in Python": lambda x: clew.stack([clew.ones(2), clew.zeros(2)], out=x.view(2, 2)),
    "x.data = y": lambda x: setattr(x, "data", clew.zeros(2)),
    "normal_": lambda x: x.normal_(),
    "uniform_": lambda x: x.uniform_(),
    "bernoulli_": lambda x: x.bernoulli_(0.5),
    "dropout in place": lambda x: F.dropout(x, 0.99, inplace=True),
    "relu in place": lambda x: F.relu(x.neg_(), inplace=True),
    "nn.init": lambda x: clew.nn.init.constant_(x, 7),
    "nn.init draws": lambda x: clew.nn.init.xavier_uniform_(x.view(2, 2)),
    "a Function that says dirty": lambda x: Doubled.apply(x),
    "running statistics": statistics,
    "load_state_dict": load,
    "zero_grad": zero_grad,
    "clip_grad_norm_": clip,
    "accumulation": accumulate,
    "resize_": lambda x: x.resize_(2),
    "resize_ to more": lambda x: x.resize_(6),
    "resize_as_": lambda x: x.resize_as_(clew.ones(3)),
    "squeeze_": lambda x: x.unsqueeze_(0),
    "storage()[0] = 1": lambda x: x.storage().__setitem__(0, 7.0),
    "storage().fill_": lambda x: x.storage().fill_(7),
    "storage().copy_": lambda x: x.storage().copy_(clew.zeros(4).storage()),
    "apply_": lambda x: x.apply_(lambda value: value + 1),
    "map_": lambda x: x.map_(clew.ones(4), lambda value, other: value + other),
    "from_numpy": lambda x: clew.from_numpy(x.numpy()).mul_(3),
    "from_dlpack": lambda x: clew.from_dlpack(x).mul_(3),
    "Module._apply": lambda x: holding(x).apply(lambda module: module.x.data.mul_(2)),
    "moving average": moving_average,
    "moments of weights": lambda x: clew.nn.utils.vector_to_parameters(clew.zeros(4), [x]),
    "unscale_": unscale,
    "checkpoint": lambda x: clew.utils.checkpoint.checkpoint(lambda y: y.mul_(2), x, use_reentrant=False),
    "t_": lambda x: x.data.view(2, 2).t_().mul_(2),
}


@pytest.mark.parametrize("way", WRITES)
def test_every_way_to_write_is_seen(way):
    x = clew.tensor([1.0, 2.0, 3.0, 4.0])
    before, storage, layout = x.numpy().copy(), x._storage_id, (x.shape, x.stride())
    clew.manual_seed(1)
    with Witness() as log:
        WRITES[way](x)
    changed_memory = x._storage_id != storage
    assert changed_memory or layout != (x.shape, x.stride()) or not numpy.array_equal(x.detach().numpy(), before)
    if changed_memory or way.startswith("resize"):  # to fewer elements, it is another view of the same memory
        assert log.forms(x) == ["rebind"]
    else:
        assert log.wrote(x)


def test_methods_that_write_are_operations_or_listed():
    """Operations, and functions with a domain, are called below."""
    called = {one.operation for one in SAMPLED}
    for name in dir(clew.Tensor):
        if name.endswith("_") and not name.startswith("_") and name not in WRITES:
            operation = getattr(clew.Tensor, name)
            written = isinstance(operation, _core.Operation) or name in called
            assert written or name in ("detach_", "requires_grad_", "share_memory_"), name  # which write nothing


# SparseAdam takes sparse gradients only, which there are none of.
OPTIMIZERS = [
    kind
    for kind in vars(clew.optim).values()
    if isinstance(kind, type) and kind not in (clew.optim.Optimizer, clew.optim.SparseAdam)
]
OPTIONS = [{}, {"momentum": 0.9}, {"amsgrad": True}, {"centered": True}, {"maximize": True}, {"weight_decay": 0.1}]
STEPS = [
    (kind, options)
    for kind in OPTIMIZERS
    for options in OPTIONS
    if inspect.signature(kind).parameters.keys() >= options.keys()
]


@pytest.mark.parametrize(("kind", "options"), STEPS, ids=lambda one: getattr(one, "__name__", str(one)))
def test_steps_write_parameters_and_state_where_it_is_seen(kind, options):
    x, y = clew.eye(2, requires_grad=True), clew.ones(2, 2, requires_grad=True)
    optimizer = kind([x, y], lr=0.1, **options)

    def closure():
        optimizer.zero_grad()
        loss = ((x @ y - 3) ** 2).sum()
        loss.backward()
        return loss

    with Witness() as log:
        for _ in range(3):
            optimizer.step(closure)
    assert log.wrote(x)
    assert log.wrote(y)
    assert x.tolist() != [[1.0, 0.0], [0.0, 1.0]]


def test_a_fused_step_is_one_call():
    x = leaf()
    optimizer = clew.optim.Adam([x], amsgrad=True)
    for _ in range(2):
        x.grad = clew.ones(4)
        with Witness() as log:
            optimizer.step()
    state = optimizer.state[x]
    assert all(log.wrote(state[name]) for name in ("exp_avg", "exp_avg_sq", "max_exp_avg_sq", "step"))
    assert log.names.count("adam_step") == 1


def test_a_module_that_is_converted_has_its_tensors_rebound():
    module = clew.nn.BatchNorm1d(2)
    with Witness() as log:
        module.to(clew.float64)
    assert log.forms(module.weight) == ["rebind", "rebind"]  # its memory, and its .grad
    assert module.weight.dtype == module.running_mean.dtype == clew.float64
    assert log.made(module.running_mean)


def test_a_gradient_is_rebound_first_and_then_added_to():
    x = leaf()
    with Log() as log:
        (x * 3).sum().backward()
        first = x.grad
        assert log.forms(x)[-1] == "rebind"
        assert not log.wrote(first)
        (x * 3).sum().backward()
    assert x.grad is first
    assert log.forms(first)[-1] == "accumulate"
    assert log.wrote(first)
    assert x.grad.tolist() == [6.0] * 4


def test_gradients_that_are_assigned_and_dropped_are_seen():
    x = leaf()
    with Log() as log:
        x.grad = clew.ones(4)
        x.grad = None
    assert log.forms(x) == ["rebind", "rebind"]


def test_an_out_that_is_resized_is_rebound():
    out = clew.empty(0)
    with Log() as log:
        clew.add(clew.ones(2), 1, out=out)
    assert log.forms(out)[-1] == "rebind"
    assert out.tolist() == [2.0, 2.0]


READS = {
    "item": lambda x: x[0].item(),
    "float": lambda x: float(x[0]),
    "int": lambda x: int(x[0]),
    "bool": lambda x: bool(x[0]),
    "index": lambda x: range(5)[x.to(clew.int64)[0]],
    "tolist": lambda x: x.tolist(),
    "numpy": lambda x: x.numpy(),
    "buffer": lambda x: memoryview(x),
    "data_ptr": lambda x: x.data_ptr(),
    "tensor": lambda x: clew.tensor([x[0], x[1]]),
}


@pytest.mark.parametrize("way", READS)
def test_every_read_into_python_is_seen(way):
    x = clew.tensor([1.0, 2.0, 3.0, 4.0])
    with Log() as log:
        READS[way](x)
    assert ("read", way) in [(form, name) for form, name, *_ in log.calls]


@pytest.mark.parametrize(
    "how",
    [
        lambda: clew.tensor([1.0, 2.0]),
        lambda: clew.tensor(numpy.ones(3)),
        lambda: clew.tensor(clew.ones(2)),
        lambda: clew.as_tensor(numpy.ones(3)),
        lambda: clew.from_numpy(numpy.ones(3)),
        lambda: clew.FloatTensor([1.0]),
        lambda: clew.zeros(2),
        lambda: clew.full((2,), 3.0),
        lambda: clew.arange(3),
        lambda: clew.rand(3),
        lambda: clew.randperm(3),
        lambda: clew.zeros_like(clew.ones(2)),
        lambda: copy.deepcopy(clew.ones(2)),
        lambda: pickle.loads(pickle.dumps(clew.ones(2))),
        lambda: clew.from_dlpack(numpy.ones(3)),
    ],
)
def test_tensors_from_nothing_are_results_of_calls(how):
    with Log() as log:
        made = how()
    assert log.made(made)


def test_a_file_is_read_through_calls():
    file = io.BytesIO()
    clew.save({"x": clew.ones(3)}, file)
    file.seek(0)
    with Log() as log:
        made = clew.load(file)["x"]
    assert log.made(made)


def test_second_derivatives_are_seen():
    x = leaf()
    with Log() as log:
        (gradient,) = clew.autograd.grad((x**3).sum(), x, create_graph=True)
        (second,) = clew.autograd.grad(gradient.sum(), x)
    assert log.made(gradient)
    assert log.made(second)
    assert second.tolist() == [6.0, 12.0, 18.0, 24.0]


def test_a_source_that_overlaps_keeps_its_history():
    x = clew.tensor([1.0, 2.0, 3.0], requires_grad=True)
    gradients = []
    for seen in (False, True):
        with Log() if seen else contextlib.nullcontext():
            y = x * 2
            y[1:] = y[:2]
            gradients.append(clew.autograd.grad(y.sum(), [x])[0].tolist())
    assert gradients == [[4, 2, 0], [4, 2, 0]]
