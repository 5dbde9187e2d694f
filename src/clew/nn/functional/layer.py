"""What layers compute, as functions of their input and parameters."""

from __future__ import annotations

from collections.abc import Sequence

import clew
from clew import Tensor
from clew._domains import domain
from clew.ops._options import need_values

from .variant import variant

__all__ = [
    "bilinear",
    "cosine_similarity",
    "dropout",
    "embedding",
    "layer_norm",
    "linear",
    "normalize",
    "one_hot",
]


@domain("input=real(a, b), weight=real(c, b), bias=real(c); input=real(e, a, b), weight=real(c, b)")
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


@domain("input1=real(a, b), input2=real(a, c), weight=real(2, b, c), bias=real(2)")
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`sum_ij input1_i * weight_kij * input2_j + bias_k`, for inputs of shapes (..., I) and (..., J)."""
    if input1.dim() == 0 or input2.dim() == 0 or input1.shape[:-1] != input2.shape[:-1]:
        raise RuntimeError(
            f"bilinear: expected inputs that differ in their last axis only, got {list(input1.shape)} and "
            f"{list(input2.shape)}"
        )
    sizes = (*weight.shape[:1], input1.shape[-1], input2.shape[-1])
    if tuple(weight.shape) != sizes or (bias is not None and bias.shape[:1] != sizes[:1]):
        raise RuntimeError(
            f"bilinear: expected a weight of shape (K, {sizes[-2]}, {sizes[-1]}) and a bias of shape (K,), got "
            f"{tuple(weight.shape)} and {None if bias is None else tuple(bias.shape)}"
        )
    result = clew.einsum("...i,kij,...j->...k", input1, weight, input2)
    return result if bias is None else result + bias


@domain("input=index(c, a, 3), weight=real(c, b); input=index(b, 4), weight=real(c, b), padding_idx=3")
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
    if weight.dim() != 2:
        raise RuntimeError(f"embedding: 'weight' must be 2-D, got shape {list(weight.shape)}")
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


@domain(
    "input=real(a, c), normalized_shape=(c,), weight=real(c), bias=real(c); "
    "input=real(a, b, c), normalized_shape=(b, c)"
)
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


@domain("real; real, training=False")
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero each element with probability `p`, scale the others by `1 / (1 - p)`; the input itself if not training."""
    check_probability(p)
    return variant("dropout", inplace)(input, p, training)


def check_probability(p: float) -> None:
    """Raise `ValueError` unless `p` is a probability."""
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


@domain("nonzero; nonzero, p=1.0, dim=0")
def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    """`input` divided by its p-norm along `dim` (at least `eps`)."""
    return input / input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)


@domain("real; real, dim=0")
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between `x1` and `x2` along `dim`; norms count at least `eps`."""
    common = clew.result_type(x1, x2)
    if not common.is_floating_point:
        raise RuntimeError(
            f"cosine_similarity: expected common dtype to be floating point, yet common dtype is {common}"
        )
    x1, x2 = clew.broadcast_tensors(*(x if x.is_floating_point() else x.to(common) for x in (x1, x2)))
    norm1 = x1.norm(2.0, dim, keepdim=True).clamp_min(eps)
    norm2 = x2.norm(2.0, dim, keepdim=True).clamp_min(eps)
    return ((x1 / norm1) * (x2 / norm2)).sum(dim)


@domain("tensor=index(3, a, 2), num_classes=4")
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
        need_values("one_hot", tensor)
        num_classes = int(tensor.max()) + 1
    checked = tensor.numel() and not tensor.is_meta
    if checked and int(tensor.min()) < 0:
        raise RuntimeError(f"Class values must be non-negative, got {int(tensor.min())}")
    if checked and int(tensor.max()) >= num_classes:
        raise RuntimeError(f"Class values must be smaller than num_classes: {num_classes}, got {int(tensor.max())}")
    zeros = tensor.new_zeros((*tensor.shape, num_classes))
    return zeros.scatter_(-1, tensor.unsqueeze(-1), 1)
