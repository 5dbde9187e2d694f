"""Distributions of matrices: Wishart, and Cholesky factors of correlation matrices."""

from __future__ import annotations

import math
import warnings
from typing import Any, ClassVar

import clew
from clew import Size, Tensor
from clew._samples import any_true

from . import constraints
from .dirichlet import Beta
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .gamma import Chi2
from .multivariate_normal import MatrixParameters, factor_of, half_log_det, one_matrix, solve_lower
from .utils import broadcast_all, is_number

__all__ = ["LKJCholesky", "Wishart"]

_LOG_2 = math.log(2)


class Wishart(MatrixParameters, ExponentialFamily):
    """The Wishart distribution of n x n matrices: sums of df products x x^T of normal vectors x with mean 0.

    Draws follow Bartlett's decomposition; those that are singular by rounding are drawn again, up to ten times.

    Args:
        df: degrees of freedom, above n - 1.
        covariance_matrix, precision_matrix, scale_tril: one of them, of shape (..., n, n), as for `MultivariateNormal`.

    Raises:
        ValueError: df is too small, or the matrix is not positive-definite.

    Example:
        >>> torch.distributions.Wishart(torch.tensor(3.0), torch.eye(2)).mean
        tensor([[3., 0.],
                [0., 3.]])
    """

    support = constraints.positive_definite
    has_rsample = True
    _over_matrix: Tensor
    _formulas: ClassVar = {
        "_over_matrix": lambda df: df.unsqueeze(-1).unsqueeze(-1),
        "mean": lambda _over_matrix, covariance_matrix: _over_matrix * covariance_matrix,
        "_natural_params": lambda self, df: (-self.precision_matrix / 2, (df - self._event_shape[-1] - 1) / 2),
    }

    def __init__(
        self,
        df: Any,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        which, matrix = one_matrix(
            "Wishart",
            AssertionError,
            covariance_matrix=covariance_matrix,
            precision_matrix=precision_matrix,
            scale_tril=scale_tril,
        )
        size = matrix.shape[-1]
        self.df = clew.tensor(df, dtype=matrix.dtype) if is_number(df) else df
        batch = clew.broadcast_shapes(matrix.shape[:-2], self.df.shape)
        self.df = self.df.expand(batch)
        if any_true(self.df <= size - 1):
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {size - 1}.")
        if any_true(self.df < size):
            warnings.warn(
                "Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.",
                stacklevel=2,
            )
        setattr(self, which, matrix.expand((*batch, -1, -1)))
        super().__init__(batch, matrix.shape[-2:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = factor_of(which, matrix)
        self._dist_chi2 = Chi2(self.df.unsqueeze(-1) - clew.arange(size, dtype=matrix.dtype))

    @property
    def arg_constraints(self) -> dict[str, Any]:
        """The bound of df depends on the size."""
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self._event_shape[-1] - 1),
        }

    @property
    def mode(self) -> Tensor:
        factor = self._over_matrix - self._event_shape[-1] - 1
        return factor.masked_fill(factor <= 0, math.nan) * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        matrix = self.covariance_matrix
        diagonal = matrix.diagonal(dim1=-2, dim2=-1)
        return self._over_matrix * (matrix.pow(2) + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2))

    def _bartlett(self, sample_shape: Any) -> Tensor:
        """L A A^T L^T with chi numbers on the diagonal of A and normal ones below it."""
        size = self._event_shape[-1]
        chi = self._dist_chi2.rsample(sample_shape).sqrt()
        noise = chi.clamp(min=clew.finfo(chi.dtype).eps).diag_embed()
        rows, columns = clew.tril_indices(size, size, offset=-1)
        normal = clew.randn((*sample_shape, *self._batch_shape, len(rows)), dtype=chi.dtype)
        below = clew.zeros_like(noise)
        below[..., rows, columns] = normal
        factor = self._unbroadcasted_scale_tril @ (noise + below)
        return factor @ factor.mT

    def rsample(self, sample_shape: Any = (), max_try_correction: int = 10) -> Tensor:
        """Draws that are differentiable functions of the parameters.

        Args:
            max_try_correction: how often singular draws are drawn again.
        """
        sample_shape = Size(tuple(sample_shape))
        drawn = self._bartlett(sample_shape)
        for attempt in range(max_try_correction):
            singular = ~self.support.check(drawn)
            if not bool(singular.any()):
                break
            if attempt == 0:
                warnings.warn("Singular sample detected.", stacklevel=2)
            drawn = clew.where(singular.unsqueeze(-1).unsqueeze(-1), self._bartlett(sample_shape), drawn)
        return drawn

    def _log_prob(self, value: Tensor) -> Tensor:
        size, half = self._event_shape[-1], self.df / 2
        # tr(V^-1 X) = |L^-1 C|² with X = C C^T
        factor = clew.linalg.cholesky(value)
        trace = solve_lower(self._unbroadcasted_scale_tril, factor).pow(2).sum((-2, -1))
        normalizer = self.df * (size * _LOG_2 / 2 + half_log_det(self._unbroadcasted_scale_tril))
        return (self.df - size - 1) * half_log_det(factor) - trace / 2 - normalizer - clew.mvlgamma(half, size)

    def entropy(self) -> Tensor:
        size, half = self._event_shape[-1], self.df / 2
        places = clew.arange(size, dtype=half.dtype) / 2
        digammas = (half.unsqueeze(-1) - places).digamma().sum(-1)
        volume = (size + 1) * (size * _LOG_2 / 2 + half_log_det(self._unbroadcasted_scale_tril))
        return volume + clew.mvlgamma(half, size) - (self.df - size - 1) / 2 * digammas + self.df * size / 2

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        size = self._event_shape[-1]
        half = y + (size + 1) / 2
        log_det = 2 * half_log_det(clew.linalg.cholesky(-2 * x))
        return half * (size * _LOG_2 - log_det) + clew.mvlgamma(half, size)


