"""Attention with several heads."""

from __future__ import annotations

import warnings
from typing import Any

import clew
from clew import Tensor

from .. import functional as F
from .. import init
from ..parameter import Parameter
from .linear import NonDynamicallyQuantizableLinear
from .module import Module

__all__ = [
    "MultiheadAttention",
]


class MultiheadAttention(Module):
    """Attention in `num_heads` parts of the embedding (Vaswani et al., https://arxiv.org/abs/1706.03762).

    With `need_weights=False` memory is linear in the lengths: see `functional.scaled_dot_product_attention`.

    Args:
        embed_dim: features of the query and of the result; `num_heads` divides it.
        num_heads: how many parts.
        dropout: the probability with which a weight is dropped in training.
        bias: whether the projections have biases.
        add_bias_kv: append a learned key and value.
        add_zero_attn: append a key and a value of zeros.
        kdim, vdim: features of keys and values; `embed_dim` unless given.
        batch_first: inputs and output are (N, L, E) instead of (L, N, E).

    Attributes:
        in_proj_weight: of shape (3 * embed_dim, embed_dim), for query, key and value; where their features differ,
            q_proj_weight, k_proj_weight and v_proj_weight instead.
        in_proj_bias: of shape (3 * embed_dim), or None.
        bias_k, bias_v: of shape (1, 1, embed_dim), or None.
        out_proj: a `Linear` for the result.

    Raises:
        ValueError: `embed_dim` or `num_heads` is not positive.
        AssertionError: `num_heads` does not divide `embed_dim`.

    Example:
        >>> x = torch.ones(5, 2, 8)
        >>> output, weights = torch.nn.MultiheadAttention(8, 2)(x, x, x)
        >>> output.shape == (5, 2, 8) and weights.shape == (2, 5, 5)
        True
    """

    in_proj_weight: Parameter | None
    in_proj_bias: Parameter | None
    bias_k: Parameter | None
    bias_v: Parameter | None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and "
                f"num_heads={num_heads} instead"
            )
        super().__init__()
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self.head_dim, self.add_zero_attn = embed_dim // num_heads, add_zero_attn
        assert self.head_dim * num_heads == embed_dim, "embed_dim must be divisible by num_heads"

        def parameter(*shape: int) -> Parameter:
            return Parameter(clew.empty(shape, device=device, dtype=dtype))

        joined = self.kdim == embed_dim and self.vdim == embed_dim
        for name, size in [("q", embed_dim), ("k", self.kdim), ("v", self.vdim)]:
            self.register_parameter(f"{name}_proj_weight", None if joined else parameter(embed_dim, size))
        self.register_parameter("in_proj_weight", parameter(3 * embed_dim, embed_dim) if joined else None)
        self.register_parameter("in_proj_bias", parameter(3 * embed_dim) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias, device, dtype)
        for name in ("bias_k", "bias_v"):
            self.register_parameter(name, parameter(1, 1, embed_dim) if add_bias_kv else None)
        self._reset_parameters()

    def _weights(self) -> list[Parameter]:
        """Those of query, key and value, or the one of all."""
        if self.in_proj_weight is not None:
            return [self.in_proj_weight]
        return [getattr(self, f"{name}_proj_weight") for name in "qkv"]

    def _reset_parameters(self) -> None:
        for weight in self._weights():
            init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.zeros_(self.in_proj_bias)
            assert self.out_proj.bias is not None
            init.zeros_(self.out_proj.bias)
        for appended in (self.bias_k, self.bias_v):
            if appended is not None:
                init.xavier_normal_(appended)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """The output, and the weights if they are needed.

        Args:
            query: of shape (L, N, embed_dim), or (L, embed_dim) for a single sample.
            key, value: of shapes (S, N, kdim) and (S, N, vdim).
            key_padding_mask: of shape (N, S). Bool: which keys to ignore. Floating: added to the scores.
            need_weights: give the weights, too: of shape (N, L, S), or (N, num_heads, L, S) if not averaged.
            attn_mask: of shape (L, S) or (N * num_heads, L, S). Bool: what not to see. Floating: added to the scores.
            average_attn_weights: over the heads.
            is_causal: a promise that `attn_mask` hides what comes later; it then need not be read.

        Raises:
            AssertionError, RuntimeError: shapes or dtypes do not fit.
        """
        batched = self._check(query, key, value, key_padding_mask, attn_mask)
        if is_causal and attn_mask is None:
            raise RuntimeError("MultiheadAttention: Need attn_mask if specifying the is_causal hint; give one")
        if key_padding_mask is not None and attn_mask is not None and key_padding_mask.dtype != attn_mask.dtype:
            warnings.warn(
                "Support for mismatched key_padding_mask and attn_mask is deprecated. Use same type for both instead.",
                stacklevel=3,
            )
        q, k, v = self._project(query, key, value, batched)
        causal = is_causal and key_padding_mask is None and not need_weights
        hidden = None if causal or attn_mask is None else _added("attn_mask", attn_mask, query)
        padding = None if key_padding_mask is None else _added("key_padding_mask", key_padding_mask, query)
        if self.bias_k is not None and self.bias_v is not None:
            k, v = (clew.cat([x, b.expand(1, x.shape[1], -1)]) for x, b in ((k, self.bias_k), (v, self.bias_v)))
        if self.add_zero_attn:
            k, v = (clew.cat([x, x.new_zeros((1, *x.shape[1:]))]) for x in (k, v))
        mask = self._merged(hidden, padding, q, k)
        q, k, v = (x.view(x.shape[0], x.shape[1], self.num_heads, -1).permute(1, 2, 0, 3) for x in (q, k, v))
        dropout = self.dropout if self.training else 0.0
        weights = None
        if need_weights:
            scores = (q * self.head_dim**-0.5) @ k.transpose(-2, -1)
            weights = F.softmax(scores if mask is None else scores + mask, dim=-1)
            if dropout > 0:
                weights = F.dropout(weights, dropout)
            output = weights @ v
        else:
            output = F.scaled_dot_product_attention(q, k, v, mask, dropout, causal)
        output = self.out_proj(output.permute(2, 0, 1, 3).reshape(q.shape[2], q.shape[0], self.embed_dim))
        if weights is not None and average_attn_weights:
            weights = weights.mean(1)
        if not batched:
            return output.squeeze(1), None if weights is None else weights.squeeze(0)
        return output.transpose(0, 1) if self.batch_first else output, weights

    def _check(
        self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None, attn_mask: Tensor | None
    ) -> bool:
        """Whether there is a batch."""
        dims = query.dim()
        if dims not in (2, 3):
            raise AssertionError(
                f"query should be unbatched 2D or batched 3D tensor but received {dims}-D query tensor"
            )
        form = "batched (3-D)" if dims == 3 else "unbatched (2-D)"
        if key.dim() != dims or value.dim() != dims:
            raise AssertionError(
                f"For {form} `query`, expected `key` and `value` to be {dims}-D but found {key.dim()}-D and "
                f"{value.dim()}-D tensors respectively"
            )
        if key_padding_mask is not None and key_padding_mask.dim() != dims - 1:
            raise AssertionError(
                f"For {form} `query`, expected `key_padding_mask` to be `None` or {dims - 1}-D but found "
                f"{key_padding_mask.dim()}-D tensor instead"
            )
        if attn_mask is not None and attn_mask.dim() not in (2, 3):
            raise AssertionError(
                f"For {form} `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found {attn_mask.dim()}-D "
                "tensor instead"
            )
        if query.shape[-1] != self.embed_dim:
            raise AssertionError(f"was expecting embedding dimension of {self.embed_dim}, but got {query.shape[-1]}")
        if key.shape[:-1] != value.shape[:-1]:
            raise AssertionError(
                f"key's sequence and batch dims {tuple(key.shape[:-1])} do not match value's {tuple(value.shape[:-1])}"
            )
        return dims == 3

    def _project(self, query: Tensor, key: Tensor, value: Tensor, batched: bool) -> list[Tensor]:
        """Queries, keys and values of all heads, (L, N, embed_dim) and (S, N, embed_dim)."""

        def steps_first(x: Tensor) -> Tensor:
            return x.unsqueeze(1) if not batched else x.transpose(0, 1) if self.batch_first else x

        if self.in_proj_weight is not None and query is key and key is value:
            joined = clew.linear(steps_first(query), self.in_proj_weight, self.in_proj_bias)
            return list(joined.split(self.embed_dim, -1))
        weights: list[Any] = list(self._weights())
        if len(weights) == 1:
            weights = list(weights[0].split(self.embed_dim))
        biases: list[Any] = [None] * 3
        if self.in_proj_bias is not None:
            biases = list(self.in_proj_bias.split(self.embed_dim))
        inputs = zip((query, key, value), weights, biases, strict=True)
        return [clew.linear(steps_first(x), weight, bias) for x, weight, bias in inputs]

    def _merged(self, hidden: Tensor | None, padding: Tensor | None, q: Tensor, k: Tensor) -> Tensor | None:
        """What to add to the scores, broadcast to (N, num_heads, L, S) with what was appended to the keys."""
        (queries, batch), keys = q.shape[:2], k.shape[0]
        appended = int(self.bias_k is not None) + int(self.add_zero_attn)
        if hidden is not None:
            shape = (queries, keys - appended)
            if hidden.dim() == 3:
                shape = (batch * self.num_heads, *shape)  # type: ignore[assignment]
            if tuple(hidden.shape) != shape:
                raise RuntimeError(
                    f"The shape of the {hidden.dim()}D attn_mask is {tuple(hidden.shape)}, but should be {shape}."
                )
            hidden = F.pad(hidden, (0, appended)) if appended else hidden
            if hidden.dim() == 3:
                hidden = hidden.view(batch, self.num_heads, queries, keys)
        if padding is not None:
            padding = padding if padding.dim() == 2 else padding.unsqueeze(0)
            if tuple(padding.shape) != (batch, keys - appended):
                raise AssertionError(
                    f"expecting key_padding_mask shape of {(batch, keys - appended)}, but got {tuple(padding.shape)}"
                )
            padding = F.pad(padding, (0, appended)) if appended else padding
            padding = padding.view(batch, 1, 1, keys)
        if hidden is None or padding is None:
            return padding if hidden is None else hidden
        return hidden + padding


def _added(name: str, mask: Tensor, like: Tensor) -> Tensor:
    """A mask as what is added to the scores: minus infinity where a bool one is true."""
    if mask.dtype == clew.bool:
        return clew.zeros(mask.shape, dtype=like.dtype).masked_fill(mask, float("-inf"))
    if not mask.is_floating_point():
        raise AssertionError(f"only bool and floating types of {name} are supported, got {mask.dtype}")
    return mask
