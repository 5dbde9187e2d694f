"""Pruning: parameters whose smallest, or any, elements are held at zero by a mask.

A pruned parameter `name` is the product of a parameter `name_orig` and a buffer `name_mask`, made before each forward.
"""

from __future__ import annotations

import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar

import clew
from clew import Tensor

__all__ = [
    "BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured", "PruningContainer",
    "RandomStructured", "RandomUnstructured", "custom_from_mask", "global_unstructured", "identity", "is_pruned",
    "l1_unstructured", "ln_structured", "random_structured", "random_unstructured", "remove",
]  # fmt: skip


class BasePruningMethod(ABC):
    """A way to choose a mask: a subclass defines `compute_mask(t, default_mask)`.

    Attributes:
        PRUNING_TYPE: what `compute_mask` sees of a tensor that is pruned already: the elements that are left
            (`"unstructured"`), the channels along `dim` that are (`"structured"`), or all (`"global"`).
    """

    PRUNING_TYPE: ClassVar[str]
    _tensor_name: str

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask for `t`, zero where `default_mask` is."""

    def apply_mask(self, module: Any) -> Tensor:
        """The product of the module's original parameter and its mask."""
        original, mask = getattr(module, self._tensor_name + "_orig"), getattr(module, self._tensor_name + "_mask")
        product: Tensor = mask.to(original.dtype) * original
        return product

    @classmethod
    def apply(
        cls, module: Any, name: str, *args: Any, importance_scores: Tensor | None = None, **kwargs: Any
    ) -> BasePruningMethod:
        """Prune the module's parameter `name`, once more if it is pruned already."""
        before = [(key, hook) for key, hook in module._forward_pre_hooks.items() if _prunes(hook, name)]
        method = cls(*args, **kwargs)
        method._tensor_name = name
        original = getattr(module, name + "_orig" if before else name)
        if importance_scores is not None and importance_scores.shape != original.shape:
            raise ValueError(
                f"importance_scores should have the same shape as parameter {name} of {module}, got "
                f"{list(importance_scores.shape)} and {list(original.shape)}"
            )
        mask = getattr(module, name + "_mask").detach().clone() if before else clew.ones_like(original)
        scores = original if importance_scores is None else importance_scores
        for key, hook in before:
            method = PruningContainer(*(hook if isinstance(hook, PruningContainer) else [hook]), method)
            del module._forward_pre_hooks[key]
        mask = method.compute_mask(scores, mask).to(original.dtype)
        if not before:
            del module._parameters[name]
            module.register_parameter(name + "_orig", original)
        module.register_buffer(name + "_mask", mask)
        method(module, None)
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None) -> Tensor:
        """The tensor with what the mask leaves out set to zero."""
        scores = t if importance_scores is None else importance_scores
        if scores.shape != t.shape:
            raise ValueError("importance_scores should have the same shape as tensor t")
        return t * self.compute_mask(scores, clew.ones_like(t) if default_mask is None else default_mask)

    def remove(self, module: Any) -> None:
        """Make what is left of the parameter the parameter."""
        weight, name = self.apply_mask(module), self._tensor_name
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters.pop(name + "_orig")
        original.data = weight.data
        del module._buffers[name + "_mask"]
        setattr(module, name, original)


def _prunes(hook: Any, name: str) -> bool:
    return isinstance(hook, BasePruningMethod) and hook._tensor_name == name


class PruningContainer(BasePruningMethod):
    """Several methods, one after the other: the last of them computes the mask of what the others left."""

    def __init__(self, *args: Any) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Add one for the same parameter."""
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if self._pruning_methods and method._tensor_name != self._tensor_name:
            raise ValueError(
                f"PruningContainer: expected a method for {self._tensor_name!r}, got one for {method._tensor_name!r}"
            )
        self._tensor_name = method._tensor_name
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Any:
        return iter(self._pruning_methods)

    def __getitem__(self, index: Any) -> Any:
        return self._pruning_methods[index]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        method: Any = self._pruning_methods[-1]
        mask = default_mask.clone()
        place: Any = (slice(None),) * t.dim()
        if method.PRUNING_TYPE == "unstructured":
            place = mask == 1
        elif method.PRUNING_TYPE == "structured":
            dim = method.dim % t.dim()
            others = [axis for axis in range(t.dim()) if axis != dim]
            place = (*place[:dim], mask.sum(others) != 0, *place[dim + 1 :])
        mask[place] = method.compute_mask(t[place], default_mask[place]).to(mask.dtype)
        return mask


class Identity(BasePruningMethod):
    """Prunes nothing, and makes the mask."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask


