"""Exponential families: entropies and divergences from one function, the log-normalizer."""

from __future__ import annotations

from typing import Any

import clew
from clew import Tensor

from .distribution import Distribution

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """Distributions with the density h(x) exp(<eta, t(x)> - A(eta)) of natural parameters eta.

    A subclass gives eta (`_natural_params`), A (`_log_normalizer`) and the mean of log h (`_mean_carrier_measure`).
    Entropy and divergences within the family follow from A, whose gradient is the mean of t (Nielsen and Nock 2010,
    https://arxiv.org/abs/1112.4221).

    Example:
        >>> issubclass(torch.distributions.Normal, torch.distributions.ExponentialFamily)
        True
    """

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise self._has_no("_natural_params")

    def _log_normalizer(self, *natural_params: Any) -> Tensor:
        raise self._has_no("_log_normalizer")

    _mean_carrier_measure: Any = 0

    def _normalizer_and_means(self) -> tuple[list[Tensor], Tensor, Any]:
        """Natural parameters (leaves), A of them, and its gradient."""
        natural = [one.detach().requires_grad_() for one in self._natural_params]
        with clew.enable_grad():
            normalizer = self._log_normalizer(*natural)
            means = clew.autograd.grad(normalizer.sum(), natural, create_graph=True)
        return natural, normalizer, means

    def entropy(self) -> Tensor:
        """A(eta) - <eta, grad A(eta)> - E[log h]."""
        natural, normalizer, means = self._normalizer_and_means()
        result = normalizer - self._mean_carrier_measure
        for eta, mean in zip(natural, means, strict=True):
            result = result - (eta * mean).reshape((*self._batch_shape, -1)).sum(-1)
        return result
