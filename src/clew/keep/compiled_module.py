"""A module whose calls are compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..nn import Module

if TYPE_CHECKING:
    from .compiled import Compiled


class OptimizedModule(Module):
    """What `clew.compile` gives for a module: the module, with its calls compiled.

    Attributes:
        compiled: the compiled call, with `hits`, `misses`, `why()` and `check()`, which the module itself has not.

    Example:
        >>> model = clew.compile(clew.nn.Linear(2, 1))
        >>> model(clew.ones(3, 2)).shape
        torch.Size([3, 1])
        >>> len(list(model.parameters()))
        2
    """

    def __init__(self, module: Module, compiled: Compiled) -> None:
        super().__init__()
        del self.__dict__["training"]  # the module's own
        self._orig_mod = module
        self.compiled = compiled

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.compiled(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        module = self.__dict__.get("_modules", {}).get("_orig_mod")
        if module is None:  # while it is copied or loaded
            raise AttributeError(f"OptimizedModule has no attribute {name!r}")
        if name == "_orig_mod":
            return module
        if hasattr(type(self.compiled), name) and not hasattr(module, name):  # no second way, but a sign to it
            text = f"{type(module).__name__!r} object has no attribute {name!r}"
            raise AttributeError(f"{text}; its compiled call has: take `.compiled.{name}`")
        return getattr(module, name)

    def __setattr__(self, name: str, value: Any) -> None:
        own = name in ("_orig_mod", "compiled") or "compiled" not in self.__dict__ or hasattr(type(self), name)
        super().__setattr__(name, value) if own else setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        own = name in ("_orig_mod", "compiled") or hasattr(type(self), name)
        super().__delattr__(name) if own else delattr(self._orig_mod, name)
