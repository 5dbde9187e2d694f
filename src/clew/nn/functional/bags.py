"""Sums, means and maxima of rows of a table."""

from __future__ import annotations

import clew
from clew import Tensor
from clew._domains import domain

from .layer import embedding_padding, refuse_embedding_options

__all__ = ["embedding_bag"]


@domain(
    "input=index(4, b, a), weight=distinct(4, 5); "
    "input=index(4, 5), weight=distinct(4, b), offsets=index(1, 2), mode='sum'; "
    "input=index(4, 5), weight=distinct(4, b), offsets=index(1, 2), mode='max'; "
    "input=index(4, b, a), weight=distinct(4, 5), mode='sum', per_sample_weights=real(b, a)"
)
def embedding_bag(
    input: Tensor, weight: Tensor, offsets: Tensor | None = None, max_norm: float | None = None, norm_type: float = 2,
    scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False,
    per_sample_weights: Tensor | None = None, include_last_offset: bool = False, padding_idx: int | None = None,
) -> Tensor:  # fmt: skip
    """The sum, mean or largest elements of the rows of `weight` that each bag of indices names.

    Args:
        input: indices: bags of one size (B, N), or all bags one after the other (N), each beginning at an offset.
        weight: the table, (V, D).
        offsets: where each bag of a one-dimensional `input` begins, (B).
        mode: `"mean"`, `"sum"` or `"max"`. An empty bag gives zeros.
        per_sample_weights: factors of the rows, of the shape of `input`; for sums only.
        include_last_offset: `offsets` has one more element, the end of the last bag.
        padding_idx: indices of this value do not count.

    Returns:
        (B, D).

    Raises:
        ValueError: shapes, the mode or the offsets do not fit.
        NotImplementedError: `max_norm`, `scale_grad_by_freq`, or factors beside another mode.

    Example:
        >>> table = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> torch.nn.functional.embedding_bag(torch.tensor([[0, 1]]), table, mode="sum")
        tensor([[4., 6.]])
    """
    refuse_embedding_options(max_norm, scale_grad_by_freq)
    if mode not in ("mean", "sum", "max"):
        raise ValueError(f"embedding_bag: expected mode 'mean', 'sum' or 'max', got {mode!r}")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(f"embedding_bag: expected mode 'sum' with per_sample_weights, got {mode!r}")
    if per_sample_weights is not None and per_sample_weights.shape != input.shape:
        raise ValueError(
            f"embedding_bag: expected per_sample_weights of the input's shape {list(input.shape)}, got "
            f"{list(per_sample_weights.shape)}"
        )
    if input.dim() == 2 and offsets is None:
        count = input.shape[0]
        bags = clew.arange(count, device=input.device).repeat_interleave(input.shape[1])
    elif input.dim() == 1 and offsets is not None and offsets.dim() == 1:
        if offsets.numel() and not offsets.is_meta and (int(offsets[0]) != 0 or int(offsets[-1]) > input.shape[0]):
            raise ValueError(
                f"embedding_bag: expected offsets from 0 to at most {input.shape[0]}, got {offsets.tolist()}"
            )
        count = offsets.shape[0] - include_last_offset
        starts = offsets[:count].contiguous()
        bags = (
            clew.searchsorted(starts, clew.arange(input.shape[0], dtype=starts.dtype, device=input.device), right=True)
            - 1
        )
    else:
        raise ValueError(
            "embedding_bag: expected bags (B, N) without offsets, or indices (N) with offsets (B), got "
            f"{list(input.shape)} and {None if offsets is None else list(offsets.shape)}"
        )
    places = input.flatten()
    rows = clew.embedding(weight, places, sparse=sparse)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.flatten().unsqueeze(1)
    if padding_idx is not None:
        counts = places != embedding_padding(padding_idx, weight.shape[0])
        rows, bags = rows[counts], bags[counts]
    result = weight.new_zeros(count, weight.shape[1])
    if mode == "max":
        return result.index_reduce(0, bags, rows, "amax", include_self=False)
    result = result.index_add(0, bags, rows)
    if mode == "mean":
        sizes = rows.new_zeros(count, 1).index_add(0, bags, rows.new_ones(bags.shape[0], 1))
        result = result / sizes.clamp(min=1)
    return result
