"""Transforms of vectors and matrices."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import clew
import clew.nn.functional as F
from clew import Tensor

from . import constraints
from ._elementwise_transforms import Fixed, inside_unit_interval
from .utils import tril_matrix_to_vec, vec_to_tril_matrix


class _OfVectors(Fixed):
    domain = constraints.real_vector
    codomain = constraints.simplex
    _grows: ClassVar[int] = 0  # by how much an event is longer afterwards

    def forward_shape(self, shape: Any) -> Any:
        return self._lengthened(shape, self._grows)

    def inverse_shape(self, shape: Any) -> Any:
        return self._lengthened(shape, -self._grows)

    @staticmethod
    def _lengthened(shape: Any, by: int) -> Any:
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input: expected at least 1, got 0")
        return (*shape[:-1], shape[-1] + by)


class SoftmaxTransform(_OfVectors):
    """y = exp(x) / sum exp(x): onto the simplex, not injective; log(y) is a right inverse.

    Example:
        >>> torch.distributions.SoftmaxTransform()(torch.zeros(2))
        tensor([0.5000, 0.5000])
    """

    _formulas: ClassVar = {
        "_call": lambda x: clew.softmax(x, -1),
        "_inverse": lambda y: y.log(),
    }


class StickBreakingTransform(_OfVectors):
    """A bijection from R^(K - 1) to the simplex of K weights: each element takes a fraction of what is left.

    Stan Reference Manual, "Simplex transforms", https://mc-stan.org/docs/reference-manual/transforms.html.

    Example:
        >>> torch.distributions.StickBreakingTransform()(torch.zeros(2))
        tensor([0.3333, 0.3333, 0.3333])
    """

    bijective = True
    _grows: ClassVar = 1

    @staticmethod
    def _offset(x: Tensor) -> Tensor:
        """log of how many parts are still to come, so that x = 0 gives equal weights."""
        return clew.arange(x.shape[-1], 0, -1, dtype=x.dtype).log()

    def _call(self, x: Tensor) -> Tensor:
        broken = inside_unit_interval((x - self._offset(x)).sigmoid())
        left = (1 - broken).cumprod(-1)
        return F.pad(broken, [0, 1], value=1) * F.pad(left, [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        y = y[..., :-1]
        left = (1 - y.cumsum(-1)).clamp(min=clew.finfo(y.dtype).tiny)
        return y.log() - left.log() + self._offset(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        x = x - self._offset(x)
        return (-x + F.logsigmoid(x) + y[..., :-1].log()).sum(-1)


class CorrCholeskyTransform(Fixed):
    """A bijection from vectors of D (D - 1) / 2 numbers to Cholesky factors of correlation matrices (D, D).

    Below the diagonal stand canonical partial correlations tanh(x); each row is then scaled to length 1 (Lewandowski,
    Kurowicka and Joe 2009; Stan Reference Manual, "Cholesky factors of correlation matrices").

    Example:
        >>> torch.distributions.CorrCholeskyTransform()(torch.zeros(1))
        tensor([[1., 0.],
                [0., 1.]])
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        eps = clew.finfo(x.dtype).eps
        partial = vec_to_tril_matrix(x.tanh().clamp(min=-1 + eps, max=1 - eps), diag=-1)
        left = (1 - partial**2).sqrt().cumprod(-1)  # of a row's length, after each element
        partial = partial + clew.eye(partial.shape[-1], dtype=x.dtype)
        return partial * F.pad(left[..., :-1], [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        left = F.pad((1 - (y * y).cumsum(-1))[..., :-1], [1, 0], value=1)
        partial = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(left, diag=-1).sqrt()
        return (partial.log1p() - (-partial).log1p()) / 2

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        left = tril_matrix_to_vec(1 - (y * y).cumsum(-1), diag=-2)
        log_tanh = -2 * (x + F.softplus(-2 * x) - math.log(2)).sum(-1)
        return 0.5 * left.log().sum(-1) + log_tanh

    def forward_shape(self, shape: Any) -> Any:
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input: expected at least 1, got 0")
        side = round((0.25 + 2 * shape[-1]) ** 0.5 + 0.5)
        if side * (side - 1) // 2 != shape[-1]:
            raise ValueError(f"Input is not a flattened lower-diagonal number: {shape[-1]} is no D (D - 1) / 2")
        return (*shape[:-1], side, side)

    def inverse_shape(self, shape: Any) -> Any:
        if len(shape) < 2:
            raise ValueError(f"Too few dimensions on input: expected at least 2, got {len(shape)}")
        if shape[-2] != shape[-1]:
            raise ValueError(f"Input is not square: {tuple(shape)}")
        return (*shape[:-2], shape[-1] * (shape[-1] - 1) // 2)


def _with_diagonal(x: Tensor, function: Callable[[Tensor], Tensor]) -> Tensor:
    """The lower triangle, with the diagonal replaced by a function of it."""
    return x.tril(-1) + function(x.diagonal(dim1=-2, dim2=-1)).diag_embed()


class LowerCholeskyTransform(Fixed):
    """The lower triangle of a matrix with the exponential of its diagonal: Cholesky factors.

    Example:
        >>> torch.distributions.LowerCholeskyTransform()(torch.zeros(2, 2))
        tensor([[1., 0.],
                [0., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky
    _formulas: ClassVar = {
        "_call": lambda x: _with_diagonal(x, clew.exp),
        "_inverse": lambda y: _with_diagonal(y, clew.log),
    }


class PositiveDefiniteTransform(Fixed):
    """L L^T with L from `LowerCholeskyTransform`.

    Example:
        >>> torch.distributions.PositiveDefiniteTransform()(torch.zeros(2, 2))
        tensor([[1., 0.],
                [0., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x: Tensor) -> Tensor:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return LowerCholeskyTransform().inv(clew.linalg.cholesky(y))
