"""Dtypes, devices, values and arguments that cannot be."""

import numpy
import pytest
from refusing import assert_refused, cases

DTYPES = {
    "gradients of integers": ("requires_grad", lambda torch, t: t.integers.requires_grad_()),
    "gradients of integers by attribute": (
        "requires_grad",
        lambda torch, t: setattr(t.integers, "requires_grad", True),
    ),
    "gradients of integers when made": ("gradient", lambda torch, t: torch.tensor([1, 2], requires_grad=True)),
    "gradients of bools": ("gradient", lambda torch, t: torch.zeros(2, dtype=torch.bool, requires_grad=True)),
    "integer parameters": ("gradient", lambda torch, t: torch.nn.Parameter(torch.tensor([1]))),
    "mm": ("mm", lambda torch, t: t.matrix.mm(torch.ones(3, 2, dtype=torch.float64))),
    "matmul": ("dtype", lambda torch, t: t.matrix @ t.integers),
    "dot": ("dot", lambda torch, t: t.leaf.dot(t.integers)),
    "linear": ("dtype", lambda torch, t: torch.nn.functional.linear(t.integers, t.matrix)),
    "mean of integers": ("mean", lambda torch, t: t.integers.mean()),
    "std of integers": ("std", lambda torch, t: t.integers.std()),
    "softmax of integers": ("softmax", lambda torch, t: t.integers.softmax(0)),
    "minus of bools": ("neg", lambda torch, t: -t.mask),
    "difference of bools": ("sub", lambda torch, t: t.mask - t.mask),
    "not of floats": ("", lambda torch, t: ~t.leaf, (TypeError, RuntimeError)),
    "and of floats": ("", lambda torch, t: t.leaf & t.leaf, (TypeError, RuntimeError)),
    "index by floats": ("indices", lambda torch, t: t.matrix[torch.tensor([0.0])]),
    "index by a float": ("indices", lambda torch, t: t.matrix[1.5]),
    "index by text": ("index", lambda torch, t: t.matrix["a"]),
    "gather by floats": ("gather", lambda torch, t: t.leaf.gather(0, torch.tensor([0.0]))),
    "index_select by floats": ("index_select", lambda torch, t: t.leaf.index_select(0, torch.tensor([0.0]))),
    "embedding by floats": ("embedding", lambda torch, t: torch.nn.functional.embedding(t.leaf, t.matrix)),
    "where without bools": ("where", lambda torch, t: torch.where(t.leaf, t.leaf, t.leaf)),
    "masked_fill without bools": ("masked_fill", lambda torch, t: t.leaf.masked_fill(t.integers, 1.0)),
    "masked_select without bools": ("masked_select", lambda torch, t: t.leaf.masked_select(t.integers)),
    "class labels of floats": (
        "cross_entropy",
        lambda torch, t: torch.nn.functional.cross_entropy(t.matrix, torch.tensor([0.0, 1.0])),
        (RuntimeError, ValueError),
    ),
    "floats into integers": ("add", lambda torch, t: t.integers.add_(1.5)),
    "division into integers": ("div", lambda torch, t: t.integers.div_(2)),
    "floats out into integers": ("add", lambda torch, t: torch.add(t.plain[0], 1.5, out=t.integers)),
    "dropout of a large chance": ("dropout", lambda torch, t: torch.nn.functional.dropout(t.leaf, 1.5)),
    "Dropout of a negative chance": ("dropout", lambda torch, t: torch.nn.Dropout(-0.1)),
    "bernoulli of a large chance": ("bernoulli", lambda torch, t: torch.bernoulli(torch.tensor([1.5]))),
    "a scatter of another dtype": (
        "scatter",
        lambda torch, t: t.plain.scatter(
            1, torch.zeros(2, 1, dtype=torch.int64), torch.ones(2, 1, dtype=torch.float64)
        ),
    ),
    "integers to negative powers": ("pow", lambda torch, t: t.integers ** (-1)),
    "randperm of floats": ("", lambda torch, t: torch.randperm(5.5), TypeError),
}

