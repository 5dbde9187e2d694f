"""Attention with several heads and the transformer's encoder layer, against PyTorch's."""

import numpy
import pytest
import torch as reference


def numbers(shape, seed, dtype="float64"):
    return numpy.random.default_rng([seed, *shape]).standard_normal(shape).astype(dtype)


def fill(to, net):
    for seed, parameter in enumerate(net.parameters()):
        with to.no_grad():
            parameter.copy_(to.from_numpy(numbers(tuple(parameter.shape), 50 + seed) * 0.3))
    return net


def gradients(to, results, leaves):
    """Of first and second order: PyTorch has the second where it computes in operations."""
    loss = sum((one * to.from_numpy(numbers(tuple(one.shape), i))).sum() for i, one in enumerate(results))
    first = to.autograd.grad(loss, leaves, allow_unused=True)
    return [*results, *first]


def attention(masks, options, call=None, query=(5, 2, 8), key=None, value=None):
    def run(to):
        net = fill(to, to.nn.MultiheadAttention(8, 2, dtype=to.float64, **options))
        shapes = [query, key or query, value or key or query]
        inputs = [to.from_numpy(numbers(shape, i)).requires_grad_() for i, shape in enumerate(shapes)]
        if key is None:
            inputs = inputs[:1] * 3
        given = {name: to.from_numpy(mask) for name, mask in masks.items()}
        output, weights = net(*inputs, **given, **(call or {}))
        results = [output] if weights is None else [output, weights]
        leaves = [*({id(one): one for one in inputs}.values()), *net.parameters()]
        return gradients(to, results, leaves)

    return run


OPTIONS = [{}, {"bias": False}, {"add_bias_kv": True}, {"add_zero_attn": True}]
later = numpy.triu(numpy.ones((5, 5), bool), 1)
padding = numpy.array([[False, False, False, True, True], [False] * 5])


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_multihead_attention(agree, options, need_weights):
    call = {"need_weights": need_weights}
    for masks in [
        {},
        {"attn_mask": later},
        {"attn_mask": numpy.where(later, -numpy.inf, 0.5)},
        {"attn_mask": numpy.broadcast_to(later, (4, 5, 5)).copy()},
        {"key_padding_mask": padding},
        {"key_padding_mask": padding, "attn_mask": later},
    ]:
        agree(attention(masks, options, call), 1e-9, 1e-9)
    agree(attention({}, options, call, (5, 8)), 1e-9, 1e-9)
    agree(attention({"key_padding_mask": padding[0]}, options, call, (5, 8)), 1e-9, 1e-9)
    agree(attention({}, {"batch_first": True, **options}, call, (2, 5, 8)), 1e-9, 1e-9)
    agree(attention({}, options, call, (5, 2, 8), (7, 2, 8)), 1e-9, 1e-9)
    agree(attention({}, {"kdim": 3, "vdim": 6, **options}, call, (5, 2, 8), (7, 2, 3), (7, 2, 6)), 1e-9, 1e-9)


def test_weights_of_each_head_and_the_causal_hint(agree):
    agree(attention({}, {}, {"average_attn_weights": False}), 1e-9, 1e-9)
    agree(attention({"attn_mask": later}, {}, {"need_weights": False, "is_causal": True}), 1e-9, 1e-9)
    agree(attention({"attn_mask": later}, {}, {"need_weights": True, "is_causal": True}), 1e-9, 1e-9)


@pytest.mark.parametrize("options", [*OPTIONS, {"kdim": 3}, {"vdim": 5}], ids=str)
def test_names_text_and_first_weights(torch, options):
    found = []
    for to in (torch, reference):
        to.manual_seed(3)
        net = to.nn.MultiheadAttention(8, 2, **options)
        found.append((repr(net), {name: value.numpy() for name, value in net.state_dict().items()}))
    assert found[0][0] == found[1][0]
    assert list(found[0][1]) == list(found[1][1])
    for name, value in found[0][1].items():
        numpy.testing.assert_allclose(value, found[1][1][name], rtol=1e-6, atol=1e-7)


def test_dropout_of_weights(torch):
    net = torch.nn.MultiheadAttention(8, 2, dropout=1.0)
    x = torch.ones(5, 2, 8)
    for need_weights in (True, False):
        assert torch.equal(net.train()(x, x, x, need_weights=need_weights)[0], torch.zeros(5, 2, 8))
        assert net.eval()(x, x, x, need_weights=need_weights)[0].abs().sum() > 0


def encoder(options, masks=None, causal=False, shape=(5, 2, 8)):
    def run(to):
        net = fill(to, to.nn.TransformerEncoderLayer(8, 2, 16, 0.0, dtype=to.float64, **options))
        x = to.from_numpy(numbers(shape, 0)).requires_grad_()
        given = {name: to.from_numpy(mask) for name, mask in (masks or {}).items()}
        return gradients(to, [net(x, is_causal=causal, **given)], [x, *net.parameters()])

    return run


def test_encoder_layer(agree):
    for options in ({}, {"norm_first": True}, {"activation": "gelu"}, {"bias": False}, {"layer_norm_eps": 0.1}):
        agree(encoder(options), 1e-8, 1e-8)
        agree(encoder(options, {"src_mask": later}), 1e-8, 1e-8)
        agree(encoder(options, {"src_key_padding_mask": padding}), 1e-8, 1e-8)
    agree(encoder({}, {"src_mask": later}, True), 1e-8, 1e-8)
    agree(encoder({"batch_first": True}, shape=(2, 5, 8)), 1e-8, 1e-8)
    agree(encoder({}, shape=(5, 8)), 1e-8, 1e-8)


def test_encoder_layer_text_and_names(torch):
    ours, theirs = torch.nn.TransformerEncoderLayer(8, 2, 16), reference.nn.TransformerEncoderLayer(8, 2, 16)
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())


def test_second_derivatives_without_weights(torch):
    torch.manual_seed(0)
    net = torch.nn.MultiheadAttention(4, 2, dtype=torch.float64)
    x = torch.randn(3, 2, 4, dtype=torch.float64, requires_grad=True)
    if torch is reference:
        pytest.skip("PyTorch's kernel has none")
    assert torch.autograd.gradgradcheck(lambda x: net(x, x, x, need_weights=False)[0], x)


def test_refuses(torch):
    with pytest.raises(ValueError, match="must be greater than 0"):
        torch.nn.MultiheadAttention(0, 2)
    with pytest.raises(AssertionError, match="divisible"):
        torch.nn.MultiheadAttention(7, 2)
    net, x = torch.nn.MultiheadAttention(8, 2), torch.ones(5, 2, 8)
    with pytest.raises(AssertionError, match="2D or batched 3D"):
        net(x[0, 0], x, x)
    with pytest.raises(AssertionError, match="to be 3-D"):
        net(x, x[0], x)
    with pytest.raises(AssertionError, match="`key_padding_mask` to be `None` or 2-D"):
        net(x, x, x, torch.zeros(5, dtype=torch.bool))
    with pytest.raises(AssertionError, match="embedding dimension of 8"):
        net(x[..., :6], x, x)
    with pytest.raises(RuntimeError, match="attn_mask is"):
        net(x, x, x, attn_mask=torch.zeros(5, 6))
    with pytest.raises(RuntimeError, match="Need attn_mask"):
        net(x, x, x, is_causal=True)
    with pytest.raises(AssertionError, match="only bool and floating"):
        net(x, x, x, attn_mask=torch.zeros(5, 5, dtype=torch.int64))
    with pytest.raises(RuntimeError, match="relu/gelu"):
        torch.nn.TransformerEncoderLayer(8, 2, activation="tanh")
