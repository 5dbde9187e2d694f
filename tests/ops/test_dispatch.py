"""Everything that computes, writes, rebinds or reads passes one place, where interpreters see it."""

import contextlib
import copy
import gc
import io
import pickle
import threading
import weakref

import numpy
import pytest
import sampling
from test_registry import SAMPLED, Prepared, every

import clew
from clew import _core
from clew.nn import functional as F


class Log:
    """What an interpreter saw: of each call its form, its name, and the storages that it may write or made."""

    def __init__(self):
        self.calls = []
        self.interpreter = _core.Interpreter(self.handle)

    def handle(self, call):
        written = {tensor._storage_id for tensor in call.written}
        call.run()
        made = {tensor._storage_id for tensor in call.outputs if tensor is not None}
        self.calls.append((call.form, call.name, written, made, call.inputs))

    def __enter__(self):
        self.interpreter.push()
        return self

    def __exit__(self, *exc):
        self.interpreter.pop()

    @property
    def names(self):
        return [name for _, name, *_ in self.calls]

    def forms(self, tensor):
        """Of the calls that had this tensor as an input, in order."""
        return [form for form, *_, inputs in self.calls if any(one is tensor for one in inputs)]

    def wrote(self, tensor):
        return any(tensor._storage_id in written for _, _, written, *_ in self.calls)

    def made(self, tensor):
        return any(tensor._storage_id in made for _, _, _, made, _ in self.calls)


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


def step_of(optimizer, **options):
    def write(x):
        x.requires_grad_()
        x.grad = clew.ones(4)
        optimizer([x], **options).step()

    return write


def load(x):
    module = clew.nn.Module()
    module.register_buffer("x", x)
    module.load_state_dict({"x": clew.zeros(4)})


def statistics(x):
    x.abs_()
    F.batch_norm(clew.arange(8.0).reshape(2, 4), clew.zeros(4), x, training=True)


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
    "SGD": step_of(clew.optim.SGD, lr=0.1),
    "SGD with momentum": step_of(clew.optim.SGD, lr=0.1, momentum=0.9),
    "Adam": step_of(clew.optim.Adam),
    "AdamW": step_of(clew.optim.AdamW, amsgrad=True),
    "RMSprop": step_of(clew.optim.RMSprop),
    "Adagrad": step_of(clew.optim.Adagrad),
    "zero_grad": zero_grad,
    "clip_grad_norm_": clip,
    "accumulation": accumulate,
    "squeeze_": lambda x: x.unsqueeze_(0),
    "t_": lambda x: x.data.view(2, 2).t_().mul_(2),
}


@pytest.mark.parametrize("way", WRITES)
def test_every_way_to_write_is_seen(way):
    x = clew.tensor([1.0, 2.0, 3.0, 4.0])
    before, storage, layout = x.numpy().copy(), x._storage_id, (x.shape, x.stride())
    clew.manual_seed(1)
    with Log() as log:
        WRITES[way](x)
    changed_memory = x._storage_id != storage
    assert changed_memory or layout != (x.shape, x.stride()) or not numpy.array_equal(x.detach().numpy(), before)
    if changed_memory:
        assert log.forms(x) == ["rebind"]
    else:
        assert log.wrote(x)


def test_optimizers_write_their_state_where_it_is_seen():
    x = leaf()
    optimizer = clew.optim.Adam([x], amsgrad=True)
    for _ in range(2):
        x.grad = clew.ones(4)
        with Log() as log:
            optimizer.step()
    state = optimizer.state[x]
    assert all(log.wrote(state[name]) for name in ("exp_avg", "exp_avg_sq", "max_exp_avg_sq", "step"))
    assert log.names.count("adam_step") == 1


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
    "zeros": lambda x: clew.prod(x.clone().requires_grad_()).backward(),
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


def storages(value):
    if isinstance(value, clew.Tensor):
        return {value._storage_id}
    if isinstance(value, list | tuple):
        return set().union(*map(storages, value)) if value else set()
    return set()


def tensors_in(value):
    if isinstance(value, clew.Tensor):
        return [value]
    if isinstance(value, list | tuple):
        return [tensor for one in value for tensor in tensors_in(one)]
    if isinstance(value, dict):
        return tensors_in(list(value.values()))
    return []


@every(SAMPLED)
def test_an_operation_is_seen_and_gives_the_same(overload):
    """Forward and backward, bit by bit; all new memory comes out of calls, all old that changed was announced."""
    for sample in sampling.samples(overload):
        plain, seen = Prepared(sample), Prepared(sample)
        expected = run_with_gradients(plain)
        given = [tensor for tensor in (*tensors_in(seen.places), *tensors_in(seen.named))]
        before = [tensor.detach().numpy().copy() for tensor in given]
        with Log() as log:
            results = run_with_gradients(seen)
        assert len(results) == len(expected)
        for result, other in zip(results, expected, strict=True):
            if not isinstance(result, clew.Tensor):
                continue
            unset = any(name.startswith("_empty") for name in log.names)  # memory as it came
            assert unset or result.detach().numpy().tobytes() == other.detach().numpy().tobytes()
            assert log.made(result) or result._storage_id in storages(given)
        for tensor, old in zip(given, before, strict=True):
            if tensor.detach().numpy().tobytes() != old.tobytes():
                assert log.wrote(tensor)


