"""Matrix products of all ranks, sums with products, and linear layers."""

import numpy
import pytest
from oracle import check, check_error, check_out, module, sample, strided

import clew

SIZES = [(1, 1, 1), (2, 3, 4), (5, 1, 3), (1, 7, 1), (3, 0, 2), (0, 3, 2), (17, 19, 23), (33, 40, 35)]


def layouts(array):
    """The matrix stored by rows, by columns, and with gaps."""
    return [array, numpy.asfortranarray(array), strided(array)]


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_mm(size):
    n, k, m = size
    for a in layouts(sample((n, k), seed=1)):
        for b in layouts(sample((k, m), seed=2)):
            check("mm", a, b)
    check("mm", sample((n, k), dtype="float32"), sample((k, m), dtype="float32"), second=False)
    check_out("mm", sample((n, k)), sample((k, m)))


def test_mm_of_integers():
    for dtype in ("uint8", "int32", "int64"):
        check("mm", sample((3, 4), dtype=dtype), sample((4, 5), dtype=dtype))
        check("mm", strided(sample((30, 41), dtype=dtype)), sample((41, 35), dtype=dtype))


def test_mm_of_large_matrices():
    check("mm", sample((200, 300)), sample((300, 150)), second=False, atol=1e-9)
    check("mm", sample((200, 300), dtype="float32"), sample((150, 300), dtype="float32").T, second=False, atol=1e-3)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_mm_has_the_same_bits_however_its_operands_lie(dtype):
    def lay(array, room):
        """The same matrix, with `room` elements from row to row."""
        base = clew.zeros(array.shape[0], room, dtype=getattr(clew, dtype))
        base[:, : array.shape[1]] = clew.from_numpy(array)
        return base[:, : array.shape[1]]

    a, b = sample((150, 300), seed=1, dtype=dtype), sample((300, 170), seed=2, dtype=dtype)
    wanted = (clew.from_numpy(a) @ clew.from_numpy(b)).numpy()
    assert numpy.allclose(wanted, a.astype("float64") @ b.astype("float64"), atol=1e-3)
    for room in (300, 307, 1024):  # the last is a whole number of pages
        for left in (lay(a, room), lay(a.T.copy(), room).T):
            for right in (lay(b, room), lay(b.T.copy(), room).T):
                assert numpy.array_equal((left @ right).numpy(), wanted)
                assert numpy.array_equal((right.T @ left.T).numpy(), wanted.T)
    tall = clew.from_numpy(numpy.concatenate([a] * 4)) @ clew.from_numpy(b)
    assert numpy.array_equal(tall[450:].numpy(), wanted)


def test_mm_errors():
    check_error("mm", sample((3, 4)), sample((3, 4)), match="mat1 and mat2 shapes cannot be multiplied (3x4 and 3x4)")
    check_error("mm", sample((3,)), sample((3, 4)), match="matri")
    check_error("mm", sample((3, 4)), sample((4, 3), dtype="float32"), match="dtype")
    check_error("mm", sample((3, 4), dtype="bool"), sample((4, 3), dtype="bool"), error=NotImplementedError)


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_bmm(size):
    n, k, m = size
    for count in (1, 3):
        for a in (sample((count, n, k), seed=1), strided(sample((count, n, k), seed=1))):
            check("bmm", a, sample((count, k, m), seed=2))
            check("bmm", a, sample((count, m, k), seed=2).transpose(0, 2, 1))
    check("bmm", sample((0, n, k)), sample((0, k, m)))
    check_out("bmm", sample((2, n, k)), sample((2, k, m)))


def test_bmm_of_a_broadcast_batch():
    check("bmm", numpy.broadcast_to(sample((3, 4)), (5, 3, 4)), sample((5, 4, 2)), second=False)
    check("bmm", sample((5, 3, 4)), numpy.broadcast_to(sample((4, 2)), (5, 4, 2)), second=False)


