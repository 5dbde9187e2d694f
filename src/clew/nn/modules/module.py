"""`Module`: what a layer and a whole model are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import clew
from clew import Tensor
from clew._device import check_device

from ...utils.grads import clear_grad
from . import hooks
from .attributes import TABLES
from .global_hooks import (
    register_module_backward_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
)
from .state import State

__all__ = [
    "Module",
    "register_module_backward_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
]

_M = TypeVar("_M", bound="Module")


class Module(hooks.HookRegistration, State):
    """A computation with parameters: subclass it, assign parameters and modules to attributes, write `forward`.

    Calling the module runs `forward` and the hooks around it. What is assigned to an attribute is registered: a
    `Parameter`, a `Module` and (by `register_buffer` or as a `Buffer`) tensors that are not trained; `parameters()`,
    `state_dict()`, `to()` and `train()` reach all of them.

    Example:
        >>> class Residual(torch.nn.Module):
        ...     def __init__(self, width: int) -> None:
        ...         super().__init__()
        ...         self.inner = torch.nn.Linear(width, width)
        ...     def forward(self, x: torch.Tensor) -> torch.Tensor:
        ...         return x + self.inner(x).relu()
        >>> model = Residual(4)
        >>> model(torch.zeros(2, 4)).shape == (2, 4)
        True
        >>> model
        Residual(
          (inner): Linear(in_features=4, out_features=4, bias=True)
        )
    """

    dump_patches = False
    call_super_init = False
    _compiled_call_impl: Callable[..., Any] | None = None

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes; every subclass defines it, with its own parameters."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._hooks is None and hooks.everywhere is None:
            return self.forward(*args, **kwargs)
        return hooks.call(self, args, kwargs)

    def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
        """The call, whether it is compiled or not."""
        return hooks.call_eagerly(self, args, kwargs)

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        state.pop("_compiled_call_impl", None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self.__dict__.keys() >= set(TABLES):
            self._own_tables()

    # The whole tree ---------------------------------------------------------------------------------------------------

    def apply(self: _M, fn: Callable[[Module], None]) -> _M:
        """Call `fn` on every module below and then on this one.

        Example:
            >>> model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
            >>> _ = model.apply(lambda module: print(type(module).__name__))
            Linear
            ReLU
            Sequential
        """
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    def train(self: _M, mode: bool = True) -> _M:
        """Set training mode (dropout drops) or, with `mode=False`, evaluation mode.

        Example:
            >>> torch.nn.Dropout().train().training, torch.nn.Dropout().train(False).training
            (True, False)
        """
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        for module in self.modules():
            module.training = mode
        return self

    def eval(self: _M) -> _M:
        """Set evaluation mode: dropout keeps everything, batch norm uses its running statistics. Returns the module.

        Example:
            >>> torch.nn.Dropout().eval().training
            False
        """
        return self.train(False)

    def requires_grad_(self: _M, requires_grad: bool = True) -> _M:
        """Set `requires_grad` of all parameters. Returns the module.

        Example:
            >>> layer = torch.nn.Linear(2, 1).requires_grad_(False)
            >>> layer.weight.requires_grad
            False
        """
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters or, with `set_to_none=False`, fill them with zeros.

        Example:
            >>> layer = torch.nn.Linear(2, 1)
            >>> layer(torch.ones(2)).backward()
            >>> layer.zero_grad()
            >>> layer.weight.grad is None
            True
        """
        for parameter in self.parameters():
            clear_grad(parameter, set_to_none)

    # Conversion -------------------------------------------------------------------------------------------------------

    def to(self: _M, *args: Any, **kwargs: Any) -> _M:
        """Convert in place: `to(dtype)`, `to(device)`, `to(device, dtype)`, `to(tensor)`.

        The parameters stay the same objects, so an optimizer keeps working, except where the device changes. Integer
        buffers keep their type.

        Raises:
            TypeError: the dtype is neither floating nor complex.
            NotImplementedError: from "meta" to the CPU: there are no values to move (see `to_empty`).

        Example:
            >>> torch.nn.Linear(2, 2).to(torch.float64).weight.dtype == torch.float64
            True

        Example:
            >>> torch.nn.Linear(2, 1).to(torch.float64).weight.dtype
            torch.float64
        """
        device, dtype = _parse_to(*args, **kwargs)
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
            )

        def convert(tensor: Tensor) -> Tensor:
            if device is not None:
                if tensor.is_meta and check_device(device, "to") is not tensor.device:
                    raise NotImplementedError(
                        "Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty() instead of "
                        "torch.nn.Module.to() when moving module from meta to a different device."
                    )
                tensor = tensor.to(device)
            inexact = tensor.is_floating_point() or tensor.is_complex()
            return tensor.to(dtype) if dtype is not None and inexact else tensor

        return self._apply(convert)

    def float(self: _M) -> _M:
        """Convert parameters and floating buffers to float32."""
        return self.to(clew.float32)

    def double(self: _M) -> _M:
        """Convert parameters and floating buffers to float64.

        Example:
            >>> torch.nn.Linear(2, 1).double().weight.dtype
            torch.float64
        """
        return self.to(clew.float64)

    def half(self: _M) -> _M:
        """Convert parameters and floating buffers to float16."""
        return self._apply(lambda tensor: tensor.half() if tensor.is_floating_point() else tensor)

    def cpu(self: _M) -> _M:
        """Move to the CPU."""
        return self.to("cpu")

    def cuda(self: _M, device: Any = None) -> _M:
        """Not supported, as by `Tensor.cuda`: the CPU is the only device."""
        return self._apply(lambda tensor: tensor.cuda(device))

    def xpu(self: _M, device: Any = None) -> _M:
        """Not supported: the CPU is the only device."""
        return self.to("xpu")

    def ipu(self: _M, device: Any = None) -> _M:
        """Not supported: the CPU is the only device."""
        return self.to("ipu")

    def mtia(self: _M, device: Any = None) -> _M:
        """Not supported: the CPU is the only device."""
        return self.to("mtia")

    def type(self: _M, dst_type: Any) -> _M:
        """Convert parameters and buffers, integer ones as well, to a dtype or what names one."""
        return self._apply(lambda tensor: tensor.type(dst_type))

    def bfloat16(self: _M) -> _M:
        """Convert parameters and floating buffers to bfloat16."""
        return self._apply(lambda tensor: tensor.bfloat16() if tensor.is_floating_point() else tensor)

    def to_empty(self: _M, *, device: Any, recurse: bool = True) -> _M:
        """Move to the device without the values: parameters and buffers are fresh memory.

        >>> import clew
        >>> model = clew.nn.Linear(2, 3, device="meta").to_empty(device="cpu")
        >>> model.load_state_dict(clew.nn.Linear(2, 3).state_dict())
        <All keys matched successfully>
        """
        return self._apply(lambda tensor: clew.empty_like(tensor, device=device), recurse=recurse)

    def share_memory(self: _M) -> _M:
        """Let other processes see parameters and buffers, as `Tensor.share_memory_` does."""
        return self._apply(lambda tensor: tensor.share_memory_())

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile the calls of this module, as `clew.compile` does with the same arguments.

        Copies of it are not compiled. Where you want to know what became of it, take `model = clew.compile(model)`:
        `model.compiled.why()` tells.

        Example:
            >>> model = torch.nn.Linear(2, 1)
            >>> model.compile()
            >>> model(torch.ones(3, 2)).shape, model(torch.ones(3, 2)).shape
            (torch.Size([3, 1]), torch.Size([3, 1]))
        """
        self._own_hooks()  # its calls don't take the way of modules without hooks
        self._compiled_call_impl = clew.compile(self._call_impl, *args, **kwargs)

    def _apply(self: _M, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> _M:
        """Replace the data of every parameter, gradient and buffer by `fn` of it."""
        if recurse:
            for child in self.children():
                child._apply(fn)
        for name, parameter in self._parameters.items():
            if parameter is None:
                continue
            with clew.no_grad():
                # Set aside, because a gradient, and what operations record, has the dtype of the data.
                grad, requires_grad = parameter.grad, parameter.requires_grad
                data = fn(parameter.data)
                if data.device != parameter.device:  # no tensor changes its device
                    parameter = self._parameters[name] = type(parameter)(data, requires_grad)
                else:
                    parameter.grad = None
                    parameter.requires_grad_(False)
                    parameter.data = data
                    parameter.requires_grad_(requires_grad)
                if grad is not None:
                    parameter.grad = fn(grad)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    # Text -------------------------------------------------------------------------------------------------------------

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """What stands between the brackets of the repr, before the children."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): {_indent(repr(child))}" for name, child in self._modules.items()]
        if len(lines) == 1 and not children:
            return f"{self._get_name()}({extra})"
        body = "".join(f"\n  {line}" for line in lines + children)
        return f"{self._get_name()}({body}\n)" if body else f"{self._get_name()}()"

    def __dir__(self) -> list[str]:
        return sorted(name for name in super().__dir__() if not name[0].isdigit())


def _parse_to(*args: Any, dtype: Any = None, device: Any = None, non_blocking: bool = False) -> tuple[Any, Any]:
    """The device and the dtype that the arguments of `to` name."""
    del non_blocking  # there is nothing to wait for
    for arg in args:
        if isinstance(arg, Tensor):
            device, dtype = arg.device, arg.dtype
        elif isinstance(arg, clew.dtype):
            dtype = arg
        elif not isinstance(arg, bool) and arg is not None:
            device = arg
    return device, dtype


def _indent(text: str) -> str:
    return text.replace("\n", "\n  ")
