"""Losses as modules: functions of `nn.functional` with fixed arguments.

All take `reduction`: "mean" (the default), "sum", or "none" for one value an element.
"""

from __future__ import annotations

from clew import Tensor

from .. import functional as F
from ..functional.loss import legacy_reduction, reduction_code
from .module import Module

__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "CrossEntropyLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "MSELoss",
    "NLLLoss",
    "SmoothL1Loss",
]


class _Loss(Module):
    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> None:
        super().__init__()
        reduction = legacy_reduction(size_average, reduce, reduction)
        if not (reduction == "batchmean" and isinstance(self, KLDivLoss)):
            reduction_code(reduction)
        self.reduction = reduction


class _WeightedLoss(_Loss):
    weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


class MSELoss(_Loss):
    """The squared difference `(input - target) ** 2`. `reduction` is "mean", "sum" or "none".

    Example:
        >>> torch.nn.MSELoss()(torch.zeros(2), torch.tensor([1.0, 3.0]))
        tensor(5.)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.mse_loss(input, target, reduction=self.reduction)


class L1Loss(_Loss):
    """The absolute difference `|input - target|`. `reduction` is "mean", "sum" or "none".

    Example:
        >>> torch.nn.L1Loss()(torch.zeros(2), torch.tensor([1.0, 3.0]))
        tensor(2.)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.l1_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(_Loss):
    """`d * d / (2 * beta)` for differences `|d| < beta`, else `|d| - beta / 2`.

    Raises:
        RuntimeError: in a call, `beta` is negative.

    Example:
        >>> torch.nn.SmoothL1Loss(reduction="none")(torch.tensor([0.5, 3.0]), torch.zeros(2))
        tensor([0.1250, 2.5000])
    """

    def __init__(
        self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean", beta: float = 1.0
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """`d * d / 2` for differences `|d| <= delta`, else `delta * (|d| - delta / 2)`.

    Raises:
        RuntimeError: in a call, `delta` is not positive.

    Example:
        >>> torch.nn.HuberLoss(reduction="none", delta=2.0)(torch.tensor([0.5, 3.0]), torch.zeros(2))
        tensor([0.1250, 4.0000])
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


class NLLLoss(_WeightedLoss):
    """Negative log-likelihood of the target classes: see `clew.nn.functional.nll_loss`.

    Args:
        weight: a factor for each class, of shape (C).
        ignore_index: a target value that adds nothing to the loss.

    Call it with log-probabilities (N, C, ...) and class indices (N, ...).

    Example:
        >>> torch.nn.NLLLoss()(torch.log(torch.tensor([[0.5, 0.5]])), torch.tensor([1]))
        tensor(0.6931)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.nll_loss(input, target, self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


class CrossEntropyLoss(_WeightedLoss):
    """Cross entropy of logits (N, C, ...) against class indices (N, ...) or probabilities (N, C, ...).

    See `clew.nn.functional.cross_entropy`.

    Args:
        weight: a factor for each class, of shape (C).
        ignore_index: a class index that adds nothing to the loss.
        label_smoothing: how much of the target, from 0 to 1, is spread evenly over all classes.

    Example:
        >>> torch.nn.CrossEntropyLoss()(torch.zeros(3, 4), torch.tensor([0, 1, 2]))
        tensor(1.3863)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(
            input,
            target,
            self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )


class KLDivLoss(_Loss):
    """Kullback-Leibler divergence of log-probabilities `input` from `target`: see `clew.nn.functional.kl_div`.

    Example:
        >>> p, q = torch.tensor([[0.5, 0.5]]), torch.tensor([[0.25, 0.75]])
        >>> torch.nn.KLDivLoss(reduction="batchmean")(q.log(), p)
        tensor(0.1438)
    """

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        log_target: bool = False,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class BCELoss(_WeightedLoss):
    """Binary cross entropy of probabilities against a target of the same shape, elementwise.

    See `clew.nn.functional.binary_cross_entropy`.

    Example:
        >>> torch.nn.BCELoss()(torch.tensor([0.25]), torch.tensor([1.0]))
        tensor(1.3863)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy(input, target, self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_WeightedLoss):
    """Binary cross entropy of `sigmoid(input)` against a target of the same shape, elementwise.

    See `clew.nn.functional.binary_cross_entropy_with_logits`.

    Args:
        weight: a factor for each element, broadcast.
        pos_weight: a factor for the positive part, broadcast.

    Example:
        >>> torch.nn.BCEWithLogitsLoss()(torch.tensor([0.0, 200.0]), torch.ones(2))
        tensor(0.3466)
    """

    pos_weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(
            input, target, self.weight, reduction=self.reduction, pos_weight=self.pos_weight
        )
