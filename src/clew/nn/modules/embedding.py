"""Tables of vectors, read by index."""

from __future__ import annotations

from typing import Any

import clew
from clew import Tensor

from .. import init
from ..functional.bags import embedding_bag
from ..functional.layer import embedding_padding, refuse_embedding_options
from ..parameter import Parameter
from .module import Module

__all__ = [
    "Embedding",
    "EmbeddingBag",
]


class Embedding(Module):
    """A table of `num_embeddings` learned vectors: indices (*) give vectors (*, embedding_dim).

    Args:
        num_embeddings: rows of the table.
        embedding_dim: size of each.
        padding_idx: a row that starts as zeros and gets no gradient.
        max_norm, scale_grad_by_freq: not supported.
        sparse: the gradient of the table is a sparse tensor of the rows that were looked up; see `optim.SparseAdam`.

    Attributes:
        weight: of shape (num_embeddings, embedding_dim), drawn from N(0, 1).

    Raises:
        NotImplementedError: an argument that is not supported.
        AssertionError: `padding_idx` is out of range.
        IndexError: in a call, an index is out of range.

    Example:
        >>> torch.nn.Embedding(10, 3, padding_idx=0)(torch.tensor([0]))
        tensor([[0., 0., 0.]], grad_fn=<EmbeddingBackward0>)
    """

    weight: Parameter

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        refuse_embedding_options(max_norm, scale_grad_by_freq)
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self._padding = embedding_padding(padding_idx, num_embeddings)
        self.padding_idx = None if padding_idx is None else self._padding
        self.norm_type, self.sparse = norm_type, sparse
        shape = num_embeddings, embedding_dim
        if _weight is None:
            self.weight = Parameter(clew.empty(shape, device=device, dtype=dtype), requires_grad=not _freeze)
            self.reset_parameters()
        elif tuple(_weight.shape) == shape:
            self.weight = Parameter(_weight, requires_grad=not _freeze)
        else:
            raise ValueError(f"Embedding: expected weights of shape {shape}, got {tuple(_weight.shape)}")

    def reset_parameters(self) -> None:
        """Draw new vectors."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with clew.no_grad():
                self.weight[self.padding_idx].fill_(0)

    def forward(self, input: Tensor) -> Tensor:
        return clew.embedding(self.weight, input, self._padding, False, self.sparse)

    def extra_repr(self) -> str:
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}" + (", sparse=True" if self.sparse else "")

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Embedding:
        """An embedding with the given table (V, D); if `freeze`, it takes no gradient."""
        if embeddings.dim() != 2:
            raise ValueError(f"Embeddings parameter is expected to be 2-dimensional, got {embeddings.dim()}")
        rows, size = embeddings.shape
        options = padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse
        return cls(rows, size, *options, _weight=embeddings, _freeze=freeze)


class EmbeddingBag(Module):
    """Sums, means or maxima of rows of a table of learned vectors: see `clew.nn.functional.embedding_bag`.

    Args:
        num_embeddings: rows of the table.
        embedding_dim: size of each.
        mode: `"mean"`, `"sum"` or `"max"`.
        include_last_offset, padding_idx: as in the function.
        sparse: whether the gradient of `weight` is a sparse tensor.
        max_norm, scale_grad_by_freq: not supported.

    Attributes:
        weight: of shape (num_embeddings, embedding_dim), drawn from N(0, 1).

    Raises:
        NotImplementedError: an argument that is not supported.

    Example:
        >>> torch.nn.EmbeddingBag(10, 3, mode="sum")(torch.tensor([[1, 2], [3, 4]])).shape
        torch.Size([2, 3])
    """

    weight: Parameter

    def __init__(
        self, num_embeddings: int, embedding_dim: int, max_norm: float | None = None, norm_type: float = 2.0,
        scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, _weight: Tensor | None = None,
        include_last_offset: bool = False, padding_idx: int | None = None, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        refuse_embedding_options(max_norm, scale_grad_by_freq)
        self.num_embeddings, self.embedding_dim, self.mode = num_embeddings, embedding_dim, mode
        self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse = max_norm, norm_type, False, sparse
        self.include_last_offset = include_last_offset
        self.padding_idx = None if padding_idx is None else embedding_padding(padding_idx, num_embeddings)
        shape = num_embeddings, embedding_dim
        if _weight is not None and tuple(_weight.shape) != shape:
            raise ValueError(f"EmbeddingBag: expected weights of shape {shape}, got {tuple(_weight.shape)}")
        self.weight = Parameter(clew.empty(shape, device=device, dtype=dtype) if _weight is None else _weight)
        if _weight is None:
            self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new vectors."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with clew.no_grad():
                self.weight[self.padding_idx].fill_(0)

    def forward(self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None) -> Tensor:
        return embedding_bag(
            input, self.weight, offsets, mode=self.mode, sparse=self.sparse, per_sample_weights=per_sample_weights,
            include_last_offset=self.include_last_offset, padding_idx=self.padding_idx,
        )  # fmt: skip

    def extra_repr(self) -> str:
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}, mode={self.mode!r}{padding}"

    @classmethod
    def from_pretrained(
        cls, embeddings: Tensor, freeze: bool = True, max_norm: float | None = None, norm_type: float = 2.0,
        scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> EmbeddingBag:  # fmt: skip
        """A module with the given table (V, D); if `freeze`, it takes no gradient."""
        if embeddings.dim() != 2:
            raise ValueError(f"Embeddings parameter is expected to be 2-dimensional, got {embeddings.dim()}")
        rows, size = embeddings.shape
        made = cls(
            rows, size, max_norm, norm_type, scale_grad_by_freq, mode, sparse, embeddings, include_last_offset,
            padding_idx,
        )  # fmt: skip
        made.weight.requires_grad_(not freeze)
        return made
