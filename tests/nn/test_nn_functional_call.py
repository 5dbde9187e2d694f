"""func.functional_call: a module with other tensors in place of its own."""

import pytest

import clew


def built(module):
    """Two layers with one weight, and a buffer."""

    class Tied(module.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = module.nn.Linear(2, 2)
            self.second = module.nn.Linear(2, 2, bias=False)
            self.second.weight = self.first.weight
            self.register_buffer("count", module.zeros(()))

        def forward(self, x, scale=1.0):
            self.count = self.count + 1
            return self.second(self.first(x)) * scale

    net = Tied()
    with module.no_grad():
        for parameter in net.parameters():
            parameter.fill_(0.5)
    return net


@pytest.fixture(params=["clew", "torch"])
def module(request, oracle):
    return clew if request.param == "clew" else oracle


def test_the_result_is_that_of_the_tensors_and_the_module_keeps_its_own(module):
    net = built(module)
    own = net.first.weight
    x = module.ones(1, 2)
    given = {"first.weight": module.eye(2, requires_grad=True), "count": module.tensor(5.0)}
    result = module.func.functional_call(net, given, (x,), {"scale": 2.0})
    assert result.tolist() == [[3, 3]]
    result.sum().backward()
    assert given["first.weight"].grad is not None
    assert given["count"].item() == 6
    assert net.first.weight is own
    assert net.second.weight is own
    assert net.count.item() == 0
    assert own.grad is None


def test_ties_can_be_cut(module):
    net, x = built(module), module.ones(1, 2)
    given = {"first.weight": 2 * module.eye(2)}
    assert module.func.functional_call(net, given, x).tolist() == [[5, 5]]
    assert module.func.functional_call(net, given, x, tie_weights=False).tolist() == [[2.5, 2.5]]
    both = {"first.weight": module.eye(2), "second.weight": module.zeros(2, 2)}
    with pytest.raises(ValueError, match="multiple values"):
        module.func.functional_call(net, both, x)
    assert module.func.functional_call(net, both, x, tie_weights=False).tolist() == [[0, 0]]


def test_several_dicts(module):
    net, x = built(module), module.ones(1, 2)
    parts = ({"first.weight": module.eye(2)}, {"first.bias": module.zeros(2)})
    assert module.func.functional_call(net, parts, x).tolist() == [[1, 1]]
    with pytest.raises(ValueError, match="multiple dictionaries"):
        module.func.functional_call(net, (parts[0], parts[0]), x)
    with pytest.raises(ValueError, match="Expected parameter_and_buffer_dicts"):
        module.func.functional_call(net, 3, x)


def test_strict_asks_for_all_names(module):
    net, x = built(module), module.ones(1, 2)
    with pytest.raises(RuntimeError):
        module.func.functional_call(net, {"first.weight": module.eye(2)}, x, strict=True)
    everything = dict(net.named_parameters()) | dict(net.named_buffers())
    assert module.func.functional_call(net, everything, x, strict=True).shape == (1, 2)
    with pytest.raises(RuntimeError):
        module.func.functional_call(net, everything | {"other": x}, x, strict=True)


def test_an_error_puts_things_back(module):
    net = built(module)
    own = net.first.weight
    with pytest.raises(RuntimeError):
        module.func.functional_call(net, {"first.weight": module.ones(3, 5)}, module.ones(1, 2))
    assert net.first.weight is own


def test_gradients_through_a_step_of_descent():
    """What learning to learn does: the second derivative passes through the replaced parameters."""
    layer = clew.nn.Linear(1, 1, bias=False).double()
    x = clew.ones(1, 1, dtype=clew.float64)

    def after_a_step(weight):
        (slope,) = clew.autograd.grad(
            clew.func.functional_call(layer, {"weight": weight}, x).pow(3).sum(), weight, create_graph=True
        )
        return clew.func.functional_call(layer, {"weight": weight - 0.1 * slope}, x)

    weight = clew.full((1, 1), 0.7, dtype=clew.float64, requires_grad=True)
    assert clew.autograd.gradcheck(after_a_step, weight)
