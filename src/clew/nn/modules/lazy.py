"""Layers whose number of inputs is that of the first input they see."""

from __future__ import annotations

import inspect
from typing import Any, ClassVar

from clew import Tensor

from ..parameter import UninitializedBuffer, UninitializedParameter, is_lazy
from . import batchnorm, conv, instancenorm, linear
from .module import Module

__all__ = [
    "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d", "LazyConv1d", "LazyConv2d", "LazyConv3d",
    "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d", "LazyInstanceNorm1d", "LazyInstanceNorm2d",
    "LazyInstanceNorm3d", "LazyLinear",
]  # fmt: skip


class LazyModuleMixin:
    """A module that makes its parameters when it is first called, and is an ordinary one from then on.

    A subclass defines `initialize_parameters(*args, **kwargs)`, which is called with the first forward's arguments and
    gives each `UninitializedParameter` and `UninitializedBuffer` its shape. `cls_to_become` is the class afterwards.
    """

    cls_to_become: ClassVar[type | None] = None

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Give the parameters their shapes."""
        raise NotImplementedError(f"{type(self).__name__}: expected initialize_parameters() to be defined, got none")

    def has_uninitialized_params(self: Any) -> bool:
        """Whether a parameter or buffer has no shape yet."""
        return any(map(is_lazy, (*self._parameters.values(), *self._buffers.values())))

    def _lazy_load_hook(self: Any, state_dict: Any, prefix: str, *unused: Any) -> None:
        """A state gives the shapes, too."""
        for name, tensor in {**self._parameters, **self._buffers}.items():
            given = state_dict.get(prefix + name)
            if is_lazy(tensor) and given is not None and not is_lazy(given) and given.numel():
                tensor.materialize(given.shape)

    def _infer_parameters(self: Any, module: Any, args: Any, kwargs: Any = None) -> None:
        self.initialize_parameters(*args, **(kwargs or {}))
        if self.has_uninitialized_params():
            raise RuntimeError(f"module {type(self).__name__} has not been fully initialized")
        self._initialize_hook.remove()
        self._load_hook.remove()
        del self._initialize_hook, self._load_hook
        if self.cls_to_become is not None:
            self.__class__ = self.cls_to_become


class _Lazy(LazyModuleMixin):
    """A layer of `cls_to_become`, made with 0 inputs at first: the axes of size 0 are those to be found out."""

    counted: ClassVar[str]  # the attribute that is the number of inputs
    axis: ClassVar[int]  # of the input, counted from the end

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        given = self.__signature__.bind(*args, **kwargs)
        given.apply_defaults()
        super().__init__(0, *given.args, **given.kwargs)
        self._shapes = {}
        for name, tensor in {**self._parameters, **self._buffers}.items():
            if tensor is not None and name != "num_batches_tracked":
                kind = UninitializedParameter if name in self._parameters else UninitializedBuffer
                self._shapes[name] = tuple(tensor.shape)
                setattr(self, name, kind(tensor.requires_grad, tensor.device, tensor.dtype))

    def reset_parameters(self: Any) -> None:
        if getattr(self, self.counted) != 0:  # otherwise there is nothing to draw yet
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self: Any, input: Tensor) -> None:
        if getattr(self, self.counted) == 0:
            setattr(self, self.counted, input.shape[self.axis])
        if not self.has_uninitialized_params():
            return
        count, groups = getattr(self, self.counted), getattr(self, "groups", 1)
        for name, shape in self._shapes.items():
            tensor = getattr(self, name)
            if is_lazy(tensor):
                sizes = [size or (count // groups if axis else count) for axis, size in enumerate(shape)]
                tensor.materialize(sizes)
        self.reset_parameters()

    def _infer_parameters(self: Any, module: Any, args: Any, kwargs: Any = None) -> None:
        super()._infer_parameters(module, args, kwargs)
        del self._shapes


def _lazy(base: type[Module], counted: str, axis: int, **defaults: Any) -> Any:
    """The lazy layer that becomes one of `base`."""
    name = f"Lazy{base.__name__}"
    first, *others = inspect.signature(base).parameters.values()
    others = [one.replace(default=defaults.get(one.name, one.default)) for one in others]
    arguments = ", ".join("3" for one in others if one.default is one.empty)
    doc = f"""`{base.__name__}` whose `{first.name}` is found out when it is first called, or when a state is loaded.

    The other arguments are those of `{base.__name__}`.

    Raises:
        ValueError: a parameter is used before.

    Example:
        >>> torch.nn.{name}({arguments}).has_uninitialized_params()
        True
    """
    members = {"cls_to_become": base, "counted": counted, "axis": axis, "__doc__": doc, "__module__": __name__}
    return type(name, (_Lazy, base), members | {"__signature__": inspect.Signature(others)})


LazyLinear = _lazy(linear.Linear, "in_features", -1)
LazyConv1d, LazyConv2d, LazyConv3d = (
    _lazy(kind, "in_channels", -2 - axis) for axis, kind in enumerate((conv.Conv1d, conv.Conv2d, conv.Conv3d))
)
LazyConvTranspose1d, LazyConvTranspose2d, LazyConvTranspose3d = (
    _lazy(kind, "in_channels", -2 - axis)
    for axis, kind in enumerate((conv.ConvTranspose1d, conv.ConvTranspose2d, conv.ConvTranspose3d))
)
LazyBatchNorm1d, LazyBatchNorm2d, LazyBatchNorm3d = (
    _lazy(kind, "num_features", 1) for kind in (batchnorm.BatchNorm1d, batchnorm.BatchNorm2d, batchnorm.BatchNorm3d)
)
LazyInstanceNorm1d, LazyInstanceNorm2d, LazyInstanceNorm3d = (
    _lazy(kind, "num_features", -2 - axis, affine=True, track_running_stats=True)
    for axis, kind in enumerate((instancenorm.InstanceNorm1d, instancenorm.InstanceNorm2d, instancenorm.InstanceNorm3d))
)