class CustomFromMask(BasePruningMethod):
    """Prunes by a given mask."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask * self.mask.to(default_mask.dtype)


class _Amount(BasePruningMethod):
    """Prunes a number of elements, or a fraction of them."""

    amount: Any
    dim: int

    def __init__(self, amount: Any, dim: int = -1) -> None:
        if not isinstance(amount, numbers.Real):
            raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
        if not 0 <= float(amount) <= (math.inf if isinstance(amount, numbers.Integral) else 1):
            raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")
        self.amount, self.dim = amount, dim

    def _count(self, size: int) -> int:
        is_count = isinstance(self.amount, numbers.Integral)
        count = int(self.amount) if is_count else round(float(self.amount) * size)
        if count > size:
            raise ValueError(f"amount={self.amount} should be smaller than the number of parameters to prune={size}")
        return count

    def _channels(self, t: Tensor, default_mask: Tensor, kept: Any) -> Tensor:
        """The mask that leaves these channels."""
        mask = clew.zeros_like(default_mask)
        mask[(slice(None),) * (self.dim % t.dim()) + (kept,)] = 1
        return mask * default_mask

    def _check(self, t: Tensor) -> None:
        if t.dim() <= 1:
            raise ValueError(
                f"Structured pruning can only be applied to multidimensional tensors. Found tensor of shape {t.shape} "
                f"with {t.dim()} dims"
            )
        if not -t.dim() <= self.dim < t.dim():
            raise IndexError(f"Invalid index {self.dim} for tensor of size {t.shape}")


class _Elements(_Amount):
    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: float) -> None:
        super().__init__(amount)

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        count = self._count(t.numel())
        mask = default_mask.clone(memory_format=clew.contiguous_format)
        if count:
            mask.view(-1)[self._chosen(t, count)] = 0
        return mask

    def _chosen(self, t: Tensor, count: int) -> Tensor:
        raise NotImplementedError


class RandomUnstructured(_Elements):
    """Prunes elements at random: `amount` of them, or this fraction."""

    def _chosen(self, t: Tensor, count: int) -> Tensor:
        return clew.topk(clew.rand_like(t).view(-1), count).indices


class L1Unstructured(_Elements):
    """Prunes the elements of the smallest magnitude: `amount` of them, or this fraction."""

    def _chosen(self, t: Tensor, count: int) -> Tensor:
        return clew.topk(t.detach().abs().reshape(-1), count, largest=False).indices


class RandomStructured(_Amount):
    """Prunes channels along `dim` at random."""

    PRUNING_TYPE = "structured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        self._check(t)
        count = self._count(t.shape[self.dim])
        if not count:
            return default_mask
        draws = clew.rand(t.shape[self.dim])
        return self._channels(t, default_mask, draws > clew.kthvalue(draws, count).values)


class LnStructured(_Amount):
    """Prunes the channels along `dim` of the smallest n-norm."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        self._check(t)
        count = self._count(t.shape[self.dim])
        if not count:
            return default_mask
        others = [axis for axis in range(t.dim()) if axis != self.dim % t.dim()]
        norms = clew.norm(t.detach(), p=self.n, dim=others)
        return self._channels(t, default_mask, clew.topk(norms, t.shape[self.dim] - count).indices)


def _function(name: str, method: type[BasePruningMethod]) -> Any:
    """The function that applies a method to a parameter and returns the module."""

    def prune(module: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        method.apply(module, name, *args, **kwargs)
        return module

    prune.__name__ = prune.__qualname__ = name
    prune.__doc__ = f"`{method.__name__}` on the module's parameter `name`. Returns the module."
    return prune


identity = _function("identity", Identity)
custom_from_mask = _function("custom_from_mask", CustomFromMask)
random_unstructured = _function("random_unstructured", RandomUnstructured)
l1_unstructured = _function("l1_unstructured", L1Unstructured)
random_structured = _function("random_structured", RandomStructured)
ln_structured = _function("ln_structured", LnStructured)


def global_unstructured(
    parameters: Iterable[tuple[Any, str]], pruning_method: type, importance_scores: Any = None, **kwargs: Any
) -> None:
    """Prune several parameters (module, name) as if they were one tensor.

    Raises:
        TypeError: `parameters` is no iterable, or the method is none for elements.
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    pairs = list(parameters)
    scores = importance_scores or {}
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    tensors = [scores.get((module, name), getattr(module, name)) for module, name in pairs]
    masks = [getattr(module, name + "_mask", clew.ones_like(getattr(module, name))) for module, name in pairs]
    method: Any = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. '
            f"Found method {pruning_method} of type {method.PRUNING_TYPE}"
        )
    method._tensor_name = "all"
    flat, mask = (clew.cat([one.detach().reshape(-1) for one in group]) for group in (tensors, masks))
    mask = PruningContainer(method).compute_mask(flat, mask)
    for (module, name), part, tensor in zip(pairs, mask.split([one.numel() for one in tensors]), tensors, strict=True):
        custom_from_mask(module, name, part.view(tensor.shape))


def remove(module: Any, name: str) -> Any:
    """End the pruning of the parameter: what is left of it becomes the parameter. Returns the module.

    Raises:
        ValueError: it is not pruned.
    """
    for key, hook in module._forward_pre_hooks.items():
        if _prunes(hook, name):
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")


def is_pruned(module: Any) -> bool:
    """Whether a parameter of the module, or of one in it, is pruned.

    Example:
        >>> prune = torch.nn.utils.prune
        >>> layer = prune.l1_unstructured(torch.nn.Linear(4, 1), "weight", amount=2)
        >>> prune.is_pruned(layer), layer.weight_mask.sum()
        (True, tensor(2.))
    """
    hooks = (hook for one in module.modules() for hook in one._forward_pre_hooks.values())
    return any(isinstance(hook, BasePruningMethod) for hook in hooks)
