"""Attention whose scores are changed by a function, as a composition: for any function, not for speed."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import clew
from clew import Tensor

__all__ = [
    "AuxOutput", "AuxRequest", "BlockMask", "and_masks", "create_block_mask", "create_mask", "flex_attention",
    "noop_mask", "or_masks",
]  # fmt: skip

_DEFAULT_SPARSE_BLOCK_SIZE = 128
Mod = Callable[..., Tensor]


class AuxRequest(NamedTuple):
    """What `flex_attention` returns besides: the logarithms of the sums of exponentials, and the largest scores."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """What was asked for by an `AuxRequest`."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


def noop_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """True everywhere: each query sees each key."""
    return batch.new_ones((), dtype=clew.bool)


def _combined(name: str, masks: tuple[Mod, ...], start: bool, combine: Callable[[Tensor, Tensor], Tensor]) -> Mod:
    if not all(callable(mask) for mask in masks):
        raise RuntimeError(f"{name}: expected functions of (batch, head, query, key), got {masks}")

    def mask(b: Tensor, h: Tensor, q: Tensor, kv: Tensor) -> Tensor:
        result = b.new_full((), start, dtype=clew.bool)
        for one in masks:
            result = combine(result, one(b, h, q, kv))
        return result

    return mask


def and_masks(*mask_mods: Mod) -> Mod:
    """The mask that is True where all of these are."""
    return _combined("and_masks", mask_mods, True, lambda a, b: a & b)


def or_masks(*mask_mods: Mod) -> Mod:
    """The mask that is True where one of these is."""
    return _combined("or_masks", mask_mods, False, lambda a, b: a | b)


def _everywhere(mod: Mod, sizes: tuple[int, ...], scores: Tensor | None = None) -> Tensor:
    """A function of one score (or none) and its indices, for all of them: (B, H, Q, K)."""
    lead = () if scores is None else (0,)
    for place in (3, 2, 1, 0):
        mod = clew.vmap(mod, in_dims=(*lead, *(0 if place == axis else None for axis in range(4))))
    result: Tensor = mod(*([] if scores is None else [scores]), *(clew.arange(size) for size in sizes))
    return result


def create_mask(mod_fn: Mod, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None) -> Tensor:
    """Where a mask is True, or where a function of scores does not give -inf: (B, H, Q_LEN, KV_LEN).

    Args:
        mod_fn: a function of (batch, head, query, key), or of (score, batch, head, query, key).
        B, H: 1 for None.

    Example:
        >>> torch.nn.attention.flex_attention.create_mask(lambda b, h, q, kv: q >= kv, None, None, 2, 2)
        tensor([[[[ True, False],
                  [ True,  True]]]])
    """
    sizes = (B or 1, H or 1, Q_LEN, KV_LEN)
    count = sum(one.default is one.empty for one in inspect.signature(mod_fn).parameters.values())
    if count == 4:
        return _everywhere(mod_fn, sizes).expand(sizes)
    return ~_everywhere(mod_fn, sizes, clew.zeros(sizes)).isneginf()


def _ordered(blocks: Tensor) -> tuple[Tensor, Tensor]:
    """Of each row of blocks how many are True, and the columns, those first."""
    order = clew.argsort(blocks.to(clew.int32), dim=-1, descending=True, stable=True)
    return blocks.sum(-1).to(clew.int32), order.to(clew.int32)


def _dense(count: Tensor | None, columns: Tensor | None, width: int) -> Tensor:
    """The blocks that `_ordered` was given."""
    if count is None or columns is None:
        raise RuntimeError("BlockMask: expected indices of blocks, got none")
    taken = (clew.arange(columns.shape[-1]) < count.unsqueeze(-1)).to(clew.int32)
    return taken.new_zeros((*columns.shape[:-1], width)).scatter_add(-1, columns.to(clew.int64), taken) > 0


