"""Public reports on errors that were hard to understand, each as a test.

The first line of a docstring is the report.
"""

import pytest

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")


def test_a_state_that_is_carried_over(torch):
    """https://github.com/MorvanZhou/PyTorch-Tutorial/issues/57, https://github.com/quark0/darts/issues/56

    A hidden state from the last step leads into a graph that was freed; detached it does not.
    """
    cell = torch.nn.GRUCell(2, 3)
    state = cell(torch.ones(1, 2))
    state.sum().backward()
    loss = cell(torch.ones(1, 2), state).sum()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        loss.backward()
    state = None
    for _ in range(2):
        state = cell(torch.ones(1, 2), state)
        state.sum().backward()
        state = state.detach()


@pytest.mark.beyond
def test_the_place_of_a_second_backward(torch):
    """https://github.com/tim-learn/SHOT/issues/41

    The message named neither the part that was freed nor the line that made it.
    """
    x = torch.ones(2, requires_grad=True)
    h = (x * 2).exp()  # shared
    h.sum().backward()
    with pytest.raises(RuntimeError, match=r"test_what_errors_say\.py:\d+") as caught:
        h.sum().backward()
    assert "ExpBackward0" in str(caught.value)


def test_an_optimizer_of_what_is_no_leaf(torch):
    """https://github.com/pytorch/pytorch/issues/140469, https://github.com/vinsis/ternary-quantization/issues/4

    `randn(requires_grad=True) * 0.01` is a result, so it cannot be optimized; made a leaf again it can.
    """
    start = torch.randn(2, requires_grad=True) * 0.01
    with pytest.raises(ValueError, match="can't optimize a non-leaf Tensor"):
        torch.optim.SGD([start], lr=0.1)
    leaf = start.detach().requires_grad_()
    optimizer = torch.optim.SGD([leaf], lr=0.1)
    leaf.sum().backward()
    optimizer.step()


def test_the_gradient_of_a_result(torch):
    """https://github.com/pytorch/pytorch/issues/5479

    `.grad` of what is no leaf stays None, with a warning, unless `retain_grad()` was called.
    """
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.sum().backward()
    with pytest.warns(UserWarning, match="not a leaf Tensor"):
        assert y.grad is None
    y = x * 2
    y.retain_grad()
    y.sum().backward()
    assert y.grad.tolist() == [1, 1]


def test_derivatives_of_a_constant_gradient(torch):
    """https://github.com/pytorch/pytorch/issues/32304, https://github.com/pytorch/pytorch/issues/36463,
    https://github.com/pytorch/pytorch/issues/38506, https://github.com/pytorch/pytorch/issues/73137

    The gradient of a linear function depends on nothing, so its derivative raises; `func` and `materialize_grads`
    give 0.
    """
    x = torch.tensor(1.0, requires_grad=True)
    (g,) = torch.autograd.grad(2 * x, x, create_graph=True)
    with pytest.raises(RuntimeError):
        torch.autograd.grad(g, x)
    func = torch.func
    assert func.grad(func.grad(lambda x: 2 * x))(torch.tensor(1.0)).item() == 0
    assert func.hessian(lambda x: (2 * x).sum())(torch.ones(2)).tolist() == [[0, 0], [0, 0]]
    assert torch.autograd.functional.hessian(lambda x: (2 * x).sum(), torch.ones(2)).tolist() == [[0, 0], [0, 0]]
    layer = torch.nn.Linear(3, 1)
    inputs = torch.ones(3, requires_grad=True)
    (g,) = torch.autograd.grad(layer(inputs), inputs, create_graph=True)
    (second,) = torch.autograd.grad(g.sum(), inputs, materialize_grads=True)
    assert second.tolist() == [0, 0, 0]


def test_inputs_that_were_not_used(torch):
    """https://github.com/pytorch/pytorch/issues/60027

    A gradient to what the result does not depend on raises; `allow_unused` gives None, `materialize_grads` zeros.
    """
    x, other = torch.ones(2, requires_grad=True), torch.ones(3, requires_grad=True)
    y = x.sum()
    with pytest.raises(RuntimeError, match="not have been used in the graph"):
        torch.autograd.grad(y, other, retain_graph=True)
    assert torch.autograd.grad(y, other, allow_unused=True, retain_graph=True) == (None,)
    assert torch.autograd.grad(y, other, materialize_grads=True)[0].tolist() == [0, 0, 0]


def test_a_penalty_on_a_gradient_without_history(torch):
    """https://github.com/pytorch/pytorch/issues/60027

    Without `create_graph` a gradient is a constant: its backward raises instead of doing nothing.
    """
    x = torch.ones(2, requires_grad=True)
    (g,) = torch.autograd.grad((x**3).sum(), x)
    with pytest.raises(RuntimeError, match="does not require grad"):
        (g**2).sum().backward()


def test_detached_parts_of_second_derivatives(torch):
    """https://github.com/pytorch/functorch/issues/353

    A straight-through estimator by `detach()` had wrong second derivatives: in transforms `detach` reached one level.
    """

    def quantized(x):
        smooth = torch.tanh(x)
        return smooth + (x.round().clamp(-1, 1) - smooth).detach()

    y = torch.tensor([-0.3, -1.1], dtype=torch.float64)
    loss = lambda y: (quantized(y) ** 2).sum()  # noqa: E731
    tangent = 1 - torch.tanh(y) ** 2
    first = 2 * y.round().clamp(-1, 1) * tangent
    second = 2 * tangent**2 + 2 * y.round().clamp(-1, 1) * (-2 * torch.tanh(y) * tangent)
    func = torch.func
    assert torch.allclose(func.grad(loss)(y), first)
    for outer in (func.jacrev, func.jacfwd):
        assert torch.allclose(outer(func.grad(loss))(y), torch.diag(second)), outer
    leaf = y.clone().requires_grad_()
    (g,) = torch.autograd.grad(loss(leaf), leaf, create_graph=True)
    assert torch.allclose(torch.autograd.grad(g.sum(), leaf)[0], second)


def test_parameters_that_are_assigned(torch):
    """https://discuss.pytorch.org/t/leaf-variable-was-used-in-an-inplace-operation/308

    A leaf cannot be written while gradients are recorded; under `no_grad` it can.
    """
    w = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad is being used in an in-place operation"):
        w += 1
    with torch.no_grad():
        w += 1
    assert w.tolist() == [2, 2]
    assert w.is_leaf


def test_a_step_between_two_backwards(torch):
    """https://blog.51cto.com/u_16213604/11952018

    In the training of a GAN one optimizer steps between the forward and the backward of another loss: the weights that
    the second backward needs have been written.
    """
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    out = net(torch.ones(1, 2))
    first, second = out.sum(), (out**2).sum()
    first.backward(retain_graph=True)
    optimizer.step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        second.backward()
