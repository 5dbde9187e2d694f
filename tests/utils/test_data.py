"""Loading data: the same batches in the same order as PyTorch."""

import collections
import importlib

import numpy
import pytest


def data_of(m):
    return importlib.import_module(f"{m.__name__}.utils.data")


def rows(m, count=20):
    return data_of(m).TensorDataset(m.arange(3.0 * count).reshape(count, 3), m.arange(count))


@pytest.mark.parametrize(
    "options",
    [
        {"batch_size": 6, "shuffle": True},
        {"batch_size": 6, "shuffle": True, "drop_last": True},
        {"batch_size": 5},
        {"shuffle": True},
        {"batch_size": None},
        {"batch_size": None, "shuffle": True},
    ],
    ids=str,
)
@pytest.mark.parametrize("own_generator", [False, True])
def test_batches_are_pytorchs(options, own_generator, agree):
    def program(m):
        generator = m.Generator().manual_seed(5) if own_generator else None
        loader = data_of(m).DataLoader(rows(m), generator=generator, **options)
        passes = [list(loader) for _ in range(3)]
        return passes, len(loader), m.rand(1)

    agree(program)


def test_samplers_are_pytorchs(agree):
    def program(m):
        d, ten = data_of(m), range(10)
        samplers = [
            d.SequentialSampler(ten),
            d.RandomSampler(ten),
            d.RandomSampler(ten, num_samples=25),
            d.RandomSampler(ten, replacement=True, num_samples=70),
            d.SubsetRandomSampler([3, 5, 7]),
            d.BatchSampler(d.SequentialSampler(ten), 4, False),
            d.BatchSampler(d.SequentialSampler(ten), 4, True),
        ]
        return [[list(sampler), len(sampler)] for sampler in samplers], m.rand(1)

    agree(program)


def test_samplers_are_used_by_loaders(agree):
    def program(m):
        d = data_of(m)
        by_sampler = d.DataLoader(rows(m), batch_size=3, sampler=[4, 2, 0, 1])
        by_batches = d.DataLoader(rows(m), batch_sampler=[[1, 2], [3]])
        return list(by_sampler), len(by_sampler), list(by_batches), len(by_batches)

    agree(program)


@pytest.mark.parametrize("lengths", [[15, 5], [0.33, 0.33, 0.34], [0.5, 0.5]])
def test_random_splits_are_pytorchs(lengths, agree):
    def program(m):
        parts = data_of(m).random_split(range(20), lengths)
        seeded = data_of(m).random_split(range(20), lengths, generator=m.Generator().manual_seed(3))
        return [list(part.indices) for part in [*parts, *seeded]], m.rand(1)

    agree(program)


Point = collections.namedtuple("Point", ["x", "y"])

BATCHES = {
    "numbers": lambda m: [1, 2],
    "fractions": lambda m: [1.0, 2.5],
    "truths": lambda m: [True, False],
    "texts": lambda m: ["a", "b"],
    "tensors": lambda m: [m.ones(2), m.zeros(2)],
    "arrays": lambda m: [numpy.ones(2), numpy.zeros(2)],
    "array scalars": lambda m: [numpy.float32(1.0), numpy.float32(2.0)],
    "pairs": lambda m: [(1, 2.0), (3, 4.0)],
    "lists": lambda m: [[1, 2], [3, 4]],
    "mappings": lambda m: [{"a": 1, "b": m.ones(1)}, {"a": 2, "b": m.zeros(1)}],
    "points": lambda m: [Point(1, 2), Point(3, 4)],
}


@pytest.mark.parametrize("name", BATCHES)
def test_batches_are_made_as_pytorch_makes_them(name, agree):
    def program(m):
        batch = data_of(m).default_collate(BATCHES[name](m))
        return type(batch).__name__, batch

    agree(program)


def test_named_tuples_stay_named(torch):
    batch = data_of(torch).default_collate([Point(1, 2), Point(3, 4)])
    assert batch.x.tolist() == [1, 3]


def test_what_makes_no_batch_is_refused(torch):
    d = data_of(torch)
    with pytest.raises(TypeError, match="default_collate: batch must contain tensors"):
        d.default_collate([object(), object()])
    with pytest.raises(RuntimeError, match="equal size"):
        d.default_collate([[1, 2], [3]])


