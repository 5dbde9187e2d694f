"""7 Same seed, same numbers as PyTorch's CPU generator: to the bit.

Bernoulli draws are compared with uniform draws below the probability: that is what PyTorch's own stream does, except on
Intel's processors, where it comes from another library.
"""

import numpy
import pytest
from graph_support import assert_equal, values

pytestmark = pytest.mark.unsanitized("numbers drawn are numbers")

SEEDS = [0, 1, 42, 2**31 + 7, 2**63 - 1, -3]
SIZES = [(), (1,), (3,), (15,), (16,), (17,), (32,), (3, 5), (8, 16), (7, 11, 3), (1000,), (100_003,)]


def same(ours, theirs):
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert str(ours.dtype).split(".")[-1] == str(theirs.dtype).split(".")[-1]
    numpy.testing.assert_array_equal(values(ours), values(theirs))


def drawn(module, seed, draw, *arguments):
    module.manual_seed(seed)
    return draw(module, *arguments)


def rand(module, size, dtype="float32"):
    return module.rand(size, dtype=getattr(module, dtype))


def randn(module, size, dtype="float32"):
    return module.randn(size, dtype=getattr(module, dtype))


def randint(module, low, high, size, dtype="int64"):
    return module.randint(low, high, size, dtype=getattr(module, dtype))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rand(torch, oracle, seed, size, dtype):
    same(drawn(torch, seed, rand, size, dtype), drawn(oracle, seed, rand, size, dtype))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_randn(torch, oracle, seed, size, dtype):
    same(drawn(torch, seed, randn, size, dtype), drawn(oracle, seed, randn, size, dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "fill",
    [
        lambda zeros: zeros(1000).normal_(1.37, 2.41),
        lambda zeros: zeros(1000).normal_(-1e-3, 0.0),
        lambda zeros: zeros(2100).view(30, 70).t().normal_(1.37, 2.41),
        lambda zeros: zeros(2100).view(30, 70)[:, ::2].normal_(1.37, 2.41),
        lambda zeros: zeros(12).view(3, 4)[:, :3].normal_(0.1, 1e6),
    ],
    ids=["moved", "without deviation", "transposed", "strided", "short and strided"],
)
def test_normal_numbers_of_a_mean_and_a_deviation(torch, oracle, fill, dtype):
    def draw(module):
        return fill(lambda count: module.zeros(count, dtype=getattr(module, dtype)))

    for seed in SEEDS:
        same(drawn(torch, seed, draw), drawn(oracle, seed, draw))


def test_normal_numbers_of_every_length(torch, oracle):
    """Sixteen at a time, the last sixteen drawn again where the count is no multiple."""
    for count in [*range(1, 130), 500, 1001, 320_000]:
        same(drawn(torch, count, randn, (count,)), drawn(oracle, count, randn, (count,)))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("low", "high"), [(0, 2), (0, 10), (-5, 5), (0, 2**31), (0, 2**40), (-(2**62), 2**62), (7, 8)])
def test_randint(torch, oracle, seed, low, high):
    for size in SIZES:
        same(drawn(torch, seed, randint, low, high, size), drawn(oracle, seed, randint, low, high, size))


@pytest.mark.parametrize("dtype", ["int32", "uint8", "float32", "float64", "int64"])
def test_randint_of_other_types(torch, oracle, dtype):
    same(drawn(torch, 6, randint, 0, 200, (50,), dtype), drawn(oracle, 6, randint, 0, 200, (50,), dtype))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("number", [0, 1, 2, 10, 101, 5000, 70_000])
