"""1.1 The graph is made as operations run."""

import numpy
import pytest

CREATED = {
    "tensor": lambda torch, **how: torch.tensor([1.0, 2.0], **how),
    "zeros": lambda torch, **how: torch.zeros(2, 3, **how),
    "ones": lambda torch, **how: torch.ones(2, 3, **how),
    "full": lambda torch, **how: torch.full((2, 3), 1.5, **how),
    "empty": lambda torch, **how: torch.empty(2, 3, **how),
    "arange": lambda torch, **how: torch.arange(0.0, 3.0, **how),
    "linspace": lambda torch, **how: torch.linspace(0, 1, 5, **how),
    "eye": lambda torch, **how: torch.eye(3, **how),
    "rand": lambda torch, **how: torch.rand(2, 3, **how),
    "randn": lambda torch, **how: torch.randn(2, 3, **how),
    "zeros_like": lambda torch, **how: torch.zeros_like(torch.ones(2), **how),
    "ones_like": lambda torch, **how: torch.ones_like(torch.ones(2), **how),
    "full_like": lambda torch, **how: torch.full_like(torch.ones(2), 3.0, **how),
    "rand_like": lambda torch, **how: torch.rand_like(torch.ones(2), **how),
    "randn_like": lambda torch, **how: torch.randn_like(torch.ones(2), **how),
}


@pytest.mark.parametrize("name", CREATED)
def test_what_the_user_makes_is_a_leaf(torch, name):
    plain = CREATED[name](torch)
    assert plain.is_leaf
    assert plain.grad_fn is None
    assert not plain.requires_grad
    wants = CREATED[name](torch, requires_grad=True)
    assert wants.is_leaf
    assert wants.grad_fn is None
    assert wants.requires_grad
    assert wants.grad is None


def test_from_numpy_and_parameters_are_leaves(torch):
    taken = torch.from_numpy(numpy.ones(3, dtype=numpy.float32))
    parameter = torch.nn.Parameter(torch.ones(3))
    assert (taken.is_leaf, taken.grad_fn, taken.requires_grad) == (True, None, False)
    assert (parameter.is_leaf, parameter.grad_fn, parameter.requires_grad) == (True, None, True)


def test_a_result_that_depends_on_a_gradient_has_a_grad_fn_at_once(torch):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    assert x.grad_fn is None
    y = x**2
    assert y.grad_fn.name() == "PowBackward0"
    z = y.sum()
    assert z.grad_fn.name() == "SumBackward0"
    assert (y.is_leaf, y.requires_grad, z.is_leaf, z.requires_grad) == (False, True, False, True)


def test_a_result_of_tensors_without_gradient_is_a_leaf(torch):
    y = torch.ones(3) * torch.ones(3)
    assert (y.is_leaf, y.grad_fn, y.requires_grad) == (True, None, False)


def test_one_input_with_a_gradient_is_enough(torch):
    x, w = torch.ones(3), torch.ones(3, requires_grad=True)
    assert (x * w).requires_grad
    assert (w * x).requires_grad
    assert torch.cat([x, x, w]).requires_grad


def test_results_that_have_no_derivative_record_nothing(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    for result in (x > 1, x.argmax(), x == x, x.isnan(), x.long(), x.max(0).indices):
        assert not result.requires_grad
        assert result.grad_fn is None
        assert result.is_leaf


@pytest.mark.beyond
def test_nodes_are_counted_as_they_are_built(torch):
    x = torch.ones(3, requires_grad=True)
    y = x * x
    built = torch._core.graph_counters()["nodes_built"]
    y = y * x
    assert torch._core.graph_counters()["nodes_built"] == built + 1
    z = (y + 1).sum()
    assert torch._core.graph_counters()["nodes_built"] == built + 3
    torch.ones(3) * 2
    assert torch._core.graph_counters()["nodes_built"] == built + 3
    assert z.requires_grad


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda torch, x: x * 2, "MulBackward0"),
        (lambda torch, x: x / x, "DivBackward0"),
        (lambda torch, x: 2 - x, "RsubBackward1"),
        (lambda torch, x: 2**x, "PowBackward2"),
        (lambda torch, x: x**2, "PowBackward0"),
        (lambda torch, x: x.sum(), "SumBackward0"),
        (lambda torch, x: x.sum(0), "SumBackward1"),
        (lambda torch, x: x.mean(), "MeanBackward0"),
        (lambda torch, x: x.mean(0), "MeanBackward1"),
        (lambda torch, x: torch.nn.Linear(3, 2)(x), "AddmmBackward0"),
        (lambda torch, x: (x @ x.T).trace(), "TraceBackward0"),
    ],
)
def test_names_that_the_table_gives(torch, make, name):
    node = make(torch, torch.randn(3, 3, requires_grad=True)).grad_fn
    assert node.name() == name
    assert name in repr(node)
    assert type(node.name()) is str
