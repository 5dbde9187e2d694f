"""Parametrizations that are known by name."""

from __future__ import annotations

from typing import Any

import clew
from clew import Tensor

from .. import functional as F
from ..modules.module import Module
from .norms import as_matrix, norm_except_dim, power_iterations, weight_norm_of
from .parametrize import register_parametrization

__all__ = ["spectral_norm", "weight_norm"]


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return weight_norm_of(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """Its length and itself."""
        return norm_except_dim(weight, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Learn the length and the direction of a weight apart (Salimans and Kingma, https://arxiv.org/abs/1602.07868).

    Args:
        dim: the axis along which there is a length for each place; None for one of the whole weight.

    The state dict has `parametrizations.<name>.original0`, the length, and `original1`, the direction; one with
    `<name>_g` and `<name>_v`, as the old `nn.utils.weight_norm` makes it, is understood.

    >>> from clew import nn
    >>> list(nn.utils.parametrizations.weight_norm(nn.Linear(3, 2)).state_dict())
    ['bias', 'parametrizations.weight.original0', 'parametrizations.weight.original1']
    """
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def rename(state: dict[str, Any], prefix: str, *others: Any) -> None:
        old, new = f"{prefix}{name}", f"{prefix}parametrizations.{name}.original"
        if f"{old}_g" in state and f"{old}_v" in state:
            state[f"{new}0"], state[f"{new}1"] = state.pop(f"{old}_g"), state.pop(f"{old}_v")

    module._register_load_state_dict_pre_hook(rename)
    return module


class _SpectralNorm(Module):
    _u: Tensor
    _v: Tensor

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        if not -weight.dim() <= dim < weight.dim():
            raise IndexError(
                f"Dimension out of range (expected to be in range of [-{weight.dim()}, {weight.dim() - 1}] but got "
                f"{dim})"
            )
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim, self.eps = dim % weight.dim(), eps
        if weight.dim() > 1:
            self.n_power_iterations = n_power_iterations
            matrix = as_matrix(weight, self.dim).detach()
            u, v = (F.normalize(matrix.new_empty(size).normal_(0, 1), dim=0, eps=eps) for size in matrix.shape)
            self.register_buffer("_u", u)
            self.register_buffer("_v", v)
            power_iterations(matrix, self._u, self._v, 15, eps)

    def forward(self, weight: Tensor) -> Tensor:
        if weight.dim() == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            power_iterations(matrix, self._u, self._v, self.n_power_iterations, self.eps)
        # Copies, for the next forward writes to both while this one's graph may still be alive.
        u, v = self._u.clone(), self._v.clone()
        return weight / clew.dot(u, matrix.mv(v))

    def right_inverse(self, value: Tensor) -> Tensor:
        """The value itself: its norm may not be 1, but what the next forward gives is a multiple."""
        return value


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Divide a weight by its largest singular value (Miyato et al., https://arxiv.org/abs/1802.05957).

    Args:
        n_power_iterations: how often the singular vectors are improved in each forward in training.
        eps: what norms count at least.
        dim: the axis that counts as rows; 0 unless given, 1 for transposed convolutions.

    Raises:
        ValueError: the module has no tensor of this name, or no iteration is asked for.
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if dim is None:
        dim = 1 if getattr(module, "transposed", False) else 0
    return register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))
