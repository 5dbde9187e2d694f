"""What schedules of the learning rate share."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from types import FunctionType
from typing import Any

from clew import Tensor

from ..optimizer import Optimizer


class Schedule:
    """What all schedules share."""

    optimizer: Optimizer
    _last_lr: list[float]

    def _rates(self) -> list[float]:
        return [_copied(group["lr"]) for group in self.optimizer.param_groups]

    def get_last_lr(self) -> list[float]:
        """The learning rates that the last `step` set."""
        return self._last_lr

    def state_dict(self) -> dict[str, Any]:
        """All that the schedule keeps, but the optimizer; of functions None, of other callables the attributes."""
        state = {key: value for key, value in self.__dict__.items() if key != "optimizer"}
        for name in _FUNCTIONS & state.keys():
            kept = state[name]
            state[name] = [_attributes(one) for one in kept] if isinstance(kept, list) else _attributes(kept)
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict()` gave."""
        for name, value in state_dict.items():
            if name not in _FUNCTIONS:
                self.__dict__[name] = value
                continue
            several = isinstance(value, list)
            owners = self.__dict__[name] if several else [self.__dict__[name]]
            for function, attributes in zip(owners, value if several else [value], strict=True):
                if attributes is not None:
                    function.__dict__.update(attributes)


_FUNCTIONS = {"lr_lambdas", "_scale_fn_custom"}


def _attributes(function: Any) -> dict[str, Any] | None:
    return dict(function.__dict__) if hasattr(function, "__dict__") and not isinstance(function, FunctionType) else None


class LRScheduler(Schedule):
    """Base of the schedules by epoch: a subclass returns from `get_lr` the rates of all groups at `last_epoch`.

    Call `step()` once an epoch, after the optimizer's steps.

    Args:
        optimizer: whose groups' "lr" are set.
        last_epoch: the number of the last epoch when training is resumed; -1 at the start.

    Raises:
        TypeError: `optimizer` is none.
        KeyError: resumed, but a group has no "initial_lr".

    Example:
        >>> class Halving(torch.optim.lr_scheduler.LRScheduler):
        ...     def get_lr(self):
        ...         return [rate * 0.5**self.last_epoch for rate in self.base_lrs]
        >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = Halving(optimizer)
        >>> optimizer.step(); scheduler.step()
        >>> scheduler.get_last_lr()
        [0.5]
    """

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        for number, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", _copied(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{number}] when resuming an optimizer"
                )
        self.optimizer = optimizer
        self.base_lrs: list[float] = [float(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        _notice_first_step(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        """The constructor's own step, in which the rates are what the optimizer has."""
        self._step_count, self._is_initial = 0, True
        try:
            self.step()
        finally:
            self._is_initial = False

    def get_lr(self) -> Sequence[float]:
        """The learning rates of all groups at `last_epoch`, from those that they have now."""
        raise NotImplementedError(f"{type(self).__name__}.get_lr is not defined")

    def step(self, epoch: int | None = None) -> None:
        """Go to the next epoch and set the learning rates.

        Args:
            epoch: go to this one instead (deprecated, as in PyTorch).
        """
        self._step_count += 1
        if self._step_count == 2 and not getattr(self.optimizer, "_has_stepped", False):
            warnings.warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. Call them in the opposite order: "
                "otherwise the first value of the learning rate schedule is skipped.",
                stacklevel=2,
            )
        if epoch is not None:
            warnings.warn(
                "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. "
                "Please use `scheduler.step()` to step the scheduler.",
                stacklevel=2,
            )
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        """Set the rates of the next epoch, or of this one; those of any are told by `_rates_at` where it is defined."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        self._set_rates(self.get_lr() if epoch is None else self._rates_at(epoch))

    def _rates_at(self, epoch: int) -> Sequence[float]:
        """The rates at any epoch, from the initial ones alone, if the schedule has a formula for them."""
        return self.get_lr()

    def _set_rates(self, rates: Sequence[float]) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            set_rate(group, rate)
        self._last_lr = self._rates()


def set_rate(group: dict[str, Any], rate: Any) -> None:
    """Set the rate of a group: one that is a tensor is written, as whoever has that tensor goes by it."""
    if isinstance(group["lr"], Tensor):
        group["lr"].fill_(rate)
    else:
        group["lr"] = rate


def _copied(rate: Any) -> Any:
    return rate.clone() if isinstance(rate, Tensor) else rate


def _notice_first_step(optimizer: Optimizer) -> None:
    """Have `optimizer._has_stepped` set by its next step."""

    def notice(optimizer: Any, args: Any, kwargs: Any) -> None:
        optimizer._has_stepped = True
        handle.remove()

    handle = optimizer.register_step_post_hook(notice)
