"""Transformer layers."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import clew
from clew import Tensor

from .. import functional as F
from .. import init
from .container import ModuleList
from .module import Module
from .normalization import LayerNorm
from .transformer_layers import TransformerDecoderLayer, TransformerEncoderLayer

__all__ = [
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]


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
