"""Small programs for other machines: functions of tensors that clew and PyTorch both run.

Each is `function(torch, *inputs)`, with its inputs as arrays. Those of floats get gradients, of what the function
returns weighed with 1, 2, 3, ...
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np


def real(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


def positive(*shape: int, seed: int = 0) -> np.ndarray:
    return np.abs(real(*shape, seed=seed)) + 0.5


def unit(*shape: int) -> np.ndarray:
    return np.random.default_rng(7).uniform(0.1, 0.9, shape)


@dataclass(frozen=True)
class Case:
    function: Callable[..., Any]
    inputs: tuple[np.ndarray, ...]
    tolerance: float = 1e-11
    """In float64."""
    stops: bool = False
    """Whether its backward stops where the values alone don't say so: detach(), the padding of an embedding."""


X = real(3, 4)
NOT_FINITE = np.array([np.nan, np.inf, -np.inf, 0.0, -2.5, 3.0])
BOUNDS = np.array([-1.0, 0.0, np.nan, np.nan, np.inf, -np.inf])
INDEX = np.array([2, 0, 2])
UNARY_REAL = (
    *("exp", "exp2", "expm1", "sin", "cos", "atan", "sinh", "cosh", "tanh", "sigmoid", "erf", "erfc", "asinh"),
    *("abs", "neg", "square", "sign", "floor", "ceil", "round", "trunc"),
)
UNARY_POSITIVE = ("log", "log2", "log10", "log1p", "sqrt", "rsqrt", "reciprocal")
ACTIVATIONS = (
    *("relu", "relu6", "gelu", "silu", "mish", "elu", "selu", "celu", "softplus", "hardtanh", "hardswish"),
    *("leaky_relu", "logsigmoid", "tanhshrink", "softsign"),
)


def _method(name: str) -> Callable[..., Any]:
    return lambda torch, x: getattr(torch, name)(x)


def _functional(name: str) -> Callable[..., Any]:
    return lambda torch, x: getattr(torch.nn.functional, name)(x)


def _written(torch: Any, x: Any) -> Any:
    y = x * 1
    y[0] = 2.0
    y[1:].mul_(3)
    y.t()[2].add_(x[:, 0])
    return y * y


def _convolution(torch: Any, x: Any, w: Any, b: Any, **options: Any) -> Any:
    return torch.nn.functional.conv2d(x, w, b, **options)


def _fused_attention(torch: Any, q: Any, k: Any, v: Any, **options: Any) -> Any:
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, **options)


QUERY, KEY, VALUE = real(2, 3, 5, 4), real(2, 3, 6, 4, seed=1), real(2, 3, 6, 4, seed=2)


def _transformer(torch: Any, x: Any, w: Any) -> Any:
    q, k, v = (x @ w).chunk(3, -1)
    scores = (q @ k.transpose(-1, -2)) / 2.0
    mask = torch.ones(3, 3, dtype=torch.bool).tril()
    return torch.softmax(scores.masked_fill(~mask, -1e30), -1) @ v


