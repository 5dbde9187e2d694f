"""Losses of classes: of indices or of probabilities."""

from __future__ import annotations

import clew
from clew import Tensor
from clew._domains import domain

from .loss import legacy_reduction, reduced, reduction_code

__all__ = ["cross_entropy", "nll_loss"]


@domain(
    "input=real(c, b), target=index(b, c); "
    "input=real(c, b), target=index(b, c), weight=constant(positive(b)), reduction='sum'"
)
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Negative log-likelihood of the target classes: `-weight[target] * input[target]`.

    Args:
        input: log-probabilities, of shape (C), (N, C) or (N, C, d1, ..., dK).
        target: class indices, int64, of shape (), (N) or (N, d1, ..., dK).
        weight: a factor for each class, of shape (C). The mean is then the weighted one: the sum divided by the sum of
            the targets' weights.
        ignore_index: a target value that adds nothing to the loss, nor to what the mean divides by.

    Raises:
        RuntimeError, ValueError: shapes or dtypes do not fit, or another `reduction`.
        IndexError: a target is no class.

    Example:
        >>> torch.nn.functional.nll_loss(torch.log(torch.tensor([[0.5, 0.5]])), torch.tensor([1]))
        tensor(0.6931)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    return clew.nll_loss(input, target, weight, reduction_code(reduction), ignore_index)


@domain(
    "input=real(c, b), target=index(b, c); "
    "input=real(c, b), target=fraction(c, b), label_smoothing=0.1; "
    "input=real(c, b), target=index(b, c), weight=constant(positive(b)), label_smoothing=0.2, reduction='none'"
)
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Cross entropy between the softmax of `input` and the target: `-sum over classes of target * log_softmax(input)`.

    Args:
        input: logits, of shape (C), (N, C) or (N, C, d1, ..., dK).
        target: class indices as for `nll_loss`, or probabilities of the input's shape and a floating dtype.
        weight: a factor for each class, of shape (C). For class indices the mean is the weighted one, as in `nll_loss`.
        ignore_index: a class index that adds nothing to the loss.
        label_smoothing: how much of the target, from 0 to 1, is spread evenly over all classes (Szegedy et al.,
            https://arxiv.org/abs/1512.00567).

    Raises:
        RuntimeError: a smoothing out of range, `ignore_index` with probabilities, or shapes or dtypes do not fit.
        ValueError: the batch sizes differ, or another `reduction`.
        IndexError: a target is no class.

    Example:
        >>> torch.nn.functional.cross_entropy(torch.zeros(1, 4), torch.tensor([2]))
        tensor(1.3863)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    class_dim = 0 if input.dim() == 1 else 1
    soft = target.shape == input.shape and target.is_floating_point()
    if soft and ignore_index >= 0:
        raise RuntimeError("cross_entropy: ignore_index is not supported for floating point target; weigh the classes")
    log_probs = clew.log_softmax(input, class_dim)
    if soft:
        return _soft_cross_entropy(log_probs, target, weight, class_dim, reduction, label_smoothing)
    _check_classes(input, target)
    if label_smoothing == 0.0:
        return nll_loss(log_probs, target, weight, ignore_index=ignore_index, reduction=reduction)
    hard = nll_loss(log_probs, target, weight, ignore_index=ignore_index, reduction=reduction)
    even = _even_loss(log_probs, target, weight, class_dim, ignore_index, reduction)
    return hard * (1 - label_smoothing) + even * (label_smoothing / input.shape[class_dim])


def _check_classes(input: Tensor, target: Tensor) -> None:
    """Fail, by this function's name, where `nll_loss` would by its own."""
    batch, targets = input.shape[0] if input.dim() > 1 else 1, target.shape[0] if target.dim() else 1
    if batch != targets:
        raise ValueError(
            f"cross_entropy: Expected input batch_size ({batch}) to match target batch_size ({targets}), got shapes "
            f"{tuple(input.shape)} and {tuple(target.shape)}"
        )
    if target.is_floating_point():
        raise RuntimeError(
            "cross_entropy: expected class indices (int64) or probabilities of the input's shape "
            f"{tuple(input.shape)}, got {target.dtype} of shape {tuple(target.shape)}"
        )


def _per_class(weight: Tensor, like: Tensor, class_dim: int) -> Tensor:
    """`weight` shaped to multiply the classes of `like`."""
    return weight.view([-1 if dim == class_dim else 1 for dim in range(like.dim())])


def _even_loss(
    log_probs: Tensor, target: Tensor, weight: Tensor | None, class_dim: int, ignore_index: int, reduction: str
) -> Tensor:
    """The loss against a target in which every class counts one."""
    weighted = log_probs if weight is None else log_probs * _per_class(weight, log_probs, class_dim)
    ignored = target == ignore_index
    loss = (-weighted.sum(class_dim)).masked_fill(ignored, 0.0)
    if reduction != "mean":
        return reduced(loss, reduction)
    if weight is None:
        return loss.sum() / (~ignored).sum()
    total = weight[target.masked_fill(ignored, 0)].masked_fill(ignored, 0.0).sum()
    return loss.sum() / total


def _soft_cross_entropy(
    log_probs: Tensor, target: Tensor, weight: Tensor | None, class_dim: int, reduction: str, label_smoothing: float
) -> Tensor:
    """Cross entropy against probabilities."""
    classes = log_probs.shape[class_dim]
    if weight is not None and tuple(weight.shape) != (classes,):
        raise RuntimeError(
            f"cross_entropy: weight tensor should be defined either for all {classes} classes or no classes but got "
            f"weight tensor of shape: {list(weight.shape)}"
        )
    if label_smoothing > 0:
        target = target * (1 - label_smoothing) + label_smoothing / max(classes, 1)
    if weight is not None:
        target = target * _per_class(weight, log_probs, class_dim)
    loss = -(log_probs * target).sum(class_dim)
    if reduction == "mean":
        # Weights do not enter the mean here (they do for class indices): PyTorch's definition.
        return loss.sum() / (loss.numel() if classes else 0)
    return reduced(loss, reduction)
