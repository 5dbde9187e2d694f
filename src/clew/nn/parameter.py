"""Tensors that a module recognises as its own: parameters, which an optimizer changes, and buffers."""

from __future__ import annotations

from typing import Any, TypeVar

import clew
from clew import Tensor
from clew._subclass import _disabled_torch_function_impl

_T = TypeVar("_T", bound=Tensor)


class Parameter(Tensor):
    """A tensor that becomes part of a module's `parameters()` when it is assigned to one of its attributes.

    Args:
        data: the values, of any shape; the parameter shares their memory. Default: an empty tensor.
        requires_grad: whether gradients are accumulated into `.grad`.

    Operations on a parameter give plain tensors.

    Example:
        >>> torch.nn.Parameter(torch.tensor([1.0, 2.0]))
        Parameter containing:
        tensor([1., 2.], requires_grad=True)
    """

    __torch_function__ = _disabled_torch_function_impl  # type: ignore[assignment]  # it needs no class

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Parameter:
        return _as_subclass(cls, data, requires_grad)

    def __repr__(self) -> str:
        return "Parameter containing:\n" + repr(self.data.requires_grad_(self.requires_grad))

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
        copy: Parameter = memo[id(self)]
        return copy

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return _rebuild_parameter, (type(self), self.data, self.requires_grad)


class Buffer(Tensor):
    """A tensor that becomes one of a module's `buffers()` when it is assigned to one of its attributes.

    Args:
        data: the values, of any shape; the buffer shares their memory. Default: an empty tensor.
        persistent: whether it is part of the module's `state_dict()`.

    Example:
        >>> module = torch.nn.Module()
        >>> module.mean = torch.nn.Buffer(torch.zeros(2))
        >>> list(module.state_dict())
        ['mean']
    """

    __torch_function__ = _disabled_torch_function_impl  # type: ignore[assignment]  # it needs no class
    persistent: bool

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Buffer:
        buffer = _as_subclass(cls, data, False)
        buffer.persistent = persistent
        return buffer


def _as_subclass(cls: type[_T], data: Tensor | None, requires_grad: bool) -> _T:
    if data is None:
        data = clew.empty(0)
    elif not isinstance(data, Tensor):
        raise TypeError(
            f"{cls.__name__}: expected a tensor, got {type(data).__name__}; make one with clew.tensor(...) first"
        )
    made: _T = Tensor._make_subclass(cls, data, requires_grad)
    return made


def _rebuild_parameter(cls: type[Parameter], data: Tensor, requires_grad: bool) -> Parameter:
    return cls(data, requires_grad)
