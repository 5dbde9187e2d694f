"""clew.func beside torch.func: gradients for each sample, Jacobians, nested and vmapped."""

import copy

import numpy
import pytest
import torch

import clew

# PyTorch itself uses torch.jit in forward mode.
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
BOTH = pytest.mark.parametrize("module", [clew, torch], ids=["clew", "torch"])


def leaves_of(value):
    if isinstance(value, dict):
        return [leaf for key in sorted(value) for leaf in leaves_of(value[key])]
    if isinstance(value, list | tuple):
        return [leaf for one in value for leaf in leaves_of(one)]
    return [value]


def check(function, *arrays):
    """function(module, *tensors) in both."""
    found = leaves_of(function(clew, *map(clew.tensor, arrays)))
    wanted = leaves_of(function(torch, *map(torch.tensor, arrays)))
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        assert tuple(one.shape) == tuple(other.shape)
        assert one.requires_grad == other.requires_grad
        numpy.testing.assert_allclose(one.detach().numpy(), other.detach().numpy(), rtol=1e-9, atol=1e-12)


def real(*shape, seed=0):
    return numpy.random.default_rng(seed).standard_normal(shape)


def scalar(x):
    return (x.sin() * x).sum()


def vector(x):
    return x.tanh() * x.sum() + x.outer(x).sum(0) ** 2


CASES = {
    "grad": lambda m, x: m.func.grad(scalar)(x),
    "grad of grad": lambda m, x: m.func.grad(lambda y: m.func.grad(scalar)(y).square().sum())(x),
    "grad_and_value": lambda m, x: m.func.grad_and_value(scalar)(x),
    "vjp": lambda m, x: m.func.vjp(vector, x)[1](x.cos()),
    "jvp": lambda m, x: m.func.jvp(vector, (x,), (x.cos(),)),
    "jacrev": lambda m, x: m.func.jacrev(vector)(x),
    "jacrev in chunks": lambda m, x: m.func.jacrev(vector, chunk_size=2)(x),
    "jacfwd": lambda m, x: m.func.jacfwd(vector)(x),
    "hessian": lambda m, x: m.func.hessian(scalar)(x),
    "jacrev of jacrev": lambda m, x: m.func.jacrev(m.func.jacrev(vector))(x),
    "jacfwd of jacfwd": lambda m, x: m.func.jacfwd(m.func.jacfwd(vector))(x),
    "jacrev of jacfwd": lambda m, x: m.func.jacrev(m.func.jacfwd(vector))(x),
    "a captured input": lambda m, x: m.func.grad(lambda y: (m.func.grad(lambda z: (z * y).sum())(x) * y).sum())(x),
    "a result that does not depend": lambda m, x: m.func.grad(lambda y: m.ones(()))(x),
    "under no_grad inside": lambda m, x: m.func.grad(lambda y: (y * y.detach()).sum())(x),
}


@pytest.mark.unsanitized("comparisons with PyTorch are made without sanitizers")
@pytest.mark.parametrize("name", CASES)
def test_as_pytorch(name):
    check(CASES[name], real(3))


@pytest.mark.parametrize("name", CASES)
def test_vmapped_as_pytorch(name):
    check(lambda m, x: m.vmap(lambda row: CASES[name](m, row))(x), real(4, 3))


@pytest.mark.parametrize("name", ["grad", "jacrev", "jacfwd", "hessian", "vjp"])
def test_twice_vmapped_as_pytorch(name):
    def function(m, x):
        return m.vmap(m.vmap(lambda row: CASES[name](m, row), in_dims=1))(x)

    check(function, real(2, 3, 4))


