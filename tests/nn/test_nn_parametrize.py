"""Parametrizations, weight and spectral norms, and calls with other parameters: as PyTorch's."""

import copy
import pickle

import pytest
from agreement import plain


def ramp(m, *sizes):
    count = 1
    for size in sizes:
        count *= size
    return (m.arange(count).reshape(sizes) * 0.61).sin()


def symmetric(m):
    class Symmetric(m.nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).mT

    return Symmetric()


def scaled(m, by=2.0):
    class Scaled(m.nn.Module):
        def forward(self, x):
            return x * by

        def right_inverse(self, x):
            return x / by

    return Scaled()


def split(m):
    class Split(m.nn.Module):
        def forward(self, low, high):
            return low + high

        def right_inverse(self, x):
            return x * 0.25, x * 0.75

    return Split()


def seen(m, layer):
    """What can be told of a parametrized square layer: results, gradients, names, text."""
    x = ramp(m, 3, 4)
    for parameter in layer.parameters():
        parameter.grad = None
    output = layer(x)
    (output * output.detach().cos()).sum().backward()
    grads = {name: one.grad for name, one in layer.named_parameters()}
    return output, grads, layer.state_dict(), repr(layer), type(layer).__name__, layer.weight


KINDS = {
    "one": [symmetric],
    "with an inverse": [scaled],
    "two": [scaled, scaled],
    "several originals": [split],
    "several originals, then one": [split, scaled],
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_parametrized_layer_agrees(kind, agree):
    def program(m):
        P, layer = m.nn.utils.parametrize, m.nn.Linear(4, 4)
        for make in KINDS[kind]:
            assert P.register_parametrization(layer, "weight", make(m)) is layer
        told = [P.is_parametrized(layer), P.is_parametrized(layer, "bias"), P.is_parametrized(layer, "weight")]
        results = [told, seen(m, layer), P.type_before_parametrizations(layer) is m.nn.Linear]
        if kind != "one":
            layer.weight = ramp(m, 4, 4)
            results.append(seen(m, layer))
        copied = copy.deepcopy(layer)
        results.append(seen(m, copied))
        P.remove_parametrizations(layer, "weight")
        results += [seen(m, layer), P.is_parametrized(layer), P.is_parametrized(copied)]
        return results

    agree(program)


def test_originals_can_be_put_back(agree):
    def program(m):
        P, layer = m.nn.utils.parametrize, m.nn.Linear(4, 4)
        weight = layer.weight
        P.register_parametrization(layer, "weight", symmetric(m))
        same = layer.parametrizations.weight.original is weight
        P.remove_parametrizations(layer, "weight", leave_parametrized=False)
        return same, layer.weight is weight, type(layer) is m.nn.Linear, list(layer.state_dict())

    agree(program)


def test_values_are_cached_in_a_block(torch):
    P, layer = torch.nn.utils.parametrize, torch.nn.Linear(4, 4)
    P.register_parametrization(layer, "weight", symmetric(torch))
    assert layer.weight is not layer.weight
    with P.cached():
        weight = layer.weight
        with P.cached():
            assert layer.weight is weight
        assert layer.weight is weight
    assert layer.weight is not weight


def test_buffers_can_be_parametrized(agree):
    def program(m):
        layer = m.nn.BatchNorm1d(4)
        m.nn.utils.parametrize.register_parametrization(layer, "running_mean", scaled(m))
        names = list(layer.state_dict())
        m.nn.utils.parametrize.remove_parametrizations(layer, "running_mean")
        return names, list(layer.state_dict()), layer.running_mean

    agree(program)


def test_parametrizations_are_given_to_another_module(agree):
    def program(m):
        P, source, target = m.nn.utils.parametrize, m.nn.Linear(4, 4), m.nn.Linear(4, 4)
        P.register_parametrization(source, "weight", scaled(m))
        P.transfer_parametrizations_and_params(source, target)
        return target.weight.equal(source.weight), P.is_parametrized(target, "weight"), list(target.state_dict())

    agree(program)


@pytest.mark.parametrize(
    ("act", "error", "text"),
    [
        (
            lambda m, P: P.register_parametrization(m.nn.Linear(2, 2), "w", m.nn.Identity()),
            ValueError,
            "does not have a",
        ),
        (
            lambda m, P: P.register_parametrization(m.nn.Linear(2, 3), "weight", m.nn.Flatten(0)),
            ValueError,
            "change the",
        ),
        (lambda m, P: P.remove_parametrizations(m.nn.Linear(2, 2), "weight"), ValueError, "have a parametrization"),
        (
            lambda m, P: pickle.dumps(P.register_parametrization(m.nn.Linear(2, 2), "weight", m.nn.Tanh())),
            RuntimeError,
            "only supported through state_dict",
        ),
        (
            lambda m, P: m.nn.utils.parametrizations.spectral_norm(m.nn.Linear(2, 2), n_power_iterations=0),
            ValueError,
            "n_power_iterations to be positive",
        ),
        (
            lambda m, P: m.nn.utils.parametrizations.spectral_norm(m.nn.Linear(2, 2), "w"),
            ValueError,
            "has no parameter",
        ),
        (lambda m, P: m.nn.utils.remove_spectral_norm(m.nn.Linear(2, 2)), ValueError, "spectral_norm of 'weight'"),
        (lambda m, P: m.nn.utils.remove_weight_norm(m.nn.Linear(2, 2)), ValueError, "weight_norm of 'weight'"),
    ],
)
def test_bad_arguments_are_refused(act, error, text, torch):
    with pytest.raises(error, match=text):
        act(torch, torch.nn.utils.parametrize)


def test_what_has_no_inverse_takes_no_value(torch):
    class Refusing(torch.nn.Module):
        def forward(self, x):
            return x * 2

        def right_inverse(self, x):
            raise NotImplementedError("one way only")

    for make, error in [(lambda: symmetric(torch), RuntimeError), (Refusing, NotImplementedError)]:
        layer = torch.nn.Linear(3, 3)
        torch.nn.utils.parametrize.register_parametrization(layer, "weight", make())
        with pytest.raises(error, match=r"does not implement right_inverse|one way only"):
            layer.weight = torch.ones(3, 3)


@pytest.mark.parametrize("trivial", [True, False])
@pytest.mark.parametrize("kind", [None, "matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4)])
def test_orthogonal_weights_agree(shape, kind, trivial, agree):
    def program(m):
        m.manual_seed(0)
        layer = m.nn.Linear(shape[1], shape[0], bias=False).double()
        layer.weight.data = ramp(m, *shape).double() + m.eye(*shape, dtype=m.float64)
        layer = m.nn.utils.parametrizations.orthogonal(layer, "weight", kind, use_trivialization=trivial)
        results = [layer.weight, repr(layer), sorted(layer.state_dict())]
        (layer.weight * ramp(m, *shape)).sum().backward()
        results.append(layer.parametrizations.weight.original.grad)
        turned = m.linalg.qr(ramp(m, 4, 4).double() + m.eye(4, dtype=m.float64))[0][: shape[0], : shape[1]]
        if shape == (3, 3):
            turned = m.linalg.qr(turned)[0]
        elif shape == (4, 2):
            turned = turned.contiguous()
        try:
            layer.weight = turned
        except NotImplementedError as error:
            results.append(str(error))
        return [*results, layer.weight]

    agree(program)


@pytest.mark.parametrize(
    ("make", "arguments"),
    [(lambda m: m.nn.Linear(2, 2), ("bias",)), (lambda m: m.nn.Linear(2, 2), ("none",)),
     (lambda m: m.nn.Linear(2, 2), ("weight", "no such map"))],
)  # fmt: skip
def test_bad_orthogonal_weights_are_refused(make, arguments, torch):
    with pytest.raises(ValueError, match=r"Expected a matrix|no parameter or buffer|orthogonal_map has to be one of"):
        torch.nn.utils.parametrizations.orthogonal(make(torch), *arguments)


LAYERS = {
    "linear": (lambda m: m.nn.Linear(4, 3), (5, 4)),
    "conv": (lambda m: m.nn.Conv2d(2, 3, 2), (1, 2, 4, 4)),
    "transposed conv": (lambda m: m.nn.ConvTranspose1d(2, 3, 2), (1, 2, 4)),
}


def normed(m, utils, which, options, make, shape):
    """Three steps in training and one call in evaluation, and what the layer has then."""
    layer = getattr(utils, which)(make(m), **options)
    results = [list(layer.state_dict()), repr(layer)]
    optimizer = m.optim.SGD(layer.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        output = layer(ramp(m, *shape))
        (output * output.detach().cos()).sum().backward()
        results.append({name: one.grad for name, one in layer.named_parameters()})
        optimizer.step()
    layer.eval()
    return [*results, layer(ramp(m, *shape)), dict(layer.state_dict())], layer


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize(
    ("which", "options"),
    [
        ("weight_norm", {}),
        ("weight_norm", {"dim": None}),
        ("weight_norm", {"dim": 1}),
        ("spectral_norm", {}),
        ("spectral_norm", {"n_power_iterations": 2, "dim": 1}),
    ],
)
def test_norms_as_parametrizations_agree(name, which, options, agree):
    def program(m):
        results, layer = normed(m, m.nn.utils.parametrizations, which, options, *LAYERS[name])
        m.nn.utils.parametrize.remove_parametrizations(layer, "weight")
        return results, list(layer.state_dict()), layer.weight

    agree(program, absolute=5e-5)


@pytest.mark.filterwarnings("ignore:`torch.nn.utils.weight_norm` is deprecated")
@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize(
    ("which", "options"),
    [("weight_norm", {}), ("weight_norm", {"dim": None}), ("spectral_norm", {}), ("spectral_norm", {"dim": 1})],
)
def test_norms_as_hooks_agree(name, which, options, agree):
    def program(m):
        results, layer = normed(m, m.nn.utils, which, options, *LAYERS[name])
        getattr(m.nn.utils, f"remove_{which}")(layer)
        return results, list(layer.state_dict()), layer.weight, len(layer._forward_pre_hooks)

    agree(program, absolute=5e-5)


@pytest.mark.filterwarnings("ignore:`torch.nn.utils.weight_norm` is deprecated")
def test_a_state_of_the_old_weight_norm_is_understood(torch):
    old = torch.nn.utils.weight_norm(torch.nn.Linear(3, 2))
    new = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(3, 2))
    new.load_state_dict(old.state_dict())
    x = torch.rand(4, 3)
    assert torch.allclose(new(x), old(x))
    with pytest.raises(RuntimeError, match="two weight_norm hooks on the same parameter"):
        torch.nn.utils.weight_norm(old)


def tied(m):
    class Tied(m.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = m.nn.Linear(2, 2)
            self.second = m.nn.Linear(2, 2)
            self.second.weight = self.first.weight
            self.register_buffer("shift", m.ones(2))

        def forward(self, x, times=1):
            return self.second(self.first(x)) * times + self.shift

    return Tied()


@pytest.mark.filterwarnings("ignore:`torch.nn.utils.stateless.functional_call`")
def test_a_module_is_called_with_other_parameters(agree):
    def program(m):
        call, model = m.nn.utils.stateless.functional_call, tied(m)
        x, weight = ramp(m, 3, 2), (ramp(m, 2, 2) + 1).requires_grad_()
        before = plain(model(x))
        results = [call(model, {"first.weight": weight}, x), call(model, {"shift": m.zeros(2)}, (x,), {"times": 3})]
        results.append(call(model, {"first.weight": weight}, (x, 2), tie_weights=False))
        results[0].sum().backward()
        with pytest.raises(ValueError, match="multiple values for keys"):
            call(model, {"first.weight": weight, "second.weight": weight * 2}, x)
        with pytest.raises(RuntimeError, match="Missing key"):
            call(model, {"first.weight": weight}, x, strict=True)
        same = plain(model(x))
        return (
            results,
            weight.grad,
            model.first.weight.grad is None,
            before,
            same,
            model.second.weight is model.first.weight,
        )

    agree(program)


@pytest.mark.filterwarnings("ignore:`torch.nn.utils.stateless.functional_call`")
def test_a_module_keeps_its_own_parameters_when_the_call_fails(torch):
    layer = torch.nn.Linear(2, 2)
    weight = layer.weight
    with pytest.raises(RuntimeError):
        torch.nn.utils.stateless.functional_call(layer, {"weight": torch.ones(5, 5)}, torch.ones(1, 2))
    assert layer.weight is weight
