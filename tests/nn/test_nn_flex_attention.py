"""`flex_attention` and its masks against PyTorch's eager path."""

import math
import warnings

import numpy
import pytest
import torch
import torch.nn.attention.flex_attention

import clew

TABLE = numpy.random.default_rng(9).standard_normal((2, 4, 8))


def programs(library):
    """Functions of scores and masks, by name."""
    table = library.tensor(TABLE)
    documents = library.tensor([0, 0, 0, 1, 1, 2, 2, 2])
    flex = library.nn.attention.flex_attention

    def causal(b, h, q, kv):
        return q >= kv

    def window(b, h, q, kv):
        return (q - kv).abs() <= 2

    scores = {
        "plain": None,
        "relative": lambda score, b, h, q, kv: score + (q - kv) * 0.1,
        "alibi": lambda score, b, h, q, kv: score - 0.5 ** (h + 1) * (q - kv).abs(),
        "table": lambda score, b, h, q, kv: score + table[b, h, q] * table[b, h][kv],
        "softcap": lambda score, b, h, q, kv: 2 * library.tanh(score / 2),
        "causal": lambda score, b, h, q, kv: library.where(q >= kv, score, -math.inf),
    }
    masks = {
        "none": None,
        "causal": causal,
        "documents": lambda b, h, q, kv: documents[q] == documents[kv],
        "both": flex.and_masks(causal, window),
        "either": flex.or_masks(lambda b, h, q, kv: q + 3 < kv, window),
        "heads": lambda b, h, q, kv: (h % 2 == 0) | (q >= kv),
        "blind": lambda b, h, q, kv: q > 2,
        "noop": flex.noop_mask,
    }
    return scores, masks


