"""Convolution, pooling and normalisation layers: PyTorch's weights, outputs, gradients, states and text."""

import pytest


def ramp(m, *sizes):
    """Fixed numbers in [-2, 2], no two of them equal, in no order; the same on both modules."""
    count = 1
    for size in sizes:
        count *= size
    return (m.linspace(-2.0, 2.0, count) * 7.3).sin().mul(2).reshape(sizes)


def sequence(m):
    return ramp(m, 2, 4, 9)


def image(m):
    return ramp(m, 2, 4, 8, 7)


def volume(m):
    return ramp(m, 2, 4, 4, 5, 6)


LAYERS = {
    "Conv1d": lambda n: (n.Conv1d(4, 6, 3), sequence),
    "Conv1d same": lambda n: (n.Conv1d(4, 6, 3, padding="same", dilation=2), sequence),
    "Conv2d": lambda n: (n.Conv2d(4, 6, 3), image),
    "Conv2d all": lambda n: (n.Conv2d(4, 6, (3, 2), (2, 1), (1, 0), (1, 2), 2, False), image),
    "Conv2d valid": lambda n: (n.Conv2d(4, 6, 3, 2, "valid"), image),
    "Conv3d": lambda n: (n.Conv3d(4, 6, 3, stride=2, padding=1), volume),
    "ConvTranspose1d": lambda n: (n.ConvTranspose1d(4, 6, 3, 2), sequence),
    "ConvTranspose2d": lambda n: (n.ConvTranspose2d(4, 6, (3, 2), 2, 1, (1, 0), 2, False, 1), image),
    "ConvTranspose3d": lambda n: (n.ConvTranspose3d(4, 6, 2), volume),
    "MaxPool1d": lambda n: (n.MaxPool1d(3, 2, 1), sequence),
    "MaxPool2d": lambda n: (n.MaxPool2d(2), image),
    "MaxPool2d all": lambda n: (n.MaxPool2d((3, 2), (1, 2), (1, 0), (1, 2), ceil_mode=True), image),
    "MaxPool3d": lambda n: (n.MaxPool3d(2, 1), volume),
    "AvgPool1d": lambda n: (n.AvgPool1d(3, 2, 1), sequence),
    "AvgPool2d": lambda n: (n.AvgPool2d(2), image),
    "AvgPool2d all": lambda n: (n.AvgPool2d((3, 2), (1, 2), (1, 0), True, False, 5), image),
    "AvgPool3d": lambda n: (n.AvgPool3d(2, 1), volume),
    "AdaptiveAvgPool1d": lambda n: (n.AdaptiveAvgPool1d(4), sequence),
    "AdaptiveAvgPool2d": lambda n: (n.AdaptiveAvgPool2d((3, None)), image),
    "AdaptiveAvgPool2d to one": lambda n: (n.AdaptiveAvgPool2d(1), image),
    "AdaptiveAvgPool3d": lambda n: (n.AdaptiveAvgPool3d(2), volume),
    "AdaptiveMaxPool1d": lambda n: (n.AdaptiveMaxPool1d(4), sequence),
    "AdaptiveMaxPool2d": lambda n: (n.AdaptiveMaxPool2d((3, None)), image),
    "AdaptiveMaxPool3d": lambda n: (n.AdaptiveMaxPool3d(2), volume),
    "BatchNorm1d": lambda n: (n.BatchNorm1d(4), sequence),
    "BatchNorm1d of vectors": lambda n: (n.BatchNorm1d(4), lambda m: ramp(m, 5, 4)),
    "BatchNorm2d": lambda n: (n.BatchNorm2d(4, momentum=0.3, eps=0.1), image),
    "BatchNorm2d plain": lambda n: (n.BatchNorm2d(4, affine=False), image),
    "BatchNorm2d without bias": lambda n: (n.BatchNorm2d(4, bias=False), image),
    "BatchNorm2d of all batches": lambda n: (n.BatchNorm2d(4, momentum=None), image),
    "BatchNorm2d without statistics": lambda n: (n.BatchNorm2d(4, track_running_stats=False), image),
    "BatchNorm3d": lambda n: (n.BatchNorm3d(4), volume),
    "InstanceNorm1d": lambda n: (n.InstanceNorm1d(4), sequence),
    "InstanceNorm2d": lambda n: (n.InstanceNorm2d(4, affine=True, track_running_stats=True), image),
    "InstanceNorm3d": lambda n: (n.InstanceNorm3d(4), volume),
    "GroupNorm": lambda n: (n.GroupNorm(2, 4), image),
    "GroupNorm plain": lambda n: (n.GroupNorm(4, 4, affine=False), sequence),
}


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_agrees(name, agree):
    """Twice in training, once in evaluation."""

    def program(m):
        layer, make = LAYERS[name](m.nn)
        text, x = repr(layer), make(m).requires_grad_()
        results = []
        for training in (True, True, False):
            output = layer.train(training)(x)
            (output * output.detach().cos()).sum().backward()
            results.append(output)
        gradients = {name: parameter.grad for name, parameter in layer.named_parameters()}
        return results, x.grad, gradients, layer.state_dict(), text

    agree(program, relative=1e-4, absolute=2e-5)


@pytest.mark.parametrize("name", ["MaxPool1d", "MaxPool2d", "MaxPool3d", "AdaptiveMaxPool2d"])
def test_indices_agree(name, agree):
    make = {"1d": sequence, "2d": image, "3d": volume}[name[-2:]]
    agree(lambda m: list(getattr(m.nn, name)(2, return_indices=True)(make(m))))


