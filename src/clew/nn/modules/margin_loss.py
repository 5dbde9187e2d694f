"""Losses of margins, distances and counts as modules.

Each is a function of `nn.functional` with fixed arguments: a class lists those with their defaults.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, ClassVar, dataclass_transform

from clew import Tensor

from .. import functional as F
from .activation_base import options_of
from .distance import PairwiseDistance
from .loss import _Loss, _WeightedLoss

__all__ = [
    "CosineEmbeddingLoss",
    "GaussianNLLLoss",
    "HingeEmbeddingLoss",
    "MarginRankingLoss",
    "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "PoissonNLLLoss",
    "SoftMarginLoss",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]


@dataclass_transform()
class _LossWithOptions(_Loss):
    """Base of these losses: annotated class attributes are the constructor's first arguments, in order."""

    _options: ClassVar[dict[str, Any]] = {}
    function: ClassVar[str]

    def __init_subclass__(cls) -> None:
        own = {name: getattr(cls, name) for name in inspect.get_annotations(cls)}
        cls._options = own | {"size_average": None, "reduce": None, "reduction": "mean"}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        given = options_of(type(self), self._options, args, kwargs)
        super().__init__(given.pop("size_average"), given.pop("reduce"), given.pop("reduction"))
        self.__dict__.update(given)

    def forward(self, *tensors: Tensor, **named: Tensor) -> Tensor:
        """The loss of the function's tensors, by place or by the function's names."""
        options = {name: self.__dict__[name] for name in self._options if name in self.__dict__}
        result: Tensor = getattr(F, self.function)(*tensors, **named, **options)
        return result


class MarginRankingLoss(_LossWithOptions):
    """`max(0, -target * (input1 - input2) + margin)`: see `clew.nn.functional.margin_ranking_loss`.

    Example:
        >>> torch.nn.MarginRankingLoss()(torch.tensor([1.0]), torch.tensor([3.0]), torch.tensor([1.0]))
        tensor(2.)
    """

    margin: float = 0.0
    function = "margin_ranking_loss"


class HingeEmbeddingLoss(_LossWithOptions):
    """`input` where the target is 1, `max(0, margin - input)` where it is -1; the input is a distance.

    See `clew.nn.functional.hinge_embedding_loss`.

    Example:
        >>> loss = torch.nn.HingeEmbeddingLoss(reduction="none")
        >>> loss(torch.tensor([0.5, 0.25]), torch.tensor([1.0, -1.0]))
        tensor([0.5000, 0.7500])
    """

    margin: float = 1.0
    function = "hinge_embedding_loss"


class CosineEmbeddingLoss(_LossWithOptions):
    """`1 - cos(input1, input2)` where the target is 1, `max(0, cos - margin)` where it is -1.

    See `clew.nn.functional.cosine_embedding_loss`.

    Example:
        >>> x = torch.ones(1, 2)
        >>> torch.nn.CosineEmbeddingLoss()(x, -x, torch.tensor([1.0]))
        tensor(2.)
    """

    margin: float = 0.0
    function = "cosine_embedding_loss"


class SoftMarginLoss(_LossWithOptions):
    """`log(1 + exp(-target * input))`, for targets 1 and -1: see `clew.nn.functional.soft_margin_loss`.

    Example:
        >>> torch.nn.SoftMarginLoss()(torch.tensor([0.0]), torch.tensor([1.0]))
        tensor(0.6931)
    """

    function = "soft_margin_loss"


class MultiLabelMarginLoss(_LossWithOptions):
    """The sum, over target classes and others, of `max(0, 1 - x[target] + x[other]) / C`.

    See `clew.nn.functional.multilabel_margin_loss`.

    Example:
        >>> torch.nn.MultiLabelMarginLoss()(torch.tensor([0.1, 0.2, 0.8]), torch.tensor([2, -1, 0]))
        tensor(0.2333)
    """

    function = "multilabel_margin_loss"


