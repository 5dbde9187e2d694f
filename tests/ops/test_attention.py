"""Scaled dot-product attention."""

import numpy
import pytest
import torch as reference
from oracle import check, check_error, compare, module, sample, strided

NAME = "nn.functional.scaled_dot_product_attention"
CLEW = pytest.mark.skipif(module is reference, reason="about clew's own kernel")


def heads(queries, keys, width, values=None, leading=(2, 3), dtype="float64"):
    """Query, key and value."""
    shapes = (queries, width), (keys, width), (keys, values or width)
    return [sample((*leading, *shape), dtype=dtype, seed=seed) for seed, shape in enumerate(shapes)]


def agree(*inputs, **options):
    """As `check`, whose second derivatives PyTorch has for no node of its own."""
    check(NAME, *inputs, node=False, second=False, **options)


# Below, at and above every tile (32, 64 and 256 rows, 256 keys) and vector.
LENGTHS = [(1, 1), (3, 5), (31, 33), (64, 64), (65, 300), (257, 70), (300, 520)]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("queries", "keys"), LENGTHS, ids=str)
def test_lengths(queries, keys, causal):
    leading = (1, 2) if queries > 64 else (2, 3)
    for width, values in [(1, 1), (8, 8), (17, 33)]:
        for dtype in ("float64", "float32"):
            arrays = heads(queries, keys, width, values, leading, dtype)
            agree(*arrays, kwargs={"is_causal": causal}, atol=2e-5 if dtype == "float32" else None)


@pytest.mark.parametrize("leading", [(), (1,), (9,), (2, 3), (2, 1, 3)], ids=str)
def test_leading_axes(leading):
    agree(*heads(5, 6, 4, leading=leading))
    agree(*heads(300, 600, 4, leading=leading), kwargs={"is_causal": True})


def test_leading_axes_are_broadcast():
    query, key, value = heads(5, 6, 4)
    agree(query, key[:1], value)
    agree(query[0, 0], key, value[:, :1])
    check_error(NAME, query, key[:, :2], value, match="must match the size")


def test_layouts():
    arrays = heads(5, 6, 4)
    agree(*[strided(array) for array in arrays])
    agree(*[numpy.broadcast_to(array[..., :1], array.shape) for array in arrays])
    agree(numpy.broadcast_to(arrays[0][:, :, :1], arrays[0].shape), *arrays[1:])
    split = [array.transpose(0, 2, 1, 3).copy().transpose(0, 2, 1, 3) for array in heads(40, 40, 8)]
    agree(*split, kwargs={"is_causal": True})


@CLEW
def test_what_splits_heads_is_undone_for_free():
    x = module.randn(2, 5, 3 * 4, requires_grad=True)
    q = x.view(2, 5, 3, 4).transpose(1, 2)
    out = module.nn.functional.scaled_dot_product_attention(q, q, q)
    assert out.transpose(1, 2).is_contiguous()
    assert out.transpose(1, 2).reshape(2, 5, 12).data_ptr() == out.data_ptr()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_masks(dtype):
    arrays = heads(7, 9, 4, dtype=dtype)
    generator = numpy.random.default_rng(0)
    for shape in [(7, 9), (1, 9), (7, 1), (2, 1, 7, 9), (3, 7, 9), (2, 3, 7, 9)]:
        agree(*arrays, generator.random(shape) < 0.7)
        agree(*arrays, generator.standard_normal(shape).astype(dtype))
    agree(*arrays, numpy.asfortranarray(generator.random((7, 9)) < 0.7))
    agree(*heads(300, 300, 8, leading=(1, 1), dtype=dtype), generator.random((300, 300)) < 0.05)


def test_a_query_that_sees_no_key_gives_zeros():
    arrays = heads(5, 6, 4)
    seen = numpy.ones((5, 6), bool)
    seen[2] = False
    added = numpy.where(seen, 0.0, -numpy.inf)
    agree(*arrays, seen)
    agree(*arrays, added)
    agree(*arrays, numpy.zeros((5, 6), bool))
    agree(*heads(300, 600, 4), numpy.repeat([True, False], 300)[None], kwargs={"is_causal": False})
    agree(*heads(3, 600, 4), numpy.arange(600)[None] >= 300)  # the first tile has nothing to see


def test_not_a_number_and_infinity():
    """Of three axes: with four, PyTorch's kernel gives 0 where the scores are not numbers."""
    for value in (numpy.nan, numpy.inf, -numpy.inf):
        query, key, values = heads(5, 6, 4, leading=(6,))
        query[0, 1, 2] = value
        values[4, 3, 0] = value
        agree(query, key, values, grad=False)
        agree(query, key, values, numpy.array([False, False, True, True, True, True]), grad=False)
    far = heads(5, 300, 4, dtype="float32")
    agree(far[0] * 100, *far[1:], grad=False)


def test_empty():
    for queries, keys, width in [(0, 3, 4), (3, 0, 4), (0, 0, 4), (3, 3, 0)]:
        query, key, value = heads(queries, keys, width, values=4)
        scale = {"kwargs": {"scale": 1.0}}
        agree(query, key, value, **scale)
    agree(*heads(3, 3, 4, leading=(0, 2)))


def test_scale():
    for scale in (0.0, 0.3, -2.0):
        agree(*heads(5, 6, 4), kwargs={"scale": scale})