def test_randperm(torch, oracle, seed, number):
    same(*(drawn(module, seed, lambda module: module.randperm(number)) for module in (torch, oracle)))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("chance", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_bernoulli_of_one_chance(torch, oracle, seed, chance):
    def draw(module, size):
        return module.empty(size).bernoulli_(chance)

    for size in SIZES:
        expected = drawn(oracle, seed, rand, size, "float64") < chance
        assert_equal(drawn(torch, seed, draw, size), values(expected.float()))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_bernoulli_of_a_chance_for_each(torch, oracle, seed, dtype):
    chances = [step / 100 for step in range(101)]

    def draw(module):
        return module.bernoulli(module.tensor(chances, dtype=getattr(module, dtype)))

    expected = drawn(oracle, seed, rand, (101,), dtype) < oracle.tensor(chances, dtype=getattr(oracle, dtype))
    assert_equal(drawn(torch, seed, draw), values(expected).astype(dtype))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("chance", [0.1, 0.5, 0.8])
@pytest.mark.parametrize("size", SIZES[1:])
def test_dropout(torch, oracle, seed, chance, size):
    kept = drawn(oracle, seed, rand, size, "float64") < 1 - chance
    expected = values(kept.float().div_(1 - chance))
    x = torch.ones(size, requires_grad=True)
    result = drawn(torch, seed, lambda module: module.nn.functional.dropout(x, chance))
    assert_equal(result, expected)
    result.sum().backward()
    assert_equal(x.grad, expected)


def test_dropout_only_in_training(torch):
    layer = torch.nn.Dropout(0.5)
    x = torch.ones(100)
    torch.manual_seed(0)
    before = torch.get_rng_state().tolist()
    assert_equal(layer.eval()(x), [1] * 100)
    assert torch.get_rng_state().tolist() == before, "nothing was drawn"
    assert set(layer.train()(x).tolist()) == {0.0, 2.0}


DRAWS = {
    "rand": lambda module: module.rand(7),
    "rand of float64": lambda module: module.rand(3, dtype=module.float64),
    "randn of 1": lambda module: module.randn(1),
    "randn of 5": lambda module: module.randn(5),
    "randn of 20": lambda module: module.randn(20),
    "randint": lambda module: module.randint(0, 100, (3,)),
    "long randint": lambda module: module.randint(0, 2**50, (3,)),
    "randperm": lambda module: module.randperm(9),
    "uniform_": lambda module: module.empty(6).uniform_(-2, 3),
    "normal_": lambda module: module.empty(6).normal_(2, 0.5),
    "long normal_": lambda module: module.empty(40).normal_(2, 0.5),
    "rand_like": lambda module: module.rand_like(module.ones(2, 3)),
    "randn_like": lambda module: module.randn_like(module.ones(2, 3)),
    "randint_like": lambda module: module.randint_like(module.ones(4), 10),
    "uniform_ of a transposed": lambda module: module.empty(3, 4).t().uniform_(),
    "normal_ of a transposed": lambda module: module.empty(4, 8).t().normal_(),
    "float64 normal_": lambda module: module.empty(3, dtype=module.float64).normal_(),
}


@pytest.mark.parametrize("seed", SEEDS)
def test_draws_of_all_kinds_one_after_another(torch, oracle, seed):
    """Each kind leaves the stream where PyTorch leaves it, whatever came before."""
    order = numpy.random.default_rng(abs(seed)).choice(list(DRAWS), size=60)

    def draw(module):
        return [DRAWS[name](module) for name in order]

    for ours, theirs in zip(drawn(torch, seed, draw), drawn(oracle, seed, draw), strict=True):
        same(ours, theirs)


def test_generators_of_their_own(torch, oracle):
    found = []
    for module in (torch, oracle):
        module.manual_seed(0)
        generator = module.Generator().manual_seed(123)
        own = module.rand(5, generator=generator), module.randperm(5, generator=generator)
        found.append((module.rand(3), *own, module.randint(9, (4,), generator=generator)))
        assert generator.initial_seed() == 123
    for ours, theirs in zip(*found, strict=True):
        same(ours, theirs)


def test_the_state_can_be_kept_and_restored(torch):
    torch.manual_seed(5)
    torch.randn(3)
    state = torch.get_rng_state()
    first = torch.randn(3).tolist(), torch.rand(3).tolist()
    torch.set_rng_state(state)
    assert (torch.randn(3).tolist(), torch.rand(3).tolist()) == first
    assert torch.initial_seed() == 5


def test_manual_seed_gives_the_generator(torch):
    assert isinstance(torch.manual_seed(9), torch.Generator)
    assert torch.initial_seed() == 9


def test_other_seeds_give_other_numbers(torch):
    torch.manual_seed(0)
    first = torch.rand(5).tolist()
    assert torch.rand(5).tolist() != first
    torch.manual_seed(1)
    assert torch.rand(5).tolist() != first


@pytest.mark.parametrize("before", [0, 1, 3, 617, 623, 624, 625, 1300])
@pytest.mark.parametrize("normal", [False, True])
def test_a_state_is_pytorchs_and_goes_on_there(before, normal, torch, oracle):
    """A checkpoint with the state of a generator resumes here and there."""

    def draws(m):
        return [
            numpy.asarray(one)
            for one in (
                m.rand(3),
                m.randn(1),
                m.randn(20),
                m.randperm(10),
                m.randint(0, 1000, (4,)),
                m.randn(1).double(),
            )
        ]

    for one, other in ((torch, oracle), (oracle, torch)):
        one.manual_seed(before + 11)
        one.rand(before)
        if normal:
            one.randn(1)
        state = one.get_rng_state()
        other.set_rng_state(other.from_numpy(state.numpy().copy()))
        assert other.get_rng_state().tolist() == state.tolist()
        assert len(state) == 5056
        for here, there in zip(draws(one), draws(other), strict=True):
            numpy.testing.assert_allclose(here, there, rtol=4e-6)


def test_bytes_that_are_no_state_are_refused(torch):
    state = torch.get_rng_state()
    for wrong in (state[:-1], torch.zeros(5056, dtype=torch.uint8), torch.zeros(16, dtype=torch.uint8)):
        with pytest.raises(ValueError, match="set_state: expected"):
            torch.set_rng_state(wrong)
