"""7 Layers start from PyTorch's numbers."""

import numpy
import pytest
from graph_support import values

LAYERS = {
    "Linear": lambda nn: nn.Linear(10, 7),
    "small Linear": lambda nn: nn.Linear(3, 2),
    "Linear without bias": lambda nn: nn.Linear(10, 7, bias=False),
    "large Linear": lambda nn: nn.Linear(784, 256),
    "Embedding": lambda nn: nn.Embedding(20, 6),
    "Embedding with padding": lambda nn: nn.Embedding(20, 6, padding_idx=3),
    "LayerNorm": lambda nn: nn.LayerNorm(8),
    "LSTMCell": lambda nn: nn.LSTMCell(5, 9),
    "Sequential": lambda nn: nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 1)),
    "ModuleList": lambda nn: nn.ModuleList([nn.Linear(2, 2), nn.Embedding(3, 2)]),
    "ModuleDict": lambda nn: nn.ModuleDict({"a": nn.Linear(2, 2), "b": nn.LSTMCell(2, 2)}),
}


@pytest.mark.parametrize("seed", [0, 1, 42, 2**31 + 7])
@pytest.mark.parametrize("name", LAYERS)
def test_layers_start_from_the_same_weights(torch, oracle, seed, name):
    found = []
    for module in (torch, oracle):
        module.manual_seed(seed)
        layer = LAYERS[name](module.nn)
        found.append(([(key, values(value)) for key, value in layer.state_dict().items()], values(module.rand(3))))
    (ours, our_next), (theirs, their_next) = found
    assert [key for key, _ in ours] == [key for key, _ in theirs]
    for (key, mine), (_, other) in zip(ours, theirs, strict=True):
        numpy.testing.assert_array_equal(mine, other, err_msg=key)
    numpy.testing.assert_array_equal(our_next, their_next, err_msg="the stream goes on at the same place")


INITIALISERS = {
    "uniform_": lambda init, w: init.uniform_(w, -1, 2),
    "normal_": lambda init, w: init.normal_(w, 1.0, 0.1),
    "constant_": lambda init, w: init.constant_(w, 0.3),
    "zeros_": lambda init, w: init.zeros_(w),
    "ones_": lambda init, w: init.ones_(w),
    "xavier_uniform_": lambda init, w: init.xavier_uniform_(w),
    "xavier_normal_": lambda init, w: init.xavier_normal_(w, gain=2.0),
    "kaiming_uniform_": lambda init, w: init.kaiming_uniform_(w, a=5**0.5),
    "kaiming_normal_": lambda init, w: init.kaiming_normal_(w, mode="fan_out", nonlinearity="relu"),
}


@pytest.mark.parametrize("name", INITIALISERS)
def test_initialisers(torch, oracle, name):
    found = []
    for module in (torch, oracle):
        module.manual_seed(3)
        w = module.nn.Parameter(module.empty(13, 17))
        assert INITIALISERS[name](module.nn.init, w) is w
        assert (w.requires_grad, w.is_leaf) == (True, True)
        found.append(values(w))
    numpy.testing.assert_array_equal(*found)
