"""Initial values are PyTorch's for the same seed."""

import math

import pytest

DRAWS = {
    "uniform_": (-2.0, 3.0),
    "normal_": (1.0, 2.0),
    "constant_": (3.0,),
    "ones_": (),
    "zeros_": (),
    "eye_": (),
    "xavier_uniform_": (1.5,),
    "xavier_normal_": (1.5,),
    "kaiming_uniform_": (0.1, "fan_out", "leaky_relu"),
    "kaiming_normal_": (0.0, "fan_in", "relu"),
    "trunc_normal_": (0.5, 1.0, -1.0, 1.0),
    "orthogonal_": (2.0,),
}


@pytest.mark.unsanitized("comparisons with PyTorch are made without sanitizers")
@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (20, 20)])
@pytest.mark.parametrize("name", DRAWS)
def test_values_are_pytorchs(name, shape, agree):
    def program(m):
        tensor = m.zeros(shape).requires_grad_()
        result = getattr(m.nn.init, name)(tensor, *DRAWS[name])
        return tensor, result is tensor, tensor.requires_grad, m.rand(2)

    agree(program, absolute=3e-5)


def test_more_than_two_dimensions(agree):
    agree(lambda m: m.nn.init.kaiming_uniform_(m.zeros(4, 3, 2, 2)))
    agree(lambda m: m.nn.init.orthogonal_(m.zeros(4, 3, 2)), absolute=3e-5)


def test_a_truncated_normal_far_from_its_mean(agree):
    def program(m):
        return m.nn.init.trunc_normal_(m.zeros(200), 0.0, 1.0, 1.5, 4.0), m.rand(1)

    agree(program)


def test_a_truncated_normal_beyond_two_deviations_warns(torch):
    with pytest.warns(UserWarning, match="more than 2 std"):
        torch.nn.init.trunc_normal_(torch.zeros(2), 0.0, 1.0, 3.0, 4.0)


def test_a_generator_can_be_given(agree):
    def program(m):
        generator = m.Generator().manual_seed(5)
        return m.nn.init.uniform_(m.zeros(3), generator=generator), m.nn.init.normal_(m.zeros(3), generator=generator)

    agree(program)


def test_gains(torch, oracle):
    for arguments in [("linear",), ("tanh",), ("relu",), ("selu",), ("sigmoid",), ("leaky_relu",), ("leaky_relu", 0.3)]:
        assert math.isclose(torch.nn.init.calculate_gain(*arguments), oracle.nn.init.calculate_gain(*arguments))


@pytest.mark.parametrize(
    ("act", "text"),
    [
        (lambda i, m: i.calculate_gain("cosine"), "Unsupported nonlinearity cosine"),
        (lambda i, m: i.calculate_gain("leaky_relu", "x"), "not a valid number"),
        (lambda i, m: i.kaiming_uniform_(m.zeros(2, 2), mode="fan"), "Mode fan not supported"),
        (lambda i, m: i.xavier_uniform_(m.zeros(2)), "fewer than 2 dimensions"),
        (lambda i, m: i.eye_(m.zeros(2)), "2 dimensions"),
        (lambda i, m: i.orthogonal_(m.zeros(2)), "2 or more dimensions"),
    ],
)
def test_bad_arguments_are_refused(act, text, torch):
    with pytest.raises(ValueError, match=text):
        act(torch.nn.init, torch)