@BOTH
def test_arguments_by_number_and_trees(module):
    def function(parameters, x, scale):
        return (parameters["w"] @ x * scale + parameters["b"][0]).sum(), {"x": x}

    parameters = {"w": module.ones(2, 3), "b": [module.zeros(2)]}
    (gradients, of_x), aux = module.func.grad(function, argnums=(0, 1), has_aux=True)(parameters, module.ones(3), 2)
    assert gradients["w"].tolist() == [[2.0] * 3] * 2
    assert gradients["b"][0].tolist() == [1.0, 1.0]
    assert of_x.tolist() == [4.0] * 3
    assert aux["x"].tolist() == [1.0] * 3
    assert not aux["x"].requires_grad


def network(module):
    layers = [module.nn.Linear(3, 5), module.nn.LayerNorm(5), module.nn.GELU(), module.nn.Linear(5, 2)]
    return module.nn.Sequential(*layers).to(module.float64)


def model_of(module, kind):
    nn = module.nn
    if kind == "dense":
        return network(module)
    if kind == "convolution":
        layers = [nn.Conv2d(2, 3, 3, padding=1), nn.Tanh(), nn.MaxPool2d(2), nn.Flatten(0), nn.Linear(12, 2)]
    else:
        layers = [nn.Embedding(7, 4), nn.Flatten(0), nn.Linear(12, 2)]
    return nn.Sequential(*layers).double()


@pytest.mark.parametrize("kind", ["dense", "convolution", "embedding"])
def test_gradients_for_each_sample(kind):
    samples = {
        "dense": real(6, 3),
        "convolution": real(6, 2, 4, 4),
        "embedding": numpy.random.default_rng(0).integers(0, 7, (6, 3)),
    }
    ours, theirs = model_of(clew, kind), model_of(torch, kind)
    ours.load_state_dict({name: clew.tensor(value.numpy()) for name, value in theirs.state_dict().items()})
    found = {}
    for module, model in ((clew, ours), (torch, theirs)):
        parameters = {name: value.detach() for name, value in model.named_parameters()}
        target = module.tensor([0, 1, 0, 1, 1, 0])

        def loss(parameters, sample, label, module=module, model=model):
            scores = module.func.functional_call(model, parameters, (sample,))
            return module.nn.functional.cross_entropy(scores.unsqueeze(0), label.unsqueeze(0))

        per_sample = module.vmap(module.func.grad(loss), in_dims=(None, 0, 0))
        found[module] = per_sample(parameters, module.tensor(samples[kind]), target)
    assert found[clew].keys() == found[torch].keys()
    for name, gradient in found[clew].items():
        assert not gradient.requires_grad
        numpy.testing.assert_allclose(gradient.numpy(), found[torch][name].numpy(), rtol=1e-9, atol=1e-12)


def test_an_ensemble():
    models = [network(clew) for _ in range(3)]
    x = clew.tensor(real(4, 3))
    parameters, buffers = clew.func.stack_module_state(models)
    assert buffers == {}
    assert all(one.is_leaf and one.requires_grad for one in parameters.values())
    base = copy.deepcopy(models[0])
    found = clew.vmap(lambda given: clew.func.functional_call(base, given, (x,)))(parameters)
    for one, model in zip(found, models, strict=True):
        numpy.testing.assert_allclose(one.detach().numpy(), model(x).detach().numpy(), rtol=1e-12)
    found.sum().backward()
    for i, model in enumerate(models):
        model(x).sum().backward()
        for name, parameter in model.named_parameters():
            numpy.testing.assert_allclose(
                parameters[name].grad[i].numpy(), parameter.grad.numpy(), rtol=1e-9, atol=1e-12
            )


@BOTH
def test_results_have_a_graph_where_something_outside_asks_for_a_gradient(module):
    x = module.tensor([1.0, 2.0], requires_grad=True)
    weight = module.tensor([3.0, 4.0], requires_grad=True)
    assert module.func.grad(lambda y: (y**3).sum())(x).requires_grad
    gradient = module.func.grad(lambda y: (y**2 * weight).sum())(x.detach())
    (of_weight,) = module.autograd.grad(gradient.sum(), weight)
    assert of_weight.tolist() == [2.0, 4.0]
    with module.no_grad():
        assert not module.func.grad(lambda y: (y**2 * weight).sum())(x).requires_grad
    assert not module.func.grad(lambda y: (y**2).sum())(x.detach()).requires_grad