def run(library, score, mask, lengths=(8, 8), heads=(4, 4), dtype="float64", **options):
    flex = library.nn.attention.flex_attention
    draw = numpy.random.default_rng(0)
    shapes = (2, heads[0], lengths[0], 4), (2, heads[1], lengths[1], 4), (2, heads[1], lengths[1], 3)
    q, k, v = (library.tensor(draw.standard_normal(one), dtype=getattr(library, dtype)) for one in shapes)
    scores, masks = programs(library)
    block_mask = masks[mask] and flex.create_block_mask(masks[mask], 2, heads[0], *lengths, device="cpu", BLOCK_SIZE=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result, lse = flex.flex_attention(q, k, v, scores[score], block_mask, return_lse=True, **options)
    return [one.numpy() for one in (result, lse)]


def compare(*args, tolerance=1e-9, **options):
    for ours, theirs in zip(run(clew, *args, **options), run(torch, *args, **options), strict=True):
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
        numpy.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("score", ["plain", "relative", "alibi", "table", "softcap", "causal"])
def test_scores(score):
    compare(score, "none")
    compare(score, "causal")


@pytest.mark.parametrize("mask", ["documents", "both", "either", "heads", "blind", "noop"])
def test_masks(mask):
    compare("plain", mask)
    compare("relative", mask)


def test_groups_lengths_scales_and_dtypes():
    compare("relative", "causal", heads=(4, 2), enable_gqa=True)
    compare("plain", "causal", lengths=(4, 6), scale=0.3)
    compare("relative", "both", dtype="float32", tolerance=1e-5)


@pytest.mark.parametrize("mask", ["causal", "documents", "both", "heads", "blind", "noop"])
@pytest.mark.parametrize("size", [2, (4, 2), 3])
@pytest.mark.parametrize("separate", [False, True])
def test_block_masks_have_pytorchs_fields(mask, size, separate):
    made = []
    for library in (clew, torch):
        flex = library.nn.attention.flex_attention
        options = {"BLOCK_SIZE": size, "device": "cpu", "separate_full_blocks": separate}
        made.append(flex.create_block_mask(programs(library)[1][mask], 1, 4, 8, 8, **options))
    ours, theirs = made
    for name in (
        "kv_num_blocks", "kv_indices", "q_num_blocks", "q_indices",
        "full_kv_num_blocks", "full_kv_indices", "full_q_num_blocks", "full_q_indices",
    ):  # fmt: skip
        one, other = getattr(ours, name), getattr(theirs, name)
        assert (one is None) == (other is None)
        if one is not None:
            numpy.testing.assert_array_equal(one.numpy(), other.numpy(), err_msg=name)
            assert one.dtype == clew.int32
    assert (ours.shape, ours.numel(), ours.BLOCK_SIZE) == (tuple(theirs.shape), theirs.numel(), theirs.BLOCK_SIZE)
    assert ours.sparsity() == pytest.approx(theirs.sparsity())
    numpy.testing.assert_array_equal(ours.to_dense().numpy(), theirs.to_dense().numpy())
    again = type(ours).from_kv_blocks(
        ours.kv_num_blocks, ours.kv_indices, ours.full_kv_num_blocks, ours.full_kv_indices,
        BLOCK_SIZE=size, mask_mod=ours.mask_mod, seq_lengths=(8, 8),
    )  # fmt: skip
    numpy.testing.assert_array_equal(again.to_dense().numpy(), ours.to_dense().numpy())
    assert (ours[:, 1].shape, ours[0, :2].shape) == ((1, 1, 8, 8), (1, 2, 8, 8))


def test_masks_as_tensors():
    for name in ("causal", "heads", "noop", "blind"):
        one, other = (
            library.nn.attention.flex_attention.create_mask(
                programs(library)[1][name], 2, 4, 5, 6, device="cpu"
            ).numpy()
            for library in (clew, torch)
        )
        numpy.testing.assert_array_equal(one, other)
    flex = clew.nn.attention.flex_attention
    scores = programs(clew)[0]["causal"]
    assert flex.create_mask(scores, None, None, 2, 2).tolist() == [[[[True, False], [True, True]]]]


def test_gradients_and_errors():
    draw = numpy.random.default_rng(0)
    q, k, v = (clew.tensor(draw.standard_normal((1, 2, 3, 2)), requires_grad=True) for _ in range(3))
    bias = clew.tensor(draw.standard_normal((2, 3)), requires_grad=True)
    flex = clew.nn.attention.flex_attention
    causal = flex.create_block_mask(lambda b, h, q, kv: q >= kv, None, None, 3, 3)

    def attend(q, k, v, bias):
        return flex.flex_attention(q, k, v, lambda score, b, h, i, j: score * bias[h, i], causal, return_lse=True)

    assert clew.autograd.gradcheck(attend, (q, k, v, bias))
    scores, masks = programs(clew)
    for score, mask in (("causal", "none"), ("table", "heads"), ("softcap", "blind")):
        block_mask = masks[mask] and flex.create_block_mask(masks[mask], None, 2, 3, 3)
        f = lambda q, k, v: flex.flex_attention(q, k, v, scores[score], block_mask)  # noqa: E731, B023
        assert clew.autograd.gradcheck(f, (q, k, v))
    assert clew.autograd.gradgradcheck(attend, (q, k, v, bias))
    aux = flex.flex_attention(q, k, v, return_aux=flex.AuxRequest(lse=True, max_scores=True))[1]
    numpy.testing.assert_array_less(aux.max_scores.detach().numpy(), aux.lse.detach().numpy())
    for wrong in (
        lambda: flex.flex_attention(q[0], k, v),
        lambda: flex.flex_attention(q, k[:, :1], v[:, :1]),
        lambda: flex.flex_attention(q[:, :, :2], k, v, block_mask=causal),
    ):
        with pytest.raises(ValueError, match="flex_attention: expected"):
            wrong()
    with pytest.raises(RuntimeError, match="and_masks"):
        flex.and_masks(3)


def test_kernels_are_chosen_and_make_no_difference():
    attention = clew.nn.attention
    x = clew.ones(1, 1, 2, 4)
    for backends in (attention.SDPBackend.MATH, [attention.SDPBackend.FLASH_ATTENTION, attention.SDPBackend.MATH]):
        with attention.sdpa_kernel(backends):
            assert clew.nn.functional.scaled_dot_product_attention(x, x, x).shape == x.shape
    with pytest.raises(AssertionError, match="SDPBackend"), attention.sdpa_kernel("math"):
        pass
    theirs = torch.nn.attention.SDPBackend
    assert {one.name: one.value for one in attention.SDPBackend} == {
        name: int(one) for name, one in theirs.__members__.items()
    }