def test_an_output_size_for_a_transposed_convolution(agree, torch):
    def program(m):
        layer = m.nn.ConvTranspose2d(4, 2, 3, stride=2, padding=1)
        return layer(image(m), [16, 13]), layer(image(m), (2, 2, 15, 14))

    agree(program)
    with pytest.raises(ValueError, match="requested an output size of"):
        torch.nn.ConvTranspose2d(4, 2, 3, stride=2)(image(torch), [99, 99])


def test_a_state_goes_to_another_layer_and_back(torch):
    first, second = torch.nn.BatchNorm2d(4), torch.nn.BatchNorm2d(4)
    first(image(torch))
    assert list(first.state_dict()) == ["weight", "bias", "running_mean", "running_var", "num_batches_tracked"]
    second.load_state_dict(first.state_dict())
    assert second.num_batches_tracked.item() == 1
    assert (second.eval()(image(torch)) == first.eval()(image(torch))).all()
    second.reset_running_stats()
    assert second.running_mean.tolist() == [0] * 4
    assert second.num_batches_tracked.item() == 0


def test_a_convolutional_net_trains(agree):
    """Some steps of a net with all of them give PyTorch's losses."""

    def program(m):
        n = m.nn
        net = n.Sequential(
            n.Conv2d(1, 16, 3, padding=1), n.BatchNorm2d(16), n.ReLU(), n.MaxPool2d(2),
            n.Conv2d(16, 16, 3, padding=1, bias=False), n.BatchNorm2d(16), n.ReLU(), n.AdaptiveAvgPool2d(2),
            n.Flatten(), n.Linear(64, 5),
        )  # fmt: skip
        optimizer = m.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
        x, target, losses = ramp(m, 8, 1, 14, 14), m.arange(8) % 5, []
        for _ in range(6):
            optimizer.zero_grad()
            loss = n.functional.cross_entropy(net(x), target)
            loss.backward()
            optimizer.step()
            losses.append(loss)
        return losses

    agree(program, relative=2e-4)


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda n: n.Conv2d(3, 4, 3, groups=2), ValueError, "in_channels must be divisible by groups"),
        (lambda n: n.Conv2d(4, 3, 3, groups=2), ValueError, "out_channels must be divisible by groups"),
        (lambda n: n.Conv2d(4, 3, 3, groups=0), ValueError, "groups must be a positive integer"),
        (lambda n: n.Conv2d(3, 4, 3, padding="some"), ValueError, "Invalid padding string 'some'"),
        (lambda n: n.Conv2d(3, 4, 3, 2, "same"), ValueError, "not supported for strided convolutions"),
        (lambda n: n.Conv2d(3, 4, 3, padding_mode="some"), ValueError, "padding_mode must be one of"),
        (lambda n: n.ConvTranspose2d(3, 4, 3, padding_mode="reflect"), ValueError, 'Only "zeros" padding mode'),
        (lambda n: n.GroupNorm(2, 3), ValueError, "must be divisible by num_groups"),
    ],
)
def test_bad_layers_are_refused(make, error, text, torch):
    with pytest.raises(error, match=text):
        make(torch.nn)


@pytest.mark.parametrize(
    ("make", "shape", "error", "text"),
    [
        (lambda n: n.Conv2d(3, 4, 3), (1, 2, 8, 8), RuntimeError, "to have 3 channels, but got 2"),
        (lambda n: n.BatchNorm1d(3), (2, 3, 4, 4), ValueError, "expected 2D or 3D input"),
        (lambda n: n.BatchNorm2d(3), (2, 3), ValueError, "expected 4D input"),
        (lambda n: n.BatchNorm2d(3), (2, 4, 2, 2), RuntimeError, "should contain 4 elements not 3"),
        (lambda n: n.BatchNorm1d(3), (1, 3), ValueError, "Expected more than 1 value per channel"),
        (lambda n: n.InstanceNorm2d(3, affine=True), (2, 4, 2, 2), ValueError, "to match num_features"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(make, shape, error, text, torch):
    layer = make(torch.nn)
    with pytest.raises(error, match=text):
        layer(torch.zeros(shape))


@pytest.mark.beyond
@pytest.mark.parametrize(
    "options",
    [
        {"kernel_size": b"me"},
        {"kernel_size": (3,)},
        {"kernel_size": (3, 3, 3)},
        {"kernel_size": "3"},
        {"kernel_size": (3, 2.5)},
        {"kernel_size": 3, "stride": (1,) * 65},
        {"kernel_size": 3, "padding": ()},
        {"kernel_size": 3, "dilation": 1.5},
    ],
    ids=str,
)
def test_sizes_that_no_image_has_are_refused(torch, options):
    """PyTorch makes a layer that never runs."""
    wrong = list(options)[-1]
    with pytest.raises(TypeError, match=f"Conv2d: expected {wrong} to be an int or 2 ints, got "):
        torch.nn.Conv2d(3, 1, **options)


def test_one_in_a_sequence_stands_for_all(torch, oracle):
    for options in ({"stride": (2,)}, {"padding": [1]}, {"dilation": (2,)}):
        ours, theirs = (module.nn.Conv2d(3, 4, 3, **options) for module in (torch, oracle))
        assert repr(ours) == repr(theirs)
        assert ours(torch.ones(1, 3, 8, 8)).shape == tuple(theirs(oracle.ones(1, 3, 8, 8)).shape)
