"""Losses of distances between embeddings."""

from __future__ import annotations

from collections.abc import Callable

import clew
from clew import Tensor
from clew._domains import domain

from .distance import pairwise_distance
from .loss import legacy_reduction, reduced

__all__ = ["cosine_embedding_loss", "margin_ranking_loss", "triplet_margin_loss", "triplet_margin_with_distance_loss"]


@domain("input1=real(a, b), input2=real(a, b), target=constant(real(a, b)), margin=0.3")
def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """`max(0, -target * (input1 - input2) + margin)`; a target of 1 wants the first larger, of -1 the second.

    Args:
        input1, input2, target: of one number of dimensions, broadcast.

    Raises:
        RuntimeError: the numbers of dimensions differ.

    Example:
        >>> one, two, target = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 1.0]), torch.tensor([1.0, 1.0])
        >>> torch.nn.functional.margin_ranking_loss(one, two, target, reduction="none")
        tensor([2., 0.])
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    if not input1.dim() == input2.dim() == target.dim():
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.size()}, input2: {input2.size()}, target: {target.size()} "
        )
    return reduced((-target * (input1 - input2) + float(margin)).clamp_min(0), reduction)


@domain("input1=real(a, b), input2=real(a, b), target=constant(integer(a).clip(-1, 1) * 1.0)")
def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """`1 - cos(input1, input2)` where the target is 1, `max(0, cos - margin)` where it is -1.

    Args:
        input1, input2: of shape (N, D) or (D).
        target: of shape (N) or ().

    Raises:
        RuntimeError: other numbers of dimensions.

    Example:
        >>> a, b = torch.tensor([[1.0, 0.0], [1.0, 0.0]]), torch.tensor([[2.0, 0.0], [1.0, 1.0]])
        >>> torch.nn.functional.cosine_embedding_loss(a, b, torch.tensor([1, -1]), reduction="none")
        tensor([0.0000, 0.7071])
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    if target.dim() not in (0, 1) or any(one.dim() != target.dim() + 1 for one in (input1, input2)):
        raise RuntimeError(
            "cosine_embedding_loss: expected a 0D target tensor with 1D input tensors or a 1D target tensor with 2D "
            f"input tensors, got target of {target.dim()}, inputs of {input1.dim()} and {input2.dim()} dimensions"
        )
    tiny = 1e-12  # keeps the square root's derivative finite
    squares = ((input1 * input1).sum(-1) + tiny) * ((input2 * input2).sum(-1) + tiny)
    cosine = (input1 * input2).sum(-1) / squares.sqrt()
    zeros = clew.zeros_like(cosine)
    near = clew.where(target == 1, 1 - cosine, zeros)
    far = clew.where(target == -1, (cosine - margin).clamp_min(0), zeros)
    return reduced(near + far, reduction)


@domain("real; anchor=real(a, b), positive=real(a, b), negative=real(a, b), margin=2.0, swap=True")
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """`max(0, |anchor - positive| - |anchor - negative| + margin)`, with p-norms along the last axis.

    Args:
        anchor, positive, negative: of shape (N, D) or (D), broadcast.
        eps: added to each difference, so that the norm has a derivative where they are equal.
        swap: take the negative's distance from the positive, if it is smaller (Balntas et al., 2016,
            http://www.bmva.org/bmvc/2016/papers/paper119/index.html).

    Raises:
        ValueError: the margin is not positive.
        RuntimeError: the numbers of dimensions differ.

    Example:
        >>> anchor, near, far = torch.zeros(1, 2), torch.tensor([[3.0, 4.0]]), torch.tensor([[0.0, 2.0]])
        >>> torch.nn.functional.triplet_margin_loss(anchor, near, far, eps=0.0)
        tensor(4.)
    """
    return triplet_margin_with_distance_loss(
        anchor,
        positive,
        negative,
        distance_function=lambda x, y: pairwise_distance(x, y, p, eps),
        margin=margin,
        swap=swap,
        reduction=legacy_reduction(size_average, reduce, reduction),
    )


@domain("real; anchor=real(a, b), positive=real(a, b), negative=real(a, b), margin=2.0, swap=True")
def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """`triplet_margin_loss` with any distance; the default is `pairwise_distance`.

    Raises:
        ValueError: the margin is not positive, or another reduction.
        RuntimeError: the tensors have different numbers of dimensions.

    Example:
        >>> anchor, near, far = torch.zeros(1, 2), torch.tensor([[3.0, 4.0]]), torch.tensor([[0.0, 2.0]])
        >>> def manhattan(x, y):
        ...     return (x - y).abs().sum(-1)
        >>> torch.nn.functional.triplet_margin_with_distance_loss(anchor, near, far, distance_function=manhattan)
        tensor(6.)
    """
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {anchor.dim()}D, positive {positive.dim()}D, and negative {negative.dim()}D inputs"
        )
    distance = pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = clew.minimum(far, distance(positive, negative))
    return reduced((margin + near - far).clamp_min(0), reduction)