class BlockMask:
    """A mask as a function, and which blocks of it are empty, full or in between, with PyTorch's fields.

    `flex_attention` computes all scores and asks the function: the blocks save nothing here.

    Example:
        >>> flex = torch.nn.attention.flex_attention
        >>> mask = flex.create_block_mask(lambda b, h, q, kv: q >= kv, None, None, 256, 256)
        >>> mask.shape, mask.sparsity()
        ((1, 1, 256, 256), 25.0)
    """

    def __init__(
        self, partial: Tensor, full: Tensor | None, BLOCK_SIZE: tuple[int, int], mask_mod: Mod, seq_lengths: Any
    ) -> None:
        self._blocks = partial, full
        self.kv_num_blocks, self.kv_indices = _ordered(partial)
        self.q_num_blocks, self.q_indices = _ordered(partial.mT)
        none: tuple[Tensor | None, Tensor | None] = None, None
        self.full_kv_num_blocks, self.full_kv_indices = none if full is None else _ordered(full)
        self.full_q_num_blocks, self.full_q_indices = none if full is None else _ordered(full.mT)
        self.BLOCK_SIZE, self.mask_mod, self.seq_lengths = BLOCK_SIZE, mask_mod, tuple(seq_lengths)

    @classmethod
    def from_kv_blocks(
        cls, kv_num_blocks: Tensor, kv_indices: Tensor, full_kv_num_blocks: Tensor | None = None,
        full_kv_indices: Tensor | None = None, BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE,
        mask_mod: Mod | None = None, seq_lengths: tuple[int, int] | None = None, compute_q_blocks: bool = True,
    ) -> BlockMask:  # fmt: skip
        """From the numbers and columns of blocks that are neither empty nor full, and of those that are full."""
        size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
        rows, columns = kv_indices.shape[-2:]
        full = None if full_kv_num_blocks is None else _dense(full_kv_num_blocks, full_kv_indices, columns)
        lengths = (rows * size[0], columns * size[1]) if seq_lengths is None else seq_lengths
        return cls(_dense(kv_num_blocks, kv_indices, columns), full, size, mask_mod or noop_mask, lengths)

    @property
    def shape(self) -> tuple[int, ...]:
        """(B, H, queries, keys)."""
        return (*self.kv_num_blocks.shape[:-1], *self.seq_lengths)

    def numel(self) -> int:
        """How many elements the mask has."""
        return math.prod(self.shape)

    def to_dense(self) -> Tensor:
        """1 for each block that is not empty, (B, H, rows of blocks, columns)."""
        partial, full = self._blocks
        return (partial if full is None else partial | full).to(clew.int32)

    def sparsity(self) -> float:
        """How many percent of the elements lie in empty blocks."""
        return 100 * (1 - float(self.to_dense().sum()) * math.prod(self.BLOCK_SIZE) / self.numel())

    def to(self, device: Any) -> BlockMask:
        """Itself: the CPU is the only device."""
        return self

    def __getitem__(self, index: Any) -> BlockMask:
        places = [slice(one, one + 1 or None) if isinstance(one, int) else one for one in _several(index)]
        partial, full = (None if one is None else one[tuple(places)] for one in self._blocks)
        assert partial is not None
        return BlockMask(partial, full, self.BLOCK_SIZE, self.mask_mod, self.seq_lengths)

    def __repr__(self) -> str:
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%)"


def _several(index: Any) -> tuple[Any, ...]:
    return index if isinstance(index, tuple) else (index,)


