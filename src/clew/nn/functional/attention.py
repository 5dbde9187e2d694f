"""Attention."""

from __future__ import annotations

from typing import Any

from clew import Tensor, _core
from clew._domains import domain

__all__ = [
    "scaled_dot_product_attention",
]

_ops: Any = _core.ops


@domain(
    "query=real(a, b, c), key=real(a, b, c), value=real(a, b, c); "
    "query=real(1, a, b, c), key=real(1, a, b, c), value=real(1, a, b, c), is_causal=True; "
    "query=real(1, a, b, c), key=real(1, a, d, c), value=real(1, a, d, b), attn_mask=mask(b, d)"
)
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """`softmax(query @ key.T * scale + attn_mask) @ value` (Vaswani et al., https://arxiv.org/abs/1706.03762).

    Computed in tiles (Dao et al., https://arxiv.org/abs/2205.14135): memory is linear in the lengths L and S, also on
    the way back. All the weights, L x S, are held only with dropout, for a mask that wants a gradient, and in a
    backward with `create_graph=True`, which is made of plain operations.

    Args:
        query: of shape (..., L, E), float32 or float64. Any strides do: heads need no copy after a transpose.
        key, value: of shapes (..., S, E) and (..., S, V), of the query's dtype; leading axes are broadcast.
        attn_mask: broadcast to (..., L, S). Bool: whether the query sees the key. Floating (float32 or of the
            query's dtype): added to the scores.
        dropout_p: the probability with which a weight is dropped; there is no `training` here.
        is_causal: query `i` sees keys `0 ... i` only, in addition to what `attn_mask` says.
        scale: `1 / sqrt(E)` unless given.
        enable_gqa: key and value may have fewer heads (axis -3), each of which stands for several of the query's.

    Returns:
        Of shape (..., L, V). A query that sees no key gives zeros.

    Raises:
        RuntimeError: shapes or dtypes do not fit, or a probability is none.

    Example:
        >>> query, key = torch.zeros(1, 2), torch.ones(2, 2)
        >>> torch.nn.functional.scaled_dot_product_attention(query, key, torch.tensor([[1.0], [3.0]]))
        tensor([[2.]])
    """
    result: Tensor = _ops.scaled_dot_product_attention(
        query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
    )
    return result
