"""`__torch_dispatch__`, which clew has not: modes that can be defined and not entered."""

from __future__ import annotations

from typing import Any

from .._unsupported import missing_from

__all__ = ["BaseTorchDispatchMode", "TorchDispatchMode"]


class TorchDispatchMode:
    """A mode that PyTorch asks below autograd. Entering it raises.

    Raises:
        NotImplementedError: it is entered.

    Example:
        >>> with torch.utils._python_dispatch.TorchDispatchMode():  # doctest: +ELLIPSIS
        ...     pass
        Traceback (most recent call last):
        NotImplementedError: TorchDispatchMode: operations below autograd are not handed to Python; use ...
    """

    def __enter__(self) -> Any:
        raise NotImplementedError(
            f"{type(self).__name__}: operations below autograd are not handed to Python; use "
            "torch.overrides.TorchFunctionMode, which sees calls above it, or clew.keep_graph(f)(...).program"
        )

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None: ...

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError(f"{type(self).__name__}: __torch_dispatch__ is never called")


class BaseTorchDispatchMode(TorchDispatchMode):
    """The same."""


def is_traceable_wrapper_subclass(t: Any) -> bool:
    """False: there are no subclasses that wrap other tensors."""
    return False


def _get_current_dispatch_mode() -> None:
    """None: no mode is entered."""


def _get_current_dispatch_mode_stack() -> list[Any]:
    """Empty: no mode is entered."""
    return []


__getattr__ = missing_from(__name__)
