"""Lazy layers, bags of embeddings and CrossMapLRN2d against PyTorch."""

import copy
import pickle

import numpy
import pytest
import torch

import clew

LAYERS = [
    ("Linear", (4,), {}, (2, 3)),
    ("Linear", (4,), {"bias": False}, (2, 5, 3)),
    ("Conv1d", (4, 3), {}, (2, 3, 7)),
    ("Conv2d", (4, 3), {"groups": 2, "padding": 1}, (2, 4, 5, 6)),
    ("Conv2d", (4, 3), {}, (3, 5, 6)),
    ("Conv3d", (4, 2), {}, (1, 3, 4, 4, 4)),
    ("ConvTranspose1d", (4, 3), {}, (2, 3, 7)),
    ("ConvTranspose2d", (4, 3), {"groups": 2, "bias": False}, (2, 4, 5, 6)),
    ("ConvTranspose3d", (4, 2), {}, (1, 3, 3, 3, 3)),
    ("BatchNorm1d", (), {}, (4, 3)),
    ("BatchNorm2d", (), {"affine": False}, (4, 3, 2, 2)),
    ("BatchNorm3d", (), {}, (4, 3, 2, 2, 2)),
    ("InstanceNorm1d", (), {"affine": True}, (2, 3, 6)),
    ("InstanceNorm2d", (), {"track_running_stats": True}, (2, 3, 4, 4)),
    ("InstanceNorm3d", (), {"affine": True}, (2, 3, 2, 3, 2)),
]


@pytest.mark.filterwarnings("ignore:Lazy modules are a new feature")
@pytest.mark.parametrize(("name", "args", "kwargs", "shape"), LAYERS)
def test_a_lazy_layer_becomes_what_pytorchs_becomes(name, args, kwargs, shape):
    values = numpy.random.default_rng(0).standard_normal(shape).astype("float32")
    found = []
    for library in (clew, torch):
        library.manual_seed(1)
        layer = getattr(library.nn, f"Lazy{name}")(*args, **kwargs)
        lazy = layer.has_uninitialized_params()
        result = layer(library.tensor(values))
        assert type(layer) is getattr(library.nn, name)
        assert all(type(one) is library.nn.Parameter for one in layer.parameters())
        after = library.rand(1).item()  # as many draws were taken
        state = {key: one.detach().numpy() for key, one in layer.state_dict().items()}
        found.append((result.detach().numpy(), state, lazy, repr(layer), after))
    ours, theirs = found
    numpy.testing.assert_allclose(ours[0], theirs[0], rtol=1e-4, atol=1e-5)
    assert list(ours[1]) == list(theirs[1])
    for key, one in ours[1].items():
        numpy.testing.assert_allclose(one, theirs[1][key], rtol=1e-5, atol=1e-6)
    assert ours[2:] == theirs[2:]


def test_nothing_can_be_asked_before():
    layer = clew.nn.LazyLinear(3)
    assert layer.weight.requires_grad
    assert repr(layer.weight) == "<UninitializedParameter>"
    assert clew.nn.parameter.is_lazy(layer.weight)
    assert len(list(layer.parameters())) == 2
    with pytest.raises(RuntimeError, match="shape"):
        layer.weight.shape  # noqa: B018
    with pytest.raises(ValueError, match="uninitialized"):
        layer.weight * 2
    with pytest.raises(ValueError, match="uninitialized"):
        layer.weight.sum()
    with pytest.raises(ValueError, match="uninitialized"):
        clew.nn.init.normal_(layer.weight)


def test_states_copies_and_files():
    clew.manual_seed(0)
    made = clew.nn.Linear(5, 3)
    lazy = clew.nn.LazyLinear(3)
    for layer in (copy.deepcopy(lazy), pickle.loads(pickle.dumps(lazy)), lazy):
        layer.load_state_dict(made.state_dict())
        assert not layer.has_uninitialized_params()
        x = clew.ones(2, 5)
        assert clew.equal(layer(x), made(x))
        assert (type(layer), layer.in_features) == (clew.nn.Linear, 5)
    layer = clew.nn.Sequential(clew.nn.LazyLinear(2), clew.nn.ReLU(), clew.nn.LazyLinear(1)).double()
    optimizer = clew.optim.SGD(layer.parameters(), lr=0.1)
    layer(clew.ones(3, 4, dtype=clew.float64)).sum().backward()
    before = layer[0].weight.detach().clone()
    optimizer.step()
    assert layer[0].weight.dtype == clew.float64
    assert not clew.equal(before, layer[0].weight)


def test_a_users_lazy_module():
    class Scale(clew.nn.modules.lazy.LazyModuleMixin, clew.nn.Module):
        def __init__(self):
            super().__init__()
            self.factor = clew.nn.UninitializedParameter()

        def initialize_parameters(self, x):
            if self.has_uninitialized_params():
                with clew.no_grad():
                    self.factor.materialize(x.shape[-1:])
                    self.factor.fill_(2)

        def forward(self, x):
            return x * self.factor

    assert Scale()(clew.ones(2, 3)).tolist() == [[2.0] * 3] * 2

    class Forgets(clew.nn.modules.lazy.LazyModuleMixin, clew.nn.Linear):
        pass

    with pytest.raises(NotImplementedError, match="initialize_parameters"):
        Forgets(1, 1)(clew.ones(1))


