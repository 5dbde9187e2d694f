"""Recurrent networks over sequences, against PyTorch's."""

import numpy
import pytest
import torch as reference

KINDS = ["LSTM", "GRU", "RNN"]


def numbers(shape, seed, dtype):
    return numpy.random.default_rng([seed, *shape]).standard_normal(shape).astype(dtype)


def program(kind, shape, hidden, dtype="float64", state=True, second=True, **options):
    """A run forward and backward as a function of the module: outputs, gradients, second gradients."""

    def run(to):
        net = getattr(to.nn, kind)(shape[-1], hidden, dtype=getattr(to, dtype), **options)
        for seed, parameter in enumerate(net.parameters()):
            with to.no_grad():
                parameter.copy_(to.from_numpy(numbers(tuple(parameter.shape), 10 + seed, dtype) * 0.5))
        x = to.from_numpy(numbers(shape, 0, dtype)).requires_grad_()
        layers = options.get("num_layers", 1) * (1 + options.get("bidirectional", False))
        batch = shape[:-1][0 if options.get("batch_first") else 1 :][:1] if len(shape) == 3 else ()
        states = [to.from_numpy(numbers((layers, *batch, hidden), 1 + i, dtype)).requires_grad_() for i in range(2)]
        states = (states if kind == "LSTM" else states[:1]) if state else []
        out, last = net(x, (tuple(states) if kind == "LSTM" else states[0]) if state else None)
        outputs = [out, *(last if kind == "LSTM" else [last])]
        loss = sum(
            (one * to.from_numpy(numbers(tuple(one.shape), 5 + i, dtype))).sum() for i, one in enumerate(outputs)
        )
        leaves = [x, *states, *net.parameters()]
        first = to.autograd.grad(loss, leaves, create_graph=second)
        again = to.autograd.grad(sum((one * one).sum() for one in first), leaves) if second else []
        return [*outputs, *first, *again]

    return run


