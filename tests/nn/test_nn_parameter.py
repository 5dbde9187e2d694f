"""`Parameter`: a leaf that modules recognise, whose results are plain tensors."""

import copy
import pickle

import pytest


def test_parameters_are_leaves_that_decay(torch):
    parameter = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
    assert parameter.is_leaf
    assert parameter.requires_grad
    assert isinstance(parameter, torch.Tensor)
    assert type(parameter * 2) is torch.Tensor
    assert type(parameter.detach()) is torch.Tensor
    assert type(parameter.data) is torch.Tensor
    assert repr(parameter) == "Parameter containing:\ntensor([1., 2.], requires_grad=True)"
    frozen = torch.nn.Parameter(torch.ones(()), requires_grad=False)
    assert repr(frozen) == "Parameter containing:\ntensor(1.)"
    assert torch.nn.Parameter().shape == (0,)


def test_a_parameter_shares_the_memory_of_its_data(torch):
    data = torch.zeros(2)
    parameter = torch.nn.Parameter(data)
    data[0] = 5
    assert parameter[0].item() == 5


def test_parameters_are_copied_and_pickled(torch):
    parameter = torch.nn.Parameter(torch.tensor([1.0, 2.0]), requires_grad=False)
    for twin in (copy.deepcopy(parameter), pickle.loads(pickle.dumps(parameter))):
        assert type(twin) is torch.nn.Parameter
        assert not twin.requires_grad
        assert twin.tolist() == [1.0, 2.0]
    first, second = copy.deepcopy([parameter, parameter])
    assert first is second


@pytest.mark.beyond
def test_a_parameter_is_made_of_a_tensor(torch):
    with pytest.raises(TypeError, match=r"Parameter: expected a tensor, got list; make one with clew.tensor"):
        torch.nn.Parameter([1.0])
