"""Tensors that a module recognises as its own: parameters, which an optimizer changes, and buffers."""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar

import clew
from clew import Tensor
from clew._subclass import _disabled_torch_function_impl
from clew._unsupported import missing_from

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

    __torch_function__ = _disabled_torch_function_impl  # it needs no class

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

    __torch_function__ = _disabled_torch_function_impl  # it needs no class
    persistent: bool

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Buffer:
        buffer = _as_subclass(cls, data, False)
        buffer.persistent = persistent
        return buffer


class UninitializedTensorMixin:
    """A tensor of a lazy module whose shape is not known yet. Nothing but its dtype can be asked of it."""

    _cls_to_become: type[Tensor] = Parameter
    _allowed: ClassVar[set[str]] = {
        "__get__", "__set__", "bfloat16", "clone", "cpu", "detach", "double", "float", "half", "is_complex",
        "is_floating_point", "requires_grad_", "to", "type",
    }  # fmt: skip

    def materialize(self: Any, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Become an ordinary tensor of this shape, whose elements are not set."""
        self.data = clew.empty(shape, device=device, dtype=self.dtype if dtype is None else dtype)
        self.__class__ = self._cls_to_become

    @property
    def shape(self) -> Any:
        raise RuntimeError(
            f"{type(self).__name__}: expected a known shape, got none so far; run the lazy module once, or load a state"
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __deepcopy__(self: Any, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.device, self.dtype)
        return memo[id(self)]

    def __reduce_ex__(self: Any, protocol: Any) -> tuple[Any, ...]:
        return type(self), (self.requires_grad, self.device, self.dtype)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if name not in cls._allowed:
            raise ValueError(
                f"Attempted to use an uninitialized parameter in {name}. Run the lazy module once to give it a shape."
            )
        return _disabled_torch_function_impl(func, types, args, kwargs or {})


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter of a lazy module, before its shape is known.

    Example:
        >>> parameter = torch.nn.UninitializedParameter()
        >>> parameter.materialize((2, 3))
        >>> type(parameter).__name__, parameter.shape
        ('Parameter', torch.Size([2, 3]))
    """

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> UninitializedParameter:
        return _as_subclass(cls, clew.empty(0, device=device, dtype=dtype), requires_grad)


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """A buffer of a lazy module, before its shape is known.

    Example:
        >>> torch.nn.UninitializedBuffer()
        <UninitializedBuffer>
    """

    _cls_to_become = Buffer

    def __new__(
        cls, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True
    ) -> UninitializedBuffer:
        buffer = _as_subclass(cls, clew.empty(0, device=device, dtype=dtype), requires_grad)
        buffer.persistent = persistent  # type: ignore[attr-defined]
        return buffer


def is_lazy(param: Any) -> bool:
    """Whether its shape is not known yet."""
    return isinstance(param, UninitializedTensorMixin)


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


__getattr__ = missing_from(__name__)
