"""Losses of margins, distances and counts as modules.

Each is a function of `nn.functional` with fixed arguments: a class lists those with their defaults.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, ClassVar, dataclass_transform

from clew import Tensor

from .. import functional as F
from .activation import options_of
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

    def forward(self, *tensors: Tensor) -> Tensor:
        """The loss of the function's tensors."""
        options = {name: self.__dict__[name] for name in self._options if name in self.__dict__}
        result: Tensor = getattr(F, self.function)(*tensors, **options)
        return result


class MarginRankingLoss(_LossWithOptions):
    """`max(0, -target * (input1 - input2) + margin)`: see `clew.nn.functional.margin_ranking_loss`."""

    margin: float = 0.0
    function = "margin_ranking_loss"


class HingeEmbeddingLoss(_LossWithOptions):
    """`input` where the target is 1, `max(0, margin - input)` where it is -1."""

    margin: float = 1.0
    function = "hinge_embedding_loss"


class CosineEmbeddingLoss(_LossWithOptions):
    """`1 - cos` where the target is 1, `max(0, cos - margin)` where it is -1.

    Example:
        >>> x = torch.ones(1, 2)
        >>> torch.nn.CosineEmbeddingLoss()(x, -x, torch.tensor([1.0]))
        tensor(2.)
    """

    margin: float = 0.0
    function = "cosine_embedding_loss"


class SoftMarginLoss(_LossWithOptions):
    """`log(1 + exp(-target * input))`."""

    function = "soft_margin_loss"


class MultiLabelMarginLoss(_LossWithOptions):
    """See `clew.nn.functional.multilabel_margin_loss`."""

    function = "multilabel_margin_loss"


class TripletMarginLoss(_LossWithOptions):
    """`max(0, |anchor - positive| - |anchor - negative| + margin)`: see `clew.nn.functional.triplet_margin_loss`."""

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
    """Negative log-likelihood of counts: see `clew.nn.functional.poisson_nll_loss`."""

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
    """Negative log-likelihood of normal distributions: see `clew.nn.functional.gaussian_nll_loss`."""

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)
        self.full, self.eps = full, eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        return F.gaussian_nll_loss(input, target, var, self.full, self.eps, self.reduction)


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """The mean over classes of binary cross entropies: see `clew.nn.functional.multilabel_soft_margin_loss`."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_soft_margin_loss(input, target, self.weight, reduction=self.reduction)


class MultiMarginLoss(_WeightedLoss):
    """`max(0, margin - x[target] + x[class]) ** p` over the classes: see `clew.nn.functional.multi_margin_loss`."""

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
    """`TripletMarginLoss` with any distance: see `clew.nn.functional.triplet_margin_with_distance_loss`."""

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