ELEMENTWISE = {name: Case(_method(name), (X,)) for name in UNARY_REAL}
ELEMENTWISE |= {name: Case(_method(name), (positive(3, 4),)) for name in UNARY_POSITIVE}
ELEMENTWISE |= {name: Case(_functional(name), (X,)) for name in ACTIVATIONS}
ELEMENTWISE |= {
    "hardsigmoid": Case(_functional("hardsigmoid"), (X,), 1e-7),  # PyTorch multiplies by 1/6 as a float32
    "lgamma": Case(lambda t, x: t.lgamma(x.detach()) * x, (positive(3, 4),), stops=True),
    "asin, acos, atanh": Case(lambda t, x: t.asin(x) + t.acos(x) * t.atanh(x), (unit(5),)),
    "tan, acosh": Case(lambda t, x: t.tan(x) + t.acosh(x + 1), (unit(5),)),
    "arithmetic": Case(lambda t, x, y: (x + 2 * y - 3) * x / (y * y + 1) - (1 - x) / 2, (X, real(4, seed=1))),
    "alpha": Case(lambda t, x, y: t.add(x, y, alpha=3) - t.sub(x, y, alpha=0.5), (X, real(3, 1, seed=1))),
    "powers": Case(lambda t, x: x**2 + x**3 + x**0.5 + x**-1 + x**1.7 + 2**x, (positive(3, 4),)),
    "power of tensors": Case(lambda t, x, y: x**y, (positive(3, 4), real(3, 4, seed=1))),
    "gelu, tanh": Case(lambda t, x: t.nn.functional.gelu(x, approximate="tanh"), (X,)),
    "clamp": Case(lambda t, x: x.clamp(-0.5, 0.8) + x.clamp(min=0.1) + x.clamp(max=0.2), (X,)),
    "clamp by tensors": Case(lambda t, x, y: x.clamp(min=y) + t.clamp(x, y - 1, y + 1), (X, real(4, seed=1))),
    "maximum": Case(lambda t, x, y: t.maximum(x, y) - t.minimum(x, 2 * y) + t.max(x, y), (X, real(4, seed=1))),
    "where": Case(
        lambda t, x, y: t.where((x > 0) & ~(y > 0.5), x, y).masked_fill(x < -1, 4.0), (X, real(3, 4, seed=1))
    ),
    "comparisons": Case(
        lambda t, x, y: (x > y).to(x.dtype) * x + (x <= 0.3).to(x.dtype) + (x != y) * y, (X, real(4, seed=1))
    ),
    "lerp, addcmul": Case(
        lambda t, x, y: t.lerp(x, y, 0.3) + t.addcmul(x, x, y, value=2) + t.addcdiv(x, y, x * x + 1),
        (X, X[::-1].copy()),
    ),
    "remainder": Case(
        lambda t, x: x % 0.7 + t.fmod(x, 0.7) + t.floor_divide(x.detach(), 0.3) + t.div(x, 0.3, rounding_mode="trunc"),
        (X,),
    ),
    "atan2": Case(lambda t, x, y: t.atan2(x, y) + t.xlogy(x, y * y + 1), (X, real(3, 4, seed=1))),
    "prelu": Case(lambda t, x, w: t.nn.functional.prelu(x, w), (X, unit(1))),
    "glu": Case(lambda t, x: t.nn.functional.glu(x), (X,)),
    "nan_to_num": Case(lambda t, x: t.nan_to_num(x.detach() / 0.0 * 0.0, nan=2.0) + x, (X,), stops=True),
}

SHAPES = {
    "views": Case(lambda t, x: x.t()[1:, None].expand(3, 2, 3).permute(2, 0, 1) * x.view(2, 6)[0, 0], (X,)),
    "reshape": Case(lambda t, x: x.t().reshape(2, 6) * 2, (X,)),
    "unfold": Case(lambda t, x: x.unfold(1, 3, 1) * 2, (X,)),
    "diagonal": Case(lambda t, x: x.diagonal() * 2, (X,)),
    "slices": Case(lambda t, x: x[1:, ::2] * x[:2, 1::2], (X,)),
    "writes": Case(_written, (X,)),
    "cat, stack": Case(
        lambda t, x, y: t.cat([x, y], 0) * t.stack([x, y]).sum(),
        (X, real(2, 4, seed=1)[:, :4].repeat(1, 0)[:3].repeat(2, 0)[:3]),
    ),
    "split": Case(lambda t, x: x.split(2, 1)[0] * x.chunk(2, 1)[1] + x.unbind(0)[1][:2], (X,)),
    "repeat, roll, flip": Case(
        lambda t, x: x.repeat(2, 1).roll(1, 0).flip(1).roll((1, 2), (0, 1)) * t.tile(x, (2, 1)), (X,)
    ),
    "pad": Case(lambda t, x: t.nn.functional.pad(x, (1, 2, 0, 1), value=0.5) ** 2 * 1, (X,)),
    "pad, negative": Case(lambda t, x: t.nn.functional.pad(x, (-1, 1)) * 2, (X,)),
    "triangles": Case(lambda t, x: x.tril(1) * x.triu(-1), (X,)),
    "constants": Case(
        lambda t, x: (
            x * t.arange(4)
            + t.eye(3, 4, dtype=x.dtype)
            + t.full_like(x, 2.0)
            + t.tensor([1.0, 2.0, 3.0, 4.0]).to(x.dtype)
        ),
        (X,),
    ),
    "cast": Case(lambda t, x: x.to(t.int64).to(x.dtype) + x.to(t.float32).to(x.dtype) * 0 + x, (X,)),
}

