"""`Variable`, as tensors that can be differentiated were called until 2018. Programs of that time still run."""

from __future__ import annotations

import operator
import warnings
from typing import Any

from .. import _core
from .._core import Tensor

__all__ = ["Variable"]


class _VariableType(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=_VariableType):
    """`Variable(data, requires_grad)` gives a Tensor on the memory of `data`; all tensors are instances of it.

    Args:
        data: a tensor, which itself stays as it is; None means an empty one.
        requires_grad: whether the result asks for a gradient.
        volatile: has no effect but a warning, as in PyTorch; use `no_grad`.

    Raises:
        TypeError: `data` is no tensor.
        ValueError: both `requires_grad` and `volatile`.

    Example:
        >>> x = torch.autograd.Variable(torch.ones(2), requires_grad=True)
        >>> (x * 3).sum().backward()
        >>> x.grad, isinstance(x, torch.autograd.Variable)
        (tensor([3., 3.]), True)
    """

    def __new__(  # type: ignore[misc]  # it gives tensors
        cls,
        data: Tensor | None = None,
        requires_grad: bool = False,
        volatile: bool = False,
        _grad_fn: None = None,
        name: str | None = None,
    ) -> Tensor:
        asks, is_volatile = bool(operator.index(requires_grad)), bool(operator.index(volatile))
        if is_volatile and asks:
            raise ValueError("Variable can't be volatile and require_grad at the same time!")
        if _grad_fn is not None:
            raise TypeError(f"Variable: expected _grad_fn to be None, got {type(_grad_fn).__name__}")
        if data is not None and not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {_type_name(data)}")
        if is_volatile:
            warnings.warn(
                "volatile was removed and now has no effect. Use `with torch.no_grad():` instead.", stacklevel=2
            )
        result: Tensor = _core.tensor([]) if data is None else data.detach()
        return result.requires_grad_() if asks else result


def _type_name(value: Any) -> str:
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