VALUES = {
    "truth of many": ("Boolean value of Tensor with more than one value is ambiguous", lambda torch, t: bool(t.leaf)),
    "truth of none": ("Boolean value of Tensor with no values is ambiguous", lambda torch, t: bool(torch.zeros(0))),
    "if of many": ("ambiguous", lambda torch, t: 1 if t.matrix > 1 else 2),
    "and of many": ("ambiguous", lambda torch, t: t.leaf > 0 and t.leaf < 2),
    "item of many": ("item", lambda torch, t: t.leaf.item()),
    "item of none": ("item", lambda torch, t: torch.zeros(0).item()),
    "float of many": ("", lambda torch, t: float(t.plain), (TypeError, ValueError, RuntimeError)),
    "int of many": ("", lambda torch, t: int(t.integers), (TypeError, ValueError, RuntimeError)),
    "index by a float scalar": ("", lambda torch, t: [1, 2, 3][torch.tensor(1.0)], TypeError),
    "len of a scalar": ("len", lambda torch, t: len(torch.tensor(1.0))),
    "iteration over a scalar": ("iterat", lambda torch, t: list(torch.tensor(1.0))),
    "numpy of what requires a gradient": ("numpy", lambda torch, t: t.leaf.numpy()),
    "numpy of a result": ("numpy", lambda torch, t: t.result.numpy()),
    "an array of what requires a gradient": ("numpy", lambda torch, t: numpy.asarray(t.leaf)),
    "a ragged list": ("sequence", lambda torch, t: torch.tensor([[1.0, 2.0], [3.0]])),
    "a list of lists and numbers": ("", lambda torch, t: torch.tensor([[1.0], 2.0]), (TypeError, ValueError)),
    "text": ("str", lambda torch, t: torch.tensor("abc")),
    "a list with text": ("str", lambda torch, t: torch.tensor([1.0, "a"]), (TypeError, ValueError)),
    "none": ("None", lambda torch, t: torch.tensor(None), (TypeError, RuntimeError)),
    "a list with none": ("None", lambda torch, t: torch.tensor([1.0, None]), (TypeError, RuntimeError)),
    "an object": ("object", lambda torch, t: torch.tensor(object()), (TypeError, RuntimeError)),
    "a set": ("set", lambda torch, t: torch.tensor({1, 2}), (TypeError, RuntimeError)),
    "a number beyond int64": ("", lambda torch, t: torch.tensor([2**70]), (RuntimeError, OverflowError, ValueError)),
    "from_numpy of a list": ("list", lambda torch, t: torch.from_numpy([1, 2])),
    "from_numpy of text": ("", lambda torch, t: torch.from_numpy(numpy.array(["a"]))),
    "from_numpy of objects": ("", lambda torch, t: torch.from_numpy(numpy.array([object()]))),
    "from_numpy of negative strides": ("stride", lambda torch, t: torch.from_numpy(numpy.arange(3.0)[::-1])),
    "a copy of a result": ("deepcopy", lambda torch, t: __import__("copy").deepcopy(t.result)),
    "comparison with text": ("", lambda torch, t: t.leaf < "a"),
}

ARGUMENTS = {
    "too few": ("mm", lambda torch, t: torch.mm(t.matrix)),
    "too many": ("exp", lambda torch, t: torch.exp(t.leaf, t.leaf, t.leaf)),
    "method with too many": ("exp", lambda torch, t: t.leaf.exp(1, 2)),
    "unknown keyword": ("sum", lambda torch, t: torch.sum(t.leaf, axle=1)),
    "unknown keyword of a method": ("sum", lambda torch, t: t.leaf.sum(dimension=0)),
    "unknown keyword of a maker": ("zeros", lambda torch, t: torch.zeros(2, color="red")),
    "unknown keyword of backward": ("backward", lambda torch, t: t.result.sum().backward(keep=True)),
    "unknown keyword of tensor": ("tensor", lambda torch, t: torch.tensor([1.0], kind="x")),
    "argument given twice": ("sum", lambda torch, t: torch.sum(t.leaf, 0, dim=0)),
    "none for a tensor": ("exp", lambda torch, t: torch.exp(None)),
    "none as the second": ("add", lambda torch, t: torch.add(t.leaf, None)),
    "plus none": ("", lambda torch, t: t.leaf + None),
    "plus text": ("", lambda torch, t: t.leaf + "a"),
    "text plus": ("", lambda torch, t: "a" + t.leaf),
    "a list for a tensor": ("exp", lambda torch, t: torch.exp([1.0, 2.0])),
    "a number for a tensor": ("exp", lambda torch, t: torch.exp(1.0)),
    "an array for a tensor": ("mm", lambda torch, t: torch.mm(t.matrix, numpy.ones((3, 2)))),
    "text for a dim": ("sum", lambda torch, t: t.leaf.sum("a"), (TypeError, RuntimeError)),
    "none for a size": ("zeros", lambda torch, t: torch.zeros(None)),
    "a float for a size": ("zeros", lambda torch, t: torch.zeros(2.5)),
    "text for a size": ("view", lambda torch, t: t.leaf.view("a")),
    "a float for a dim": ("transpose", lambda torch, t: t.matrix.transpose(0.5, 1)),
    "no tensor in a list": ("cat", lambda torch, t: torch.cat([1, 2])),
    "a tensor for a list": ("cat", lambda torch, t: torch.cat(t.leaf)),
    "text for a dtype": ("dtype", lambda torch, t: torch.zeros(2, dtype="float32")),
    "a size for a dtype": ("", lambda torch, t: t.leaf.to(5), (TypeError, RuntimeError, AssertionError)),
    "an unknown reduction": (
        "reduction", lambda torch, t: torch.nn.functional.mse_loss(t.leaf, t.leaf, reduction="most"), ValueError
    ),
    "an unknown attribute": ("bananas", lambda torch, t: t.leaf.bananas),
    "an unknown function": ("bananas", lambda torch, t: torch.bananas),
    "requires_grad of text": ("", lambda torch, t: setattr(t.plain, "requires_grad", "yes")),
    "a shape that is set": ("", lambda torch, t: setattr(t.plain, "grad_fn", None), AttributeError),
    "data of text": ("", lambda torch, t: setattr(t.plain, "data", "abc")),
    "out of text": ("add", lambda torch, t: torch.add(t.plain, 1, out="a")),
    "Linear with one size": ("", lambda torch, t: torch.nn.Linear(3)),
    "SGD with a negative rate": ("learning rate", lambda torch, t: torch.optim.SGD([t.leaf], lr=-1.0)),
    "SGD of nothing": ("empty", lambda torch, t: torch.optim.SGD([], lr=1.0)),
    "SGD of a result": ("leaf", lambda torch, t: torch.optim.SGD([t.result], lr=1.0)),
    "SGD of a tensor": ("", lambda torch, t: torch.optim.SGD(t.leaf, lr=1.0)),
    "nesterov without momentum": ("nesterov", lambda torch, t: torch.optim.SGD([t.leaf], lr=1.0, nesterov=True)),
    "Adam with wrong betas": ("beta", lambda torch, t: torch.optim.Adam([t.leaf], betas=(1.5, 0.9))),
    "a state that does not fit": (
        "weight", lambda torch, t: torch.nn.Linear(3, 2).load_state_dict(torch.nn.Linear(2, 2).state_dict())
    ),
    "a state with unknown keys": (
        "bananas", lambda torch, t: torch.nn.Linear(3, 2).load_state_dict({"bananas": t.plain})
    ),
    "a module without forward": ("forward", lambda torch, t: torch.nn.Module()(t.plain)),
    "a seed of text": ("", lambda torch, t: torch.manual_seed("abc"), (TypeError, ValueError, RuntimeError)),
    "set_grad_enabled of nothing": ("", lambda torch, t: torch.set_grad_enabled()),
}  # fmt: skip


