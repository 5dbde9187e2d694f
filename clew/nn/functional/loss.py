"""Losses. `reduction` is "mean" (the default), "sum", or "none" for one value an element."""

from __future__ import annotations

import warnings
from typing import Any

import clew
from clew import Tensor
from clew.autograd import Function

_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def reduction_code(reduction: str) -> int:
    """The number that native losses know a reduction by."""
    try:
        return _REDUCTIONS[reduction]
    except (KeyError, TypeError):
        raise ValueError(f'{reduction} is not a valid value for reduction; expected "none", "mean" or "sum"') from None


def _reduce(loss: Tensor, reduction: str) -> Tensor:
    code = reduction_code(reduction)
    return loss if code == 0 else loss.mean() if code == 1 else loss.sum()


def _same_shape(input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Both, with a warning if they have not one shape: what operations do then, broadcasting, is seldom meant."""
    if input.shape != target.shape:
        warnings.warn(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will "
            "likely lead to incorrect results due to broadcasting. Please ensure they have the same size.",
            stacklevel=3,
        )
    return input, target


# Regression -----------------------------------------------------------------------------------------------------------


def mse_loss(input: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    """Squared difference.

    >>> import clew
    >>> clew.nn.functional.mse_loss(clew.tensor([1.0, 2.0]), clew.tensor([1.0, 4.0]))
    tensor(2.)
    """
    input, target = _same_shape(input, target)
    return clew.mse_loss(input, target, reduction_code(reduction))


def l1_loss(input: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    """Absolute difference."""
    input, target = _same_shape(input, target)
    return clew.l1_loss(input, target, reduction_code(reduction))


def smooth_l1_loss(input: Tensor, target: Tensor, *, reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """`d * d / (2 * beta)` for differences `d` below `beta`, else `|d| - beta / 2`."""
    if beta < 0:
        raise RuntimeError(f"smooth_l1_loss does not support negative values for beta; got {beta}")
    if beta == 0:
        return l1_loss(input, target, reduction=reduction)
    return _reduce(_huber(*_same_shape(input, target), beta) / beta, reduction)


def huber_loss(input: Tensor, target: Tensor, *, reduction: str = "mean", delta: float = 1.0) -> Tensor:
    """`d * d / 2` for differences `d` up to `delta`, else `delta * (|d| - delta / 2)`."""
    if delta <= 0:
        raise RuntimeError(f"huber_loss does not support non-positive values for delta; got {delta}")
    return _reduce(_huber(*_same_shape(input, target), delta), reduction)


def _huber(input: Tensor, target: Tensor, delta: float) -> Tensor:
    difference = input - target
    size = difference.abs()
    return clew.where(size < delta, difference * difference * 0.5, (size - 0.5 * delta) * delta)


# Classification -------------------------------------------------------------------------------------------------------


def nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, *, ignore_index: int = -100, reduction: str = "mean"
) -> Tensor:
    """Negative log-likelihood of the target classes.

    Args:
        input: log-probabilities, of shape (C), (N, C) or (N, C, d1, ..., dK).
        target: class indices, int64, of shape (), (N) or (N, d1, ..., dK).
        weight: a factor for each class, of shape (C). The mean is then a weighted one.
        ignore_index: a target value that counts for nothing.

    >>> import clew
    >>> clew.nn.functional.nll_loss(clew.log(clew.tensor([[0.5, 0.5]])), clew.tensor([1]))
    tensor(0.6931)
    """
    return clew.nll_loss(input, target, weight, reduction_code(reduction), ignore_index)


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Cross entropy between the softmax of `input` and the target.

    Args:
        input: logits, of shape (C), (N, C) or (N, C, d1, ..., dK).
        target: class indices as for `nll_loss`, or probabilities of the input's shape and a floating type.
        weight: a factor for each class, of shape (C).
        ignore_index: a class index that counts for nothing.
        label_smoothing: how much of the target, from 0 to 1, is spread evenly over all classes.

    >>> import clew
    >>> clew.nn.functional.cross_entropy(clew.zeros(1, 4), clew.tensor([2]))
    tensor(1.3863)
    """
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    class_dim = 0 if input.dim() == 1 else 1
    log_probs = clew.log_softmax(input, class_dim)
    if target.shape == input.shape and target.is_floating_point():
        return _soft_cross_entropy(log_probs, target, weight, class_dim, reduction, label_smoothing)
    _check_classes(input, target)
    if label_smoothing == 0.0:
        return nll_loss(log_probs, target, weight, ignore_index=ignore_index, reduction=reduction)
    hard = nll_loss(log_probs, target, weight, ignore_index=ignore_index, reduction=reduction)
    even = _even_loss(log_probs, target, weight, class_dim, ignore_index, reduction)
    return hard * (1 - label_smoothing) + even * (label_smoothing / input.shape[class_dim])


def _check_classes(input: Tensor, target: Tensor) -> None:
    """Fail, by this function's name, where `nll_loss` would by its own."""
    if target.is_floating_point():
        raise RuntimeError(
            "cross_entropy: expected class indices (int64) or probabilities of the input's shape "
            f"{tuple(input.shape)}, got {target.dtype} of shape {tuple(target.shape)}"
        )
    batch, targets = input.shape[0] if input.dim() > 1 else 1, target.shape[0] if target.dim() else 1
    if batch != targets:
        raise ValueError(
            f"cross_entropy: Expected input batch_size ({batch}) to match target batch_size ({targets}), got shapes "
            f"{tuple(input.shape)} and {tuple(target.shape)}"
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
        return _reduce(loss, reduction)
    if weight is None:
        return loss.sum() / (~ignored).sum()
    total = weight[target.masked_fill(ignored, 0)].masked_fill(ignored, 0.0).sum()
    return loss.sum() / total


def _soft_cross_entropy(
    log_probs: Tensor, target: Tensor, weight: Tensor | None, class_dim: int, reduction: str, label_smoothing: float
) -> Tensor:
    """Cross entropy against probabilities."""
    classes = log_probs.shape[class_dim]
    if label_smoothing > 0:
        target = target * (1 - label_smoothing) + label_smoothing / classes
    if weight is not None:
        target = target * _per_class(weight, log_probs, class_dim)
    loss = -(log_probs * target).sum(class_dim)
    if reduction == "mean":
        # Weights do not enter the mean here (they do for class indices): PyTorch's definition.
        return loss.sum() / max(loss.numel(), 1)
    return _reduce(loss, reduction)


def kl_div(input: Tensor, target: Tensor, *, reduction: str = "mean", log_target: bool = False) -> Tensor:
    """Kullback-Leibler divergence `target * (log(target) - input)`; `input` is log-probabilities.

    `reduction="batchmean"` is the sum divided by the batch size, which is the mathematical definition.
    """
    if log_target:
        loss = target.exp() * (target - input)
    else:
        # 0 * log(0) is 0 here.
        loss = clew.where(target > 0, target * target.clamp(min=_tiny(target)).log(), target * 0) - target * input
    if reduction == "batchmean":
        return loss.sum() / input.shape[0] if input.dim() else loss.sum()
    if reduction == "mean":
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size. 'batchmean' divides "
            "only by the batch size, and aligns with the KL div math definition.",
            stacklevel=2,
        )
    return _reduce(loss, reduction)


def _tiny(tensor: Tensor) -> float:
    return float(clew.finfo(tensor.dtype).tiny)


# Two classes ----------------------------------------------------------------------------------------------------------


class _BinaryCrossEntropy(Function):
    """`-(t * log(p) + (1 - t) * log(1 - p))` with the logarithms cut off at -100.

    A node of its own, because the composite's gradient is not a number at 0 and 1.
    """

    @staticmethod
    def forward(ctx: Any, input: Tensor, target: Tensor) -> Tensor:
        ctx.save_for_backward(input, target)
        log_yes, log_no = input.log().clamp(min=-100), (-input).log1p().clamp(min=-100)
        return (target - 1) * log_no - target * log_yes

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None]:
        input, target = ctx.saved_tensors
        wants_input, wants_target = ctx.needs_input_grad
        by_input = grad * (input - target) / ((1 - input) * input).clamp(min=1e-12) if wants_input else None
        by_target = grad * ((1 - input).log().clamp(min=-100) - input.log().clamp(min=-100)) if wants_target else None
        return by_input, by_target


def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, *, reduction: str = "mean"
) -> Tensor:
    """Cross entropy of probabilities `input` against `target`, elementwise; both in [0, 1] and of one shape."""
    if input.shape != target.shape:
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is deprecated. "
            "Please ensure they have the same size."
        )
    if input.numel() and not bool(((input >= 0) & (input <= 1)).all()):
        raise RuntimeError(
            "all elements of input should be between 0 and 1; for logits use binary_cross_entropy_with_logits"
        )
    loss: Tensor = _BinaryCrossEntropy.apply(input, target)
    return _reduce(loss if weight is None else loss * weight, reduction)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    *,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Cross entropy of `sigmoid(input)` against `target`, elementwise and exact for large logits.

    Args:
        input: logits, of any shape.
        target: probabilities, of the input's shape.
        weight: a factor for each element, broadcast.
        pos_weight: a factor for the positive part, broadcast (one a class, say).
    """
    if target.shape != input.shape:
        raise ValueError(
            "binary_cross_entropy_with_logits: "
            f"Target size ({target.shape}) must be the same as input size ({input.shape}); reshape one of them"
        )
    return clew.binary_cross_entropy_with_logits(input, target, weight, pos_weight, reduction_code(reduction))
