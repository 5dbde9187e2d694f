"""Each operation's nodes have a class of their own, with PyTorch's name, under `autograd.graph.Node`."""

import gc
import weakref

import pytest


def nodes_of(torch):
    x = torch.ones(3, requires_grad=True)
    written = x.clone()
    written[0] = 2.0
    return {
        "MulBackward0": (x * x).grad_fn,
        "SumBackward0": x.sum().grad_fn,
        "SumBackward1": x.sum(0).grad_fn,
        "CopySlices": written.grad_fn,
        "AccumulateGrad": (x * x).grad_fn.next_functions[0][0],
    }, x


def test_classes_are_named_like_their_nodes(torch):
    for name, node in nodes_of(torch)[0].items():
        assert type(node).__name__ == type(node).__qualname__ == name
        assert str(type(node)) == f"<class '{name}'>"
        assert repr(node).startswith(f"<{name} object at 0x")
        assert isinstance(node, torch.autograd.graph.Node)
        assert issubclass(type(node), torch.autograd.graph.Node)


def test_name_has_pytorchs_namespace(torch):
    for name, node in nodes_of(torch)[0].items():
        space = "torch::autograd::" if name in ("CopySlices", "AccumulateGrad") else ""
        assert node.name() == space + name


def test_one_class_for_all_nodes_of_a_kind(torch):
    of, x = nodes_of(torch)
    assert type((x * 2).grad_fn) is type(of["MulBackward0"])
    assert len({type(node) for node in of.values()}) == len(of)
    assert not isinstance(of["SumBackward0"], type(of["MulBackward0"]))


def test_classes_cannot_be_called_or_derived_from(torch):
    of, _ = nodes_of(torch)
    for node in of.values():
        with pytest.raises((TypeError, RuntimeError), match=r"cannot create|Cannot construct"):
            type(node)()
    with pytest.raises(TypeError, match="not an acceptable base type"):
        type("Mine", (type(of["MulBackward0"]),), {})


def test_only_leaves_have_a_variable(torch):
    of, x = nodes_of(torch)
    assert of["AccumulateGrad"].variable is x
    assert [name for name, node in of.items() if hasattr(node, "variable")] == ["AccumulateGrad"]
    assert [name for name, node in of.items() if "variable" in dir(node)] == ["AccumulateGrad"]


def test_what_a_node_saved_is_listed(torch):
    x, y = torch.ones(3, requires_grad=True), torch.ones(3)
    saved = [name for name in dir((x * y).grad_fn) if name.startswith("_saved_")]
    assert saved == ["_saved_other", "_saved_self"]
    assert [name for name in dir(x.sum(0).grad_fn) if name == "_saved_dim"] == ["_saved_dim"]


def test_a_program_that_draws_the_graph(torch):
    """What torchviz does of a node."""
    x = torch.ones(2, 2, requires_grad=True)
    drawn, seen = [], set()

    def add(node):
        if node in seen:
            return
        seen.add(node)
        label = str(type(node).__name__)
        if hasattr(node, "variable"):
            label += f" {tuple(node.variable.size())}"
        for name in dir(node):
            if name.startswith("_saved_") and torch.is_tensor(getattr(node, name)):
                label += f" {name.removeprefix('_saved_')}"
        drawn.append(label)
        for below, _ in node.next_functions if hasattr(node, "next_functions") else ():
            if below is not None:
                add(below)

    add((x @ x).exp().sum().grad_fn)
    assert drawn == ["SumBackward0", "ExpBackward0 result", "MmBackward0 mat2 self", "AccumulateGrad (2, 2)"]


def test_nodes_of_a_function(torch):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    node = Double.apply(torch.ones(1, requires_grad=True)).grad_fn
    assert type(node).__name__ == node.name() == "DoubleBackward"
    assert isinstance(node, torch.autograd.graph.Node)
    assert isinstance(node, torch.autograd.function.FunctionCtx)
    assert not hasattr(node, "variable")