def test_bmm_errors():
    check_error(
        "bmm",
        sample((2, 3, 4)),
        sample((2, 3, 4)),
        match="Expected size for first two dimensions of batch2 tensor to be: [2, 4]",
    )
    check_error("bmm", sample((3, 4)), sample((2, 3, 4)), match="batch1 to be a 3D tensor")


def test_mv_and_dot():
    for a in layouts(sample((5, 7))):
        check("mv", a, sample((7,)))
        check("mv", a, strided(sample((7,))))
    check("mv", sample((200, 130)), sample((130,)), second=False)
    check("mv", sample((3, 0)), sample((0,)))
    check("mv", sample((0, 3)), sample((3,)))
    check("mv", sample((3, 4), dtype="int64"), sample((4,), dtype="int64"))
    for size in (0, 1, 7, 1000):
        check("dot", sample((size,), seed=1), sample((size,), seed=2))
        check("dot", strided(sample((size,), seed=1)), sample((size,), seed=2))
        check("dot", sample((size,), dtype="int64"), sample((size,), dtype="int64"))
    check_out("mv", sample((3, 4)), sample((4,)))
    check_out("dot", sample((4,)), sample((4,)))
    check_error("mv", sample((3, 4)), sample((3,)), match="size mismatch, got input (3), mat (3x4), vec (3)")
    check_error("dot", sample((3,)), sample((4,)), match="inconsistent tensor size")
    check_error("dot", sample((3, 1)), sample((3,)), match="1D tensors expected, but got 2D and 1D tensors")


def test_outer():
    check("outer", sample((3,)), sample((4,), seed=1))
    check("outer", sample((0,)), sample((4,)))
    check_error("outer", sample((3, 1)), sample((3,)), match="1D tensor")


@pytest.mark.parametrize(
    "shapes",
    [
        ((4,), (4,)),
        ((3, 4), (4,)),
        ((3, 4), (4, 5)),
        ((2, 3, 4), (4, 5)),
        ((2, 3, 4), (4,)),
        ((2, 3, 4), (2, 4, 5)),
        ((2, 1, 3, 4), (5, 4, 2)),
        ((2, 3, 4), (1, 4, 5)),
        ((1, 3, 4), (6, 4, 5)),
        ((0, 3, 4), (4, 5)),
        ((2, 0, 4), (2, 4, 5)),
        ((2, 3, 0), (2, 0, 5)),
        ((2, 1, 3, 4), (2, 5, 4, 2)),
    ],
    ids=str,
)
def test_matmul(shapes):
    left, right = shapes
    node = shapes != ((1, 3, 4), (6, 4, 5))  # PyTorch folds a batch of one
    check("matmul", sample(left, seed=1), sample(right, seed=2), node=node)
    check("__matmul__", strided(sample(left, seed=1)), strided(sample(right, seed=2)), method=True, node=node)
    check("matmul", sample(left, dtype="float32"), sample(right, dtype="float32"), second=False, node=node)
    check("matmul", sample(left, dtype="int64"), sample(right, dtype="int64"))


@pytest.mark.parametrize(
    "shapes",
    [((4,), (4, 5)), ((4,), (2, 4, 5)), ((3, 4), (2, 4, 5)), ((4,), (3, 2, 4, 5)), ((3, 4), (3, 2, 4, 5))],
    ids=str,
)
def test_matmul_with_the_smaller_rank_first(shapes):
    left, right = shapes
    check("matmul", sample(left, seed=1), sample(right, seed=2), node=False)


def test_matmul_errors():
    check_error(
        "matmul",
        sample(()),
        sample((3, 4)),
        match="both arguments to matmul need to be at least 1D, but they are 0D and 2D",
    )
    check_error("matmul", sample((3, 4)), sample((3,)), match="size mismatch")
    check_error("matmul", sample((2, 3, 4)), sample((3, 4, 5)), match="must match")
    check_error("matmul", sample((2, 3, 4)), sample((2, 3, 5)), match="Expected size")
    with pytest.raises(TypeError):
        _ = module.ones(2, 2) @ 3