REDUCTIONS = {
    "sum": Case(lambda t, x: x.sum() * x.sum(0) + x.sum(1, keepdim=True) * x.sum((0, 1)), (X,)),
    "mean": Case(lambda t, x: x.mean() * x.mean(0) + x.mean(1, keepdim=True), (X,)),
    "long sum": Case(lambda t, x: x.sum() + x.mean(1), (real(5, 1000),)),
    "variance": Case(lambda t, x: x.var() * x.var(0) + x.std(1, keepdim=True) + t.var_mean(x, 0)[1], (X,)),
    "extremes": Case(lambda t, x: x.amax(0) * x.amin(1, keepdim=True), (X,)),
    "extremes with index": Case(lambda t, x: x.max(1)[0] * x.min(1).values + x.argmax(1).to(x.dtype), (X,)),
    "argmin": Case(lambda t, x: x * x.argmin() + t.argmax(x, 0, keepdim=True).to(x.dtype), (X,)),
    "logsumexp": Case(lambda t, x: t.logsumexp(x, 1), (X,)),
    "softmax": Case(lambda t, x: x.softmax(1) * x.log_softmax(0), (X,)),
    "cumsum": Case(lambda t, x: x.cumsum(1) * x.cumsum(0), (X,)),
    "norms": Case(lambda t, x: x.norm() * x.norm(dim=1) + t.linalg.vector_norm(x), (X,)),
    "any, all": Case(lambda t, x: x * (x > 0).any(1, keepdim=True) * (x > -9).all() + t.count_nonzero(x), (X,)),
    "normalize": Case(lambda t, x: t.nn.functional.normalize(x), (X,)),
}

PRODUCTS = {
    "mm": Case(lambda t, x, y: x @ y, (X, real(4, 5, seed=1))),
    "transposed": Case(lambda t, x, y: x.t() @ y.t(), (X, real(5, 3, seed=1))),
    "bmm": Case(lambda t, x, y: x @ y, (real(2, 3, 4), real(2, 4, 5, seed=1))),
    "broadcast": Case(lambda t, x, y: x @ y, (real(2, 3, 4), real(4, 5, seed=1))),
    "vectors": Case(lambda t, x, y: (x @ y) * (y @ y) + t.outer(x[:, 0], y).sum(1) + x.mv(y), (X, real(4, seed=1))),
    "addmm": Case(lambda t, x, y, z: t.addmm(z, x, y, beta=0.5, alpha=2), (X, real(4, 5, seed=1), real(5, seed=2))),
    "linear": Case(
        lambda t, x, y, z: t.nn.functional.linear(x, y, z), (real(2, 3, 4), real(5, 4, seed=1), real(5, seed=2))
    ),
    "einsum": Case(lambda t, x, y: t.einsum("bij,bjk->ik", x, y), (real(2, 3, 4), real(2, 4, 5, seed=1))),
    "long": Case(lambda t, x, y: x @ y, (real(3, 300), real(300, 2, seed=1))),
    "attention by hand": Case(_transformer, (real(2, 3, 4), real(4, 12, seed=1))),
}

