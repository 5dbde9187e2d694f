"""Functions over several tensors that are written in Python."""

import numpy
import pytest
from oracle import check, check_error, module, sample


@pytest.mark.parametrize("name", ["hstack", "vstack", "row_stack", "dstack", "column_stack"])
def test_stacks(name):
    for shape in ((), (3,), (2, 3), (2, 3, 4)):
        check(name, [sample(shape), sample(shape, seed=1)])
        check(name, (sample(shape, dtype="int64"), sample(shape, seed=1)))
    check(name, [sample((2, 3))])


@pytest.mark.parametrize("name", ["atleast_1d", "atleast_2d", "atleast_3d"])
def test_at_least(name):
    for shape in ((), (3,), (2, 3), (2, 3, 4)):
        check(name, sample(shape), node=False)
        check(name, sample(shape), sample((3,)), node=False)
        check(name, [sample(shape), sample(())], node=False)


def test_broadcast_tensors():
    check("broadcast_tensors", sample((3, 1)), sample((4,)), sample(()))
    check("broadcast_tensors", sample((2, 3)), sample((2, 3), seed=1))
    check_error("broadcast_tensors", sample((3,)), sample((4,)), match="broadcast a dimension of length 4 at -1")


@pytest.mark.parametrize("indexing", ["ij", "xy"])
def test_meshgrid(indexing):
    vectors = [sample((size,), seed=size) for size in (3, 2, 4)]
    for count in (1, 2, 3):
        check("meshgrid", *vectors[:count], kwargs={"indexing": indexing}, node=False)
    check("meshgrid", [vectors[0], sample(())], kwargs={"indexing": indexing}, node=False)


def test_meshgrid_asks_for_the_order():
    with pytest.warns(UserWarning, match="indexing"):
        module.meshgrid(module.tensor([1, 2]))
    x = module.tensor([1, 2])
    with pytest.raises(RuntimeError, match='one of "xy" or "ij"'):
        module.meshgrid(x, indexing="yx")
    with pytest.raises(RuntimeError, match="same dtype"):
        module.meshgrid(x, module.tensor([1.0]), indexing="ij")


def test_products_and_blocks():
    check("cartesian_prod", sample((2,)), sample((3,)))
    check("cartesian_prod", sample((2,)), node=False)
    check("block_diag", sample((2, 3)), sample((1, 2)), sample((4,)), sample(()))
    check("block_diag", sample((2, 3), dtype="int64"), sample((1, 2), dtype="float32"), second=False)


@pytest.mark.parametrize(
    ("name", "shape", "at"),
    [("hsplit", (4,), 2), ("hsplit", (2, 4), [1, 3]), ("vsplit", (4, 2), 2), ("dsplit", (1, 2, 4), 4)],
)
def test_splits(name, shape, at):
    check(name, sample(shape), at)
    check(name, sample(shape), at, method=True)


def test_uneven_splits():
    check_error("hsplit", sample((5,)), 2, match="not divisible by the split_size 2")
    check_error("vsplit", sample((5,)), 1, match="at least 2 dimension(s)")


def test_split_into_more_parts_than_a_list_of_axes():
    sizes = [1, 2] * 10
    check("split", sample((30, 2)), sizes)
    check("split", sample((2, 30)), sizes, -1, method=True)
    check_error("split", sample((29,)), sizes, match="sum exactly to 29")


def test_repeat_interleave():
    for dim in (None, 0, 1, -1):
        check("repeat_interleave", sample((2, 3)), 2, dim, node=False)
    check("repeat_interleave", sample((2, 3)), numpy.array([1, 0, 2]), 1, method=True)
    check("repeat_interleave", sample((3,)), numpy.array([2]))
    check("repeat_interleave", numpy.array([1, 0, 3]))
    check_error("repeat_interleave", sample((3,)), -1, match="non-negative")
    check_error(
        "repeat_interleave", sample((3,)), numpy.array([1, 2]), match="must have the same size as input along dim"
    )


def test_rot90():
    for turns in range(-2, 5):
        check("rot90", sample((2, 3)), turns, (0, 1))
    check("rot90", sample((2, 3, 4)), 1, (2, 0), method=True)


def test_diff():
    for n in range(5):
        check("diff", sample((4, 3)), n, 0, node=False)
    check("diff", sample((4, 3)), kwargs={"prepend": sample((4, 1), seed=1), "append": sample((4, 2), seed=2)})
    check("diff", sample((6,), dtype="bool"))
    check("diff", sample((6,), dtype="int32"), method=True)


@pytest.mark.parametrize("name", ["tril_indices", "triu_indices"])
def test_triangle_indices(name):
    for offset in (-2, 0, 1):
        check(name, 3, 4, offset)
