"""A module whose calls are compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..nn import Module

if TYPE_CHECKING:
    from .compiled import Compiled


class OptimizedModule(Module):
    """What `clew.compile` gives for a module: the module, with its calls compiled.

    Attributes:
        compiled: the compiled call, with `hits`, `misses` and `why()`.

    Example:
        >>> model = clew.compile(clew.nn.Linear(2, 1))
        >>> model(clew.ones(3, 2)).shape
        torch.Size([3, 1])
        >>> len(list(model.parameters()))
        2
    """

    def __init__(self, module: Module, compiled: Compiled) -> None:
        super().__init__()
        self._orig_mod = module
        self.compiled = compiled

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.compiled(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("_orig_mod"), name)
