"""Losses of margins, distances and counts. `reduction` is "mean" (the default), "sum", or "none"."""

from __future__ import annotations

import math

import clew
from clew import Tensor
from clew._domains import domain
from clew._samples import any_true
from clew.ops._options import all_lie_in

from .activation import logsigmoid, softplus
from .loss import legacy_reduction, reduced

__all__ = [
    "gaussian_nll_loss",
    "hinge_embedding_loss",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "poisson_nll_loss",
    "soft_margin_loss",
]


@domain("input=distinct(a, b), target=constant(integer(a, b).clip(-1, 1) * 1.0)")
def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """`input` where the target is 1, `max(0, margin - input)` where it is -1; the input is a distance.

    Example:
        >>> distance, target = torch.tensor([0.5, 0.25]), torch.tensor([1.0, -1.0])
        >>> torch.nn.functional.hinge_embedding_loss(distance, target, reduction="none")
        tensor([0.5000, 0.7500])
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    zeros = clew.zeros_like(input)
    gap = zeros.detach() + zeros.new_full((), margin) - input  # margins of integers are integers
    apart = clew.where(target != 1, gap.clamp_min(0), zeros)
    return reduced(apart + clew.where(target != -1, input, zeros), reduction)


@domain("input=real(a, b), target=constant(integer(a, b).clip(-1, 1) * 1.0)")
def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """`log(1 + exp(-target * input))`, for targets 1 and -1, in the input's dtype.

    Raises:
        RuntimeError: the target requires a gradient, or does not fit into the input's shape and kind of dtype.

    Example:
        >>> scores, target = torch.tensor([0.0, 2.0]), torch.tensor([1.0, -1.0])
        >>> torch.nn.functional.soft_margin_loss(scores, target, reduction="none")
        tensor([0.6931, 2.1269])
    """
    if clew._core.asks_for_derivative(target):
        raise RuntimeError(
            "soft_margin_loss: The function 'soft_margin_loss' is not differentiable with respect to argument 'target'."
            " This input cannot have requires_grad True."
        )
    exponent = (-input).mul_(target)
    # Of log1p(exp(x)) the derivatives of large x would be inf / inf. Beyond 80 softplus is x itself, to the last bit.
    loss = exponent.exp_().log1p() if exponent.is_complex() else softplus(exponent, threshold=80)
    return reduced(loss, legacy_reduction(size_average, reduce, reduction))


@domain("input=real(a, b), target=constant(fraction(a, b)); input=real(b), target=constant(fraction(b))")
def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over classes of the binary cross entropy of `sigmoid(input)`; a sample may be of several classes.

    Args:
        input: logits, of shape (N, C) or (C).
        target: 0 or 1, of the same shape.
        weight: a factor for each class, of shape (C).

    Example:
        >>> torch.nn.functional.multilabel_soft_margin_loss(torch.zeros(1, 2), torch.tensor([[1.0, 0.0]]))
        tensor(0.6931)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    if weight is not None:
        loss = loss * weight
    classes = input.dim() - 1
    return reduced(loss.sum(classes) / input.size(classes), reduction)


@domain("input=distinct(a, b), target=index(b, a); input=distinct(a, b), target=index(b, a), p=2, margin=0.7")
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over the classes but the target of `max(0, margin - x[target] + x[class]) ** p`.

    Args:
        input: scores, of shape (N, C) or (C).
        target: class indices, int64, of shape (N) or ().
        p: 1 or 2.
        weight: a factor for each target class, of shape (C).

    Raises:
        ValueError: another `p`, or a weight of another number of dimensions.
        RuntimeError: shapes do not fit.

    Example:
        >>> torch.nn.functional.multi_margin_loss(torch.tensor([[0.1, 0.9, 0.4]]), torch.tensor([1]))
        tensor(0.2333)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    if p not in (1, 2):
        raise ValueError(f"multi_margin_loss: only p == 1 and p == 2 supported, got {p}")
    if weight is not None and weight.dim() != 1:
        raise ValueError(f"multi_margin_loss: weight must be one-dimensional, got {weight.dim()} dimensions")
    if not input.dim():
        input = input.reshape(1)
    if input.dim() > 2 or target.dim() > 1 or target.numel() != input.shape[:-1].numel():
        raise RuntimeError(
            f"multi_margin_loss: expected scores (N, C) or (C) and a class for each, got {tuple(input.shape)} and "
            f"{tuple(target.shape)}"
        )
    if weight is not None and weight.numel() != input.shape[-1]:
        raise RuntimeError(
            f"multi_margin_loss: inconsistent weight size, expected {input.shape[-1]} but got {list(weight.shape)}"
        )
    classes = target.reshape(input.shape[:-1]).unsqueeze(-1)
    terms = (margin - input.gather(-1, classes) + input).relu()
    terms = terms * terms if p == 2 else terms
    if weight is not None:
        terms = terms * weight[classes]
    loss = terms.scatter(-1, classes, 0.0).sum(-1) / input.shape[-1]
    return reduced(loss.reshape(target.shape), reduction)


@domain("input=distinct(a, c), target=index(c, a, c)")
def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The sum, over classes that are targets and classes that are not, of `max(0, 1 - x[target] + x[other]) / C`.

    Args:
        input: scores, of shape (N, C) or (C).
        target: of the same shape, int64: the targets, then -1.

    Raises:
        RuntimeError: shapes or dtypes do not fit, or a target is no class.

    Example:
        >>> torch.nn.functional.multilabel_margin_loss(torch.tensor([0.1, 0.2, 0.8]), torch.tensor([2, -1, 0]))
        tensor(0.2333)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    input, target = clew.atleast_1d(input, target)
    if input.shape != target.shape or input.dim() > 2 or not input.shape[-1] or target.dtype != clew.int64:
        raise RuntimeError(
            "multilabel_margin_loss: expected input and int64 target of one shape (N, C) or (C) with classes, got "
            f"{tuple(input.shape)} and {tuple(target.shape)} of {target.dtype}"
        )
    if not all_lie_in(target, -1, input.shape[-1]):
        raise RuntimeError("multilabel_margin_loss: argument #2 'target' is out of range: expected classes, then -1")
    listed = (target < 0).cumsum(-1) == 0
    classes = target.masked_fill(~listed, 0)
    is_target = target.new_zeros(target.shape, dtype=clew.int64).scatter_add_(-1, classes, listed.long()) > 0
    terms = (1 - input.gather(-1, classes).unsqueeze(-1) + input.unsqueeze(-2)).relu()
    counted = listed.unsqueeze(-1) & ~is_target.unsqueeze(-2)
    loss = terms.masked_fill(~counted, 0.0).sum((-2, -1)) / input.shape[-1]
    return reduced(loss, reduction)


@domain(
    "input=real(a, b), target=constant(positive(a, b)); input=positive(a, b), target=positive(a, b), log_input=False"
)
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Negative log-likelihood of counts under Poisson distributions, without the term that no input changes.

    Args:
        input: the logarithm of the expected counts, or with `log_input=False` the expected counts.
        target: the counts.
        full: add Stirling's approximation of the missing term, for counts above 1.
        eps: keeps the logarithm finite with `log_input=False`.

    Example:
        >>> torch.nn.functional.poisson_nll_loss(torch.tensor([0.0]), torch.tensor([2.0]))
        tensor(1.)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        loss = loss + stirling.masked_fill(target <= 1, 0)
    return reduced(loss, reduction)


@domain("input=real(a, b), target=real(a, b), var=positive(a, b); input=real(a, b), target=real(a, b), var=positive(a)")
def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """Negative log-likelihood of `target` under normal distributions: `(log(var) + (input - target)**2 / var) / 2`.

    Args:
        input: the means.
        var: the variances: of the input's shape, with one axis of size 1, without the last axis, or a number.
        full: add the constant `log(2 * pi) / 2`.
        eps: a lower bound of the variances, which does not change their gradient.

    Raises:
        ValueError: a variance is negative or of another shape.

    Example:
        >>> mean, target, variance = torch.tensor([0.0]), torch.tensor([2.0]), torch.tensor([4.0])
        >>> torch.nn.functional.gaussian_nll_loss(mean, target, variance)
        tensor(1.1931)
    """
    if not isinstance(var, Tensor):
        var = var * clew.ones_like(input)
    if not var.is_meta and any_true(var < 0):
        raise ValueError("var has negative entry/entries")
    if input.shape[:-1] == var.shape != input.shape:
        var = var.unsqueeze(-1)
    sizes = list(zip(input.shape, var.shape, strict=False))
    if input.dim() != var.dim() or sum(own for size, own in sizes if size != own) not in (0, 1):
        raise ValueError(f"var is of incorrect size: got {tuple(var.shape)} for an input of {tuple(input.shape)}")
    var = clew.where(var < eps, var - var.detach() + eps, var)
    loss = 0.5 * (var.log() + (input - target) ** 2 / var)
    return reduced(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)
