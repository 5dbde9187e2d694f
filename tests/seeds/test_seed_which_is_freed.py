"""The thread "Which is freed, which is not?"."""

import pytest

SECOND_TIME = "^Trying to backward through the graph a second time"


def test_example_1_passes(torch):
    a = torch.randn(2, 3)
    x = torch.nn.Linear(3, 3)

    for _ in range(100):
        y = torch.sum(x(a))
        y.backward()

    # d sum / d weight is the sum of the rows of a, for each of 3 outputs, 100 times
    expected = (100 * a.sum(0)).expand(3, 3)
    assert torch.allclose(x.weight.grad, expected, rtol=1e-3, atol=1e-3)
    assert torch.allclose(x.bias.grad, torch.full((3,), 200.0))


def test_example_2_fails(torch):
    a = torch.randn(2, 3)
    x = torch.nn.Linear(3, 3)
    y = torch.sum(x(a))

    done = 0

    def loop():
        nonlocal done
        for _ in range(100):
            y.backward()
            done += 1

    with pytest.raises(RuntimeError, match=SECOND_TIME) as caught:
        loop()
    assert done == 1
    assert "retain_graph=True" in str(caught.value)


def test_example_2_passes_when_the_graph_is_retained(torch):
    a = torch.randn(2, 3)
    x = torch.nn.Linear(3, 3)
    y = torch.sum(x(a))
    for _ in range(100):
        y.backward(retain_graph=True)
    assert torch.allclose(x.bias.grad, torch.full((3,), 200.0))


def test_x_and_a_are_not_freed(torch):
    """ "Then x, a will be freed too." They are not: the user holds them."""
    a = torch.randn(2, 3)
    x = torch.nn.Linear(3, 3)
    before = a.tolist(), x.weight.tolist(), x.bias.tolist()
    torch.sum(x(a)).backward()
    assert (a.tolist(), x.weight.tolist(), x.bias.tolist()) == before


def test_what_the_comments_say_is_in_the_graph(torch):
    a = torch.randn(2, 3)
    x = torch.nn.Linear(3, 3)
    # "It contains two leaf Variables"
    assert [parameter.is_leaf for parameter in x.parameters()] == [True, True]
    # "a is a Variable that does not require gradient, has no graph associated to it"
    assert (a.requires_grad, a.grad_fn) == (False, None)
    x_out = x(a)
    y = torch.sum(x_out)
    # "y has a graph containing the sum operation and all the graph of x_out"
    assert y.grad_fn.name() == "SumBackward0"
    assert y.grad_fn.next_functions[0][0] is x_out.grad_fn


def test_layer_outside_the_loop_fails_in_the_second_iteration(torch):
    a = torch.randn(2, 3)
    x = torch.nn.Linear(3, 3)
    x_out = x(a)

    done = []

    def loop():
        for i in range(100):
            y = torch.sum(x_out)
            y.backward()
            done.append(i)

    with pytest.raises(RuntimeError, match=SECOND_TIME):
        loop()
    assert done == [0]


@pytest.mark.beyond
def test_layer_outside_the_loop_is_named_as_the_culprit(torch):
    a = torch.randn(2, 3)
    x = torch.nn.Linear(3, 3)
    x_out = x(a)
    torch.sum(x_out).backward()
    with pytest.raises(torch.autograd.errors.GraphFreedError) as caught:
        torch.sum(x_out).backward()
    assert caught.value.made_at.line == test_layer_outside_the_loop_is_named_as_the_culprit.__code__.co_firstlineno + 4


def test_layer_inside_the_loop_passes(torch):
    a = torch.randn(2, 3)
    x = torch.nn.Linear(3, 3)

    for _ in range(100):
        x_out = x(a)
        y = torch.sum(x_out)
        y.backward()

    assert torch.allclose(x.bias.grad, torch.full((3,), 200.0))


