"""Programs that run here and in PyTorch, on the same sparse tensors."""

import numpy
import pytest
import torch as pytorch

import clew


def told(value):
    """What there is to compare of a result: layout, shape, dtype and elements."""
    if isinstance(value, clew.Tensor | pytorch.Tensor):
        kind = str(value.layout).split(".")[-1]
        said = (kind, tuple(value.shape), str(value.dtype).split(".")[-1])
        if kind == "sparse_coo":
            said += (value.sparse_dim(), value.dense_dim(), value.is_coalesced())
        dense = value.detach().to_dense() if kind != "strided" else value.detach()
        return said, dense.tolist()
    if isinstance(value, tuple | list) and type(value).__name__ != "Size":
        return [told(one) for one in value]
    return tuple(value) if type(value).__name__ == "Size" else value


def close(one, other):
    """Whether two such results are the same, but for rounding."""
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(close(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, float):
        return numpy.isclose(one, other, rtol=1e-5, atol=1e-6, equal_nan=True)
    return one == other


def parts(m, dtype=None):
    """The tensors that programs are about."""
    d = dtype or m.float32
    i = m.tensor([[0, 1, 0, 2], [1, 0, 1, 2]])
    s = m.sparse_coo_tensor(i, m.tensor([2.0, -3.0, 4.0, 0.5], dtype=d), (3, 4))
    h = m.sparse_coo_tensor(m.tensor([[0, 2, 0]]), m.arange(6.0, dtype=d).reshape(3, 2) - 2, (4, 2))
    empty = m.sparse_coo_tensor((3, 4), dtype=d)
    dense = m.arange(12.0, dtype=d).reshape(3, 4) / 4 - 1
    wide = m.arange(8.0, dtype=d).reshape(4, 2) / 2 - 1
    c = s.coalesce()
    return {
        "m": m,
        "i": i,
        "s": s,
        "c": c,
        "h": h,
        "e": empty,
        "csr": c.to_sparse_csr(),
        "csc": c.to_sparse_csc(),
        "dense": dense,
        "wide": wide,
    }


def run(m, program, **more):
    return eval(program, parts(m) | {"torch": m} | more)


@pytest.fixture
def same():
    def compare(program):
        ours, theirs = told(run(clew, program)), told(run(pytorch, program))
        assert close(ours, theirs), (program, ours, theirs)

    return compare
