"""Activations agree with PyTorch's, forward, backward and in text."""

import pytest

ACTIVATIONS = {
    "CELU": [(), (2.0,)],
    "ELU": [(), (0.5,)],
    "GELU": [(), ("tanh",)],
    "Hardsigmoid": [()],
    "Hardswish": [()],
    "Hardtanh": [(), (-0.5, 2.0)],
    "LeakyReLU": [(), (0.3,)],
    "LogSigmoid": [()],
    "LogSoftmax": [(1,), (-1,)],
    "Mish": [()],
    "PReLU": [(), (4,)],
    "ReLU": [()],
    "ReLU6": [()],
    "SELU": [()],
    "SiLU": [()],
    "Sigmoid": [()],
    "Softmax": [(0,), (1,)],
    "Softmin": [(1,)],
    "Softplus": [(), (2.0, 3.0)],
    "Softsign": [()],
    "Tanh": [()],
    "Tanhshrink": [()],
    "Threshold": [(0.1, 20.0)],
    "GLU": [(), (0,)],
}
CASES = [(name, arguments) for name, variants in ACTIVATIONS.items() for arguments in variants]


@pytest.mark.parametrize(("name", "arguments"), CASES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_an_activation_agrees(name, arguments, dtype, agree):
    def program(m):
        # No number is where a derivative jumps.
        x = (m.linspace(-7.77, 7.93, 24, dtype=getattr(m, dtype))).reshape(6, 4).requires_grad_()
        layer = getattr(m.nn, name)(*arguments).to(getattr(m, dtype))
        y = layer(x)
        (y * m.linspace(0.1, 1.0, y.numel(), dtype=x.dtype).reshape(y.shape)).sum().backward()
        return y, x.grad, {name: parameter.grad for name, parameter in layer.named_parameters()}, repr(layer)

    agree(program, relative=2e-5, absolute=2e-6)


@pytest.mark.parametrize("name", ["ReLU", "ReLU6", "Hardtanh"])
def test_an_activation_can_work_in_place(name, agree):
    def program(m):
        x = m.linspace(-7.77, 7.93, 24).requires_grad_()
        middle = x * 1.0
        y = getattr(m.nn, name)(inplace=True)(middle)
        y.sum().backward()
        return y, middle, x.grad, y is middle, repr(getattr(m.nn, name)(inplace=True))

    agree(program)


def test_softmax_guesses_a_dimension_and_warns(torch, agree):
    def program(m):
        with pytest.warns(UserWarning, match="Implicit dimension choice"):
            return [m.nn.Softmax()(m.ones(sizes)) for sizes in [(3,), (2, 3), (2, 3, 4)]]

    agree(program)


def test_unknown_options_are_refused(torch):
    with pytest.raises(TypeError):
        torch.nn.ReLU(slope=1)
    with pytest.raises(TypeError):
        torch.nn.ELU(1.0, False, 3)
    with pytest.raises(TypeError):
        torch.nn.ELU(1.0, alpha=2.0)


def test_impossible_options_are_refused(torch):
    with pytest.raises((ValueError, AssertionError)):
        torch.nn.Hardtanh(1.0, -1.0)(torch.zeros(2))
    with pytest.raises(RuntimeError):
        torch.nn.GLU()(torch.zeros(3))
    with pytest.raises(RuntimeError):
        torch.nn.PReLU(3)(torch.zeros(2, 4))


def test_hardswish_in_place(agree):
    def program(m):
        layer, x = m.nn.Hardswish(inplace=True), m.tensor([-4.0, 1.5, 4.0])
        return layer(x), x, layer.inplace, repr(layer)

    agree(program)
