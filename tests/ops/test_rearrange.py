"""The same elements in other places."""

import pytest
from oracle import check, check_error, check_out, sample, strided

CASES = {
    "repeat": [
        ((2, 3), (2, 2)),
        ((2, 3), (4, 1, 2)),
        ((2, 3), (1, 1)),
        ((), ()),
        ((), (3,)),
        ((2, 3), (0, 1)),
        ((0, 2), (2, 3)),
    ],
    "tile": [((2, 3), (2,)), ((2, 3), (2, 1, 2)), ((2, 3), ()), ((), (2,))],
    "roll": [
        ((5,), 2),
        ((5,), -7, 0),
        ((2, 3), 1),
        ((2, 3), (1, -1), (0, 1)),
        ((2, 3), (1, 1), (1, 1)),
        ((), 1),
        ((0, 2), 1, 0),
        ((3, 4), 0, 1),
    ],
    "flip": [((5,), (0,)), ((2, 3), (0, 1)), ((2, 3, 4), (-1,)), ((), (0,)), ((2, 3), ()), ((0, 2), (0,))],
    "fliplr": [((2, 3),)],
    "flipud": [((2, 3),), ((3,),)],
    "tril": [((3, 4),), ((3, 4), 1), ((3, 4), -1), ((2, 3, 3),), ((4, 2), 9), ((0, 3),), ((3, 0),)],
    "triu": [((3, 4),), ((3, 4), 1), ((3, 4), -1), ((2, 3, 3),), ((4, 2), -9), ((2, 0, 3),)],
    "diag": [((3,),), ((3,), 2), ((3,), -1), ((3, 4),), ((3, 4), 1), ((3, 4), -5), ((0,),)],
    "diag_embed": [((2, 3),), ((2, 3), 1), ((2, 3), -1, 0, 2), ((3,), 0, 1, 0), ((0,),)],
    "trace": [((3, 4),), ((1, 1),), ((0, 0),)],
}


@pytest.mark.parametrize(("name", "case"), [(name, case) for name, cases in CASES.items() for case in cases])
def test_rearranged(name, case):
    shape, *arguments = case
    check(name, sample(shape), *arguments, method=True)
    check(name, strided(sample(shape)), *arguments, method=True)
    check(name, sample(shape, dtype="float32"), *arguments, method=True, second=False)
    check(name, sample(shape, dtype="int64"), *arguments, method=True)
    if name != "trace":
        check(name, sample(shape, dtype="bool"), *arguments, method=True)
    if name not in ("repeat",):
        check(name, sample(shape), *arguments)


LARGE = [("flip", (0, 1)), ("roll", (100, -3), (0, 1)), ("tril", 2), ("triu", -2), ("repeat", (2, 3)), ("diag", 1)]


@pytest.mark.parametrize("case", LARGE, ids=lambda case: case[0])
def test_large(case):
    name, *arguments = case
    check(name, sample((300, 257)), *arguments, method=True, second=False)
    check(name, strided(sample((300, 257), dtype="float32")), *arguments, method=True, second=False)


@pytest.mark.parametrize("name", ["tril_", "triu_"])
def test_triangles_in_place(name):
    check(name, sample((3, 4)), method=True)
    check(name, strided(sample((2, 3, 3))), 1, method=True)
    check(name, sample((3, 4), dtype="int32"), -1, method=True)


@pytest.mark.parametrize("name", ["tril", "triu", "diag"])
def test_out(name):
    check_out(name, sample((3, 4)), 1)


BAD = [
    ("repeat", (2, 3), ((2,),), RuntimeError, "can not be smaller than number of dimensions of tensor"),
    ("repeat", (2, 3), ((2, -1),), RuntimeError, "negative dimension"),
    ("roll", (2, 3), ((1, 2), (0,)), RuntimeError, "shifts and dimensions must align. shifts: 2, dims:1"),
    ("roll", (2, 3), (1, 5), IndexError, "Dimension out of range"),
    ("flip", (2, 3), ((0, 0),), RuntimeError, "dim 0 appears multiple times in the list of dims"),
    ("flip", (2, 3), ((5,),), IndexError, "Dimension out of range"),
    ("tril", (3,), (), RuntimeError, "tril: input tensor must have at least 2 dimensions"),
    ("triu", (), (), RuntimeError, "triu: input tensor must have at least 2 dimensions"),
    ("diag", (), (), RuntimeError, "diag(): Supports 1D or 2D tensors. Got 0D"),
    ("diag", (2, 2, 2), (), RuntimeError, "diag(): Supports 1D or 2D tensors. Got 3D"),
    ("diag_embed", (), (), IndexError, "Dimension out of range"),
    ("diag_embed", (2,), (0, 1, 1), RuntimeError, "diagonal dimensions cannot be identical 1, 1"),
    ("trace", (3,), (), RuntimeError, "trace: expected a matrix, but got tensor with dim 1"),
]


@pytest.mark.parametrize(("name", "shape", "arguments", "error", "words"), BAD)
def test_bad_arguments(name, shape, arguments, error, words):
    check_error(name, sample(shape), *arguments, error=error, match=words, method=True)


def test_trace_of_bools_is_not_defined():
    check_error("trace", sample((2, 2), dtype="bool"), error=NotImplementedError, match="bool", method=True)