def test_the_loop_passes_with_retain_graph_as_the_answer_says(torch):
    a = torch.randn(2, 3)
    x = torch.nn.Linear(3, 3)
    x_out = x(a)
    for _ in range(100):
        y = torch.sum(x_out)
        y.backward(retain_graph=True)
    assert torch.allclose(x.bias.grad, torch.full((3,), 200.0))


def test_two_backwards_in_one_iteration(torch):
    a = torch.randn(2, 3)
    x = torch.nn.Linear(3, 3)
    x_out = x(a)
    y = torch.sum(x_out)
    y.backward()  # fine
    with pytest.raises(RuntimeError, match=SECOND_TIME):
        y.backward()  # fail


def test_a_times_five(torch):
    a = torch.tensor(2.0, requires_grad=True)
    c = a * 5
    c.backward()  # After back prop, the buffer would be deleted
    with pytest.raises(RuntimeError, match=SECOND_TIME):
        c.backward()
    assert a.grad.item() == 5.0
    # 1. "Does it mean we can't use those tensors or functions anymore?" We can.
    assert (c + 1).item() == 11.0
    assert a.item() == 2.0


@pytest.mark.beyond
def test_there_is_an_api_to_check(torch):
    """ "Can you please show a simple example to check if the buffers are deleted after backward?" """
    a = torch.tensor([2.0, 3.0], requires_grad=True)
    c = (a * a).sum()
    product = c.grad_fn.next_functions[0][0]
    assert {slot.state for slot in product.saved} == {"held"}
    c.backward()
    assert {slot.state for slot in product.saved} == {"freed"}


def test_references_in_python(torch):
    t = torch.rand(10)  # Here we create a Tensor
    numbers = t.tolist()
    held = [t]  # Here the list contains the same Tensor
    del t  # We delete t
    assert held[0].tolist() == numbers  # The other reference to t is still valid

    t = torch.rand(10)
    numbers = t.tolist()
    held = [t]
    assert held[0] is t
    del held  # We delete the list that contains the reference to t
    assert t.tolist() == numbers  # t still exists


def test_what_is_intermediate(torch):
    nn = torch.nn
    a = torch.tensor([2.0, 3.0], requires_grad=True).view(2, 1)
    layer = nn.Linear(1, 3)
    y = layer(a)
    z = y * 5
    o = torch.sum(z)
    o.backward()
    # Variables that have a name live on; "every Function saves only what it needs".
    assert tuple(a.shape) == (2, 1)
    assert torch.allclose(z, y * 5)
    assert torch.allclose(layer.bias.grad, torch.full((3,), 10.0))
    assert torch.allclose(layer.weight.grad, torch.full((3, 1), 25.0))


@pytest.mark.beyond
def test_what_is_intermediate_can_be_asked(torch):
    a = torch.tensor([2.0, 3.0], requires_grad=True).view(2, 1)
    layer = torch.nn.Linear(1, 3)
    y = layer(a)
    o = torch.sum(y * 5)
    product = o.grad_fn.next_functions[0][0]
    assert [slot.name for slot in o.grad_fn.saved] == [], "sum saves nothing"
    assert y.shape not in [slot.shape for slot in product.saved], "the product by a number does not save y"
    assert {(2, 1), (3, 1)} & {slot.shape for slot in y.grad_fn.saved}, "the layer saves its input"


def test_modifying_in_place_shows_what_was_saved(torch):
    leaf = torch.rand(10, requires_grad=True)
    # We do a clone to be allowed to do inplace ops on it later
    self = leaf.clone()
    other = torch.rand(10)  # This one does NOT requires gradients

    # Backward works
    output = self * other
    output.backward(torch.ones_like(output))

    # Here we only ask for gradients for self. So self should not be saved:
    self = leaf.clone()
    output = self * other
    self += 1
    output.backward(torch.ones_like(output))  # Works !
    assert torch.allclose(leaf.grad, 2 * other)

    # But we need the value of other:
    self = leaf.clone()
    output = self * other
    other += 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        output.backward(torch.ones_like(output))  # Fails !
