"""Schedules that go one way: steps, decays, warm-ups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from ..optimizer import Optimizer
from .base import LRScheduler


class LambdaLR(LRScheduler):
    """The initial rate times `lr_lambda(epoch)`: one function for all groups, or one for each.

    Raises:
        ValueError: another number of functions than of groups.

    Example:
        >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 1 / (1 + epoch))
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


class MultiplicativeLR(LambdaLR):
    """Multiplies the rate by `lr_lambda(epoch)` every epoch: one function for all groups, or one for each.

    Example:
        >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.MultiplicativeLR(optimizer, lambda epoch: 0.5)
        >>> rates = [scheduler.get_last_lr()[0]]
        >>> for _ in range(2):
        ...     optimizer.step()
        ...     scheduler.step()
        ...     rates.append(scheduler.get_last_lr()[0])
        >>> rates
        [1.0, 0.5, 0.25]
    """

    def get_lr(self) -> Sequence[float]:
        if self._is_initial:
            return self._rates()
        return [rate * factor(self.last_epoch) for rate, factor in zip(self._rates(), self.lr_lambdas, strict=True)]


class StepLR(LRScheduler):
    """Multiplies the rate by `gamma` every `step_size` epochs.

    Example:
        >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
        >>> rates = [scheduler.get_last_lr()[0]]
        >>> for _ in range(4):
        ...     optimizer.step()
        ...     scheduler.step()
        ...     rates.append(scheduler.get_last_lr()[0])
        >>> rates
        [1.0, 1.0, 0.5, 0.5, 0.25]
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Sequence[float]:
        due = self.last_epoch > 0 and self.last_epoch % self.step_size == 0
        return [rate * self.gamma if due else rate for rate in self._rates()]

    def _rates_at(self, epoch: int) -> Sequence[float]:
        return [base * self.gamma ** (epoch // self.step_size) for base in self.base_lrs]


class MultiStepLR(LRScheduler):
    """Multiplies the rate by `gamma` at each of the epochs `milestones`.

    Example:
        >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[1, 3], gamma=0.5)
        >>> rates = [scheduler.get_last_lr()[0]]
        >>> for _ in range(3):
        ...     optimizer.step()
        ...     scheduler.step()
        ...     rates.append(scheduler.get_last_lr()[0])
        >>> rates
        [1.0, 0.5, 0.5, 0.25]
    """

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Sequence[float]:
        factor = self.gamma ** self.milestones[self.last_epoch]
        return [rate * factor for rate in self._rates()]

    def _rates_at(self, epoch: int) -> Sequence[float]:
        passed = sum(count for milestone, count in self.milestones.items() if milestone <= epoch)
        return [base * self.gamma**passed for base in self.base_lrs]


class ExponentialLR(LRScheduler):
    """Multiplies the rate by `gamma` every epoch.

    Example:
        >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
        >>> rates = [scheduler.get_last_lr()[0]]
        >>> for _ in range(3):
        ...     optimizer.step()
        ...     scheduler.step()
        ...     rates.append(scheduler.get_last_lr()[0])
        >>> rates
        [1.0, 0.5, 0.25, 0.125]
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Sequence[float]:
        return [rate if self._is_initial else rate * self.gamma for rate in self._rates()]

    def _rates_at(self, epoch: int) -> Sequence[float]:
        return [base * self.gamma**epoch for base in self.base_lrs]


class ConstantLR(LRScheduler):
    """Multiplies the rate by `factor` for the first `total_iters` epochs.

    Raises:
        ValueError: the factor is not in [0, 1].

    Example:
        >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=2)
        >>> rates = [scheduler.get_last_lr()[0]]
        >>> for _ in range(3):
        ...     optimizer.step()
        ...     scheduler.step()
        ...     rates.append(scheduler.get_last_lr()[0])
        >>> rates
        [0.5, 0.5, 1.0, 1.0]
    """

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if not 0 <= factor <= 1:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Sequence[float]:
        if self.last_epoch == 0:
            return [rate * self.factor for rate in self._rates()]
        if self.last_epoch != self.total_iters:
            return self._rates()
        return [rate * (1.0 / self.factor) for rate in self._rates()]

    def _rates_at(self, epoch: int) -> Sequence[float]:
        return [base * (self.factor if epoch < self.total_iters else 1.0) for base in self.base_lrs]


class LinearLR(LRScheduler):
    """Multiplies the rate by a factor that goes from `start_factor` to `end_factor` in `total_iters` epochs.

    Raises:
        ValueError: a factor is not in (0, 1].

    Example:
        >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.5, total_iters=2)
        >>> optimizer.step(); scheduler.step()
        >>> scheduler.get_last_lr()
        [0.75]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 < start_factor <= 1:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if not 0 <= end_factor <= 1:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Sequence[float]:
        if self.last_epoch == 0:
            return [rate * self.start_factor for rate in self._rates()]
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._rates()
        rise = self.end_factor - self.start_factor
        factor = 1.0 + rise / (self.total_iters * self.start_factor + (self.last_epoch - 1) * rise)
        return [rate * factor for rate in self._rates()]

    def _rates_at(self, epoch: int) -> Sequence[float]:
        share = min(self.total_iters, epoch) / self.total_iters
        return [base * (self.start_factor + (self.end_factor - self.start_factor) * share) for base in self.base_lrs]


class PolynomialLR(LRScheduler):
    """Takes the rate to zero in `total_iters` epochs: the initial one times `(1 - epoch / total_iters) ** power`.

    Example:
        >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=4, power=2.0)
        >>> rates = [scheduler.get_last_lr()[0]]
        >>> for _ in range(4):
        ...     optimizer.step()
        ...     scheduler.step()
        ...     rates.append(scheduler.get_last_lr()[0])
        >>> rates
        [1.0, 0.5625, 0.25, 0.0625, 0.0]
    """

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Sequence[float]:
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._rates()
        left = 1.0 - self.last_epoch / self.total_iters
        before = 1.0 - (self.last_epoch - 1) / self.total_iters
        return [rate * (left / before) ** self.power for rate in self._rates()]

    def _rates_at(self, epoch: int) -> Sequence[float]:
        left = 1.0 - min(self.total_iters, epoch) / self.total_iters
        return [base * left**self.power for base in self.base_lrs]
