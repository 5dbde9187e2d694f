"""One tensor as several views, whose gradients come back joined."""

import pytest
from oracle import check, check_error, module, sample, strided

CASES = {
    "split": [((5, 2), 2), ((5, 2), 2, -1), ((5, 2), 9), ((0, 3), 2), ((0, 3), 0), ((5, 2), (1, 4)), ((5, 2), [5, 0])],
    "split_with_sizes": [((5, 2), (1, 3, 1))],
    "chunk": [((5, 2), 2), ((5, 2), 7), ((2, 6), 4, 1), ((0, 3), 3), ((7,), 3)],
    "tensor_split": [((5, 2), 2), ((5, 2), 7), ((5, 2), (1, 4)), ((5, 2), (3, 1)), ((5, 2), (-1,)), ((2, 6), 4, 1)],
    "unbind": [((3, 2),), ((3, 2), 1), ((3, 2), -1), ((1,),), ((0, 3),), ((3, 0),)],
}


@pytest.mark.parametrize(("name", "case"), [(name, case) for name, cases in CASES.items() for case in cases])
def test_parts(name, case):
    shape, *arguments = case
    check(name, sample(shape), *arguments, method=True)
    check(name, sample(shape), *arguments)
    check(name, strided(sample(shape)), *arguments, method=True)
    check(name, sample(shape, dtype="int32"), *arguments, method=True)


def test_tensor_split_by_a_tensor():
    x = module.from_numpy(sample((5, 2)))
    parts = x.tensor_split(module.tensor([1, 3]))
    assert [tuple(part.shape) for part in parts] == [(1, 2), (2, 2), (2, 2)]
    assert [tuple(part.shape) for part in x.tensor_split(module.tensor(2))] == [(3, 2), (2, 2)]


@pytest.mark.parametrize("call", [lambda x: x.split(2), lambda x: x.unbind(), lambda x: x.split((1, 3, 1))])
def test_a_part_that_nobody_used_counts_as_zeros(call):
    x = module.from_numpy(sample((5, 2))).requires_grad_()
    part = call(x)[1]
    (part * part).sum().backward()
    expected = [[0.0] * 2 for _ in range(5)]
    offset = (part.data_ptr() - x.data_ptr()) // 16
    for i in range(part.numel() // 2):
        expected[offset + i] = (2 * x.detach())[offset + i].tolist()
    assert x.grad.tolist() == expected


def test_one_part_is_still_a_tuple():
    x = module.from_numpy(sample((3,)))
    assert isinstance(x.split(3), tuple)
    assert isinstance(x.chunk(1), tuple)
    assert isinstance(x[:1].unbind(), tuple)


def test_parts_may_not_be_written_to_with_gradients():
    x = module.from_numpy(sample((4,))).requires_grad_() * 1
    part = x.split(2)[0]
    with pytest.raises(RuntimeError, match="returns multiple views"):
        part.mul_(2)


def test_parts_look_at_the_same_memory():
    x = module.from_numpy(sample((4,)))
    first, _ = x.chunk(2)
    first.mul_(0)
    assert x[:2].tolist() == [0.0, 0.0]
    assert x._version == 1
    assert first._base is x


def test_splitting_saves_nothing():
    x = module.from_numpy(sample((4, 2))).requires_grad_()
    total = sum((part.sum() for part in x.split(1)), x[0].sum())
    total.backward()
    total.backward()
    assert x.grad.tolist() == [[4.0] * 2] + [[2.0] * 2] * 3


BAD = [
    ("split", (2, 3), (0,), RuntimeError, "split_size can only be 0 if dimension size is 0"),
    ("split", (2, 3), (-1,), RuntimeError, "split expects split_size be non-negative, but got split_size=-1"),
    ("split", (2, 3), ((1, 2),), RuntimeError, "split_with_sizes expects split_sizes to sum exactly to 2"),
    ("split", (2, 3), ((1, -1, 2),), RuntimeError, "only non-negative entries"),
    ("split", (2, 3), (1, 2), IndexError, "Dimension out of range"),
    ("split", (), (1,), RuntimeError, "at least a 1-dimensional tensor"),
    ("chunk", (2, 3), (0,), RuntimeError, "greater than 0, got: 0"),
    ("chunk", (), (2,), RuntimeError, "at least a 1-dimensional tensor"),
    ("tensor_split", (2, 3), (0,), RuntimeError, "number of sections must be larger than 0, got 0"),
    ("unbind", (), (), IndexError, "no dimensions"),
    ("unbind", (2,), (1,), IndexError, "Dimension out of range"),
]


@pytest.mark.parametrize(("name", "shape", "arguments", "error", "words"), BAD)
def test_bad_arguments(name, shape, arguments, error, words):
    check_error(name, sample(shape), *arguments, error=error, match=words, method=True)


def test_too_many_differentiable_parts():
    x = module.from_numpy(sample((70000,), dtype="float32"))
    assert len(x.unbind()) == 70000
    with pytest.raises(NotImplementedError, match="at most 65535 differentiable parts"):
        x.requires_grad_().unbind()


@pytest.mark.parametrize("chunks", [65, 200])
def test_many_chunks_of_nothing(chunks, torch):
    x = torch.ones(2, 0, requires_grad=True)
    parts = torch.chunk(x, chunks, 1)
    assert len(parts) == chunks
    assert all(part.shape == (2, 0) for part in parts)
    sum(part.sum() for part in parts).backward()
    assert x.grad.shape == (2, 0)
