"""Averages of a model over its training: stochastic weight averaging and exponential moving averages.

https://arxiv.org/abs/1803.05407
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import clew
from clew import Tensor
from clew.nn import Module
from clew.nn.modules.batchnorm import _BatchNorm

from .._unsupported import missing_from as _missing_from
from .lr_scheduler.base import LRScheduler
from .lr_scheduler.cycles import for_groups
from .optimizer import Optimizer

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]

Average = Callable[[Tensor, Tensor, Any], Tensor]
AverageAll = Callable[[Sequence[Tensor], Sequence[Tensor], Any], None]


def get_swa_avg_fn() -> Average:
    """The plain mean of all models: a function of its value so far, the next model's and how many it is the mean of.

    Example:
        >>> mean = torch.optim.swa_utils.get_swa_avg_fn()
        >>> mean(torch.tensor(1.0), torch.tensor(4.0), 2)
        tensor(2.)
    """

    @clew.no_grad()
    def average(averaged: Tensor, current: Tensor, count: Any) -> Tensor:
        mean: Tensor = averaged + (current - averaged) / (count + 1)
        return mean

    return average


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """An exponential moving average, of which a share `decay` lasts from model to model.

    Example:
        >>> average = torch.optim.swa_utils.get_ema_avg_fn(0.75)
        >>> average(torch.tensor(1.0), torch.tensor(3.0), 1)
        tensor(1.5000)
    """
    _check_decay(decay)

    @clew.no_grad()
    def average(averaged: Tensor, current: Tensor, count: Any) -> Tensor:
        return decay * averaged + (1 - decay) * current

    return average


def get_swa_multi_avg_fn() -> AverageAll:
    """As `get_swa_avg_fn`, for lists of tensors, which are modified in place.

    Example:
        >>> averages = [torch.tensor(1.0)]
        >>> torch.optim.swa_utils.get_swa_multi_avg_fn()(averages, [torch.tensor(4.0)], 2)
        >>> averages
        [tensor(2.)]
    """
    return _for_all(get_swa_avg_fn())


def get_ema_multi_avg_fn(decay: float = 0.999) -> AverageAll:
    """As `get_ema_avg_fn`, for lists of tensors, which are modified in place.

    Example:
        >>> averages = [torch.tensor(1.0)]
        >>> torch.optim.swa_utils.get_ema_multi_avg_fn(0.75)(averages, [torch.tensor(3.0)], 1)
        >>> averages
        [tensor(1.5000)]
    """
    return _for_all(get_ema_avg_fn(decay))


def _for_all(average: Average) -> AverageAll:
    @clew.no_grad()
    def average_all(averaged: Sequence[Tensor], current: Sequence[Tensor], count: Any) -> None:
        for one, other in zip(averaged, current, strict=True):
            one.copy_(average(one, other, count))

    return average_all


def _check_decay(decay: float) -> None:
    if not 0.0 <= decay <= 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


class AveragedModel(Module):
    """A copy of a model whose parameters are the average of those that the model had at each `update_parameters`.

    Args:
        model: of which it is a copy.
        device: accepted; there is one.
        avg_fn: gives the next average of one tensor, from it, the model's tensor and the number of models so far.
        multi_avg_fn: instead, writes a list of averages from a list of the model's tensors.
        use_buffers: whether buffers are averaged, too; else they are copied.

    Raises:
        AssertionError: both functions are given.

    Example:
        >>> model = torch.nn.Linear(1, 1)
        >>> averaged = torch.optim.swa_utils.AveragedModel(model)
        >>> averaged.update_parameters(model)
        >>> averaged.n_averaged
        tensor(1)
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Average | None = None,
        multi_avg_fn: AverageAll | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", clew.tensor(0, dtype=clew.int64))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the averaged model gives."""
        return self.module(*args, **kwargs)

    def _averaged_of(self, model: Module) -> Iterator[Tensor]:
        return chain(model.parameters(), model.buffers()) if self.use_buffers else iter(model.parameters())

    def update_parameters(self, model: Module) -> None:
        """Take the model's parameters into the average; the first time, they are it."""
        ours = [tensor.detach() for tensor in self._averaged_of(self.module)]
        theirs = [tensor.detach() for tensor in self._averaged_of(model)]
        if self.n_averaged == 0:
            for averaged, current in zip(ours, theirs, strict=True):
                averaged.copy_(current)
        else:
            average_all = self.multi_avg_fn or _for_all(self.avg_fn or get_swa_avg_fn())
            average_all(ours, theirs, self.n_averaged)
        if not self.use_buffers:
            for own, other in zip(self.module.buffers(), model.buffers(), strict=True):
                own.detach().copy_(other.detach())
        self.n_averaged += 1


@clew.no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Compute the running statistics of the model's batch norm layers anew, as means over all of `loader`.

    Args:
        loader: batches; of a tuple or list, the first part goes to the model.
        model: in either mode; it stays in it.
        device: accepted; there is one.

    Example:
        >>> layer = torch.nn.BatchNorm1d(1)
        >>> torch.optim.swa_utils.update_bn([torch.tensor([[1.0], [3.0]])], layer)
        >>> layer.running_mean
        tensor([2.])
    """
    momenta = {module: module.momentum for module in model.modules() if isinstance(module, _BatchNorm)}
    if not momenta:
        return
    was_training = model.training
    model.train()
    for module in momenta:
        module.reset_running_stats()
        module.momentum = None  # a plain mean
    for batch in loader:
        inputs = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(inputs if device is None else inputs.to(device))
    for module, momentum in momenta.items():
        module.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """Takes the rate to a constant, `swa_lr`, in `anneal_epochs` epochs.

    Args:
        optimizer: whose groups' "lr" are set.
        swa_lr: for all groups or a list for each.
        anneal_epochs: 0 goes there at once.
        anneal_strategy: along a cosine ("cos") or a line ("linear").
        last_epoch: see `LRScheduler`.

    Raises:
        ValueError: another strategy, or a negative number of epochs.

    Example:
        >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = torch.optim.swa_utils.SWALR(optimizer, swa_lr=0.5, anneal_epochs=2, anneal_strategy="linear")
        >>> optimizer.step(); scheduler.step()
        >>> scheduler.get_last_lr()
        [0.75]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | Sequence[float],
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        for rate, group in zip(for_groups("swa_lr", optimizer, swa_lr), optimizer.param_groups, strict=True):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_strategy, self.anneal_epochs = anneal_strategy, anneal_epochs
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Sequence[float]:
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._share(step - 1), self._share(step)
        rates = []
        for group in self.optimizer.param_groups:
            goal = group["swa_lr"]
            start = goal if before == 1 else (group["lr"] - before * goal) / (1 - before)
            rates.append(goal * now + start * (1 - now))
        return rates

    def _share(self, step: int) -> float:
        """How much of the way is done."""
        share = max(0.0, min(1.0, step / max(1, self.anneal_epochs)))
        return share if self.anneal_strategy == "linear" else (1 - math.cos(math.pi * share)) / 2


__getattr__ = _missing_from(__name__)
