"""Schedules made of others."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from ..optimizer import Optimizer
from .base import LRScheduler, Schedule, set_rate
from .plateau import ReduceLROnPlateau


class _Combined(LRScheduler):
    """A schedule that others make up; their state is saved with it."""

    _schedulers: Sequence[LRScheduler]

    def _take(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None) -> None:
        name = type(self).__name__
        if len(schedulers) < 1:
            raise ValueError(f"{name} expects at least one scheduler, but got no scheduler.")
        for index, scheduler in enumerate(schedulers):
            if not isinstance(scheduler, Schedule):
                raise TypeError(f"{name} at index {index} should have `optimizer` as its attribute.")
            if isinstance(scheduler, ReduceLROnPlateau):
                raise ValueError(
                    f"{name} does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs to be "
                    f"specified when calling `step`, but got one at index {index} in the given schedulers sequence."
                )
            if scheduler.optimizer is not (optimizer or schedulers[0].optimizer):
                raise ValueError(
                    f"{name} expects all schedulers to belong to the same optimizer, but got scheduler "
                    f"{type(scheduler).__name__} at index {index} with another."
                )
        self._schedulers, self.optimizer = schedulers, optimizer or schedulers[0].optimizer

    def state_dict(self) -> dict[str, Any]:
        """All that the schedules keep, but the optimizer."""
        return {
            **{key: value for key, value in self.__dict__.items() if key not in ("optimizer", "_schedulers")},
            "_schedulers": [scheduler.state_dict() for scheduler in self._schedulers],
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict()` gave."""
        self.__dict__.update({key: value for key, value in state_dict.items() if key != "_schedulers"})
        for scheduler, state in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            scheduler.load_state_dict(state)


class ChainedScheduler(_Combined):
    """All schedules at once: each changes the rate that the one before it left.

    Args:
        schedulers: of one optimizer.
        optimizer: that one; by default the first schedule's.

    Raises:
        ValueError: no schedules, schedules of several optimizers, or a `ReduceLROnPlateau`.

    Example:
        >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
        >>> first = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
        >>> second = torch.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=1)
        >>> scheduler = torch.optim.lr_scheduler.ChainedScheduler([first, second])
        >>> optimizer.step(); scheduler.step()
        >>> scheduler.get_last_lr()
        [0.5]
    """

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        self._take(schedulers, optimizer)
        self._last_lr = self._rates()

    def step(self, epoch: int | None = None) -> None:
        """Step all of them."""
        del epoch
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = self._rates()


class SequentialLR(_Combined):
    """One schedule after the other.

    Args:
        optimizer: that of all of them.
        schedulers: in their order.
        milestones: the epochs at which the second, third, ... begin.
        last_epoch: see `LRScheduler`.

    Raises:
        ValueError: not one milestone less than schedules, schedules of several optimizers, or a `ReduceLROnPlateau`.

    Example:
        >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
        >>> warmup = torch.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=10)
        >>> decay = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.1)
        >>> scheduler = torch.optim.lr_scheduler.SequentialLR(optimizer, [warmup, decay], milestones=[1])
        >>> optimizer.step(); scheduler.step()
        >>> scheduler.get_last_lr()
        [1.0]
    """

    def __init__(
        self, optimizer: Optimizer, schedulers: list[LRScheduler], milestones: list[int], last_epoch: int = -1
    ) -> None:
        self._take(schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the number of "
                f"milestone points, but got number of schedulers {len(schedulers)} and the number of milestones to be "
                f"equal to {len(milestones)}"
            )
        self._milestones, self.last_epoch = milestones, last_epoch + 1
        # Each has made its constructor's step: all take it back, and the first makes it again.
        for group in optimizer.param_groups:
            set_rate(group, group["initial_lr"])
        self._take_back(self)
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def _take_back(self, scheduler: LRScheduler) -> None:
        if isinstance(scheduler, _Combined):
            for part in scheduler._schedulers:
                self._take_back(part)
        else:
            scheduler.last_epoch -= 1

    def step(self, epoch: int | None = None) -> None:
        """Step the active schedule; at its milestone, the next one begins."""
        del epoch
        self.last_epoch += 1
        number = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[number]
        if number > 0 and self._milestones[number - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()