class LKJCholesky(Distribution):
    """Lower Cholesky factors of correlation matrices C with a density of C proportional to det(C)^(concentration - 1).

    Draws follow the onion method (Lewandowski, Kurowicka and Joe 2009).

    Args:
        dim: the size of the matrices, at least 2.
        concentration: 1 makes all correlation matrices equally likely, more favours small correlations.

    Raises:
        ValueError: `dim` is no integer of at least 2.

    Example:
        >>> torch.distributions.LKJCholesky(2, 1.0).log_prob(torch.eye(2)).exp()
        tensor(0.5000)
    """

    arg_constraints: ClassVar = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        # The squared length of what row i has below the diagonal is a beta number.
        row = clew.cat([clew.zeros(1), clew.arange(dim - 1)]).to(self.concentration.dtype)
        self._beta = Beta(row + 0.5, self.concentration.unsqueeze(-1) + 0.5 * (dim - 2) - 0.5 * row)
        super().__init__(self.concentration.shape, Size((dim, dim)), validate_args=validate_args)

    def _sample(self, shape: Size) -> Tensor:
        squares = self._beta.sample(shape[: len(shape) - len(self._batch_shape) - 2]).unsqueeze(-1)
        directions = clew.randn(shape, dtype=squares.dtype).tril(-1)
        lengths = directions.norm(dim=-1, keepdim=True)
        below = squares.sqrt() * (directions / lengths.masked_fill(lengths == 0, 1))
        diagonal = (1 - below.pow(2).sum(-1)).clamp(min=clew.finfo(below.dtype).tiny).sqrt()
        return below + diagonal.diag_embed()

    def _log_prob(self, value: Tensor) -> Tensor:
        less = self.dim - 1
        powers = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - clew.arange(2, self.dim + 1)
        unnormalized = (powers * value.diagonal(dim1=-1, dim2=-2)[..., 1:].log()).sum(-1)
        alpha = self.concentration + 0.5 * less
        return unnormalized - (
            0.5 * less * math.log(math.pi) + clew.mvlgamma(alpha - 0.5, less) - alpha.lgamma() * less
        )
