"""Losses. `reduction` is "mean" (the default), "sum", or "none" for one value an element.

`size_average` and `reduce` are the old form of `reduction`; they work, with a warning.
"""

from __future__ import annotations

import contextlib
import warnings

import clew
from clew import Tensor
from clew._domains import domain

__all__ = [
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "mse_loss",
    "smooth_l1_loss",
]

_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def reduction_code(reduction: str) -> int:
    """The number that native losses know a reduction by."""
    try:
        return _REDUCTIONS[reduction]
    except (KeyError, TypeError):
        raise ValueError(f'{reduction} is not a valid value for reduction; expected "none", "mean" or "sum"') from None


def legacy_reduction(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """The reduction that the two old arguments mean; `reduction` where they are not given."""
    if size_average is None and reduce is None:
        return reduction
    meant = "none" if reduce is False else "sum" if size_average is False else "mean"
    warnings.warn(
        f"size_average and reduce args will be deprecated, please use reduction='{meant}' instead.", stacklevel=3
    )
    return meant


def reduced(loss: Tensor, reduction: str) -> Tensor:
    """All values, their mean, or their sum."""
    code = reduction_code(reduction)
    return loss if code == 0 else loss.mean() if code == 1 else loss.sum()


def _same_shape(input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Both, broadcast with a warning if they have not one shape: that is seldom meant."""
    if input.shape != target.shape:
        warnings.warn(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will "
            "likely lead to incorrect results due to broadcasting. Please ensure they have the same size.",
            stacklevel=3,
        )
        with contextlib.suppress(RuntimeError):  # where they do not fit the loss says so
            input, target = clew.broadcast_tensors(input, target)
    return input, target


def _weighted(loss: Tensor, input: Tensor, weight: Tensor) -> Tensor:
    """A loss of each element times its weight."""
    if weight.shape != input.shape:
        raise ValueError(
            f"Weights and input must have the same size; got weight {weight.shape} and input {input.shape}"
        )
    return loss * weight


def _weighted_mean(loss: Tensor, input: Tensor, weight: Tensor, reduction: str) -> Tensor:
    """The weighted loss, reduced; its mean is that of a distribution: over the sum of the weights."""
    each = _weighted(loss, input, weight)
    return each.sum() / weight.sum() if reduction_code(reduction) == 1 else reduced(each, reduction)


# Regression -----------------------------------------------------------------------------------------------------------


@domain("real; real, reduction='none'; real, weight=positive(a, b)")
def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The squared difference `(input - target) ** 2`; the two have one shape, or are broadcast with a warning.

    Args:
        weight: a factor for each element, of `input`'s shape. A mean is then divided by the sum of the weights.

    Raises:
        ValueError: another `reduction`, or a weight of another shape.
        RuntimeError: shapes that cannot be broadcast.

    Example:
        >>> torch.nn.functional.mse_loss(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0]))
        tensor(2.)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    shaped, target = _same_shape(input, target)
    if weight is not None:
        return _weighted_mean((shaped - target) ** 2, input, weight, reduction)
    return clew.mse_loss(shaped, target, reduction_code(reduction))


@domain(
    "input=distinct(a, b), target=distinct(a, b) + 0.05; "
    "input=distinct(a, b), target=distinct(a, b) + 0.05, weight=positive(a, b)"
)
def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The absolute difference `|input - target|`, whose derivative at 0 is 0. Shapes, weights and errors as for
    `mse_loss`.

    Example:
        >>> torch.nn.functional.l1_loss(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 5.0]), reduction="sum")
        tensor(3.)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    shaped, target = _same_shape(input, target)
    if weight is not None:
        return _weighted_mean((shaped - target).abs(), input, weight, reduction)
    return clew.l1_loss(shaped, target, reduction_code(reduction))


@domain("real; real, beta=0.5, reduction='sum'")
def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """`d * d / (2 * beta)` for differences `|d| < beta`, else `|d| - beta / 2`; `huber_loss(delta=beta) / beta`.

    Girshick, https://arxiv.org/abs/1504.08083. Shapes as for `mse_loss`.

    Raises:
        RuntimeError: `beta` is negative.
        ValueError: another `reduction`.

    Example:
        >>> torch.nn.functional.smooth_l1_loss(torch.tensor([0.5, 3.0]), torch.zeros(2), reduction="none")
        tensor([0.1250, 2.5000])
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    if beta < 0:
        raise RuntimeError(f"smooth_l1_loss does not support negative values for beta; got {beta}")
    if beta == 0:
        return l1_loss(input, target, reduction=reduction)
    input, target = _same_shape(input, target)
    return clew.smooth_l1_loss(input, target, reduction_code(reduction), beta)


@domain("real; real, delta=0.7, reduction='none'; real, delta=0.7, weight=positive(a, b)")
def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """`d * d / 2` for differences `|d| <= delta`, else `delta * (|d| - delta / 2)`.

    Huber, 1964. Shapes as for `mse_loss`.

    Args:
        weight: a factor for each element, of `input`'s shape. A mean is that of the weighted elements.

    Raises:
        RuntimeError: `delta` is not positive.
        ValueError: another `reduction`.

    Example:
        >>> torch.nn.functional.huber_loss(torch.tensor([0.5, 3.0]), torch.zeros(2), reduction="none", delta=2.0)
        tensor([0.1250, 4.0000])
    """
    shaped, target = _same_shape(input, target)
    if weight is not None:
        return reduced(_weighted(clew.huber_loss(shaped, target, 0, delta), input, weight), reduction)
    return clew.huber_loss(shaped, target, reduction_code(reduction), delta)


# Classification -------------------------------------------------------------------------------------------------------


@domain(
    "input=real(a, b), target=fraction(a, b), reduction='batchmean'; "
    "input=real(a, b), target=real(a, b), reduction='sum', log_target=True"
)
def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """Kullback-Leibler divergence `target * (log(target) - input)`, elementwise; `input` is log-probabilities.

    Args:
        input: of any shape, floating.
        target: probabilities of the same shape, or with `log_target` their logarithms.
        reduction: also "batchmean", the sum divided by the size of the first axis: the mathematical definition. "mean"
            divides by the number of elements, and warns.

    Raises:
        RuntimeError: integers.
        ValueError: another `reduction`.

    Example:
        >>> p, q = torch.tensor([[0.5, 0.5]]), torch.tensor([[0.25, 0.75]])
        >>> torch.nn.functional.kl_div(q.log(), p, reduction="batchmean")
        tensor(0.1438)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    if not (input.is_floating_point() and target.is_floating_point()):
        raise RuntimeError(
            f"kl_div: Integral inputs not supported. Expected floating tensors, got {input.dtype} and {target.dtype}"
        )
    loss = target.exp() * (target - input) if log_target else clew.xlogy(target, target) - target * input
    if reduction == "batchmean":
        return loss.sum() / input.shape[0] if input.dim() else loss.sum()
    if reduction == "mean":
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size. 'batchmean' divides "
            "only by the batch size, and aligns with the KL div math definition.",
            stacklevel=2,
        )
    return reduced(loss, reduction)


# Two classes ----------------------------------------------------------------------------------------------------------


@domain("fraction; input=fraction(a, b), target=fraction(a, b), weight=constant(positive(b)), reduction='sum'")
def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """`-weight * (target * log(input) + (1 - target) * log(1 - input))`, with logarithms clamped at -100.

    Args:
        input: probabilities, of any shape.
        target: probabilities, of the input's shape.
        weight: a factor for each element, broadcast.

    Raises:
        RuntimeError: an input outside [0, 1].
        ValueError: the shapes differ, or another `reduction`.

    Example:
        >>> torch.nn.functional.binary_cross_entropy(torch.tensor([0.25]), torch.tensor([1.0]))
        tensor(1.3863)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    return clew.binary_cross_entropy(input, target, weight, reduction_code(reduction))


@domain(
    "input=real(a, b), target=fraction(a, b); "
    "input=real(a, b), target=fraction(a, b), weight=constant(positive(b)), pos_weight=constant(positive(b)), "
    "reduction='sum'"
)
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """`binary_cross_entropy` of `sigmoid(input)`, in a form that large logits do not make inexact.

    Args:
        input: logits, of any shape.
        target: probabilities, of the input's shape.
        weight: a factor for each element, broadcast.
        pos_weight: a factor for the positive part, `target * log(sigmoid(input))`, broadcast: one for each class, say.

    Raises:
        ValueError: the shapes differ, or another `reduction`.

    Example:
        >>> torch.nn.functional.binary_cross_entropy_with_logits(torch.tensor([0.0, 200.0]), torch.ones(2))
        tensor(0.3466)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    if target.shape != input.shape:
        raise ValueError(
            "binary_cross_entropy_with_logits: "
            f"Target size ({target.shape}) must be the same as input size ({input.shape}); reshape one of them"
        )
    return clew.binary_cross_entropy_with_logits(input, target, weight, pos_weight, reduction_code(reduction))
