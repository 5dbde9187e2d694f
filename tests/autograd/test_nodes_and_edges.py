"""1.2 Nodes, edges and what can be read from them."""

import gc

import pytest
from graph_support import assert_equal, node_named


def test_next_functions_is_a_tuple_of_node_and_index(torch):
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    z = y.sum()
    assert type(z.grad_fn.next_functions) is tuple
    assert z.grad_fn.next_functions == ((y.grad_fn, 0),)
    assert z.grad_fn.next_functions[0][0] is y.grad_fn
    assert type(z.grad_fn.next_functions[0]) is tuple
    assert y.grad_fn is y.grad_fn


def test_index_says_which_output_of_the_node(torch):
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    _, second = x.unbind()
    assert second.grad_fn.name() == "UnbindBackward0"
    y = second * 2
    assert y.grad_fn.next_functions[0] == (second.grad_fn, 1)
    y.sum().backward()
    assert_equal(x.grad, [[0, 0, 0], [2, 2, 2]])


def test_each_leaf_ends_in_one_accumulate_grad(torch):
    x, w = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    y = x * w
    z = w + x
    (x_end, _), (w_end, _) = y.grad_fn.next_functions
    assert {node.name().split("::")[-1] for node in (x_end, w_end)} == {"AccumulateGrad"}
    assert x_end is not w_end
    assert z.grad_fn.next_functions == ((w_end, 0), (x_end, 0))
    assert z.grad_fn.next_functions[0][0] is w_end
    assert (x * x).grad_fn.next_functions == ((x_end, 0), (x_end, 0))


def test_accumulate_grad_is_a_leaf_of_the_graph_and_knows_its_variable(torch):
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    end = y.grad_fn.next_functions[0][0]
    assert end.next_functions == ()
    assert end.variable is x
    assert "AccumulateGrad" in repr(end)


@pytest.mark.beyond
def test_variable_is_none_when_the_leaf_is_gone(torch):
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    end = y.grad_fn.next_functions[0][0]
    del x
    assert end.variable is None


def test_inputs_without_gradient_give_none_and_zero(torch):
    x, w = torch.ones(3), torch.ones(3, requires_grad=True)
    assert (x * w).grad_fn.next_functions[0] == (None, 0)
    assert (x * w).grad_fn.next_functions[1][0].variable is w
    edges = torch.cat([x, w, x]).grad_fn.next_functions
    assert [node is None for node, _ in edges] == [True, False, True]
    assert [index for _, index in edges] == [0, 0, 0]


def test_metadata_is_a_dict_that_stays_with_the_node(torch):
    y = torch.ones(3, requires_grad=True) * 2
    assert y.grad_fn.metadata == {}
    y.grad_fn.metadata["why"] = "because"
    z = y.sum()
    gc.collect()
    assert z.grad_fn.next_functions[0][0].metadata == {"why": "because"}


def test_nodes_have_hooks(torch):
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    seen = []
    y.grad_fn.register_prehook(lambda grads: seen.append("before"))
    y.grad_fn.register_hook(lambda grads, outputs: seen.append("after"))
    y.sum().backward()
    assert seen == ["before", "after"]


def test_saved_names_tensors_that_were_saved(torch):
    a, b = torch.ones(3, requires_grad=True), torch.full((3,), 2.0, requires_grad=True)
    y = a * b
    assert y.grad_fn._saved_self is a
    assert y.grad_fn._saved_other is b
    assert_equal(a.exp().grad_fn._saved_result, a.exp().tolist())
    assert (a**3).grad_fn._saved_exponent == 3
    assert (a**3).grad_fn._saved_self is a
    assert_equal(a.tanh().grad_fn._saved_result, a.tanh().tolist())


def test_saved_is_none_for_what_was_not_needed(torch):
    a, b = torch.ones(3, requires_grad=True), torch.ones(3)
    assert (a * b).grad_fn._saved_self is None
    assert (a * b).grad_fn._saved_other is b


def test_saved_attribute_that_the_node_does_not_have(torch):
    y = torch.ones(3, requires_grad=True) * 2
    with pytest.raises(AttributeError):
        y.grad_fn._saved_nonsense  # noqa: B018


def test_a_saved_intermediate_is_the_users_object(torch):
    x = torch.ones(3, requires_grad=True)
    h = x + 1
    y = h * torch.ones(3, requires_grad=True)
    assert y.grad_fn._saved_self is h


@pytest.mark.beyond
def test_a_saved_output_is_the_users_object_while_it_lives(torch):
    x = torch.ones(3, requires_grad=True)
    y = x.exp()
    assert y.grad_fn._saved_result is y
    z = y.sum()
    result = y.tolist()
    del y
    saved = z.grad_fn.next_functions[0][0]._saved_result
    assert saved.tolist() == result
    assert saved.grad_fn is z.grad_fn.next_functions[0][0]


def test_a_saved_intermediate_whose_user_is_gone_keeps_its_history(torch):
    x = torch.tensor([2.0], requires_grad=True)
    h = x * 3
    y = h**2
    del h
    saved = y.grad_fn._saved_self
    assert saved.tolist() == [6.0]
    assert saved.requires_grad
    assert saved.grad_fn is y.grad_fn.next_functions[0][0]


def test_walk_over_a_whole_graph(torch):
    x = torch.randn(2, 3, requires_grad=True)
    z = x.sum(dim=1).mean()
    assert node_named(z, "SumBackward").next_functions[0][0].variable is x
    assert z.grad_fn.next_functions[0][0] is node_named(z, "SumBackward")
