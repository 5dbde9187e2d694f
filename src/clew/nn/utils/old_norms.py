"""Weight and spectral norm by hooks, as programs had them before parametrizations."""

from __future__ import annotations

import warnings
from typing import Any, TypeVar

import clew
from clew import Tensor

from .. import functional as F
from ..modules.module import Module
from ..parameter import Parameter
from .norms import as_matrix, norm_except_dim, weight_norm_of

__all__ = ["remove_spectral_norm", "remove_weight_norm", "spectral_norm", "weight_norm"]

_M = TypeVar("_M", bound=Module)


class WeightNorm:
    """The hook that makes the weight of its length and its direction before each forward."""

    def __init__(self, name: str, dim: int) -> None:
        self.name, self.dim = name, dim

    def compute_weight(self, module: Module) -> Tensor:
        """The weight."""
        return weight_norm_of(getattr(module, f"{self.name}_v"), getattr(module, f"{self.name}_g"), self.dim)

    def remove(self, module: Module) -> None:
        """Make the weight a parameter again."""
        weight = self.compute_weight(module)
        for name in (self.name, f"{self.name}_g", f"{self.name}_v"):
            delattr(module, name)
        setattr(module, self.name, Parameter(weight.detach()))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: _M, name: str = "weight", dim: int | None = 0) -> _M:
    """Learn the length `<name>_g` and the direction `<name>_v` of a weight apart; deprecated.

    Use `nn.utils.parametrizations.weight_norm`, whose arguments are the same.

    Raises:
        RuntimeError: the weight has this norm already.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings(action="ignore"):
        ...     layer = torch.nn.utils.weight_norm(torch.nn.Linear(3, 2))
        >>> sorted(name for name, _ in layer.named_parameters())
        ['bias', 'weight_g', 'weight_v']
    """
    warnings.warn(
        "`torch.nn.utils.weight_norm` is deprecated in favor of `torch.nn.utils.parametrizations.weight_norm`.",
        FutureWarning,
        stacklevel=2,
    )
    for hook in module._forward_pre_hooks.values():
        if isinstance(hook, WeightNorm) and hook.name == name:
            raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
    hook = WeightNorm(name, -1 if dim is None else dim)
    weight = getattr(module, name)
    delattr(module, name)
    module.register_parameter(f"{name}_g", Parameter(norm_except_dim(weight, hook.dim).detach()))
    module.register_parameter(f"{name}_v", Parameter(weight.detach()))
    setattr(module, name, hook.compute_weight(module))
    module.register_forward_pre_hook(hook)
    return module


def _take_away(module: Module, kind: type, name: str, what: str) -> Any:
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, kind) and getattr(hook, "name", None) == name:
            del module._forward_pre_hooks[key]
            return hook
    raise ValueError(f"{what} of '{name}' not found in {module}")


def remove_weight_norm(module: _M, name: str = "weight") -> _M:
    """Make the weight a parameter again, with the value that it has.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings(action="ignore"):
        ...     layer = torch.nn.utils.weight_norm(torch.nn.Linear(3, 2))
        >>> layer = torch.nn.utils.remove_weight_norm(layer)
        >>> sorted(name for name, _ in layer.named_parameters())
        ['bias', 'weight']
    """
    _take_away(module, WeightNorm, name, "weight_norm").remove(module)
    return module


class SpectralNorm:
    """The hook that divides the weight by its largest singular value before each forward."""

    def __init__(self, name: str, n_power_iterations: int, dim: int, eps: float) -> None:
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.name, self.n_power_iterations, self.dim, self.eps = name, n_power_iterations, dim, eps

    def compute_weight(self, module: Module, do_power_iteration: bool) -> Tensor:
        """The weight, divided."""
        weight = getattr(module, f"{self.name}_orig")
        u, v = getattr(module, f"{self.name}_u"), getattr(module, f"{self.name}_v")
        matrix = as_matrix(weight, self.dim)
        if do_power_iteration:
            with clew.no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(F.normalize(matrix.t().mv(u), dim=0, eps=self.eps))
                    u.copy_(F.normalize(matrix.mv(v), dim=0, eps=self.eps))
            u, v = u.clone(), v.clone()
        result: Tensor = weight / clew.dot(u, matrix.mv(v))
        return result

    def remove(self, module: Module) -> None:
        """Make the weight a parameter again."""
        with clew.no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        for name in (self.name, *(f"{self.name}_{part}" for part in ("u", "v", "orig"))):
            delattr(module, name)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))


def spectral_norm(
    module: _M, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> _M:
    """Divide a weight by its largest singular value, by a hook; `<name>_orig` is what is learned.

    `nn.utils.parametrizations.spectral_norm` is the new form; arguments are the same.

    Raises:
        RuntimeError: the weight has this norm already.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings(action="ignore"):
        ...     layer = torch.nn.utils.spectral_norm(torch.nn.Linear(3, 2))
        >>> sorted(name for name, _ in layer.named_parameters())
        ['bias', 'weight_orig']
    """
    if dim is None:
        dim = 1 if getattr(module, "transposed", False) else 0
    for hook in module._forward_pre_hooks.values():
        if isinstance(hook, SpectralNorm) and hook.name == name:
            raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
    hook = SpectralNorm(name, n_power_iterations, dim, eps)
    weight = getattr(module, name)
    rows, columns = as_matrix(weight, dim).shape
    u, v = (F.normalize(weight.detach().new_empty(size).normal_(0, 1), dim=0, eps=eps) for size in (rows, columns))
    delattr(module, name)
    module.register_parameter(f"{name}_orig", weight)
    setattr(module, name, weight.detach())  # a plain attribute: assigned anew before each forward
    module.register_buffer(f"{name}_u", u)
    module.register_buffer(f"{name}_v", v)
    module.register_forward_pre_hook(hook)
    return module


def remove_spectral_norm(module: _M, name: str = "weight") -> _M:
    """Make the weight a parameter again, with the value that it has.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings(action="ignore"):
        ...     layer = torch.nn.utils.spectral_norm(torch.nn.Linear(3, 2))
        >>> layer = torch.nn.utils.remove_spectral_norm(layer)
        >>> sorted(name for name, _ in layer.named_parameters())
        ['bias', 'weight']
    """
    _take_away(module, SpectralNorm, name, "spectral_norm").remove(module)
    return module
