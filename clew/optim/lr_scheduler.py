"""Schedules of the learning rate: after each epoch (or step), call the scheduler's `step`."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .optimizer import Optimizer


class _Schedule:
    """What all schedules share."""

    optimizer: Optimizer
    _last_lr: list[float]

    def _rates(self) -> list[float]:
        return [group["lr"] for group in self.optimizer.param_groups]

    def get_last_lr(self) -> list[float]:
        """The learning rates that the last `step` set."""
        return self._last_lr

    def state_dict(self) -> dict[str, Any]:
        """All that the schedule keeps, but the optimizer."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict()` gave."""
        self.__dict__.update(state_dict)


class LRScheduler(_Schedule):
    """Base of the schedules by epoch: a subclass says in `get_lr` what the rates of all groups are at `last_epoch`.

    Args:
        optimizer: whose groups' "lr" are set.
        last_epoch: the number of the last epoch when training is resumed; -1 at the start.

    Raises:
        KeyError: resumed, but a group has no "initial_lr".
    """

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        for number, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", group["lr"])
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{number}] when resuming an optimizer"
                )
        self.optimizer = optimizer
        self.base_lrs: list[float] = [float(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._step_count = 0
        _notice_first_step(optimizer)
        self.step()

    @property
    def _is_first(self) -> bool:
        """Whether this is the constructor's own step, at which the rates are what the optimizer has."""
        return self._step_count == 1

    def get_lr(self) -> Sequence[float]:
        """The learning rates of all groups at `last_epoch`, from those that they have now."""
        raise NotImplementedError(f"{type(self).__name__}.get_lr is not defined")

    def step(self) -> None:
        """Go to the next epoch and set the learning rates."""
        self._step_count += 1
        if self._step_count == 2 and not getattr(self.optimizer, "_has_stepped", False):
            warnings.warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. Call them in the opposite order: "
                "otherwise the first value of the learning rate schedule is skipped.",
                stacklevel=2,
            )
        self.last_epoch += 1
        for group, rate in zip(self.optimizer.param_groups, self.get_lr(), strict=True):
            group["lr"] = rate
        self._last_lr = self._rates()


def _notice_first_step(optimizer: Optimizer) -> None:
    """Have `optimizer._has_stepped` set by its next step."""

    def notice(optimizer: Any, args: Any, kwargs: Any) -> None:
        optimizer._has_stepped = True
        handle.remove()

    handle = optimizer.register_step_post_hook(notice)


class LambdaLR(LRScheduler):
    """The initial rate times `lr_lambda(epoch)`: one function for all groups, or one for each.

    >>> import clew
    >>> optimizer = clew.optim.SGD([clew.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = clew.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 1 / (1 + epoch))
    >>> optimizer.step(); scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | Sequence[Callable[[int], float]],
        last_epoch: int = -1,
    ) -> None:
        groups = len(optimizer.param_groups)
        self.lr_lambdas = [lr_lambda] * groups if callable(lr_lambda) else list(lr_lambda)
        if len(self.lr_lambdas) != groups:
            raise ValueError(f"Expected {groups} lr_lambdas, but got {len(self.lr_lambdas)}")
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Sequence[float]:
        return [base * factor(self.last_epoch) for base, factor in zip(self.base_lrs, self.lr_lambdas, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        """As the base's, without the functions, which cannot be saved."""
        state = super().state_dict()
        del state["lr_lambdas"]
        return state


class StepLR(LRScheduler):
    """Multiplies the rate by `gamma` every `step_size` epochs."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Sequence[float]:
        due = self.last_epoch > 0 and self.last_epoch % self.step_size == 0
        return [rate * self.gamma if due else rate for rate in self._rates()]


class MultiStepLR(LRScheduler):
    """Multiplies the rate by `gamma` at each of the epochs `milestones`."""

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Sequence[float]:
        factor = self.gamma ** self.milestones[self.last_epoch]
        return [rate * factor for rate in self._rates()]


class ExponentialLR(LRScheduler):
    """Multiplies the rate by `gamma` every epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Sequence[float]:
        return [rate if self._is_first else rate * self.gamma for rate in self._rates()]


class CosineAnnealingLR(LRScheduler):
    """Takes the rate down to `eta_min` along half a cosine of `T_max` epochs (https://arxiv.org/abs/1608.03983).

    After `T_max` epochs it goes up again.
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Sequence[float]:
        if self._is_first:
            return self._rates()
        now, before = self._height(self.last_epoch), self._height(self.last_epoch - 1)
        # From the rate as it is, so that what others did to it stays.
        if before == 0.0:
            return [rate + (base - self.eta_min) * now for rate, base in zip(self._rates(), self.base_lrs, strict=True)]
        return [self.eta_min + (rate - self.eta_min) * now / before for rate in self._rates()]

    def _height(self, epoch: int) -> float:
        """The share of the way from `eta_min` to the initial rate."""
        if (epoch - self.T_max) % (2 * self.T_max) == 0:
            return 0.0
        return (1 + math.cos(math.pi * epoch / self.T_max)) / 2


class ReduceLROnPlateau(_Schedule):
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

    >>> import clew
    >>> optimizer = clew.optim.SGD([clew.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = clew.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)
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

    def step(self, metrics: Any) -> None:
        """Tell the epoch's measure."""
        measure = float(metrics)
        self.last_epoch += 1
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
                group["lr"] = new

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