def test_groups_of_queries():
    query = sample((2, 6, 5, 4))
    key, value = sample((2, 3, 7, 4), seed=1), sample((2, 3, 7, 4), seed=2)
    grouped = {"enable_gqa": True}
    agree(query, key, value, kwargs=grouped)
    agree(query, key, value, sample((5, 7)), kwargs=grouped)
    agree(query, key, value, sample((2, 1, 5, 7)) > 0, kwargs=grouped)
    agree(query, key, value, sample((2, 6, 5, 7)) > 0, kwargs={"is_causal": False, **grouped})
    agree(query[0], key[0], value[0], kwargs=grouped)
    check_error(NAME, sample((2, 5, 5, 4)), key, value, kwargs=grouped)


def test_second_derivatives():
    """Of three axes: there PyTorch computes in operations that have second derivatives."""
    arrays = heads(4, 5, 3, leading=(2,))
    seen = sample((4, 5)) > -0.5
    for options in ({}, {"is_causal": True}, {"scale": 0.3}):
        check(NAME, *arrays, node=False, kwargs=options)
    check(NAME, *arrays, seen, node=False)
    check(NAME, *arrays, sample((4, 5), seed=5), grad=True, node=False)


@CLEW
@pytest.mark.parametrize("causal", [False, True])
def test_finite_differences(causal):
    inputs = [module.from_numpy(array).requires_grad_() for array in heads(4, 5, 3, 2, leading=(2,))]
    mask = module.from_numpy(sample((4, 5)) > -1.0)

    def attention(query, key, value):
        return module.nn.functional.scaled_dot_product_attention(query, key, value, mask, is_causal=causal)

    assert module.autograd.gradcheck(attention, inputs)
    assert module.autograd.gradgradcheck(attention, inputs)


def test_each_input_alone():
    arrays = heads(4, 5, 3, leading=(1, 2))
    for leaf in range(3):
        slopes = []
        for to in (module, reference):
            inputs = [to.from_numpy(array) for array in arrays]
            inputs[leaf].requires_grad_()
            to.nn.functional.scaled_dot_product_attention(*inputs).sum().backward()
            slopes.append(inputs[leaf].grad)
        compare(f"input {leaf}", *slopes, 1e-9, 1e-11)


@CLEW
def test_dropout():
    arrays = [module.from_numpy(array).requires_grad_() for array in heads(4, 50, 3, leading=(2,))]
    attention = module.nn.functional.scaled_dot_product_attention
    query, key, value = arrays
    weights = module.softmax(query @ key.transpose(1, 2) / 3**0.5, -1)
    module.manual_seed(3)
    out = attention(query, key, value, dropout_p=0.4)
    module.manual_seed(3)
    expected = module.nn.functional.dropout(weights, 0.4) @ value
    compare("dropout", out, module.as_tensor(expected), 1e-9, 1e-11)
    assert attention(query, key, value, dropout_p=1.0).abs().sum().item() == 0


@CLEW
def test_the_same_bits_at_any_number_of_threads():
    arrays = [*heads(300, 700, 20, leading=(3,), dtype="float32"), *heads(70, 70, 16, dtype="float32")]
    before = module.get_num_threads()
    results = []
    try:
        for threads in (1, 2, 3):
            module.set_num_threads(threads)
            found = []
            for begin in (0, 3):
                inputs = [module.from_numpy(array.copy()).requires_grad_() for array in arrays[begin : begin + 3]]
                out = module.nn.functional.scaled_dot_product_attention(*inputs, is_causal=begin == 3)
                out.square().sum().backward()
                found += [out.detach().numpy(), *(x.grad.numpy() for x in inputs)]
            results.append(found)
    finally:
        module.set_num_threads(before)
    for other in results[1:]:
        for one, two in zip(results[0], other, strict=True):
            assert numpy.array_equal(one.view("int32"), two.view("int32"))


@CLEW
def test_memory_is_linear_in_the_length():
    def peak(length):
        inputs = [module.ones(2, length, 16, requires_grad=True) for _ in range(3)]
        start = module.memory.stats().live
        module.memory.reset_peak()
        module.nn.functional.scaled_dot_product_attention(*inputs, is_causal=True).sum().backward()
        return module.memory.stats().peak - start

    short, long = peak(512), peak(2048)
    assert long < 4.5 * short
    assert long < 2 * 2048 * 2048  # bytes; all the weights would take four times as many


@CLEW
def test_a_mask_that_wants_a_gradient():
    arrays = heads(4, 5, 3, leading=(2,))
    check(NAME, *arrays, sample((2, 4, 5), seed=7), node=False)
    check(NAME, *arrays, sample((1, 5), seed=7), node=False)


def test_refuses():
    query, key, value = heads(4, 5, 3)
    check_error(NAME, query[0, 0, 0], key, value, match="at least 2 dimensional")
    check_error(NAME, query, key.astype("float32"), value, match="to have the same dtype")
    check_error(NAME, query, key, value, sample((4, 6)), match="attn_mask")
    agree(query, key, value, sample((4, 5), dtype="float32"))
    check_error(NAME, *heads(4, 5, 3, dtype="float32"), sample((4, 5)), match="attn_mask")
    check_error(NAME, query, key, value, sample((4, 5), dtype="int64"), match="attn_mask")
    check_error(NAME, query, sample((2, 3, 5, 4)), value)
    check_error(NAME, query[0], key[0], sample((3, 6, 3)))  # of four axes PyTorch does not look
    check_error(NAME, *[x.astype("int64") for x in (query, key, value)])
    check_error(NAME, query, key, value, kwargs={"dropout_p": 1.5}, match="dropout probability")
