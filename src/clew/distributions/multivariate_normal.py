"""Normal distributions of vectors."""

from __future__ import annotations

import math
from typing import ClassVar

import clew
from clew import Size, Tensor

from . import constraints
from .distribution import Distribution
from .utils import _standard_normal as _standard_normal
from .utils import lazy_property, standard_normal

__all__ = ["LowRankMultivariateNormal", "MultivariateNormal"]

_LOG_2_PI = math.log(2 * math.pi)


def apply_matrix(matrix: Tensor, vector: Tensor) -> Tensor:
    """Products of matrices (..., n, m) with vectors (..., m)."""
    return (matrix @ vector.unsqueeze(-1)).squeeze(-1)


def solve_lower(factor: Tensor, right: Tensor) -> Tensor:
    """factor^-1 right, for lower triangular factors."""
    return clew.linalg.solve_triangular(factor, right, upper=False)


def squared_length(factor: Tensor, vector: Tensor) -> Tensor:
    """|factor^-1 vector|², the squared Mahalanobis distance."""
    return solve_lower(factor, vector.unsqueeze(-1)).squeeze(-1).pow(2).sum(-1)


def half_log_det(factor: Tensor) -> Tensor:
    """log det of a triangular factor: half that of the matrix."""
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def squared_norm(matrix: Tensor) -> Tensor:
    """The trace of M M^T: the sum of the squares of the elements."""
    return matrix.pow(2).sum((-2, -1))


def factor_of_inverse(precision: Tensor) -> Tensor:
    """The lower Cholesky factor of a matrix's inverse: the reversed inverse of the reversed matrix's factor."""
    reverse = clew.linalg.cholesky(precision.flip((-2, -1))).flip((-2, -1)).mT
    return solve_lower(reverse, clew.eye(precision.shape[-1], dtype=precision.dtype))


# PyTorch's names of these, which libraries import. "Capacitance" is I + W^T D^-1 W, of a covariance W W^T + D.
_batch_mv, _batch_mahalanobis, _precision_to_scale_tril = apply_matrix, squared_length, factor_of_inverse


def _batch_capacitance_tril(W: Tensor, D: Tensor) -> Tensor:
    return clew.linalg.cholesky(W.mT @ (W / D.unsqueeze(-1)) + clew.eye(W.shape[-1], dtype=W.dtype))


def _batch_lowrank_logdet(W: Tensor, D: Tensor, capacitance_tril: Tensor) -> Tensor:
    return 2 * half_log_det(capacitance_tril) + D.log().sum(-1)


def _batch_lowrank_mahalanobis(W: Tensor, D: Tensor, x: Tensor, capacitance_tril: Tensor) -> Tensor:
    return (x.pow(2) / D).sum(-1) - squared_length(capacitance_tril, apply_matrix((W / D.unsqueeze(-1)).mT, x))


def one_matrix(name: str, error: type[Exception], **given: Tensor | None) -> tuple[str, Tensor]:
    """The one that was given, with its name."""
    present = {name: matrix for name, matrix in given.items() if matrix is not None}
    if len(present) != 1:
        raise error(
            "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified; "
            f"{name} got {', '.join(present) or 'none'}."
        )
    ((which, matrix),) = present.items()
    if matrix.dim() < 2:
        raise ValueError(f"{which} must be at least two-dimensional, with optional leading batch dimensions")
    return which, matrix


def factor_of(which: str, matrix: Tensor) -> Tensor:
    """The lower Cholesky factor of the covariance, from any of the three."""
    if which == "scale_tril":
        return matrix
    return clew.linalg.cholesky(matrix) if which == "covariance_matrix" else factor_of_inverse(matrix)


