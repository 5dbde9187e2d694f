"""The schedule of one cycle."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..optimizer import Optimizer
from .base import LRScheduler
from .cycles import _begin_momentum, _check_optimizer, _set_momentum, for_groups


class OneCycleLR(LRScheduler):
    """Takes the rate up to `max_lr` and down to almost nothing, once (https://arxiv.org/abs/1708.07120).

    Args:
        optimizer: whose groups' "lr" are set, and "momentum" (or the first of "betas"), which falls as they rise.
        max_lr: for all groups or a list for each.
        total_steps: how many steps there will be, or
        epochs, steps_per_epoch: whose product that is.
        pct_start: the share of the steps that go up.
        anneal_strategy: along a cosine ("cos") or a line ("linear").
        cycle_momentum: whether the momentum is set, too.
        base_momentum, max_momentum: its bounds.
        div_factor: the initial rate is `max_lr / div_factor`,
        final_div_factor: and the last one that over `final_div_factor`.
        three_phase: go down to the initial rate as fast as up, and then to the last.
        last_epoch: see `LRScheduler`.

    Raises:
        ValueError: more steps than there were to be.
        ValueError: an option is out of range, or an optimizer without the momentum that is to be set.

    Example:
        >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=4, cycle_momentum=False)
        >>> rates = [round(scheduler.get_last_lr()[0], 4)]
        >>> for _ in range(3):
        ...     optimizer.step()
        ...     scheduler.step()
        ...     rates.append(round(scheduler.get_last_lr()[0], 4))
        >>> rates
        [0.04, 0.8117, 0.2831, 0.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | Sequence[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | Sequence[float] = 0.85,
        max_momentum: float | Sequence[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        _check_optimizer(optimizer)
        self.total_steps = _total_steps(total_steps, epochs, steps_per_epoch)
        if not isinstance(pct_start, float) or not 0 <= pct_start <= 1:
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self.anneal_strategy, self.cycle_momentum = anneal_strategy, cycle_momentum
        # Each phase: its last step; the keys of the rates that it goes from and to; the same of momenta.
        rise, high, low = pct_start * self.total_steps, "max_momentum", "base_momentum"
        last = self.total_steps - 1
        self._phases = [(rise - 1, "initial_lr", "max_lr", high, low)]
        if three_phase:
            self._phases += [(2 * rise - 2, "max_lr", "initial_lr", low, high)]
            self._phases += [(last, "initial_lr", "min_lr", high, high)]
        else:
            self._phases += [(last, "max_lr", "min_lr", low, high)]
        if last_epoch == -1:
            for group, rate in zip(optimizer.param_groups, for_groups("max_lr", optimizer, max_lr), strict=True):
                group["initial_lr"], group["max_lr"] = rate / div_factor, rate
                group["min_lr"] = group["initial_lr"] / final_div_factor
        if cycle_momentum:
            base_momenta = for_groups(low, optimizer, base_momentum)
            _begin_momentum(optimizer, base_momenta, for_groups(high, optimizer, max_momentum), last_epoch)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Sequence[float]:
        if self.last_epoch > self.total_steps:
            raise ValueError(
                f"Tried to step {self.last_epoch} times. The specified number of total steps is {self.total_steps}"
            )
        number = next((i for i, phase in enumerate(self._phases) if self.last_epoch <= phase[0]), -1)
        end, *keys = self._phases[number]
        start = self._phases[number - 1][0] if self._phases[number] is not self._phases[0] else 0.0
        share = (self.last_epoch - start) / (end - start)
        rates = []
        for group in self.optimizer.param_groups:
            rate_from, rate_to, momentum_from, momentum_to = (group.get(key) for key in keys)
            rates.append(self._between(rate_from, rate_to, share))
            if self.cycle_momentum:
                _set_momentum(group, self._between(momentum_from, momentum_to, share))
        return rates

    def _between(self, start: Any, end: Any, share: float) -> float:
        if self.anneal_strategy == "linear":
            return float((end - start) * share + start)
        return float(end + (start - end) / 2.0 * (math.cos(math.pi * share) + 1))


def _total_steps(total: int | None, epochs: int | None, steps_per_epoch: int | None) -> int:
    if total is None and (epochs is None or steps_per_epoch is None):
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    named = {"total_steps": total} if total is not None else {"epochs": epochs, "steps_per_epoch": steps_per_epoch}
    for name, value in named.items():
        if not isinstance(value, int) or value <= 0:
            raise ValueError(f"Expected positive integer {name}, but got {value}")
    return math.prod(value for value in named.values() if value is not None)