@BOTH
def test_a_pull_may_be_called_again(module):
    _, pull = module.func.vjp(lambda x: x**2, module.tensor([1.0, 2.0]))
    for _ in range(2):
        assert pull(module.ones(2))[0].tolist() == [2.0, 4.0]


@BOTH
def test_what_does_not_fit_is_said(module):
    x = module.ones(2)
    with pytest.raises(RuntimeError, match="to return a scalar"):
        module.func.grad(lambda y: y)(x)
    with pytest.raises(RuntimeError, match=r"to return a [tT]ensor"):
        module.func.grad(lambda y: 3)(x)
    with pytest.raises(RuntimeError, match="Got argnum=2, but only 1 positional inputs"):
        module.func.grad(lambda y: y.sum(), argnums=2)(x)
    with pytest.raises(RuntimeError, match="should be a tuple"):
        module.func.grad(lambda y: y.sum(), has_aux=True)(x)
    with pytest.raises(RuntimeError, match="structure"):
        module.func.vjp(lambda y: (y, y), x)[1](x)


@pytest.mark.parametrize("create_graph", [False, True])
def test_functional_vectorized(create_graph):
    def function(module, x, y):
        result = module.autograd.functional.jacobian(
            lambda a, b: (a.outer(b).tanh(), b * a[0], a.sum() * b.sum()),
            (x, y),
            vectorize=True,
            create_graph=create_graph,
        )
        hessian = module.autograd.functional.hessian(lambda a: (a**3).sum() * a[0], x, vectorize=True)
        return [*result, hessian]

    check(function, real(3), real(2))
    with pytest.raises(RuntimeError, match="not supported together"):
        clew.autograd.functional.jacobian(clew.sin, clew.ones(2), strict=True, vectorize=True)


def test_a_batch_of_gradients():
    def function(module, x, weights):
        leaf, other = x.requires_grad_(), module.ones(2, dtype=x.dtype, requires_grad=True)
        y = (leaf**2).cumsum(0) * leaf.sum()
        first, unused = module.autograd.grad(y, (leaf, other), weights, is_grads_batched=True, allow_unused=True)
        assert unused is None
        return first

    check(function, real(3), real(4, 3))


@pytest.mark.parametrize(
    ("samples", "axis", "size", "stride"),
    [
        (lambda: clew.arange(6.0).reshape(2, 3), 1, (2,), (3,)),  # interleaved, of own elements
        (lambda: clew.arange(6.0).reshape(2, 3), 0, (2, 2), (1, 1)),
        (lambda: clew.arange(6.0).unfold(0, 3, 1), 0, (3,), (1,)),  # samples that share elements
        (lambda: clew.arange(12.0).reshape(3, 4)[:, :2], 0, (4,), (1,)),  # elements that no sample has
        (lambda: clew.ones(3).expand(2, 3), 0, (2, 2), (1, 1)),
    ],
)
def test_vmap_of_as_strided_is_what_each_sample_gives(samples, axis, size, stride):
    x = samples()
    wanted = clew.stack([sample.as_strided(size, stride, sample.storage_offset()) for sample in x.unbind(axis)])
    assert clew.equal(clew.vmap(lambda sample: sample.as_strided(size, stride), in_dims=axis)(x), wanted)


@pytest.mark.parametrize(
    ("axis", "size", "stride", "offset"),
    [(1, (2,), (1,), None), (0, (4,), (1,), None), (1, (1,), (1,), 1)],
)
def test_vmap_refuses_strides_that_reach_other_samples(axis, size, stride, offset):
    x = clew.arange(6.0).reshape(2, 3)
    with pytest.raises(RuntimeError, match=r"own elements.*of other samples"):
        clew.vmap(lambda sample: sample.as_strided(size, stride, offset), in_dims=axis)(x)
