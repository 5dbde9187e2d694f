"""What is noted of each optimizer: from the end of one of its steps to the end of the next."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

from ..model.places import Place
from ..model.wording import counted
from ..program.names import names_of
from ..program.optimizers import made_at
from .finding import Finding, listed

_MOST_MARKS = 3
_FEWEST_STEPS = 3  # of which all must show the same


def is_sampled(count: int) -> bool:
    """Whether the ``count``-th is looked at: the first 16, then pairs that are farther and farther apart."""
    return count <= 16 or count & (count - 1) == 0 or (count - 1) & (count - 2) == 0


class Steps:
    """The sampled steps of one optimizer."""

    def __init__(self, optimizer: Any) -> None:
        self.optimizer = weakref.ref(optimizer)
        self.kind = type(optimizer).__name__
        made = made_at(optimizer)
        self.made_at = made and Place(*made)
        self.count = 0  # of the steps that the observer was awake in
        self.in_spell = 0  # of those, since it woke last
        self.all_seen = True
        self._sampled = 0
        self._place: Place | None = None
        self._without: set[tuple[int, int]] = set()  # group and number of parameters that never had a gradient
        self._without_names: list[str] = []
        self._zero_rates: set[int] = set()  # groups whose learning rate was 0 at each step
        self._pairs = 0  # of consecutive steps with a backward between them
        self._dirty = 0  # of those, how many without anybody zeroing the gradients
        self._marks: list[tuple[Any, int, int]] | None = None  # a parameter, its gradient's storage and version
        self._ran = False

    def rest(self) -> None:
        """The observer does not see what comes next."""
        self._marks, self._ran, self.in_spell, self.all_seen = None, False, 0, False

    def after_step(self, frames: list[Any], looks: bool) -> None:
        """The optimizer has stepped."""
        self.count += 1
        self.in_spell += 1
        if self._marks is not None and self._ran:
            self._pairs += 1
            self._dirty += not self._assigned_anew()
        self._marks, self._ran = None, False
        optimizer = self.optimizer()
        if optimizer is None or not looks:
            return
        self._sampled += 1
        self._place = Place.of_frame(frames[0]) if frames else None
        groups = optimizer.param_groups
        trained = {
            (at, number): parameter
            for at, group in enumerate(groups)
            for number, parameter in enumerate(group["params"])
            if parameter.requires_grad
        }
        without = {key for key, parameter in trained.items() if parameter.grad is None}
        zero_rates = {at for at, group in enumerate(groups) if float(group.get("lr", 1)) == 0}
        self._without = without if self._sampled == 1 else self._without & without
        self._zero_rates = zero_rates if self._sampled == 1 else self._zero_rates & zero_rates
        if self._sampled == _FEWEST_STEPS and self._without:
            self._name(trained, frames)
        with_gradient = [parameter for key, parameter in trained.items() if key not in without]
        self._marks = [(weakref.ref(one), *_state(one)) for one in with_gradient[:_MOST_MARKS]] or None

    def _name(self, trained: dict[tuple[int, int], Any], frames: list[Any]) -> None:
        """Names of the parameters without a gradient; not of a bias whose weight has one, which may be meant so."""
        found = names_of(trained.values(), frames).tensors
        names = {key: found.get(id(one), f"one of shape {tuple(one.shape)}") for key, one in trained.items()}
        in_use = {names[key].rpartition(".")[0] for key in trained.keys() - self._without} - {""}
        self._without_names = [
            names[key] for key in sorted(self._without) if names[key].rpartition(".")[0] not in in_use
        ]

    def before_backward(self) -> None:
        """Has anybody written to the gradients, or taken them away, since the step or the last backward?"""
        if self._marks is None:
            return
        for reference, storage, version in self._marks:
            parameter = reference()
            if parameter is None or _state(parameter) != (storage, version):
                self._marks = None
                if not self._ran:
                    self._pairs += 1
                return

    def after_backward(self) -> None:
        """What this backward has added is not what a user has written; ``autograd.grad`` adds nothing."""
        if self._marks is not None:
            alive = [(reference, reference()) for reference, _, _ in self._marks]
            marks = [(reference, *_state(one)) for reference, one in alive if one is not None]
            self._ran |= marks != self._marks
            self._marks = marks

    def _assigned_anew(self) -> bool:
        """Whether a gradient is another tensor than the backward left, as where noise was added to it."""
        alive = [(reference(), storage) for reference, storage, _ in self._marks or ()]
        return any(one is not None and _state(one)[0] != storage for one, storage in alive)

    def parameters(self) -> Iterator[Any]:
        """All that it updates."""
        optimizer = self.optimizer()
        for group in optimizer.param_groups if optimizer is not None else ():
            yield from group["params"]

    def findings(self) -> Iterator[Finding]:
        """What all sampled steps have in common."""
        steps = f"in all {counted(self.count, 'step')}"
        if not self.all_seen:
            steps = f"in each step that was observed ({self._sampled:,} of more than {self.count:,})"
        elif self._sampled < self.count:
            steps = f"in each step that was observed ({self._sampled:,} of {self.count:,})"
        if self._sampled >= _FEWEST_STEPS and self._without_names and self._without:
            yield Finding(
                "no gradient",
                self._place,
                f"{listed(self._without_names)} got no gradient before {self.kind}.step(), {steps}",
                "use what they compute in the loss (was it detached, or made in no_grad?), or leave them out",
            )
        if self._sampled >= _FEWEST_STEPS and self._zero_rates:
            yield Finding(
                "zero step",
                self._place,
                f"the learning rate of {self.kind} was 0 {steps}: no parameter changes",
                "set lr, or look at the scheduler",
            )
        if self._dirty >= _FEWEST_STEPS - 1 and self._dirty == self._pairs:
            yield Finding(
                "not zeroed",
                self._place,
                f"gradients were not zeroed between the steps of {self.kind}: each step also uses the gradients of all "
                "steps before it",
                "call zero_grad() between step() and the next backward()",
            )


def _state(parameter: Any) -> tuple[int, int]:
    gradient = parameter.grad
    return (0, 0) if gradient is None else (gradient._storage_id, gradient._version)
