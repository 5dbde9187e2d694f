"""Results are written over operands that die with them: nobody who holds a tensor may ever see it."""

import functools
import itertools
import operator
import weakref

import numpy
import pytest

import clew
from clew import _core

SIZE = 70_003  # elements: large enough to be written over
where_frames_are_read = pytest.mark.skipif(not _core.records_calls, reason="nothing tells that an operand dies")


@pytest.fixture
def x(torch):
    return torch.from_numpy(numpy.random.default_rng(0).standard_normal(SIZE).astype("float32"))


@pytest.fixture
def y(torch):
    return torch.from_numpy(numpy.random.default_rng(1).standard_normal(SIZE).astype("float32"))


def product(x, y):
    return x.numpy() * y.numpy()


# Programs that give what they held of x * y, and what they computed from it.


def elements_of_a_tuple(torch, x, y):
    pair = (x * y, y)
    return pair[0], operator.mul(*pair)


def elements_of_a_deep_tuple(torch, x, y):
    pair = max((0, 0, 0), (0, 0, 1)) and (x * y, y)  # leaves both on the stack's unused part
    return pair[0], operator.mul(*pair)


def arguments_of_a_function(torch, x, y):
    args = (x * y,)
    return args[0], torch.exp(*args)


def keyword_arguments(torch, x, y):
    args = {"input": x * y}
    return args["input"], torch.exp(**args)


def element_of_a_list(torch, x, y):
    found = [x * y]
    return found[0], found[0] * y


def mapped(torch, x, y):
    found = [x * y]
    return found[0], next(map(torch.exp, found))


def starmapped(torch, x, y):
    found = [(x * y, y)]
    return found[0][0], next(itertools.starmap(operator.mul, found))


def accumulated(torch, x, y):
    return tuple(itertools.islice(itertools.accumulate([x * y, y, y], operator.mul), 2))


def reduced(torch, x, y):
    found = [x * y, y, y]
    return found[0], functools.reduce(operator.mul, found)


def bound(torch, x, y):
    exp = (x * y).exp
    exp()
    return exp.__self__, exp()


def partly_bound(torch, x, y):
    call = functools.partial((x * y).mul)
    call(y)
    return call.func.__self__, call(y)


def named_on_the_way(torch, x, y):
    result = (found := x * y) * y
    return found, result


def captured(torch, x, y):
    found = x * y
    return found, (lambda: found * y)()


def default_argument(torch, x, y):
    def use(found=x * y):
        return found * y

    return use.__defaults__[0], use()


def attribute(torch, x, y):
    class Holder:
        pass

    holder = Holder()
    holder.found = x * y
    return holder.found, holder.found * y


def generator(torch, x, y):
    def give():
        found = x * y
        yield found * y
        yield found

    result, found = give()
    return found, result


def both_operands(torch, x, y):
    found = x * y
    return found, found + found


def kept_by_a_view(torch, x, y):
    views = []

    def give():
        found = x * y
        views.append(found[:])
        return found

    result = give() * y
    return views[0], result


def kept_detached(torch, x, y):
    others = []

    def give():
        found = x.clone().requires_grad_() * y
        others.append(found.detach())
        return found

    result = give() * 2.0
    return others[0], result.detach()


def kept_as_an_array(torch, x, y):
    arrays = []

    def give():
        found = x * y
        arrays.append(found.numpy())
        return found

    result = give() * y
    return torch.from_numpy(arrays[0]), result


def written_by_a_class_of_its_own(torch, x, y):
    class Scaled:
        def __init__(self, inner):
            self.inner = inner

        def __mul__(self, other):
            return Scaled(operator.mul(*(self.inner, other)))

    found = Scaled(x * y)
    return found.inner, (found * y).inner


def elements_of_object_arrays(torch, x, y):
    def packed(*tensors):
        arrays = [numpy.empty(1, object) for _ in tensors]
        for array, tensor in zip(arrays, tensors, strict=True):
            array[0] = tensor
        return arrays

    a, b = packed(x * y, y)
    c = a * b  # NumPy multiplies what lies in them, in the midst of an operator of Python's
    return a[0], c[0]


def first_argument_of_a_partial(torch, x, y):
    call = functools.partial(torch.mul, x * y)
    call(y)
    pair = (torch.mul, call(y))
    return call.args[0], pair[1]


@pytest.mark.parametrize(
    "program",
    [
        elements_of_object_arrays,
        first_argument_of_a_partial,
        elements_of_a_tuple,
        elements_of_a_deep_tuple,
        arguments_of_a_function,
        keyword_arguments,
        element_of_a_list,
        mapped,
        starmapped,
        accumulated,
        reduced,
        bound,
        partly_bound,
        named_on_the_way,
        captured,
        default_argument,
        attribute,
        generator,
        both_operands,
        kept_by_a_view,
        kept_detached,
        kept_as_an_array,
        written_by_a_class_of_its_own,
    ],
)
def test_what_somebody_holds_stays(torch, x, y, program):
    for _ in range(20):  # the interpreter's instructions change when they have run a few times
        held, computed = program(torch, x, y)
        numpy.testing.assert_array_equal(held.numpy(), product(x, y))
        assert computed.data_ptr() != held.data_ptr()


def test_a_weak_reference_sees_no_other_value(torch, x, y):
    seen = []

    def give():
        found = x * y
        seen.append(weakref.ref(found, lambda _: seen.append("dead")))
        return found

    result = give() * y
    numpy.testing.assert_array_equal(result.numpy(), product(x, y) * y.numpy())
    assert seen[0]() is None
    assert seen[1:] == ["dead"]


