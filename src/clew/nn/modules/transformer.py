"""Transformer layers."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import clew
from clew import Tensor

from .. import functional as F
from .. import init
from .attention import MultiheadAttention
from .container import ModuleList
from .dropout import Dropout
from .linear import Linear
from .module import Module
from .normalization import LayerNorm

__all__ = [
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]


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


class TransformerEncoder(Module):
    """Copies of a layer, one after the other.

    Args:
        encoder_layer: the layer; all copies start with its parameters.
        num_layers: how many.
        norm: a normalisation of the last one's output.
        enable_nested_tensor, mask_check: accepted, without effect.

    Example:
        >>> layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        >>> torch.nn.TransformerEncoder(layer, 2)(torch.ones(3, 5, 8)).shape == (3, 5, 8)
        True
    """

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = _copies(encoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm
        self.enable_nested_tensor, self.mask_check = enable_nested_tensor, mask_check

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        """Of the shape of `src`. With `is_causal=None` it is found out whether the mask is the causal one."""
        causal = _is_causal(mask, is_causal)
        for layer in self.layers:
            src = layer(src, src_mask=mask, src_key_padding_mask=src_key_padding_mask, is_causal=causal)
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(Module):
    """Copies of a `TransformerDecoderLayer`, one after the other; arguments as for `TransformerEncoder`.

    Example:
        >>> layer = torch.nn.TransformerDecoderLayer(8, 2, 16)
        >>> torch.nn.TransformerDecoder(layer, 2)(torch.ones(5, 3, 8), torch.ones(7, 3, 8)).shape == (5, 3, 8)
        True
    """

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = _copies(decoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Of the shape of `tgt`; every layer attends to `memory`."""
        causal = _is_causal(tgt_mask, tgt_is_causal)
        for layer in self.layers:
            tgt = layer(
                tgt,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=causal,
                memory_is_causal=memory_is_causal,
            )
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder and a decoder (Vaswani et al., https://arxiv.org/abs/1706.03762).

    Args:
        num_encoder_layers, num_decoder_layers: how many layers each has.
        custom_encoder, custom_decoder: to be used instead.
        d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias: of the
            layers, as for `TransformerEncoderLayer`.

    Raises:
        RuntimeError: in a call, the batch sizes of source and target differ, or their features are not `d_model`.

    Example:
        >>> model = torch.nn.Transformer(8, 2, 1, 1, 16, batch_first=True)
        >>> model(torch.ones(3, 7, 8), torch.ones(3, 5, 8)).shape == (3, 5, 8)
        True
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = F.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        place = {"device": device, "dtype": dtype}
        shape = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)

        def stack(of: Any, layer: Any, count: int) -> Any:
            return of(layer(*shape, **place), count, LayerNorm(d_model, layer_norm_eps, bias=bias, **place))

        if custom_encoder is None:
            custom_encoder = stack(TransformerEncoder, TransformerEncoderLayer, num_encoder_layers)
        self.encoder = custom_encoder
        if custom_decoder is None:
            custom_decoder = stack(TransformerDecoder, TransformerDecoderLayer, num_decoder_layers)
        self.decoder = custom_decoder
        self._reset_parameters()
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def _reset_parameters(self) -> None:
        for parameter in self.parameters():
            if parameter.dim() > 1:
                init.xavier_uniform_(parameter)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Of the shape of `tgt`.

        Raises:
            RuntimeError: batches or features of the two do not fit.
        """
        batch = 0 if self.batch_first else 1
        if src.dim() == 3 and src.shape[batch] != tgt.shape[batch]:
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        result: Tensor = self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )
        return result

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """What hides from each of `sz` places those after it: minus infinity above the diagonal, zeros elsewhere."""
        return clew.full((sz, sz), float("-inf"), dtype=dtype, device=device).triu(1)


def _copies(layer: Module, count: int) -> ModuleList:
    return ModuleList([copy.deepcopy(layer) for _ in range(count)])


def _is_causal(mask: Tensor | None, said: bool | None) -> bool:
    if mask is None or said is not None:
        return said is True
    causal = Transformer.generate_square_subsequent_mask(mask.shape[-2]).to(mask.dtype)
    return mask.shape == causal.shape and bool((mask == causal).all())


def _activation(name: str) -> Callable[[Tensor], Tensor]:
    if name not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {name}")
    return F.relu if name == "relu" else F.gelu
