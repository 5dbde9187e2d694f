"""Functions of clew.ops.numeric against PyTorch where their domains do not reach: shapes, dtypes, refusals."""

import pytest

import clew

CALLS = {
    "broadcast_shapes": lambda m: m.broadcast_shapes((2, 1), (3,), 4 - 1),
    "broadcast_shapes of none": lambda m: m.broadcast_shapes(),
    "broadcast_shapes with 0": lambda m: m.broadcast_shapes((0,), (2, 1)),
    "bincount": lambda m: m.bincount(m.tensor([1, 1, 3]), minlength=6),
    "bincount of bytes": lambda m: m.tensor([1, 1, 3], dtype=m.uint8).bincount(),
    "bincount of nothing": lambda m: m.bincount(m.tensor([], dtype=m.int64), minlength=2),
    "bincount with float32": lambda m: m.bincount(m.tensor([1, 0]), m.tensor([0.5, 1.5])),
    "bincount with integers": lambda m: m.bincount(m.tensor([1, 0]), m.tensor([2, 3])),
    "trapezoid of integers": lambda m: m.trapezoid(m.arange(4)),
    "trapezoid of nothing": lambda m: m.trapezoid(m.ones(0)),
    "trapezoid of one": lambda m: m.trapz(m.ones(2, 1)),
    "trapezoid with a step": lambda m: m.trapz(m.ones(3), dx=2),
    "cumulative_trapezoid of one": lambda m: m.cumulative_trapezoid(m.ones(1)),
    "cdist of two batches": lambda m: m.cdist(m.ones(2, 1, 3, 4), m.zeros(5, 2, 4)),
    "cdist of nothing": lambda m: m.cdist(m.ones(0, 4), m.zeros(2, 4)),
    "cdist of no columns": lambda m: m.cdist(m.ones(3, 0), m.zeros(2, 0)),
    "cdist 0": lambda m: m.cdist(m.eye(3), m.zeros(2, 3), p=0.0),
    "pdist of one": lambda m: m.pdist(m.ones(1, 4)),
    "kron of numbers": lambda m: m.kron(m.tensor(2.0), m.tensor([1, 2])),
    "kron of three axes": lambda m: m.kron(m.arange(6).reshape(1, 2, 3), m.arange(4).reshape(2, 2)),
    "nextafter of two dtypes": lambda m: m.nextafter(m.ones(2), m.zeros(2, dtype=m.float64)),
    "nextafter in place": lambda m: m.ones(2).nextafter_(m.tensor([2.0, 0.0])),
    "nextafter at the ends": lambda m: m.nextafter(m.tensor([0.0, m.inf, 1.0]), m.tensor([1.0, 0.0, m.nan])),
    "sgn": lambda m: m.sgn(m.tensor([-2.0, 0.0, 3.0])),
    "sgn_": lambda m: m.tensor([-2.0, 0.0, 3.0]).sgn_(),
    "positive": lambda m: +m.ones(2),
    "split by name": lambda m: m.arange(5).split(split_size=2)[2],
    "split by sizes": lambda m: m.arange(5).split(split_size=[2, 3])[1],
    "a contiguous clone": lambda m: m.tensor(m.ones(2, 3).T.clone(memory_format=m.contiguous_format).stride()),
    "a preserved clone": lambda m: m.tensor(m.clone(m.ones(2, 3).T, memory_format=m.preserve_format).stride()),
    "a plain clone": lambda m: m.tensor(m.ones(2, 3).T.clone(memory_format=None).stride()),
}


@pytest.mark.parametrize("name", CALLS)
def test_results_are_pytorchs(oracle, name):
    ours, theirs = CALLS[name](clew), CALLS[name](oracle)
    if isinstance(ours, clew.Size):
        assert tuple(ours) == tuple(theirs)
        return
    assert str(ours.dtype) == str(theirs.dtype)
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert str(ours.tolist()) == str(theirs.tolist())


REFUSED = {
    "broadcast_shapes": lambda m: m.broadcast_shapes((2, 3), (4,)),
    "broadcast_shapes below 0": lambda m: m.broadcast_shapes((2, -3), (4,)),
    "bincount of negatives": lambda m: m.bincount(m.tensor([-1])),
    "bincount of two axes": lambda m: m.bincount(m.tensor([[1]])),
    "bincount of floats": lambda m: m.bincount(m.tensor([1.0])),
    "bincount to less than nothing": lambda m: m.bincount(m.tensor([1]), minlength=-1),
    "bincount with other weights": lambda m: m.bincount(m.tensor([1]), m.ones(2)),
    "trapezoid with other samples": lambda m: m.trapezoid(m.ones(2, 3), m.ones(4)),
    "trapezoid with both": lambda m: m.trapezoid(m.ones(3), m.ones(3), dx=2),
    "trapezoid along no axis": lambda m: m.trapezoid(m.ones(3), dim=1),
    "cdist of vectors": lambda m: m.cdist(m.ones(3), m.ones(1, 3)),
    "cdist of other columns": lambda m: m.cdist(m.ones(2, 3), m.ones(2, 4)),
    "cdist of integers": lambda m: m.cdist(m.ones(2, 3).int(), m.ones(2, 3).int()),
    "cdist of two dtypes": lambda m: m.cdist(m.ones(2, 3), m.ones(2, 3).double()),
    "cdist below 0": lambda m: m.cdist(m.ones(2, 3), m.ones(2, 3), p=-1.0),
    "pdist of a vector": lambda m: m.pdist(m.ones(3)),
    "nextafter of integers": lambda m: m.nextafter(m.ones(2).int(), m.ones(2).int()),
    "imag": lambda m: m.imag(m.ones(2)),
    "positive of bool": lambda m: m.positive(m.tensor(True)),
    "adjoint of a vector": lambda m: m.adjoint(m.ones(2)),
    "clone in no format": lambda m: m.ones(2).clone(memory_format="contiguous"),
    "split by another name": lambda m: m.ones(2).split(split_size_or_sections=1),
}


@pytest.mark.parametrize("name", REFUSED)
def test_both_refuse(oracle, name):
    with pytest.raises((RuntimeError, IndexError, TypeError, ValueError)) as theirs:
        REFUSED[name](oracle)
    with pytest.raises((RuntimeError, IndexError, TypeError, ValueError)) as ours:
        REFUSED[name](clew)
    assert issubclass(ours.type, theirs.type)


def test_reals_are_their_own_conjugates():
    x = clew.ones(2)
    for function in (clew.conj, clew.real, clew.conj_physical, clew.resolve_conj, clew.resolve_neg, clew.positive):
        assert function(x) is x
    assert x.conj() is x
    assert x.conj_physical_() is x