INDEXING = {
    "index": Case(lambda t, x, i: x[i].sum(1) * x[:, i] + x[i, i][:, None], (X, INDEX)),
    "negative index": Case(lambda t, x, i: x[i - 2] + x[:, -1:] + x[i[:, None] - 1, i - 3][:, :1], (X, INDEX)),
    "index_select": Case(lambda t, x, i: x.index_select(1, i) * 2, (X, INDEX)),
    "gather": Case(lambda t, x, i: x.gather(1, i[:, None].expand(3, 2)) * 2, (X, INDEX)),
    "take_along_dim": Case(lambda t, x, i: t.take_along_dim(x, i[:, None], 1) * 2, (X, INDEX)),
    "scatter": Case(lambda t, x, y, i: x.scatter(1, i[:, None], y[:, :1]) * x, (X, real(3, 4, seed=1), INDEX)),
    "scatter_add": Case(
        lambda t, x, y, i: x.scatter_add(1, i[:, None].expand(3, 4), y) * x, (X, real(3, 4, seed=1), INDEX)
    ),
    "index_add": Case(lambda t, x, y, i: x.index_add(0, i, y, alpha=2) * x, (X, real(3, 4, seed=1), INDEX)),
    "index_copy": Case(
        lambda t, x, y, i: x.index_copy(0, i[:2], y[:2]).index_fill(1, i[:1], 3.0) * x, (X, real(3, 4, seed=1), INDEX)
    ),
    "index_put": Case(
        lambda t, x, y, i: x.clone().index_put((i,), y, accumulate=True) * x, (X, real(3, 4, seed=1), INDEX)
    ),
    "embedding": Case(
        lambda t, x, i: t.nn.functional.embedding(i.reshape(3, 1), x, padding_idx=0) * 2, (X, INDEX), stops=True
    ),
    "one_hot": Case(lambda t, x, i: x * (i[:, None] == t.arange(4)).to(x.dtype), (X, INDEX)),
    "take": Case(lambda t, x, i: t.take(x, i * 2) * 2, (X, INDEX)),
}

TARGET = np.array([1, 0, 3])
IMAGE, KERNEL = real(2, 4, 7, 6), real(6, 2, 3, 3, seed=1)

