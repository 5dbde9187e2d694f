"""The parametrizations of one tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import clew
from clew import Tensor

from ..modules.container import ModuleList
from ..modules.module import Module
from ..parameter import Parameter


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, first applied first, and the tensors that they start from.

    Attributes:
        original: what is learned; or `original0`, `original1`, ... if a `right_inverse` gives several.

    Example:
        >>> parametrize = torch.nn.utils.parametrize
        >>> layer = parametrize.register_parametrization(torch.nn.Linear(2, 2), "weight", torch.nn.Tanh())
        >>> torch.equal(layer.weight, layer.parametrizations.weight.original.tanh())
        True
    """

    original: Tensor

    def __init__(self, modules: Sequence[Module], original: Tensor | Parameter, unsafe: bool = False) -> None:
        if not modules:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        start = self._inverted(original, modules, is_assigned=False)
        self.is_tensor = isinstance(start, Tensor)
        parts: list[Tensor] = [start] if isinstance(start, Tensor) else list(start)
        self.ntensors = len(parts)
        for name, part in zip(self._names(), parts, strict=True):
            if isinstance(original, Parameter):
                same = part is original
                kept = (
                    original if same else Parameter(part.detach(), original.requires_grad and part.is_floating_point())
                )
                self.register_parameter(name, kept)
            else:
                self.register_buffer(name, part)
        if not unsafe:
            self._check(original)

    def _names(self) -> list[str]:
        return ["original"] if self.is_tensor else [f"original{place}" for place in range(self.ntensors)]

    @staticmethod
    def _inverted(value: Any, modules: Sequence[Module], is_assigned: bool) -> Any:
        """What the last `right_inverse` gives, from the last module to the first; at first, some may be without one."""
        with clew.no_grad():
            for module in reversed(list(modules)):
                if not hasattr(module, "right_inverse"):
                    if is_assigned:
                        raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                    continue
                try:
                    value = module.right_inverse(value)
                except NotImplementedError:
                    if is_assigned:
                        raise
        if not isinstance(value, Tensor | list | tuple):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                f"Got {type(value).__name__}"
            )
        if not isinstance(value, Tensor) and not all(isinstance(one, Tensor) for one in value):
            raise ValueError("When 'right_inverse' outputs a sequence, it should output a sequence of tensors.")
        return value

    def _check(self, original: Tensor) -> None:
        result = self()
        if not isinstance(result, Tensor):
            raise ValueError(f"A parametrization must return a tensor. Got {type(result).__name__}.")
        for what in ("dtype", "shape"):
            if getattr(result, what) != getattr(original, what):
                raise ValueError(
                    f"Registering a parametrization may not change the {what} of the tensor, unless `unsafe` flag is "
                    f"enabled.\nunparametrized {what}: {getattr(original, what)}\n"
                    f"parametrized {what}: {getattr(result, what)}"
                )

    def right_inverse(self, value: Tensor) -> None:
        """Set the originals so that the parametrized tensor becomes `value`, as the modules' `right_inverse` says."""
        start = self._inverted(value, list(self), is_assigned=True)
        parts = [start] if self.is_tensor else list(start)
        if len(parts) != self.ntensors:
            raise ValueError(
                "'right_inverse' must return a sequence of tensors of length "
                f"{self.ntensors}. Got a sequence of length {len(parts)}."
            )
        with clew.no_grad():
            for name, part in zip(self._names(), parts, strict=True):
                original = getattr(self, name)
                if part.dtype != original.dtype:
                    raise ValueError(
                        f"The tensor returned by `right_inverse` has dtype {part.dtype} while `{name}` has dtype "
                        f"{original.dtype}"
                    )
                original.data = part.clone() if part is value else part

    def forward(self) -> Any:
        """The parametrized tensor."""
        originals = [getattr(self, name) for name in self._names()]
        modules = iter(self)
        value = next(modules)(*originals)
        for module in modules:
            value = module(value)
        return value


def append(module: Module, name: str, parametrization: Module, unsafe: bool) -> None:
    known = module.parametrizations[name]
    before = getattr(module, name)
    if not unsafe:
        after = parametrization(before)
        if not isinstance(after, Tensor) or after.dtype != before.dtype or after.shape != before.shape:
            raise ValueError(
                "Registering a parametrization may not change the dtype or the shape of the tensor, unless `unsafe` "
                f"flag is enabled, got {after!r} from {before!r}"
            )
    known.append(parametrization)
    known.unsafe = known.unsafe or unsafe