def run_with_gradients(prepared):
    results = prepared()
    roots = [result for result in results if isinstance(result, clew.Tensor) and result.requires_grad]
    if not roots:
        return results
    with contextlib.suppress(RuntimeError):  # a derivative that PyTorch has not, either
        return [
            *results,
            *clew.autograd.grad(roots, prepared.leaves, [clew.ones_like(r) for r in roots], allow_unused=True),
        ]
    return results


def test_second_derivatives_are_seen():
    x = leaf()
    with Log() as log:
        (gradient,) = clew.autograd.grad((x**3).sum(), x, create_graph=True)
        (second,) = clew.autograd.grad(gradient.sum(), x)
    assert log.made(gradient)
    assert log.made(second)
    assert second.tolist() == [6.0, 12.0, 18.0, 24.0]


def test_interpreters_stand_on_each_other():
    order = []

    def named(name):
        def handle(call):
            order.append(name)
            call.run()

        return _core.Interpreter(handle)

    below, above = named("below"), named("above")
    below.push()
    above.push()
    result = clew.ones(2)
    below.pop()  # from wherever it is
    result = result + 1
    above.pop()
    result = result + 1
    assert order == ["above", "below", "above"]
    assert result.tolist() == [3.0, 3.0]
    assert not _core.is_interpreted()


def test_what_an_interpreter_computes_itself_is_not_shown_to_it():
    seen = []

    def handle(call):
        seen.append(call.name)
        clew.ones(2).add_(1)
        call.run()

    interpreter = _core.Interpreter(handle)
    interpreter.push()
    clew.neg(clew.ones(3))
    interpreter.pop()
    assert seen == ["_full", "neg"]


def test_an_error_in_an_interpreter_comes_out_of_the_operation():
    def handle(call):
        raise KeyError(call.name)

    interpreter = _core.Interpreter(handle)
    x = clew.ones(2)
    interpreter.push()
    with pytest.raises(KeyError, match="add"):
        x + 1
    interpreter.pop()
    assert (x + 1).tolist() == [2.0, 2.0]


def test_a_call_has_to_be_run_and_is_over_afterwards():
    kept = []
    x = clew.ones(2)
    interpreter = _core.Interpreter(kept.append)
    interpreter.push()
    with pytest.raises(RuntimeError, match="neg: expected the interpreter to run"):
        clew.neg(x)
    interpreter.pop()
    with pytest.raises(RuntimeError, match="it is over"):
        kept[0].run()


def test_a_call_runs_once():
    def handle(call):
        call.run()
        call.run()

    interpreter = _core.Interpreter(handle)
    x = clew.ones(2)
    interpreter.push()
    with pytest.raises(RuntimeError, match="has run already"):
        x.add_(1)
    interpreter.pop()
    assert x.tolist() == [2.0, 2.0]


@pytest.mark.parametrize("what", ["push", "pop"])
def test_the_stack_stays_as_it_is_while_a_call_is_handled(what):
    def handle(call):
        call.run()
        getattr(above if what == "pop" else _core.Interpreter(print), what)()

    below, above = Log(), _core.Interpreter(handle)
    with below:
        above.push()
        with pytest.raises(RuntimeError, match=f"{what}: expected no interpreter to be handling a call"):
            clew.ones(2)
        above.pop()
        clew.ones(2)
    assert below.names == ["_full", "_full"]
    assert not _core.is_interpreted()


def test_a_stack_belongs_to_its_thread():
    with Log() as log:
        thread = threading.Thread(target=lambda: clew.ones(2) + 1)
        thread.start()
        thread.join()
    assert log.calls == []


def test_an_interpreter_is_pushed_once():
    log = Log()
    with log, pytest.raises(RuntimeError, match="already"):
        log.interpreter.push()
    assert not _core.is_interpreted()


def test_an_interpreter_goes_with_its_handler():
    log = Log()
    reference = weakref.ref(log)
    del log
    gc.collect()
    assert reference() is None


def test_inference_mode_works_below_interpreters():
    with Log() as log, clew.inference_mode():
        x = clew.ones(2) + 1
    assert x.is_inference()
    assert log.names == ["_full", "add"]


def test_nothing_is_written_over_while_somebody_looks_on():
    x = clew.ones(100_000)
    with Log() as log:
        y = (x * 2 + 1) * 3
    made = [made for _, _, _, made, _ in log.calls]
    assert len(set.union(*made)) == 3
    assert y.sum().item() == 900_000


def test_random_draws_say_so():
    drawn = []

    def handle(call):
        call.run()
        drawn.append((call.name, call.draws))

    interpreter = _core.Interpreter(handle)
    interpreter.push()
    clew.rand(2)
    F.dropout(clew.ones(3), 0.5)
    clew.ones(2)
    interpreter.pop()
    assert drawn == [("_rand", True), ("_full", False), ("_dropout_noise", True), ("mul", False), ("_full", False)]


def test_a_source_that_overlaps_keeps_its_history():
    x = clew.tensor([1.0, 2.0, 3.0], requires_grad=True)
    gradients = []
    for seen in (False, True):
        with Log() if seen else contextlib.nullcontext():
            y = x * 2
            y[1:] = y[:2]
            gradients.append(clew.autograd.grad(y.sum(), [x])[0].tolist())
    assert gradients == [[4, 2, 0], [4, 2, 0]]
