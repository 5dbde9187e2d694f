"""2.1 A node saves only what its derivative needs, for the inputs that need it."""

import itertools

import pytest
from graph_support import MODIFIED, collector_off, live_bytes

# name: operation, then for each mask of inputs that require a gradient, the names of what is saved.
BINARY = {
    "mul": (lambda torch, a, b: a * b, {"a": {"other"}, "b": {"self"}, "ab": {"self", "other"}}),
    "add": (lambda torch, a, b: a + b, {"a": set(), "b": set(), "ab": set()}),
    "sub": (lambda torch, a, b: a - b, {"a": set(), "b": set(), "ab": set()}),
    "div": (lambda torch, a, b: a / b, {"a": {"other"}}),
    "mm": (lambda torch, a, b: a.mm(b), {"a": {"mat2"}, "b": {"self"}, "ab": {"self", "mat2"}}),
    "cat": (lambda torch, a, b: torch.cat([a, b]), {"a": set(), "b": set(), "ab": set()}),
    "stack": (lambda torch, a, b: torch.stack([a, b]), {"a": set(), "b": set(), "ab": set()}),
}
UNARY = {
    "sum": (lambda torch, a: a.sum(), set()),
    "sum dim": (lambda torch, a: a.sum(0), set()),
    "mean": (lambda torch, a: a.mean(), set()),
    "neg": (lambda torch, a: -a, set()),
    "clone": (lambda torch, a: a.clone(), set()),
    "view": (lambda torch, a: a.view(4), set()),
    "t": (lambda torch, a: a.t(), set()),
    "expand": (lambda torch, a: a.expand(3, 2, 2), set()),
    "slice": (lambda torch, a: a[1:], set()),
    "cumsum": (lambda torch, a: a.cumsum(0), set()),
    "tanh": (lambda torch, a: a.tanh(), {"result"}),
    "exp": (lambda torch, a: a.exp(), {"result"}),
    "sigmoid": (lambda torch, a: a.sigmoid(), {"result"}),
    "sqrt": (lambda torch, a: a.sqrt(), {"result"}),
    "relu": (lambda torch, a: a.relu(), {"result"}),
    "softmax": (lambda torch, a: a.softmax(0), {"result"}),
    "log_softmax": (lambda torch, a: a.log_softmax(0), {"result"}),
    "sin": (lambda torch, a: a.sin(), {"self"}),
    "log": (lambda torch, a: a.log(), {"self"}),
    "pow": (lambda torch, a: a**2, {"self"}),
    "abs": (lambda torch, a: a.abs(), {"self"}),
    "silu": (lambda torch, a: torch.nn.functional.silu(a), {"self"}),
}
CASES = [(name, mask, saved) for name, (_, masks) in BINARY.items() for mask, saved in masks.items()]


def operands(torch, mask):
    """Two results (so that they may be modified in place), of which those in the mask have a history."""
    a, b = torch.full((2, 2), 0.5), torch.full((2, 2), 0.25)
    return [(t.requires_grad_() if name in mask else t).clone() for name, t in zip("ab", (a, b), strict=True)]


def fails_after_writing_to(target, result, torch):
    with torch.no_grad():
        target.add_(1)
    try:
        result.backward(torch.ones_like(result))
    except RuntimeError as error:
        if MODIFIED not in str(error):
            raise
        return True
    return False


@pytest.mark.parametrize(("name", "mask", "saved"), CASES)
def test_writing_to_an_operand_fails_only_if_it_was_saved(torch, name, mask, saved):
    for position in (0, 1):
        pair = operands(torch, mask)
        result = BINARY[name][0](torch, *pair)
        expected = {"self", "mat2" if name == "mm" else "other"}
        this = "self" if position == 0 else (expected - {"self"}).pop()
        assert fails_after_writing_to(pair[position], result, torch) == (this in saved)


