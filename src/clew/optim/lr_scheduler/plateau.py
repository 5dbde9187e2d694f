"""A schedule that follows what is measured."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

from ..optimizer import Optimizer
from .base import Schedule, set_rate


class ReduceLROnPlateau(Schedule):
    """Multiplies the rate by `factor` when a measure has not improved for more than `patience` epochs.

    Args:
        optimizer: whose groups' "lr" are set.
        mode: "min" if smaller is better, else "max".
        factor: below 1.
        patience: how many epochs without improvement are accepted.
        threshold: how much better counts as improvement,
        threshold_mode: as a share of the best ("rel") or as it is ("abs").
        cooldown: epochs after a reduction in which none are counted.
        min_lr: a bound, one for all groups or one for each.
        eps: a change of the rate smaller than this is not made.

    Raises:
        ValueError: an option is out of range.
        TypeError: `optimizer` is none.

    Example:
        >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)
        >>> scheduler.step(3.0); scheduler.step(3.0)
        >>> scheduler.get_last_lr()
        [0.1]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float | Sequence[float] = 0.0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1.0:
            raise ValueError(f"Factor should be < 1.0, got {factor}.")
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown!")
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        groups = len(optimizer.param_groups)
        self.min_lrs = list(min_lr) if isinstance(min_lr, Sequence) else [min_lr] * groups
        if len(self.min_lrs) != groups:
            raise ValueError(f"expected {groups} min_lrs, got {len(self.min_lrs)}")
        self.optimizer, self.mode, self.factor, self.patience = optimizer, mode, factor, patience
        self.threshold, self.threshold_mode, self.cooldown, self.eps = threshold, threshold_mode, cooldown, eps
        self.last_epoch = 0
        self._last_lr = self._rates()
        self._reset()

    def _reset(self) -> None:
        self.best = math.inf if self.mode == "min" else -math.inf
        self.cooldown_counter = self.num_bad_epochs = 0

    def step(self, metrics: Any, epoch: int | None = None) -> None:
        """Tell the epoch's measure. That it is given its number is deprecated, as in PyTorch."""
        measure = float(metrics)
        if epoch is not None:
            warnings.warn("ReduceLROnPlateau.step: the epoch is deprecated; leave it out", UserWarning, stacklevel=2)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        better = self.is_better(measure, self.best)
        self.best = measure if better else self.best
        self.num_bad_epochs = 0 if better else self.num_bad_epochs + 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce()
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = self._rates()

    def _reduce(self) -> None:
        for group, bound in zip(self.optimizer.param_groups, self.min_lrs, strict=True):
            old = float(group["lr"])
            new = max(old * self.factor, bound)
            if old - new > self.eps:
                set_rate(group, new)

    @property
    def in_cooldown(self) -> bool:
        """Whether a reduction was made lately."""
        return self.cooldown_counter > 0

    def is_better(self, measure: float, best: float) -> bool:
        """Whether `measure` improves on `best` by more than the threshold."""
        sign = -1 if self.mode == "min" else 1
        if self.threshold_mode == "rel":
            return measure * sign > best * (sign + self.threshold)
        return measure * sign > best * sign + self.threshold
