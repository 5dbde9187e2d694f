"""Row 6.2: reductions of few elements, and rows copied to a few rows, go straight to their loop in a replay.

The bits are eager's on both sides of each size from which another loop is chosen.

See core/kernels/reduction/small_reduction.h.
"""

import numpy
import pytest

import clew

pytestmark = pytest.mark.records_calls

# Columns from 3 on, rows to 23, no folding from 64 columns on, at most 512 at once and 4096 elements.
SIZES = [
    (1, 1),
    (2, 2),
    (3, 3),
    (8, 16),
    (23, 16),
    (24, 16),
    (24, 15),
    (31, 64),
    (129, 3),
    (8, 511),
    (8, 512),
    (8, 513),
]
SIZES += [(128, 32), (129, 32), (4096, 1), (1, 4096), (2049, 2), (5, 0), (200, 2)]
FORMS = {
    "as it lies": lambda x: x,
    "transposed": lambda x: x.T,
    "every other row": lambda x: x[::2],
    "every other column": lambda x: x[:, ::2],
    "one row, repeated": lambda x: x[:1].expand(7, x.shape[1]),
}


def reductions(x):
    found = []
    for form in FORMS.values():
        part = form(x)
        if part.numel() == 0:
            found += [part.sum(), part.sum(0), part.sum(1)]
            continue
        for axes in (0, 1, (0, 1)):
            kept = [part.sum(axes), part.mean(axes), part.sum(axes, keepdim=True), part.logsumexp(axes)]
            found += [*kept, part.amax(axes), (part != 0).all() if axes == 0 else part.square().sum(axes)]
    return found


def rows(x):
    """A row is put into each row before a product is added to it."""
    if x.numel() == 0:
        return [x]
    return [clew.addmm(x[0], x, clew.ones(x.shape[1], x.shape[1], dtype=x.dtype)), x[0].expand(5, -1).clone()]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_they_give_eagers_bits(size, dtype):
    step = clew.compile(lambda x: [*reductions(x), *rows(x)])
    generator = numpy.random.default_rng(0)
    for i in range(4):
        x = clew.from_numpy(generator.standard_normal(size).astype(dtype))
        for place, (got, expected) in enumerate(zip(step(x), step.eager(x), strict=True)):
            assert got.numpy().tobytes() == expected.numpy().tobytes(), (i, place)
    assert step.hits == 3
