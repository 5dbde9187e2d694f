"""What layers compute, as functions of their input and parameters."""

from __future__ import annotations

from collections.abc import Sequence

import clew
from clew import Tensor
from clew._domains import domain, with_numpys_names
from clew.ops._options import all_lie_in, need_values

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
        weight: of shape (out_features, in_features) or (in_features), of the input's dtype.
        bias: of shape (out_features) or ().

    Returns:
        Of shape (..., out_features), or (...) for a weight of one dimension. Input and weight are saved, each for the
        other's gradient.

    Raises:
        RuntimeError: sizes or dtypes do not fit.

    Example:
        >>> torch.nn.functional.linear(torch.ones(1, 2), torch.ones(3, 2))
        tensor([[2., 2., 2.]])
    """
    return clew.linear(input, weight, bias)


@domain("input1=real(a, b), input2=real(a, c), weight=real(2, b, c), bias=real(2)")
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`out[..., k] = sum over i and j of input1[..., i] * weight[k, i, j] * input2[..., j] + bias[k]`.

    Args:
        input1, input2: of shapes (..., I) and (..., J).
        weight: of shape (K, I, J).
        bias: of shape (K).

    Returns:
        Of shape (..., K).

    Raises:
        RuntimeError: shapes do not fit.

    Example:
        >>> torch.nn.functional.bilinear(torch.tensor([1.0, 2.0]), torch.tensor([3.0]), torch.ones(1, 2, 1))
        tensor([9.])
    """
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

    Args:
        input: int32 or int64, each from 0 to V - 1.
        padding_idx: a row that gets no gradient; negative ones count from the end.
        max_norm, scale_grad_by_freq: not supported.
        sparse: the gradient of the weight is a sparse tensor of the rows that were looked up.

    Raises:
        RuntimeError: the weight is no matrix, or the dtype of the indices is another.
        IndexError: an index is out of range.
        NotImplementedError: `max_norm` or `scale_grad_by_freq` is asked for.

    Example:
        >>> torch.nn.functional.embedding(torch.tensor([1, 0]), torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
        tensor([[3., 4.],
                [1., 2.]])
    """
    del norm_type
    refuse_embedding_options(max_norm, scale_grad_by_freq)
    if weight.dim() != 2:
        raise RuntimeError(f"embedding: 'weight' must be 2-D, got shape {list(weight.shape)}")
    return clew.embedding(weight, input, embedding_padding(padding_idx, weight.shape[0]), False, sparse)


def refuse_embedding_options(max_norm: float | None, scale_grad_by_freq: bool) -> None:
    """Raise `NotImplementedError` if one of them is asked for."""
    for name, value in [("max_norm", max_norm), ("scale_grad_by_freq", scale_grad_by_freq)]:
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
    """`(x - mean) / sqrt(variance + eps) * weight + bias`, with mean and variance over the last dimensions.

    Layer normalization (Ba et al., https://arxiv.org/abs/1607.06450). The variance is the biased one.

    Args:
        input: of shape (*, *normalized_shape).
        normalized_shape: the sizes of the last dimensions.
        weight, bias: of shape `normalized_shape`; 1 and 0 unless given.

    Raises:
        RuntimeError: sizes or dtypes do not fit.

    Example:
        >>> torch.nn.functional.layer_norm(torch.tensor([1.0, 2.0, 3.0]), (3,))
        tensor([-1.2247,  0.0000,  1.2247])
    """
    return clew.layer_norm(input, normalized_shape, weight, bias, eps)


@domain("real; real, training=False")
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero each element with probability `p`; multiply the others by `1 / (1 - p)`.

    Without `training`, the input itself. What was dropped is saved for backward.

    Raises:
        ValueError: `p` is not in [0, 1].

    Example:
        >>> y = torch.nn.functional.dropout(torch.ones(100), 0.5)
        >>> y.unique()
        tensor([0., 2.])
        >>> torch.nn.functional.dropout(torch.ones(2), 0.5, training=False)
        tensor([1., 1.])
    """
    check_probability(p)
    return variant("dropout", inplace)(input, p, training)


def check_probability(p: float) -> None:
    """Raise `ValueError` unless `p` is a probability."""
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


@domain("nonzero; nonzero, p=1.0, dim=0")
def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Tensor | None = None) -> Tensor:
    """`input / max(norm, eps)`, with the p-norm along `dim`, which is 1 afterwards.

    Example:
        >>> torch.nn.functional.normalize(torch.tensor([[3.0, 4.0]]))
        tensor([[0.6000, 0.8000]])
    """
    divisor = input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    return input / divisor if out is None else clew.div(input, divisor, out=out)


@with_numpys_names
@domain("real; real, dim=0")
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between `x1` and `x2` along `dim`: `sum(x1 * x2) / (max(|x1|, eps) * max(|x2|, eps))`.

    The two are broadcast; the result lacks the axis `dim`.

    Raises:
        RuntimeError: both are of integers.

    Example:
        >>> torch.nn.functional.cosine_similarity(torch.tensor([[1.0, 0.0]]), torch.tensor([[3.0, 4.0]]))
        tensor([0.6000])
    """
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
    """Class indices (*) as vectors that are one at the class and zero elsewhere (*, num_classes), int64.

    Args:
        tensor: int64, each from 0 to num_classes - 1.
        num_classes: -1 takes one more than the largest index.

    Raises:
        RuntimeError: another dtype, an index out of range, or no elements and no `num_classes`.

    Example:
        >>> torch.nn.functional.one_hot(torch.tensor([2, 0]))
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
    if not all_lie_in(tensor, 0, num_classes):
        if int(tensor.min()) < 0:
            raise RuntimeError(f"Class values must be non-negative, got {int(tensor.min())}")
        raise RuntimeError(f"Class values must be smaller than num_classes: {num_classes}, got {int(tensor.max())}")
    zeros = tensor.new_zeros((*tensor.shape, num_classes))
    return zeros.scatter_(-1, tensor.unsqueeze(-1), 1)
