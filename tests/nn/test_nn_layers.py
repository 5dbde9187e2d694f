"""Layers: the same seed gives PyTorch's weights, outputs, gradients and text."""

import pytest


def ramp(m, *sizes):
    """Fixed numbers in [-2, 2], the same on both modules."""
    count = 1
    for size in sizes:
        count *= size
    return m.linspace(-2.0, 2.0, count).reshape(sizes) if count else m.zeros(sizes)


LAYERS = {
    "linear": lambda m: (m.nn.Linear(4, 3), [ramp(m, 5, 4)]),
    "linear without bias": lambda m: (m.nn.Linear(4, 3, bias=False), [ramp(m, 5, 4)]),
    "linear on a vector": lambda m: (m.nn.Linear(4, 3), [ramp(m, 4)]),
    "linear on three dimensions": lambda m: (m.nn.Linear(4, 3), [ramp(m, 2, 5, 4)]),
    "linear on an empty batch": lambda m: (m.nn.Linear(4, 3), [ramp(m, 0, 4)]),
    "linear in float64": lambda m: (m.nn.Linear(4, 3, dtype=m.float64), [ramp(m, 5, 4).double()]),
    "bilinear": lambda m: (m.nn.Bilinear(4, 3, 2), [ramp(m, 5, 4), ramp(m, 5, 3)]),
    "identity": lambda m: (m.nn.Identity(54, anything=True), [ramp(m, 2, 3)]),
    "layer norm": lambda m: (m.nn.LayerNorm(4), [ramp(m, 5, 4) ** 2]),
    "layer norm over two dimensions": lambda m: (m.nn.LayerNorm((3, 4), eps=1e-3), [ramp(m, 2, 3, 4) ** 2]),
    "layer norm without bias": lambda m: (m.nn.LayerNorm(4, bias=False), [ramp(m, 5, 4) ** 2]),
    "layer norm plain": lambda m: (m.nn.LayerNorm(4, elementwise_affine=False), [ramp(m, 5, 4) ** 2]),
    "flatten": lambda m: (m.nn.Flatten(), [ramp(m, 2, 3, 4)]),
    "unflatten": lambda m: (m.nn.Unflatten(1, (2, 3)), [ramp(m, 2, 6)]),
    "dropout": lambda m: (m.nn.Dropout(0.4), [ramp(m, 5, 40)]),
    "dropout of nothing": lambda m: (m.nn.Dropout(0.0), [ramp(m, 5, 4)]),
    "dropout of all": lambda m: (m.nn.Dropout(1.0), [ramp(m, 5, 4)]),
    "dropout in evaluation": lambda m: (m.nn.Dropout(0.4).eval(), [ramp(m, 5, 4)]),
    "LSTM cell": lambda m: (m.nn.LSTMCell(3, 4), [ramp(m, 2, 3), (ramp(m, 2, 4), ramp(m, 2, 4))]),
    "LSTM cell from zeros": lambda m: (m.nn.LSTMCell(3, 4, bias=False), [ramp(m, 2, 3)]),
    "LSTM cell of one sample": lambda m: (m.nn.LSTMCell(3, 4), [ramp(m, 3), (ramp(m, 4), ramp(m, 4))]),
    "GRU cell": lambda m: (m.nn.GRUCell(3, 4), [ramp(m, 2, 3), ramp(m, 2, 4)]),
    "GRU cell of one sample": lambda m: (m.nn.GRUCell(3, 4), [ramp(m, 3)]),
    "RNN cell": lambda m: (m.nn.RNNCell(3, 4), [ramp(m, 2, 3), ramp(m, 2, 4)]),
    "RNN cell with relu": lambda m: (m.nn.RNNCell(3, 4, nonlinearity="relu"), [ramp(m, 2, 3)]),
    "sequential": lambda m: (m.nn.Sequential(m.nn.Linear(4, 8), m.nn.Tanh(), m.nn.Linear(8, 2)), [ramp(m, 5, 4)]),
}


