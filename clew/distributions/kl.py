"""Kullback-Leibler divergences between distributions.

KL(p || q) is the mean under p of log p - log q. The formulas are integrals of the densities that the classes document;
where p puts mass on what q excludes, the divergence is infinite.
"""

from __future__ import annotations

from . import _kl_between as _kl_between
from . import _kl_within as _kl_within
from ._kl_registry import _REGISTRY as _REGISTRY
from ._kl_registry import kl_divergence as kl_divergence
from ._kl_registry import register_kl as register_kl

__all__ = ["kl_divergence", "register_kl"]
