"""Parametrizations that are known by name."""

from __future__ import annotations

from typing import Any

import numpy

import clew
from clew import Tensor

from .. import functional as F
from ..modules.module import Module
from .norms import as_matrix, norm_except_dim, power_iterations, weight_norm_of
from .parametrize import register_parametrization

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


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

    Example:
        >>> list(torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(3, 2)).state_dict())
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
        eps: a lower bound of the norms.
        dim: the axis that counts as rows; 0 unless given, 1 for transposed convolutions.

    Raises:
        ValueError: the module has no tensor of this name, or no iteration is asked for.

    Example:
        >>> layer = torch.nn.utils.parametrizations.spectral_norm(torch.nn.Linear(4, 4), n_power_iterations=100)
        >>> torch.linalg.matrix_norm(layer.weight, 2).item() < 1.01
        True
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if dim is None:
        dim = 1 if getattr(module, "transposed", False) else 0
    return register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))


class _Orthogonal(Module):
    base: Tensor

    def __init__(self, weight: Tensor, orthogonal_map: str, use_trivialization: bool) -> None:
        super().__init__()
        self.shape, self.orthogonal_map = weight.shape, orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        if X.shape[-2] < X.shape[-1]:
            return self._tall(X.mT).mT
        return self._tall(X)

    def _tall(self, X: Tensor) -> Tensor:
        """A matrix with orthonormal columns, of the shape of `X`, which has at least as many rows as columns."""
        rows, columns = X.shape[-2:]
        if self.orthogonal_map == "householder":
            A = X.tril(-1)
            Q = clew.linalg.householder_product(A, 2 / (1 + (A * A).sum(-2)))
            Q = Q * X.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)
        else:
            A = F.pad(X.tril(), (0, rows - columns))
            A = A - A.mT
            if self.orthogonal_map == "matrix_exp":
                Q = clew.linalg.matrix_exp(A)
            else:
                identity = clew.eye(rows, dtype=A.dtype)
                Q = clew.linalg.solve(identity - A / 2, identity + A / 2)
            Q = Q[..., :columns]
        return self.base @ Q if hasattr(self, "base") else Q

    @clew.no_grad()
    def right_inverse(self, Q: Tensor) -> Tensor:
        """What `forward` takes to an orthogonal matrix; of others, to that of their factorization."""
        if Q.shape != self.shape:
            raise ValueError(f"Expected matrices of shape {self.shape}. Got a tensor of shape {Q.shape}.")
        wide = Q.shape[-2] < Q.shape[-1]
        tall = Q.mT if wide else Q
        rows, columns = tall.shape[-2:]
        if hasattr(self, "base"):
            filled = clew.cat([tall, clew.randn(*tall.shape[:-1], rows - columns, dtype=Q.dtype)], -1)
            self.base = filled.clone() if rows == columns and _is_orthogonal(tall) else _with_positive_diagonal(filled)
            start = clew.zeros_like(Q)
            start.diagonal(dim1=-2, dim2=-1).fill_(-1)
            return start
        if self.orthogonal_map != "householder":
            raise NotImplementedError(
                "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                "use_trivialization=False."
            )
        reflectors, tau = map(clew.from_numpy, numpy.linalg.qr(tall.detach().numpy(), mode="raw"))
        reflectors = reflectors.mT.contiguous()
        diagonal = reflectors.diagonal(dim1=-2, dim2=-1)
        # LAPACK leaves out a reflection that has nothing to do; `forward` takes it as one that turns the sign.
        diagonal.copy_(clew.where((diagonal < 0) == (tau == 0), 1.0, -1.0))
        return reflectors.mT if wide else reflectors


def _is_orthogonal(Q: Tensor) -> bool:
    size = Q.shape[-1]
    identity = clew.eye(size, dtype=Q.dtype).expand_as(product := Q.mT @ Q)
    return clew.allclose(product, identity, atol=10 * size * clew.finfo(Q.dtype).eps)


def _with_positive_diagonal(A: Tensor) -> Tensor:
    """The orthogonal factor of A = QR where R has a positive diagonal, of which there is one."""
    Q, R = clew.linalg.qr(A)
    return Q * R.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Module:
    """Keep a weight orthogonal (its columns orthonormal, or its rows if those are fewer) while it is learned.

    Args:
        orthogonal_map: how: "matrix_exp" or "cayley" of a skew-symmetric matrix, or "householder", a product of
            reflections; by default the first for square matrices and the last for others.
        use_trivialization: multiply by a fixed matrix, so that any orthogonal weight can be assigned.

    Raises:
        ValueError: the module has no tensor of this name with two axes, or there is no such map.

    Example:
        >>> layer = torch.nn.utils.parametrizations.orthogonal(torch.nn.Linear(4, 4))
        >>> torch.allclose(layer.weight @ layer.weight.T, torch.eye(4), atol=1e-5)
        True
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.dim() < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.dim()} dimensions.")
    kind = orthogonal_map or ("matrix_exp" if weight.shape[-2] == weight.shape[-1] else "householder")
    if kind not in ("matrix_exp", "cayley", "householder"):
        raise ValueError(
            f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}'
        )
    return register_parametrization(module, name, _Orthogonal(weight, kind, use_trivialization), unsafe=True)
