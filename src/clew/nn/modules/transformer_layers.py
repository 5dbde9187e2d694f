"""The layers of transformers."""

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


class _Layer(Module):
    """Parts of a residual path each: attentions, and two linear layers."""

    _attentions: tuple[str, ...] = ("self_attn",)

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
        for name in self._attentions:
            setattr(self, name, MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **place))
        self.linear1 = Linear(d_model, dim_feedforward, bias, **place)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **place)
        self.norm_first = norm_first
        parts = range(1, len(self._attentions) + 2)
        for part in parts:
            setattr(self, f"norm{part}", LayerNorm(d_model, layer_norm_eps, bias=bias, **place))
        for part in parts:
            setattr(self, f"dropout{part}", Dropout(dropout))
        self.activation = _activation(activation) if isinstance(activation, str) else activation

    def _attend(self, by: str, x: Tensor, memory: Tensor, padding: Tensor | None, mask: Any, is_causal: bool) -> Tensor:
        attended, _ = getattr(self, by)(
            x, memory, memory, padding, need_weights=False, attn_mask=mask, is_causal=is_causal
        )
        result: Tensor = attended
        return result

    def _feed(self, x: Tensor) -> Tensor:
        fed: Tensor = self.linear2(self.dropout(self.activation(self.linear1(x))))
        return fed

    def _pass(self, x: Tensor, *parts: Callable[[Tensor], Tensor]) -> Tensor:
        """`x` through the parts, each with its dropout, residual path and normalisation."""
        for number, part in enumerate(parts, start=1):
            norm, drop = getattr(self, f"norm{number}"), getattr(self, f"dropout{number}")
            x = x + drop(part(norm(x))) if self.norm_first else norm(x + drop(part(x)))
        return x


class TransformerEncoderLayer(_Layer):
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

    Example:
        >>> torch.nn.TransformerEncoderLayer(8, 2)(torch.ones(5, 3, 8)).shape == (5, 3, 8)
        True
    """

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """Of the shape of `src`; masks as for `MultiheadAttention.forward`."""

        def attend(x: Tensor) -> Tensor:
            return self._attend("self_attn", x, x, src_key_padding_mask, src_mask, is_causal)

        return self._pass(src, attend, self._feed)


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to what an encoder gave, and two linear layers, each with residual and normalisation.

    Arguments as for `TransformerEncoderLayer`.

    Example:
        >>> torch.nn.TransformerDecoderLayer(8, 2)(torch.ones(5, 3, 8), torch.ones(7, 3, 8)).shape == (5, 3, 8)
        True
    """

    _attentions = ("self_attn", "multihead_attn")

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Of the shape of `tgt`; masks as for `MultiheadAttention.forward`, those of `memory` hide what it has."""

        def attend(x: Tensor) -> Tensor:
            return self._attend("self_attn", x, x, tgt_key_padding_mask, tgt_mask, tgt_is_causal)

        def look_up(x: Tensor) -> Tensor:
            return self._attend("multihead_attn", x, memory, memory_key_padding_mask, memory_mask, memory_is_causal)

        return self._pass(tgt, attend, look_up, self._feed)


def _activation(name: str) -> Callable[[Tensor], Tensor]:
    if name not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {name}")
    return F.relu if name == "relu" else F.gelu