def bags(library, mode, given, padding_idx, weighted, dtype="float64"):
    table = library.tensor(numpy.random.default_rng(0).standard_normal((6, 4)), dtype=getattr(library, dtype))
    table.requires_grad_()
    index = library.tensor(given[0])
    options = {"mode": mode, "padding_idx": padding_idx}
    factors = None
    if weighted:
        factors = library.tensor(numpy.linspace(-1, 2, index.numel()).reshape(index.shape), requires_grad=True)
        options["per_sample_weights"] = factors
    if given[1] is not None:
        options["offsets"] = library.tensor(given[1])
        options["include_last_offset"] = given[1][-1] == len(given[0])
    result = library.nn.functional.embedding_bag(index, table, **options)
    (result * library.arange(result.numel(), dtype=result.dtype).view(result.shape)).sum().backward()
    found = [result.detach().numpy(), table.grad.numpy()]
    return found + ([factors.grad.numpy()] if weighted else [])


@pytest.mark.parametrize("mode", ["mean", "sum", "max"])
@pytest.mark.parametrize(
    "given",
    [([[1, 2, 3], [3, 0, 5]], None), ([1, 2, 2, 0, 5], [0, 2, 2, 4]), ([1, 2, 4, 0, 5], [0, 1, 1, 5]), ([0, 1], [0])],
)
@pytest.mark.parametrize("padding_idx", [None, 2, -1])
@pytest.mark.parametrize("weighted", [False, True])
def test_bags_are_pytorchs(mode, given, padding_idx, weighted):
    if weighted and mode != "sum":
        with pytest.raises(NotImplementedError, match="per_sample_weights"):
            bags(clew, mode, given, padding_idx, weighted)
        return
    ours, theirs = (bags(library, mode, given, padding_idx, weighted) for library in (clew, torch))
    for one, other in zip(ours, theirs, strict=True):
        numpy.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def test_the_layer_and_its_errors():
    results = []
    for library in (clew, torch):
        library.manual_seed(0)
        layer = library.nn.EmbeddingBag(5, 3, mode="sum", padding_idx=1)
        results.append((layer(library.tensor([[0, 1], [2, 3]])).detach().numpy(), repr(layer)))
    numpy.testing.assert_allclose(results[0][0], results[1][0], rtol=1e-6)
    assert results[0][1] == results[1][1]
    fixed = clew.nn.EmbeddingBag.from_pretrained(clew.eye(3), mode="max")
    assert fixed(clew.tensor([[0, 2]])).tolist() == [[1.0, 0.0, 1.0]]
    assert not fixed.weight.requires_grad
    bag = clew.nn.functional.embedding_bag
    for wrong in (
        lambda: bag(clew.tensor([0]), clew.eye(2)),
        lambda: bag(clew.tensor([0]), clew.eye(2), clew.tensor([0]), mode="min"),
        lambda: bag(clew.tensor([0]), clew.eye(2), clew.tensor([1])),
        lambda: bag(clew.tensor([[0]]), clew.eye(2), mode="sum", per_sample_weights=clew.ones(1)),
    ):
        with pytest.raises(ValueError, match="expected"):
            wrong()
    with pytest.raises(NotImplementedError, match="max_norm"):
        clew.nn.EmbeddingBag(2, 2, max_norm=1.0)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_cross_map_normalization(size):
    values = numpy.random.default_rng(0).standard_normal((2, 6, 3, 2))
    found = []
    for library in (clew, torch):
        found.append(library.nn.CrossMapLRN2d(size, alpha=0.3, beta=0.6, k=1.5)(library.tensor(values)).numpy())
    numpy.testing.assert_allclose(*found, rtol=1e-12)
    # PyTorch's gradient is not that of its result.
    x = clew.tensor(values[:1, :, :1, :1], requires_grad=True)
    assert clew.autograd.gradcheck(clew.nn.CrossMapLRN2d(size, alpha=0.3, beta=0.6, k=1.5), (x,))
    with pytest.raises(ValueError, match="4D"):
        clew.nn.CrossMapLRN2d(3)(clew.ones(2, 3))


def test_the_gradient_of_a_bag_is_sparse_where_asked():
    tables = [module.ones(5, 2).requires_grad_() for module in (clew, torch)]
    for module, table in zip((clew, torch), tables, strict=True):
        given = module.tensor([[0, 2], [2, 3]])
        bags = module.nn.functional.embedding_bag(given, table, mode="sum", sparse=True)
        (bags * module.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
    ours, theirs = (table.grad for table in tables)
    assert ours.is_sparse
    assert theirs.is_sparse
    assert ours.to_dense().tolist() == theirs.to_dense().tolist()