@pytest.mark.beyond
def test_attributes_of_a_node_are_its_own(torch):
    of, x = nodes_of(torch)
    of["MulBackward0"].note = "kept"
    assert of["MulBackward0"].note == "kept"
    assert "note" in dir(of["MulBackward0"])
    assert not hasattr((x * x).grad_fn, "note")


@pytest.mark.beyond
def test_a_cycle_through_a_node_is_collected(torch):
    class Marker:
        pass

    x = torch.ones(2, requires_grad=True)
    y = (x * x).exp()
    marker = Marker()
    marker.y = y
    y.grad_fn.metadata["marker"] = marker
    gone = []
    weakref.finalize(marker, gone.append, True)
    del y, marker
    gc.collect()
    assert gone == [True]


@pytest.mark.beyond
def test_a_class_costs_a_node_nothing(torch):
    x, y = torch.ones(4, requires_grad=True), torch.ones(4, requires_grad=True)
    assert (x * y).grad_fn.nbytes <= 200
    before = gc.get_count()[0]
    kept = [x * y for _ in range(100)]
    assert gc.get_count()[0] - before < 50, "nodes are not shown to the collector"
    assert not any(gc.is_tracked(one.grad_fn) for one in kept)


def bytes_of_nodes(torch, calls):
    """What the allocator gives for what a call leaves alive, with a recorded input more than with one that is not."""
    count, taken = 200, []
    for records in (False, True):
        x = torch.ones(4, 6, requires_grad=records)
        kept = [calls(x)]  # what exists once is made
        before = torch.memory.stats().objects
        kept += [calls(x) for _ in range(count)]
        taken.append(torch.memory.stats().objects - before)
    return (taken[1] - taken[0]) / count


VIEWS = {
    "t": lambda x: x.t(),
    "view": lambda x: x.view(6, 4),
    "reshape": lambda x: x.reshape(-1),
    "expand": lambda x: x.expand(2, 4, 6),
    "permute": lambda x: x.permute(1, 0),
    "transpose": lambda x: x.transpose(0, 1),
    "squeeze": lambda x: x.squeeze((0, 1)),
    "unsqueeze": lambda x: x.unsqueeze(1),
    "select": lambda x: x[1],
    "slice": lambda x: x[1:3],
    "diagonal": lambda x: x.diagonal(),
    "unfold": lambda x: x.unfold(0, 2, 1),
}


@pytest.mark.beyond
@pytest.mark.parametrize("name", VIEWS)
def test_the_node_of_a_view_takes_at_most_208_bytes(torch, name):
    assert bytes_of_nodes(torch, VIEWS[name]) == VIEWS[name](torch.ones(4, 6, requires_grad=True)).grad_fn.nbytes <= 208


@pytest.mark.beyond
def test_the_node_of_a_reduction_over_axes_takes_at_most_216_bytes(torch):
    for reduce in (lambda x: x.sum(1), lambda x: x.mean((0, 1), keepdim=True), lambda x: x.amax(0)):
        taken = bytes_of_nodes(torch, reduce)
        assert taken == reduce(torch.ones(4, 6, requires_grad=True)).grad_fn.nbytes <= 216


@pytest.mark.beyond
def test_the_node_of_a_product_takes_at_most_200_bytes(torch):
    assert bytes_of_nodes(torch, lambda x: x * x) <= 200


def test_a_node_keeps_the_attributes_that_its_rule_reads(torch):
    x = torch.ones(4, 6, requires_grad=True)
    node = x.sum((0, -1), keepdim=True).grad_fn
    assert node._saved_keepdim is True
    assert tuple(axis % 2**64 for axis in node._saved_dim) == (0, 2**64 - 1)  # PyTorch shows it without a sign
    assert not hasattr(x.view(6, 4).grad_fn, "_saved_size")
    assert not any(name.startswith("_saved_size") for name in dir(x.view(6, 4).grad_fn))