@pytest.mark.parametrize("kind", KINDS)
def test_shapes(agree, kind):
    for shape, hidden in [((1, 1, 1), 1), ((5, 3, 4), 6), ((3, 9, 5), 17), ((2, 17, 3), 33), ((4, 7), 5)]:
        agree(program(kind, shape, hidden), 1e-9, 1e-9)
    agree(program(kind, (7, 20, 33), 40, "float32", second=False), 1e-4, 1e-4)
    agree(program(kind, (3, 0, 4), 6, second=False), 1e-9, 1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_options(agree, kind):
    options = [
        {"bias": False},
        {"batch_first": True},
        {"num_layers": 2},
        {"bidirectional": True},
        {"num_layers": 2, "bidirectional": True, "batch_first": True},
        {"num_layers": 2, "bias": False},
    ]
    for each in options:
        agree(program(kind, (4, 3, 5), 6, **each), 1e-9, 1e-9)
        agree(program(kind, (4, 3, 5), 6, state=False, **each), 1e-9, 1e-9)


def test_relu(agree):
    agree(program("RNN", (4, 3, 5), 6, nonlinearity="relu"), 1e-9, 1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_text_names_and_first_weights(torch, kind):
    for options in (
        {},
        {"num_layers": 2, "bidirectional": True, "dropout": 0.25},
        {"bias": False, "batch_first": True},
    ):
        found = []
        for to in (torch, reference):
            to.manual_seed(1)
            net = getattr(to.nn, kind)(3, 4, **options)
            found.append((repr(net), {name: value.numpy() for name, value in net.state_dict().items()}))
        (our_text, ours), (their_text, theirs) = found
        assert our_text == their_text
        assert list(ours) == list(theirs)
        for name, value in ours.items():
            numpy.testing.assert_array_equal(value, theirs[name])
    assert [len(each) for each in getattr(torch.nn, kind)(3, 4).all_weights] == [4]


@pytest.mark.parametrize("kind", KINDS)
def test_one_result_is_enough(torch, kind):
    """The gradient of each result alone."""
    for index in range(2):
        slopes = []
        for to in (torch, reference):
            to.manual_seed(0)
            net = getattr(to.nn, kind)(3, 4)
            x = to.from_numpy(numbers((5, 2, 3), 0, "float32")).requires_grad_()
            result = net(x)[index]
            (result[1] if isinstance(result, tuple) else result).sum().backward()
            slopes.append([x.grad.numpy(), *(parameter.grad.numpy() for parameter in net.parameters())])
        for ours, theirs in zip(*slopes, strict=True):
            numpy.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_dropout_between_layers(torch, kind):
    net = getattr(torch.nn, kind)(3, 4, num_layers=2, dropout=1.0)
    plain = getattr(torch.nn, kind)(3, 4, num_layers=2)
    plain.load_state_dict(net.state_dict())
    x, zeros = torch.ones(5, 2, 3), torch.zeros(5, 2, 4)
    assert torch.equal(net.eval()(x)[0], plain(x)[0])
    upper = getattr(torch.nn, kind)(4, 4)
    upper.load_state_dict({name.replace("l1", "l0"): v for name, v in net.state_dict().items() if "l1" in name})
    torch.testing.assert_close(net.train()(x)[0], upper(zeros)[0])
    with pytest.warns(UserWarning, match="num_layers greater than 1"):
        getattr(torch.nn, kind)(3, 4, dropout=0.5)


def test_inputs_that_depend_on_each_other(agree):
    """A second derivative where the first state is made from the input, and both from one weight."""

    def run(to):
        to.manual_seed(0)
        net, w = to.nn.GRU(3, 3, dtype=to.float64), to.ones(3, dtype=to.float64, requires_grad=True)
        x = to.from_numpy(numbers((4, 2, 3), 0, "float64")) * w
        out, _ = net(x, x[:1] * w)
        (slope,) = to.autograd.grad(out.sum(), w, create_graph=True)
        return slope, to.autograd.grad((slope * slope).sum(), [w, *net.parameters()])

    agree(run, 1e-9, 1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_bits_at_any_number_of_threads(torch, kind):
    before, results = torch.get_num_threads(), []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            torch.manual_seed(0)
            net, x = getattr(torch.nn, kind)(40, 64), torch.randn(30, 37, 40, requires_grad=True)
            net(x)[0].square().sum().backward()
            results.append([x.grad.numpy(), *(parameter.grad.numpy() for parameter in net.parameters())])
    finally:
        torch.set_num_threads(before)
    for one, two in zip(*results, strict=True):
        assert numpy.array_equal(one, two)


@pytest.mark.parametrize("kind", KINDS)
def test_refuses(torch, kind):
    layer = getattr(torch.nn, kind)
    for options, error in [
        ({"num_layers": 0}, ValueError),
        ({"dropout": 1.5}, ValueError),
        ({"dropout": True}, ValueError),
        ({"bias": 1}, TypeError),
        ({"batch_first": 1}, TypeError),
    ]:
        with pytest.raises(error):
            layer(3, 4, **options)
    with pytest.raises(ValueError, match="greater than zero"):
        layer(0, 4)
    with pytest.raises(TypeError, match="should be of type int"):
        layer(3, 4.0)
    net = layer(3, 4)
    state = torch.zeros(1, 2, 4)
    with pytest.raises(ValueError, match="2D or 3D"):
        net(torch.zeros(3))
    with pytest.raises(RuntimeError, match="Expected 3, got 5"):
        net(torch.zeros(6, 2, 5))
    with pytest.raises(ValueError, match="dtype"):
        net(torch.zeros(6, 2, 3, dtype=torch.float64))
    with pytest.raises(RuntimeError):
        net(torch.zeros(0, 2, 3))
    with pytest.raises(RuntimeError, match=r"Expected hidden.* size \(1, 5, 4\), got \[1, 2, 4\]"):
        net(torch.zeros(6, 5, 3), (state, state) if kind == "LSTM" else state)
    with pytest.raises(RuntimeError, match="3-D"):
        net(torch.zeros(6, 2, 3), (state[0], state[0]) if kind == "LSTM" else state[0])


def test_refuses_what_is_not_there(torch):
    if torch is reference:
        pytest.skip("about clew")
    with pytest.raises(NotImplementedError, match="proj_size"):
        torch.nn.LSTM(3, 4, proj_size=2)
    with pytest.raises(ValueError, match="nonlinearity"):
        torch.nn.RNN(3, 4, nonlinearity="sigmoid")
