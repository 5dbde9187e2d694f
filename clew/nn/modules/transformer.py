"""Transformer layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clew import Tensor

from .. import functional as F
from .attention import MultiheadAttention
from .dropout import Dropout
from .linear import Linear
from .module import Module
from .normalization import LayerNorm


class TransformerEncoderLayer(Module):
    """Self-attention and two linear layers, each with a residual path and a normalisation.

    Vaswani et al., https://arxiv.org/abs/1706.03762.

    Args:
        d_model: features of the input and the result.
        nhead: heads of the attention; they divide `d_model`.
        dim_feedforward: features between the linear layers.
        dropout: the probability with which weights, features between the layers, and what is added are dropped.
        activation: between the linear layers: "relu", "gelu" or a function.
        layer_norm_eps: of the normalisations.
        batch_first: input and output are (N, L, d_model) instead of (L, N, d_model).
        norm_first: normalise what goes into each part, not the sum that comes out.
        bias: whether linear layers and normalisations have biases.

    Raises:
        RuntimeError: another name of an activation.

    >>> import clew
    >>> clew.nn.TransformerEncoderLayer(8, 2)(clew.ones(5, 3, 8)).shape == (5, 3, 8)
    True
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        place = {"device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **place)
        self.linear1 = Linear(d_model, dim_feedforward, bias, **place)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **place)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, layer_norm_eps, bias=bias, **place)
        self.norm2 = LayerNorm(d_model, layer_norm_eps, bias=bias, **place)
        self.dropout1, self.dropout2 = Dropout(dropout), Dropout(dropout)
        self.activation = _activation(activation) if isinstance(activation, str) else activation

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """Of the shape of `src`; masks as for `MultiheadAttention.forward`."""

        def attend(x: Tensor) -> Tensor:
            attended, _ = self.self_attn(
                x, x, x, src_key_padding_mask, need_weights=False, attn_mask=src_mask, is_causal=is_causal
            )
            dropped: Tensor = self.dropout1(attended)
            return dropped

        def feed(x: Tensor) -> Tensor:
            fed: Tensor = self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))
            return fed

        if self.norm_first:
            src = src + attend(self.norm1(src))
            return src + feed(self.norm2(src))
        src = self.norm1(src + attend(src))
        result: Tensor = self.norm2(src + feed(src))
        return result


def _activation(name: str) -> Callable[[Tensor], Tensor]:
    if name not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {name}")
    return F.relu if name == "relu" else F.gelu