class MatrixParameters:
    """Covariance, precision and Cholesky factor, each from the factor `_unbroadcasted_scale_tril`."""

    _unbroadcasted_scale_tril: Tensor
    _batch_shape: Size
    _event_shape: Size

    def _batched(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + matrix.shape[-2:])

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The lower Cholesky factor of the covariance."""
        return self._batched(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        return self._batched(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        factor = self._unbroadcasted_scale_tril
        inverse = solve_lower(factor, clew.eye(factor.shape[-1], dtype=factor.dtype))
        return self._batched(inverse.mT @ inverse)


class MultivariateNormal(MatrixParameters, Distribution):
    """The normal distribution of vectors of n elements.

    Args:
        loc: the mean, of shape (..., n).
        covariance_matrix, precision_matrix, scale_tril: one of them, of shape (..., n, n): the covariance, its inverse,
            or its lower Cholesky factor, which is fastest.

    Raises:
        ValueError: not exactly one matrix is given, or it is not positive-definite.

    Example:
        >>> torch.distributions.MultivariateNormal(torch.zeros(2), scale_tril=torch.eye(2)).log_prob(torch.zeros(2))
        tensor(-1.8379)
    """

    arg_constraints: ClassVar = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True
    _formulas: ClassVar = {
        "mean": "loc",
        "mode": "loc",
        "variance": lambda self: (
            self._unbroadcasted_scale_tril.pow(2).sum(-1).expand(self._batch_shape + self._event_shape)
        ),
        "_rsample": lambda shape, loc, _unbroadcasted_scale_tril: (
            loc + apply_matrix(_unbroadcasted_scale_tril, standard_normal(shape, loc))
        ),
    }

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        which, matrix = one_matrix(
            "MultivariateNormal",
            ValueError,
            covariance_matrix=covariance_matrix,
            precision_matrix=precision_matrix,
            scale_tril=scale_tril,
        )
        batch = clew.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, which, matrix.expand((*batch, -1, -1)))
        self.loc = loc.expand((*batch, -1))
        super().__init__(batch, self.loc.shape[-1:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = factor_of(which, matrix)

    def _log_prob(self, value: Tensor) -> Tensor:
        distance = squared_length(self._unbroadcasted_scale_tril, value - self.loc)
        return -0.5 * (self._event_shape[0] * _LOG_2_PI + distance) - half_log_det(self._unbroadcasted_scale_tril)

    def entropy(self) -> Tensor:
        entropy = 0.5 * self._event_shape[0] * (1 + _LOG_2_PI) + half_log_det(self._unbroadcasted_scale_tril)
        return entropy.expand(self._batch_shape)


class LowRankMultivariateNormal(Distribution):
    """The normal distribution with the covariance W W^T + diag(D), by the matrix inversion lemma: for large n.

    Args:
        loc: the mean, of shape (..., n).
        cov_factor: W, of shape (..., n, m) with m much smaller than n.
        cov_diag: D, positive, of shape (..., n).

    Raises:
        ValueError: shapes do not fit, or `cov_diag` is not positive.

    Example:
        >>> low_rank = torch.distributions.LowRankMultivariateNormal(torch.zeros(2), torch.ones(2, 1), torch.ones(2))
        >>> low_rank.covariance_matrix
        tensor([[2., 1.],
                [1., 2.]])
    """

    arg_constraints: ClassVar = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True
    _formulas: ClassVar = {"mean": "loc", "mode": "loc"}

    def __init__(self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        if cov_factor.shape[-2:-1] != event:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event[0]} x m")
        if cov_diag.shape[-1:] != event:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event}")
        try:
            batch = clew.broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        except RuntimeError as error:
            raise ValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, cov_diag {cov_diag.shape}"
            ) from error
        self.loc, self.cov_diag = loc.expand((*batch, -1)), cov_diag.expand((*batch, -1))
        self.cov_factor = cov_factor.expand((*batch, -1, -1))
        self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag = cov_factor, cov_diag
        super().__init__(batch, event, validate_args=validate_args)
        # The factor of I + W^T D^-1 W, all that is factorised.
        inner = (cov_factor.mT / cov_diag.unsqueeze(-2)) @ cov_factor
        self._capacitance_tril = clew.linalg.cholesky(inner + clew.eye(inner.shape[-1], dtype=inner.dtype))

    @lazy_property
    def variance(self) -> Tensor:
        """The diagonal of the covariance."""
        return self.cov_factor.pow(2).sum(-1) + self.cov_diag

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance, of shape (..., n, n)."""
        return self.cov_factor @ self.cov_factor.mT + self.cov_diag.diag_embed()

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The lower Cholesky factor of the covariance."""
        return clew.linalg.cholesky(self.covariance_matrix)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        whitened = self.whitened_factor()
        precision = self._unbroadcasted_cov_diag.reciprocal().diag_embed() - whitened.mT @ whitened
        return precision.expand(self._batch_shape + precision.shape[-2:])

    def whitened_factor(self) -> Tensor:
        """C^-1 W^T D^-1, with the factor C of I + W^T D^-1 W."""
        right = self._unbroadcasted_cov_factor.mT / self._unbroadcasted_cov_diag.unsqueeze(-2)
        return solve_lower(self._capacitance_tril, right)

    def log_det(self) -> Tensor:
        """log det of the covariance."""
        return 2 * half_log_det(self._capacitance_tril) + self._unbroadcasted_cov_diag.log().sum(-1)

    def squared_distance(self, away: Tensor) -> Tensor:
        """The squared Mahalanobis length of vectors."""
        inside = apply_matrix(self._unbroadcasted_cov_factor.mT / self._unbroadcasted_cov_diag.unsqueeze(-2), away)
        return (away.pow(2) / self._unbroadcasted_cov_diag).sum(-1) - squared_length(self._capacitance_tril, inside)

    def _rsample(self, shape: Size) -> Tensor:
        inner = standard_normal(shape[:-1] + self.cov_factor.shape[-1:], self.loc)
        outer = standard_normal(shape, self.loc)
        moved = apply_matrix(self._unbroadcasted_cov_factor, inner)
        return self.loc + moved + self._unbroadcasted_cov_diag.sqrt() * outer

    def _log_prob(self, value: Tensor) -> Tensor:
        distance = self.squared_distance(value - self.loc)
        return -0.5 * (self._event_shape[0] * _LOG_2_PI + self.log_det() + distance)

    def entropy(self) -> Tensor:
        entropy = 0.5 * (self._event_shape[0] * (1 + _LOG_2_PI) + self.log_det())
        return entropy.expand(self._batch_shape)