@pytest.mark.parametrize(("call", "words", "error"), cases(DTYPES))
def test_dtypes_that_do_not_fit(torch, oracle, on_oracle, call, words, error):
    assert_refused(torch, oracle, on_oracle, call, words, error)


@pytest.mark.parametrize(("call", "words", "error"), cases(VALUES))
def test_values_that_are_not_there(torch, oracle, on_oracle, call, words, error):
    assert_refused(torch, oracle, on_oracle, call, words, error)


@pytest.mark.parametrize(("call", "words", "error"), cases(ARGUMENTS))
def test_arguments_that_do_not_fit(torch, oracle, on_oracle, call, words, error):
    assert_refused(torch, oracle, on_oracle, call, words, error)


@pytest.mark.beyond
@pytest.mark.parametrize("name", ["uint16", "uint32", "uint64"])
def test_arrays_of_dtypes_that_are_not_there_yet(torch, oracle, on_oracle, name):
    array = numpy.zeros(3, dtype=name)
    for call in (
        lambda torch, t: torch.from_numpy(array),
        lambda torch, t: torch.tensor(array),
        lambda torch, t: torch.as_tensor(array),
    ):
        assert_refused(torch, oracle, on_oracle, call, name, NotImplementedError)


DEVICES = {
    "zeros": ("cuda", lambda torch, t: torch.zeros(2, device="cuda"), (RuntimeError, AssertionError)),
    "tensor": ("cuda", lambda torch, t: torch.tensor([1.0], device="cuda:0"), (RuntimeError, AssertionError)),
    "to": ("cuda", lambda torch, t: t.leaf.to("cuda"), (RuntimeError, AssertionError)),
    "to by keyword": ("cuda", lambda torch, t: t.leaf.to(device="cuda"), (RuntimeError, AssertionError)),
    "cuda": ("cuda", lambda torch, t: t.leaf.cuda(), (RuntimeError, AssertionError)),
    "module": ("cuda", lambda torch, t: torch.nn.Linear(2, 2).to("cuda"), (RuntimeError, AssertionError)),
    "unknown": ("bananas", lambda torch, t: torch.zeros(2, device="bananas")),
    "unknown device": ("bananas", lambda torch, t: torch.device("bananas")),
    "number of a device": ("", lambda torch, t: torch.zeros(2, device=0), (RuntimeError, AssertionError)),
}


@pytest.mark.parametrize(("call", "words", "error"), cases(DEVICES))
def test_devices_that_are_not_there(torch, oracle, on_oracle, call, words, error):
    assert_refused(torch, oracle, on_oracle, call, words, error)


def test_the_device_that_is_there(torch):
    x = torch.zeros(2, device="cpu")
    assert x.device == torch.device("cpu")
    assert str(x.device) == "cpu"
    assert x.to("cpu") is x
    assert not torch.cuda.is_available()


@pytest.mark.beyond
def test_arguments_by_keyword_only_do_not_count_as_places(torch):
    x = torch.ones(1)
    with pytest.raises(TypeError, match=r"add\(\): takes at most 2 positional arguments, got 3"):
        torch.add(x, x, x)