LAYERS = {
    "cross_entropy": Case(lambda t, x, i: t.nn.functional.cross_entropy(x, i), (X, TARGET)),
    "cross_entropy, weighted": Case(
        lambda t, x, w, i: t.nn.functional.nll_loss(x.log_softmax(1), i, w.detach(), ignore_index=0),
        (X, positive(4), TARGET),
    ),
    "cross_entropy, all ignored": Case(
        lambda t, x, i: t.nn.functional.cross_entropy(x, i, ignore_index=3), (X, np.array([3, 3, 3]))
    ),
    "nll, an infinite element of an ignored target": Case(
        lambda t, x, i: t.nn.functional.nll_loss(x, i, ignore_index=3), (np.full((3, 4), -np.inf), np.array([3, 1, 3]))
    ),
    "nll, none": Case(lambda t, x, i: t.nn.functional.nll_loss(x, i, reduction="none"), (X, TARGET)),
    "nll, images": Case(
        lambda t, x, i: t.nn.functional.cross_entropy(x, i, reduction="sum"),
        (real(2, 3, 2, 2), INDEX[:2, None, None].repeat(2, 1).repeat(2, 2)),
    ),
    "losses": Case(
        lambda t, x, y: sum(
            getattr(t.nn.functional, name)(x, y.detach())
            for name in ("mse_loss", "l1_loss", "huber_loss", "smooth_l1_loss")
        ),
        (X, real(3, 4, seed=1)),
    ),
    "loss, broadcast, sum": Case(
        lambda t, x, y: t.nn.functional.mse_loss(x, y, reduction="sum"), (X, real(3, 4, seed=1))
    ),
    "binary cross-entropy": Case(
        lambda t, x, y: (
            t.nn.functional.binary_cross_entropy(x.sigmoid(), y)
            + t.nn.functional.binary_cross_entropy_with_logits(x, y)
        ),
        (X, unit(3, 4)),
    ),
    "layer_norm": Case(
        lambda t, x, w, b: t.nn.functional.layer_norm(x, (3, 4), w, b), (real(2, 3, 4), X, real(3, 4, seed=1))
    ),
    "layer_norm, bare": Case(lambda t, x: t.nn.functional.layer_norm(x, (4,)), (X,)),
    "batch_norm": Case(
        lambda t, x, w, b: t.nn.functional.batch_norm(x, None, None, w, b, training=True), (IMAGE, positive(4), real(4))
    ),
    "conv2d": Case(lambda t, x, w, b: _convolution(t, x, w, b, padding=1, groups=2), (IMAGE, KERNEL, real(6))),
    "conv2d, stride, dilation": Case(
        lambda t, x, w: _convolution(t, x, w, None, stride=(2, 1), padding=(2, 1), dilation=(2, 1)),
        (IMAGE, real(3, 4, 3, 2)),
    ),
    "conv1d": Case(lambda t, x, w: t.nn.functional.conv1d(x, w, stride=2), (real(2, 3, 8), real(2, 3, 3))),
    "conv_transpose2d": Case(
        lambda t, x, w, b: t.nn.functional.conv_transpose2d(x, w, b, stride=2, padding=1, output_padding=1),
        (real(2, 3, 3, 4), real(3, 2, 3, 3), real(2)),
    ),
    "group_norm": Case(lambda t, x, w, b: t.nn.functional.group_norm(x, 2, w, b), (IMAGE, positive(4), real(4))),
    "attention": Case(_fused_attention, (QUERY, KEY, VALUE)),
    "attention, causal": Case(partial(_fused_attention, is_causal=True, scale=0.3), (KEY, VALUE, KEY)),
    "attention, masked": Case(
        lambda t, q, k, v, m: _fused_attention(t, q, k, v, attn_mask=m > 0),
        (QUERY, KEY, VALUE, (real(5, 6, seed=3) > -1).astype(int)),
    ),
    "max_pool2d": Case(lambda t, x: t.nn.functional.max_pool2d(x, 2), (IMAGE,)),
    "max_pool2d, overlapping": Case(lambda t, x: t.nn.functional.max_pool2d(x, 3, stride=2, padding=1), (IMAGE,)),
    "avg_pool2d": Case(
        lambda t, x: t.nn.functional.avg_pool2d(x, 2).sum() * t.nn.functional.adaptive_avg_pool2d(x, (4, 1)), (IMAGE,)
    ),
    "avg_pool2d, padded": Case(
        lambda t, x: (
            t.nn.functional.avg_pool2d(x, 3, stride=2, padding=1, count_include_pad=False)
            * t.nn.functional.avg_pool2d(x, 3, stride=2, padding=1)
        ),
        (IMAGE,),
    ),
}

# Their gradients come from the recorded backward; what jax.grad makes of the values is JAX's own.
NOT_NUMBERS = {
    f"{name}, not finite": Case(function, (NOT_FINITE,), 1e-7, stops=True)
    for name, function in {
        **{name: _functional(name) for name in ("softplus", "mish", "logsigmoid")},
        "sign": lambda t, x: t.sign(x) * x.nan_to_num(),
        "abs": _method("abs"),
        "quotient": lambda t, x: t.floor_divide(x.detach(), t.tensor(float("inf"), dtype=x.dtype)) + x,
        "clamp": lambda t, x: x.clamp(min=t.tensor(BOUNDS.tolist(), dtype=x.dtype)).detach() + x.nan_to_num(),
    }.items()
}

# PyTorch's gradient at NaN depends on where in the array it is.
NOT_NUMBERS |= {
    f"{name}, infinite": Case(_functional(name), (NOT_FINITE[1:],), 1e-7, stops=True)
    for name in ("relu6", "hardtanh", "hardsigmoid", "hardswish")
}

CASES = {**ELEMENTWISE, **NOT_NUMBERS, **SHAPES, **REDUCTIONS, **PRODUCTS, **INDEXING, **LAYERS}