@where_frames_are_read
@pytest.mark.beyond
@pytest.mark.parametrize(
    "text",
    [
        "(x * y) + y",
        "y - (x * y)",
        "2.0 * (x * y)",
        "(x * y) ** 3",
        "torch.tanh(x * y)",
        "(x * y).tanh().exp()",
        "-((x * y) + y) * x",
        "torch.add(x * y, y)",
        "torch.sin(input=x) * y",
        "(g * 2.0) * 3.0",
        "(g * y).tanh()",
    ],
)
def test_the_memory_is_used_again(torch, x, y, text):
    program = eval(f"lambda torch, x, y, g: {text}")
    g = x.clone().requires_grad_()
    for _ in range(20):
        torch.memory.reset_peak()
        before = torch.memory.stats().peak
        program(torch, x, y, g)
        arrays = 2 if text.startswith("-") else 1  # a sign is written elsewhere
        assert torch.memory.stats().peak - before < arrays * x.nbytes + 1000


@where_frames_are_read
@pytest.mark.beyond
def test_wherever_an_operator_stands(torch, x, y):
    """In the midst of calls, loops, handlers of context and generators the depth of the stack is known."""
    peaks = []

    def measured(give):
        torch.memory.reset_peak()
        before = torch.memory.stats().peak
        give()
        peaks.append((torch.memory.stats().peak - before) // x.nbytes)

    def in_a_call():
        print(1, 2, (x * y) + y, file=None, end="") if x is None else max(1, 2, ((x * y) + y).ndim)

    def in_a_loop():
        for _ in range(3):
            with torch.no_grad():
                ((x * y) + y) - y

    def in_a_generator():
        def give():
            while True:
                yield ((x * y) + y).ndim

        next(give())

    def in_a_comprehension():
        [((x * y) + k).ndim for k in range(3)]

    def in_a_condition():
        return 1 if ((x * y) + y).ndim and ((y * x) - y).ndim == 1 else 2

    for give in (in_a_call, in_a_loop, in_a_generator, in_a_comprehension, in_a_condition):
        measured(give)
    assert peaks == [1] * 5


def test_the_result_is_like_any_other(torch, x, y):
    assert ((x * y).add_(y) * 2.0)._version == 0
    part = (torch.cat([x, x, x]) * 1.0)[5:70_005].detach() * 2.0
    assert part.storage_offset() == 0
    assert part.untyped_storage().nbytes() == part.nbytes


def gelu(torch, x, y):
    return 0.5 * x * (1.0 + torch.tanh(0.79788456 * (x + 0.044715 * x**3))) + y


def saved_outputs(torch, x, y):
    return ((x * y).exp() * 2.0).tanh() + (x.sigmoid() * y).exp() / (y * y + 1.0)


def saved_operands(torch, x, y):
    return (x * y) * (x + y) * ((x - y) ** 2) - (x * 2.0) * (y * 3.0)


def broadcast(torch, x, y):
    return (x.sum() * y) + (y * x.mean()) * (x * 1.0)


def without_history_inside(torch, x, y):
    def scaled():
        with torch.no_grad():
            return x * y

    return scaled() * 2.0 * x + (x * y).detach() * 3.0 * y


def history_outside(torch, x, y):
    def scaled():
        return x * 2.0

    with torch.no_grad():
        plain = scaled() * 2.0
    assert not plain.requires_grad
    return plain * x * y


@pytest.mark.parametrize(
    "program", [gelu, saved_outputs, saved_operands, broadcast, without_history_inside, history_outside]
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_values_and_derivatives(torch, x, y, program, dtype):
    """Beside the same program with every intermediate result held."""
    reference = pytest.importorskip("torch")
    ours = [t.numpy().astype(dtype) for t in (x, y)]
    results = []
    for module in (torch, reference):
        inputs = [module.from_numpy(array.copy()).requires_grad_() for array in ours]
        out = program(module, *inputs)
        first = module.autograd.grad((out * out).sum(), inputs, create_graph=True)
        second = module.autograd.grad(sum((g * g).sum() for g in first), inputs)
        results.append([t.detach().numpy() for t in (out, *first, *second)])
    tolerance = 2e-4 if dtype == "float32" else 1e-11
    for got, expected in zip(*results, strict=True):
        numpy.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance * abs(expected).max())


def test_hooks_see_what_they_are_for(torch, x, y):
    g = x.clone().requires_grad_()
    seen = []

    def watched(tensor):
        tensor.register_hook(lambda grad: seen.append(grad.clone()))
        return tensor

    (watched(g * y) * 3.0).sum().backward()
    numpy.testing.assert_array_equal(seen[0].numpy(), numpy.full(SIZE, 3.0, "float32"))
    numpy.testing.assert_array_equal(g.grad.numpy(), 3.0 * y.numpy())


def test_saved_tensors_hooks_keep_their_values(torch, x, y):
    g = x.clone().requires_grad_()
    packed = []

    def pack(tensor):
        packed.append((tensor, tensor.detach().numpy().copy()))
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        ((g * y).exp() * 2.0).tanh().sum().backward()
    for tensor, value in packed:
        numpy.testing.assert_array_equal(tensor.detach().numpy(), value)
    packed.clear()


def test_a_gradient_that_is_written_over_lies_as_a_fresh_one():
    """Its axis of one element, too: with create_graph nothing is written over."""
    x = clew.randn(1, 4, 3, requires_grad=True)

    def twice(create_graph):
        turned = x.rot90(1, (2, 0))
        clew.relu_(turned)
        (first,) = clew.autograd.grad(turned, x, clew.linspace(0.5, 1.5, 12).reshape(3, 4, 1), create_graph=True)
        return clew.autograd.grad(first.sum(), x, create_graph=create_graph)[0]

    over, fresh = twice(False), twice(True)
    assert over.stride() == fresh.stride()
    assert over.tolist() == fresh.tolist()