class TripletMarginLoss(_LossWithOptions):
    """`max(0, |anchor - positive| - |anchor - negative| + margin)`: see `clew.nn.functional.triplet_margin_loss`.

    Raises:
        ValueError: the margin is not positive.

    Example:
        >>> anchor, near, far = torch.zeros(1, 2), torch.tensor([[3.0, 4.0]]), torch.tensor([[0.0, 2.0]])
        >>> torch.nn.TripletMarginLoss(eps=0.0)(anchor, near, far)
        tensor(4.)
    """

    margin: float = 1.0
    p: float = 2.0
    eps: float = 1e-6
    swap: bool = False
    function = "triplet_margin_loss"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.margin <= 0:
            raise ValueError(f"TripletMarginLoss: expected margin to be greater than 0, got {self.margin} instead")


class PoissonNLLLoss(_Loss):
    """Negative log-likelihood of counts under Poisson distributions: see `clew.nn.functional.poisson_nll_loss`.

    Example:
        >>> torch.nn.PoissonNLLLoss()(torch.tensor([0.0]), torch.tensor([2.0]))
        tensor(1.)
    """

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: bool | None = None,
        eps: float = 1e-8,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input, self.full, self.eps = log_input, full, eps

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        return F.poisson_nll_loss(log_input, target, self.log_input, self.full, eps=self.eps, reduction=self.reduction)


class GaussianNLLLoss(_Loss):
    """Negative log-likelihood under normal distributions: see `clew.nn.functional.gaussian_nll_loss`.

    Example:
        >>> torch.nn.GaussianNLLLoss()(torch.tensor([0.0]), torch.tensor([2.0]), torch.tensor([4.0]))
        tensor(1.1931)
    """

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)
        self.full, self.eps = full, eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        return F.gaussian_nll_loss(input, target, var, self.full, self.eps, self.reduction)


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """The mean over classes of the binary cross entropy of `sigmoid(input)`.

    See `clew.nn.functional.multilabel_soft_margin_loss`.

    Example:
        >>> torch.nn.MultiLabelSoftMarginLoss()(torch.zeros(1, 2), torch.tensor([[1.0, 0.0]]))
        tensor(0.6931)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_soft_margin_loss(input, target, self.weight, reduction=self.reduction)


class MultiMarginLoss(_WeightedLoss):
    """The mean over the classes but the target of `max(0, margin - x[target] + x[class]) ** p`.

    See `clew.nn.functional.multi_margin_loss`.

    Raises:
        ValueError: `p` is neither 1 nor 2, or the weight has not one dimension.

    Example:
        >>> torch.nn.MultiMarginLoss()(torch.tensor([[0.1, 0.9, 0.4]]), torch.tensor([1]))
        tensor(0.2333)
    """

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise ValueError(f"MultiMarginLoss: only p == 1 and p == 2 supported, got {p}")
        if weight is not None and weight.dim() != 1:
            raise ValueError(f"MultiMarginLoss: expected weight to be None or 1D tensor, got {weight.dim()}D instead")
        self.p, self.margin = p, margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multi_margin_loss(input, target, self.p, self.margin, self.weight, reduction=self.reduction)


class TripletMarginWithDistanceLoss(_Loss):
    """`TripletMarginLoss` with any distance: see `clew.nn.functional.triplet_margin_with_distance_loss`.

    Raises:
        ValueError: the margin is not positive.

    Example:
        >>> anchor, near, far = torch.zeros(1, 2), torch.tensor([[3.0, 4.0]]), torch.tensor([[0.0, 2.0]])
        >>> loss = torch.nn.TripletMarginWithDistanceLoss(distance_function=lambda x, y: (x - y).abs().sum(-1))
        >>> loss(anchor, near, far)
        tensor(6.)
    """

    def __init__(
        self,
        *,
        distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction=reduction)
        if margin <= 0:
            raise ValueError(
                f"TripletMarginWithDistanceLoss: expected margin to be greater than 0, got {margin} instead"
            )
        self.distance_function = PairwiseDistance() if distance_function is None else distance_function
        self.margin, self.swap = margin, swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_with_distance_loss(
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
            reduction=self.reduction,
        )