def create_block_mask(
    mask_mod: Mod, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None,
    BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE, _compile: bool = False,
    separate_full_blocks: bool = True,
) -> BlockMask:  # fmt: skip
    """The `BlockMask` of a function of (batch, head, query, key): True where the query sees the key.

    Args:
        B, H: 1 for None, where the function is the same for all batches or heads.
        BLOCK_SIZE: of queries and keys.
    """
    size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN)
    mask = clew.nn.functional.pad(mask, (0, -KV_LEN % size[1], 0, -Q_LEN % size[0]))
    counts = mask.unflatten(-1, (-1, size[1])).unflatten(-3, (-1, size[0])).sum((-3, -1))
    full = counts == math.prod(size)
    partial = (counts > 0) & ~full if separate_full_blocks else counts > 0
    return BlockMask(partial, full if separate_full_blocks else None, size, mask_mod, (Q_LEN, KV_LEN))


def flex_attention(
    query: Tensor, key: Tensor, value: Tensor, score_mod: Mod | None = None, block_mask: BlockMask | None = None,
    scale: float | None = None, enable_gqa: bool = False, return_lse: bool = False, kernel_options: Any = None, *,
    return_aux: AuxRequest | None = None,
) -> Any:  # fmt: skip
    """softmax(score_mod(query @ key^T * scale)) @ value, over the keys that the mask lets a query see.

    Args:
        query: (B, H, L, E).
        key, value: (B, G, S, E) and (B, G, S, V), with G = H; or with `enable_gqa` a divisor of H.
        score_mod: a function of (score, batch, head, query, key), each a tensor without axes.
        block_mask: which queries see which keys; a query that sees none gives zeros.
        scale: 1 / sqrt(E) by default.
        return_lse, return_aux: also return the logarithm of the sum of exponentials of each query's scores, (B, H, L).

    Returns:
        (B, H, L, V).

    Raises:
        ValueError: shapes do not fit.

    Example:
        >>> q = torch.ones(1, 1, 2, 4)
        >>> flex_attention = torch.nn.attention.flex_attention.flex_attention
        >>> flex_attention(q, q, q, score_mod=lambda score, b, h, q, kv: score - (q - kv).abs()).shape
        torch.Size([1, 1, 2, 4])
    """
    if any(one.dim() != 4 for one in (query, key, value)):
        raise ValueError("flex_attention: expected query, key and value of four axes, got others")
    heads, groups = query.shape[1], key.shape[1]
    if heads != groups and not (enable_gqa and heads % groups == 0):
        raise ValueError(
            f"flex_attention: expected as many heads of query and key, or enable_gqa=True and a divisor, got {heads} "
            f"and {groups}"
        )
    sizes = (query.shape[0], heads, query.shape[2], key.shape[2])
    if block_mask is not None and any(
        have not in ((1, want) if axis < 2 else (want,))
        for axis, (have, want) in enumerate(zip(block_mask.shape, sizes, strict=True))
    ):
        raise ValueError(f"flex_attention: expected a block_mask for {sizes}, got one for {block_mask.shape}")
    dtype = query.dtype
    work = clew.float64 if dtype == clew.float64 else clew.float32
    if groups != heads:
        key, value = (one.repeat_interleave(heads // groups, 1) for one in (key, value))
    scores = (query.to(work) @ key.to(work).mT) * (query.shape[-1] ** -0.5 if scale is None else scale)
    if score_mod is not None:
        scores = _everywhere(score_mod, sizes, scores)
    if block_mask is not None:
        scores = scores.masked_fill(~_everywhere(block_mask.mask_mod, sizes).expand(sizes), -math.inf)
    # A query that sees no key: its scores are zeros in the softmax, and its result is set to zero.
    blind = (scores == -math.inf).all(-1, keepdim=True)
    weights = clew.softmax(scores.masked_fill(blind, 0.0), -1).masked_fill(blind, 0.0)
    result = (weights @ value.to(work)).to(dtype)
    if return_aux is None and not return_lse:
        return result
    lse = scores.masked_fill(blind, 0.0).logsumexp(-1).masked_fill(blind.squeeze(-1), -math.inf)
    if return_aux is None:
        return result, lse
    return result, AuxOutput(lse if return_aux.lse else None, scores.amax(-1) if return_aux.max_scores else None)