def test_a_function_may_make_the_batches(torch):
    loader = data_of(torch).DataLoader(range(5), batch_size=2, collate_fn=sum)
    assert list(loader) == [1, 5, 4]


def test_single_samples_are_converted(torch):
    loader = data_of(torch).DataLoader([numpy.ones(2)], batch_size=None)
    assert isinstance(next(iter(loader)), torch.Tensor)


def test_datasets_that_are_streams(torch):
    d = data_of(torch)

    class Stream(d.IterableDataset):
        def __iter__(self):
            return iter(range(5))

    assert [batch.tolist() for batch in d.DataLoader(Stream(), batch_size=2)] == [[0, 1], [2, 3], [4]]
    assert [batch.tolist() for batch in d.DataLoader(Stream(), batch_size=2, drop_last=True)] == [[0, 1], [2, 3]]
    assert list(d.DataLoader(Stream(), batch_size=None)) == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match="expected unspecified shuffle option"):
        d.DataLoader(Stream(), shuffle=True)


def test_datasets_are_combined(torch):
    d = data_of(torch)
    both = rows(torch, 3) + rows(torch, 2)
    assert len(both) == 5
    assert both[3][1].item() == 0
    assert both[-1][1].item() == 1
    with pytest.raises(ValueError, match=r"index|[Aa]bsolute"):
        both[-6]
    assert [sample[1].item() for sample in both] == [0, 1, 2, 0, 1]  # which ends with an IndexError
    part = d.Subset(rows(torch), [4, 2])
    assert len(part) == 2
    assert part[1][1].item() == 2


def test_a_dataset_may_give_samples_all_at_once(torch):
    class Batched(data_of(torch).Dataset):
        def __getitems__(self, indices):
            return [index * 10 for index in indices]

        def __len__(self):
            return 3

    assert [batch.tolist() for batch in data_of(torch).DataLoader(Batched(), batch_size=2)] == [[0, 10], [20]]
    part = data_of(torch).Subset(Batched(), [2, 0])
    assert [batch.tolist() for batch in data_of(torch).DataLoader(part, batch_size=2)] == [[20, 0]]


@pytest.mark.parametrize(
    ("act", "error", "text"),
    [
        (lambda d, s: d.DataLoader(s, num_workers=-1), ValueError, "num_workers option should be non-negative"),
        (lambda d, s: d.DataLoader(s, sampler=[1], shuffle=True), ValueError, "mutually exclusive with shuffle"),
        (lambda d, s: d.DataLoader(s, batch_size=2, batch_sampler=[[1]]), ValueError, "mutually exclusive"),
        (
            lambda d, s: d.DataLoader(s, batch_size=None, drop_last=True),
            ValueError,
            "mutually exclusive with drop_last",
        ),
        (lambda d, s: d.DataLoader(s, batch_size=0), ValueError, "batch_size should be a positive integer"),
        (lambda d, s: d.DataLoader([], shuffle=True), ValueError, "num_samples should be a positive integer"),
        (lambda d, s: d.RandomSampler(s, replacement=3), TypeError, "replacement should be a boolean"),
        (lambda d, s: d.BatchSampler(s, 2, 3), ValueError, "drop_last should be a boolean"),
        (lambda d, s: d.random_split(s, [1, 2]), ValueError, "Sum of input lengths does not equal"),
        (lambda d, s: d.random_split(s, [1.5, -0.5]), ValueError, "not between 0 and 1"),
        (lambda d, s: d.ConcatDataset([]), AssertionError, "should not be an empty iterable"),
    ],
)
def test_bad_arguments_are_refused(act, error, text, torch):
    with pytest.raises(error, match=text):
        act(data_of(torch), range(10))


def test_tensors_of_other_lengths_are_refused(torch):
    with pytest.raises(AssertionError, match="Size mismatch between tensors"):
        data_of(torch).TensorDataset(torch.ones(2), torch.ones(3))


def test_empty_parts_warn(torch):
    with pytest.warns(UserWarning, match="Length of split at index 1 is 0"):
        data_of(torch).random_split(range(2), [1.0, 0.0])