@pytest.mark.parametrize("scales", [{}, {"beta": 0.5, "alpha": -2}, {"beta": 0}, {"alpha": 0.25}], ids=str)
def test_sums_with_products(scales):
    for shape in ((3, 5), (5,), (1, 5), (3, 1), ()):
        check("addmm", sample(shape, seed=1), sample((3, 4), seed=2), sample((4, 5), seed=3), kwargs=scales)
        check("addmm", sample(shape, seed=1), strided(sample((3, 4), seed=2)), sample((5, 4), seed=3).T, kwargs=scales)
        check("baddbmm", sample(shape, seed=1), sample((2, 3, 4), seed=2), sample((2, 4, 5), seed=3), kwargs=scales)
    check("addmv", sample((3,), seed=1), sample((3, 4), seed=2), sample((4,), seed=3), kwargs=scales)
    check("addmv", sample((), seed=1), sample((3, 4), seed=2), sample((4,), seed=3), kwargs=scales)
    check("addmm_", sample((3, 5)), sample((3, 4), seed=2), sample((4, 5), seed=3), kwargs=scales, method=True)
    check_out("addmm", sample((5,)), sample((3, 4)), sample((4, 5)), kwargs=scales)


def test_addmm_with_beta_0_does_not_read_its_first_input():
    check("addmm", numpy.full((3, 5), numpy.nan), sample((3, 4)), sample((4, 5)), kwargs={"beta": 0}, second=False)


def test_addmm_of_integers():
    check("addmm", *(sample(shape, dtype="int64") for shape in ((5,), (3, 4), (4, 5))), kwargs={"beta": 2, "alpha": 3})


def test_addmm_errors():
    check_error("addmm", sample((4,)), sample((3, 4)), sample((4, 5)), match="expanded size of the tensor")
    check_error(
        "addmm",
        sample((5,)),
        sample((3, 4)),
        sample((3, 5)),
        match="mat1 and mat2 shapes cannot be multiplied (3x4 and 3x5)",
    )


@pytest.mark.parametrize("shape", [(2, 4), (4,), (2, 3, 4), (0, 4), (1, 2, 3, 4)], ids=str)
def test_linear(shape):
    weight, bias = sample((5, 4), seed=1), sample((5,), seed=2)
    one_row = len(shape) == 1
    check("nn.functional.linear", sample(shape), weight, bias)
    check("nn.functional.linear", sample(shape), weight, node=not one_row)
    check("nn.functional.linear", strided(sample(shape)), weight, bias, node=not one_row)
    check("nn.functional.linear", sample(shape), numpy.asfortranarray(weight), bias)
    check("nn.functional.linear", *(x.astype("float32") for x in (sample(shape), weight, bias)), second=False)


def test_linear_with_one_output():
    check("nn.functional.linear", sample((8, 16)), sample((1, 16)), sample((1,)))
    check("nn.functional.linear", sample((8, 16)), sample((16,)), node=False)
    check("nn.functional.linear", sample((8, 1)), sample((3, 1)), sample((3,)))


def test_a_linear_layer_is_one_product_over_the_transposed_weight():
    x, weight, bias = (module.from_numpy(sample(shape)).requires_grad_() for shape in ((2, 4), (5, 4), (5,)))
    node = module.nn.functional.linear(x, weight, bias).grad_fn
    assert node.name() == "AddmmBackward0"
    assert [below.name().split("::")[-1] for below, _ in node.next_functions] == [
        "AccumulateGrad",
        "AccumulateGrad",
        "TBackward0",
    ]
    module.nn.functional.linear(x, weight, bias).sum().backward()
    assert weight.grad.is_contiguous()


def test_linear_errors():
    check_error(
        "nn.functional.linear", sample((2, 3)), sample((5, 4)), sample((5,)), match="cannot be multiplied (2x3 and 4x5)"
    )
