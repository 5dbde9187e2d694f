"""Schedules that go up and down."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ..optimizer import Optimizer
from .base import LRScheduler, set_rate


class CosineAnnealingLR(LRScheduler):
    """Takes the rate down to `eta_min` along half a cosine of `T_max` epochs (https://arxiv.org/abs/1608.03983).

    `eta_min + (lr - eta_min) * (1 + cos(pi * epoch / T_max)) / 2`; after `T_max` epochs it goes up again.

    Example:
        >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=2)
        >>> rates = [scheduler.get_last_lr()[0]]
        >>> for _ in range(2):
        ...     optimizer.step()
        ...     scheduler.step()
        ...     rates.append(round(scheduler.get_last_lr()[0], 4))
        >>> rates
        [1.0, 0.5, 0.0]
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Sequence[float]:
        if self._is_initial:
            return self._rates()
        now, before = self._height(self.last_epoch), self._height(self.last_epoch - 1)
        # From the rate as it is, so that what others did to it stays.
        if before == 0.0:
            return [rate + (base - self.eta_min) * now for rate, base in zip(self._rates(), self.base_lrs, strict=True)]
        return [self.eta_min + (rate - self.eta_min) * now / before for rate in self._rates()]

    def _rates_at(self, epoch: int) -> Sequence[float]:
        return [self.eta_min + (base - self.eta_min) * self._height(epoch) for base in self.base_lrs]

    def _height(self, epoch: int) -> float:
        """The share of the way from `eta_min` to the initial rate."""
        if (epoch - self.T_max) % (2 * self.T_max) == 0:
            return 0.0
        return (1 + math.cos(math.pi * epoch / self.T_max)) / 2


class CosineAnnealingWarmRestarts(LRScheduler):
    """Takes the rate down to `eta_min` along half a cosine, again and again (https://arxiv.org/abs/1608.03983).

    Args:
        optimizer: whose groups' "lr" are set.
        T_0: epochs of the first descent.
        T_mult: each descent is so many times as long as the one before.
        eta_min: where descents end.
        last_epoch: see `LRScheduler`.

    Raises:
        ValueError: an option is out of range, or `step` got a negative epoch.

    Example:
        >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2)
        >>> rates = [scheduler.get_last_lr()[0]]
        >>> for _ in range(3):
        ...     optimizer.step()
        ...     scheduler.step()
        ...     rates.append(round(scheduler.get_last_lr()[0], 4))
        >>> rates
        [1.0, 0.5, 1.0, 0.5]
    """

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        if not isinstance(T_0, int) or T_0 <= 0:
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if not isinstance(T_mult, int) or T_mult < 1:
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0, self.T_i, self.T_mult, self.eta_min = T_0, T_0, T_mult, eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Sequence[float]:
        height = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Go to the next epoch, or to this one, which may be a fraction, and set the learning rates."""
        if epoch is not None and epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        if epoch is None and self.last_epoch >= 0:
            self.last_epoch += 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            self._go_to(epoch or 0)
        self._set_rates(self.get_lr())

    def _go_to(self, epoch: float) -> None:
        self.last_epoch = math.floor(epoch)
        if self.T_mult == 1 or epoch < self.T_0:
            self.T_cur, self.T_i = epoch % self.T_0, self.T_0
            return
        # After n descents, T_0 * (T_mult ** n - 1) / (T_mult - 1) epochs have passed.
        descents = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
        self.T_cur = epoch - self.T_0 * (self.T_mult**descents - 1) / (self.T_mult - 1)
        self.T_i = self.T_0 * self.T_mult**descents


class CyclicLR(LRScheduler):
    """Takes the rate from `base_lr` to `max_lr` and back, again and again (https://arxiv.org/abs/1506.01186).

    Args:
        optimizer: whose groups' "lr" are set, and "momentum" (or the first of "betas"), which falls as they rise.
        base_lr, max_lr: for all groups or a list for each.
        step_size_up, step_size_down: steps of each half; the second is as the first by default.
        mode: the height stays ("triangular"), halves each cycle ("triangular2") or is `gamma ** step` ("exp_range").
        gamma: see `mode`.
        scale_fn: a factor for the height, instead of `mode`, of
        scale_mode: the number of the cycle, from 1 ("cycle"), or of the step ("iterations").
        cycle_momentum: whether the momentum is set, too.
        base_momentum, max_momentum: its bounds.
        last_epoch: see `LRScheduler`.

    Raises:
        ValueError: another mode, or an optimizer without the momentum that is to be set.

    Example:
        >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.CyclicLR(optimizer, 0.1, 0.5, step_size_up=2, cycle_momentum=False)
        >>> rates = [scheduler.get_last_lr()[0]]
        >>> for _ in range(4):
        ...     optimizer.step()
        ...     scheduler.step()
        ...     rates.append(round(scheduler.get_last_lr()[0], 4))
        >>> rates
        [0.1, 0.3, 0.5, 0.3, 0.1]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | Sequence[float],
        max_lr: float | Sequence[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | Sequence[float] = 0.8,
        max_momentum: float | Sequence[float] = 0.9,
        last_epoch: int = -1,
    ) -> None:
        _check_optimizer(optimizer)
        base_lrs = for_groups("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for group, rate in zip(optimizer.param_groups, base_lrs, strict=True):
                set_rate(group, rate)
        self.max_lrs = for_groups("max_lr", optimizer, max_lr)
        self.total_size = float(step_size_up + (step_size_up if step_size_down is None else step_size_down))
        self.step_ratio = step_size_up / self.total_size
        if scale_fn is None and mode not in ("triangular", "triangular2", "exp_range"):
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode, self.gamma, self._scale_fn_custom = mode, gamma, scale_fn
        self.scale_mode = scale_mode if scale_fn else "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.base_momentums = for_groups("base_momentum", optimizer, base_momentum)
            self.max_momentums = for_groups("max_momentum", optimizer, max_momentum)
            _begin_momentum(optimizer, self.base_momentums, self.max_momentums, last_epoch)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """The factor of the height in a cycle or step of this number."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "exp_range":
            return float(self.gamma**x)
        return 1.0 if self.mode == "triangular" else float(0.5 ** (x - 1))

    def get_lr(self) -> Sequence[float]:
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        place = 1.0 + self.last_epoch / self.total_size - cycle
        up = place <= self.step_ratio
        height = place / self.step_ratio if up else (place - 1) / (self.step_ratio - 1)
        height *= self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            bounds = zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums, strict=True)
            for group, low, high in bounds:
                _set_momentum(group, high - (high - low) * height)
        return [low + (high - low) * height for low, high in zip(self.base_lrs, self.max_lrs, strict=True)]


def _check_optimizer(optimizer: Any) -> None:
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def for_groups(name: str, optimizer: Optimizer, value: float | Sequence[float]) -> list[float]:
    """One value for each group."""
    count = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [value] * count  # type: ignore[list-item]
    if len(value) != count:
        raise ValueError(f"{name} must have the same length as optimizer.param_groups: {count}, got {len(value)}")
    return list(value)


def _begin_momentum(optimizer: Optimizer, low: list[float], high: list[float], last_epoch: int) -> None:
    if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
        raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
    if last_epoch != -1:
        return
    for group, least, most in zip(optimizer.param_groups, low, high, strict=True):
        _set_momentum(group, most)
        group["max_momentum"], group["base_momentum"] = most, least


def _set_momentum(group: dict[str, Any], value: float) -> None:
    if "betas" in group:
        group["betas"] = (value, *group["betas"][1:])
    else:
        group["momentum"] = value