def tensors_in(values):
    for value in values if isinstance(values, (list, tuple)) else [values]:
        if isinstance(value, (list, tuple)):
            yield from tensors_in(value)
        else:
            yield value


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_agrees(name, agree):
    def program(m):
        layer, inputs = LAYERS[name](m)
        leaves = [tensor.requires_grad_() for tensor in tensors_in(inputs)]
        output = layer(*inputs)
        loss = sum((part * part.detach().cos()).sum() for part in tensors_in(output))
        loss.backward()
        parameters = {name: (parameter, parameter.grad) for name, parameter in layer.named_parameters()}
        return output, [leaf.grad for leaf in leaves], parameters, layer.state_dict(), repr(layer)

    agree(program)


@pytest.mark.parametrize("padding", [None, 1, -1])
def test_embedding_agrees(padding, agree):
    def program(m):
        layer = m.nn.Embedding(5, 3, padding_idx=padding)
        output = layer(m.tensor([[1, 4], [1, 0]]))
        (output * output).sum().backward()
        return layer.weight, output, layer.weight.grad, repr(layer)

    agree(program)


def test_embedding_from_pretrained_is_frozen_unless_asked(torch):
    table = torch.rand(3, 2)
    frozen = torch.nn.Embedding.from_pretrained(table)
    assert not frozen.weight.requires_grad
    assert torch.nn.Embedding.from_pretrained(table, freeze=False).weight.requires_grad
    assert (frozen(torch.tensor([2])) == table[2]).all()


def test_embedding_refuses_what_it_cannot_do(torch, on_oracle):
    if not on_oracle:
        with pytest.raises(NotImplementedError, match="max_norm"):
            torch.nn.Embedding(3, 2, max_norm=1.0)
        with pytest.raises(NotImplementedError, match="scale_grad_by_freq"):
            torch.nn.Embedding(3, 2, scale_grad_by_freq=True)
    with pytest.raises(AssertionError, match=r"[Pp]adding_idx must be within num_embeddings"):
        torch.nn.Embedding(3, 2, padding_idx=3)


def test_weights_are_drawn_in_pytorchs_order(agree):
    def program(m):
        drawn = [m.nn.Linear(3, 5), m.nn.LSTMCell(2, 4), m.nn.Embedding(4, 2), m.nn.Linear(2, 2, bias=False)]
        return [layer.state_dict() for layer in drawn], m.rand(3)

    agree(program)


def test_a_layer_of_no_inputs_has_no_weights_to_draw(torch):
    with pytest.warns(UserWarning, match="zero-element"):
        layer = torch.nn.Linear(0, 3)
    assert layer(torch.zeros(2, 0)).shape == (2, 3)


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda m: m.nn.Dropout(1.5), ValueError, "dropout probability has to be between 0 and 1, but got 1.5"),
        (lambda m: m.nn.Bilinear(0, 1, 1), ValueError, "in1_features must be > 0"),
        (lambda m: m.nn.RNNCell(1, 1, nonlinearity="sin")(m.zeros(1)), (ValueError, RuntimeError), "sin"),
        (lambda m: m.nn.LSTMCell(2, 2)(m.zeros(1, 1, 2)), ValueError, "Expected input to be 1D or 2D, got 3D instead"),
        (lambda m: m.nn.GRUCell(2, 2)(m.zeros(1, 2), m.zeros(1, 1, 2)), ValueError, "Expected hidden to be 1D or 2D"),
        (lambda m: m.nn.Linear(3, 2)(m.zeros(2, 4)), RuntimeError, None),
        (lambda m: m.nn.Embedding(3, 2)(m.tensor([3])), IndexError, None),
        (lambda m: m.nn.LayerNorm(3)(m.zeros(2, 4)), RuntimeError, None),
        (lambda m: m.nn.Unflatten(1, 3), TypeError, "unflattened_size must be"),
        (lambda m: m.nn.Embedding.from_pretrained(m.zeros(3)), (AssertionError, ValueError), "2-dimensional"),
    ],
)
def test_bad_arguments_are_refused(make, error, text, torch):
    with pytest.raises(error, match=text):
        make(torch)


@pytest.mark.beyond
@pytest.mark.parametrize("name", ["LayerNorm", "RMSNorm"])
@pytest.mark.parametrize("shape", [b"mean", "mean"])
def test_text_is_no_shape_to_normalize(name, shape, torch):
    with pytest.raises(TypeError, match=f"{name}: expected normalized_shape to be a size or a sequence of sizes"):
        getattr(torch.nn, name)(shape)
