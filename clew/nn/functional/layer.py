"""What layers compute, as functions of their input and parameters."""

from __future__ import annotations

from collections.abc import Sequence

import clew
from clew import Tensor

from .variant import variant


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`input @ weight.T + bias`.

    Args:
        input: of shape (..., in_features).
        weight: of shape (out_features, in_features) or (in_features).
        bias: of shape (out_features) or ().

    >>> import clew
    >>> clew.nn.functional.linear(clew.ones(1, 2), clew.ones(3, 2))
    tensor([[2., 2., 2.]])
    """
    return clew.linear(input, weight, bias)


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`sum_ij input1_i * weight_kij * input2_j + bias_k`, for inputs of shapes (..., I) and (..., J)."""
    result = clew.einsum("...i,kij,...j->...k", input1, weight, input2)
    return result if bias is None else result + bias


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Rows of `weight` (V, D) picked by the indices `input` (*): a result of shape (*, D).

    The row `padding_idx` gets no gradient.

    >>> import clew
    >>> clew.nn.functional.embedding(clew.tensor([1, 0]), clew.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[3., 4.],
            [1., 2.]])
    """
    del norm_type
    refuse_embedding_options(max_norm, scale_grad_by_freq, sparse)
    return clew.embedding(weight, input, embedding_padding(padding_idx, weight.shape[0]))


def refuse_embedding_options(max_norm: float | None, scale_grad_by_freq: bool, sparse: bool) -> None:
    """Raise `NotImplementedError` if one of them is asked for."""
    for name, value in [("max_norm", max_norm), ("scale_grad_by_freq", scale_grad_by_freq), ("sparse", sparse)]:
        if value:
            raise NotImplementedError(f"embedding: {name} is not supported, got {value}; leave it off")


def embedding_padding(padding_idx: int | None, rows: int) -> int:
    """`padding_idx` counted from the front; -1 for none."""
    if padding_idx is None:
        return -1
    if not -rows <= padding_idx < rows:
        raise AssertionError(
            f"Padding_idx must be within num_embeddings: expected -{rows} to {rows - 1}, got {padding_idx}"
        )
    return padding_idx % rows


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """`(x - mean) / sqrt(variance + eps) * weight + bias`, over the last dimensions, of the sizes `normalized_shape`.

    Layer normalization (Ba et al., https://arxiv.org/abs/1607.06450).
    """
    return clew.layer_norm(input, normalized_shape, weight, bias, eps)


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero each element with probability `p`, scale the others by `1 / (1 - p)`; the input itself if not training."""
    check_probability(p)
    return variant("dropout", inplace)(input, p, training)


def check_probability(p: float) -> None:
    """Raise `ValueError` unless `p` is a probability."""
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    """`input` divided by its p-norm along `dim` (at least `eps`)."""
    return input / input.norm(p, dim, keepdim=True).clamp(min=eps)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between `x1` and `x2` along `dim`; norms count at least `eps`."""
    norm1 = x1.norm(2.0, dim, keepdim=True).clamp(min=eps)
    norm2 = x2.norm(2.0, dim, keepdim=True).clamp(min=eps)
    return ((x1 / norm1) * (x2 / norm2)).sum(dim)


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Class indices (*) as rows of zeros with a one (*, num_classes), int64.

    >>> import clew
    >>> clew.nn.functional.one_hot(clew.tensor([2, 0]))
    tensor([[0, 0, 1],
            [1, 0, 0]])
    """
    if tensor.dtype != clew.int64:
        raise RuntimeError(f"one_hot is only applicable to index tensor of type int64, got {tensor.dtype}")
    if num_classes == -1:
        if tensor.numel() == 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor; pass num_classes")
        num_classes = int(tensor.max()) + 1
    if tensor.numel() and int(tensor.min()) < 0:
        raise RuntimeError(f"Class values must be non-negative, got {int(tensor.min())}")
    if tensor.numel() and int(tensor.max()) >= num_classes:
        raise RuntimeError(f"Class values must be smaller than num_classes: {num_classes}, got {int(tensor.max())}")
    zeros = clew.zeros((*tensor.shape, num_classes), dtype=clew.int64)
    return zeros.scatter_(-1, tensor.unsqueeze(-1), 1)


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """Add `pad` = (before, after) elements of `value` around the last dimension, the next pair the one before, ...

    Negative numbers take elements away. Other modes than "constant" are not supported.
    """
    if mode != "constant":
        raise NotImplementedError(f'pad: mode={mode!r} is not supported; use mode="constant"')
    if len(pad) % 2 or len(pad) > 2 * input.dim():
        raise RuntimeError(f"pad: expected a pair for each of at most {input.dim()} dimensions, got {tuple(pad)}")
    sizes, source, target = list(input.shape), [slice(None)] * input.dim(), [slice(None)] * input.dim()
    for pair in range(len(pad) // 2):
        dim, before, after = input.dim() - 1 - pair, pad[2 * pair], pad[2 * pair + 1]
        size = sizes[dim] + before + after
        if size < 0:
            raise RuntimeError(f"pad: {(before, after)} takes more than dimension {dim} has ({sizes[dim]})")
        source[dim] = slice(max(-before, 0), sizes[dim] - max(-after, 0))
        target[dim] = slice(max(before, 0), size - max(after, 0))
        sizes[dim] = size
    result = input.new_full(sizes, 0.0 if value is None else value)
    result[tuple(target)] = input[tuple(source)]
    return result