@pytest.mark.parametrize("name", UNARY)
def test_writing_to_the_input_or_output_fails_only_if_it_was_saved(torch, name):
    operation, saved = UNARY[name]
    a = operands(torch, "a")[0]
    result = operation(torch, a)
    if result.data_ptr() != a.data_ptr():  # a view is its own input
        assert fails_after_writing_to(a, result, torch) == ("self" in saved)
        a = operands(torch, "a")[0]
        result = operation(torch, a)
        assert fails_after_writing_to(result, result, torch) == ("result" in saved)
    else:
        assert not fails_after_writing_to(a, result, torch)


@pytest.mark.beyond
@pytest.mark.parametrize(("name", "mask", "saved"), CASES)
def test_names_of_what_a_binary_operation_saved(torch, name, mask, saved):
    pair = operands(torch, mask)
    node = BINARY[name][0](torch, *pair).grad_fn
    assert {slot.name for slot in node.saved} == saved
    for slot in node.saved:
        held = pair[0] if slot.name == "self" else pair[1]
        assert getattr(node, "_saved_" + slot.name) is held
        assert (slot.shape, slot.dtype, slot.nbytes, slot.state) == ((2, 2), torch.float32, 16, "held")


@pytest.mark.beyond
@pytest.mark.parametrize("name", UNARY)
def test_names_of_what_a_unary_operation_saved(torch, name):
    operation, saved = UNARY[name]
    node = operation(torch, operands(torch, "a")[0]).grad_fn
    assert {slot.name for slot in node.saved} == saved


def test_the_example_of_the_thread(torch):
    itself = torch.rand(10, requires_grad=True).clone()
    other = torch.rand(10)
    output = itself * other
    output.backward(torch.ones_like(output))
    output = itself.detach().requires_grad_().clone() * other
    with torch.no_grad():
        itself += 1
    output.backward(torch.ones_like(output))
    output = torch.rand(10, requires_grad=True) * other
    other += 1
    with pytest.raises(RuntimeError, match=MODIFIED):
        output.backward(torch.ones_like(output))


@pytest.mark.beyond
def test_an_intermediate_that_nobody_saved_is_freed_with_its_name(torch):
    x = torch.ones(1000, requires_grad=True)
    with collector_off():
        h = x + 1
        y = h.sum()
        before = live_bytes(torch)
        del h
        assert live_bytes(torch) == before - 4000
        h = x + 1
        z = h * h
        before = live_bytes(torch)
        del h
        assert live_bytes(torch) == before, "the product needs it"
        del z
        assert live_bytes(torch) == before - 8000
    assert y.requires_grad


@pytest.mark.beyond
def test_nothing_is_saved_under_no_grad_or_without_gradient(torch):
    x, w = torch.ones(1000), torch.ones(1000, requires_grad=True)
    before = torch._core.graph_counters()["bytes_saved"]
    x * x
    with torch.no_grad():
        w * w
    assert torch._core.graph_counters()["bytes_saved"] == before
    w * x
    assert torch._core.graph_counters()["bytes_saved"] == before + 4000


@pytest.mark.beyond
def test_saving_copies_nothing(torch):
    x = torch.ones(1000, requires_grad=True)
    with collector_off():
        before = live_bytes(torch)
        y = x.tanh()
        assert live_bytes(torch) == before + 4000
        z = y * y
        assert live_bytes(torch) == before + 8000
        (slot,) = y.grad_fn.saved
        assert {held.storage for held in z.grad_fn.saved} == {slot.storage}


def test_what_an_input_needs_decides_through_a_whole_layer(torch):
    for needs in itertools.product([False, True], repeat=2):
        x = torch.ones(2, 3, requires_grad=needs[0]).clone()
        w = torch.ones(4, 3, requires_grad=needs[1]).clone()
        if any(needs):
            y = torch.nn.functional.linear(x, w)
            assert fails_after_writing_to(x, y, torch) == needs[1]
            x = torch.ones(2, 3, requires_grad=needs[0]).clone()
            y = torch.nn.functional.linear(x, w)
            assert fails_after_writing_to(w, y, torch) == needs[0]
