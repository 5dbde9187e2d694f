"""Kullback-Leibler divergences between distributions.

KL(p || q) is the mean under p of log p - log q; where p puts mass on what q excludes, it is infinite.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from clew import Tensor

__all__ = ["kl_divergence", "register_kl"]

Formula = Callable[[Any, Any], Tensor]
_REGISTRY: dict[tuple[type, type], Formula] = {}
_FOUND: dict[tuple[type, type], Formula | None] = {}
# PyTorch's names of them, which libraries read and write.
_KL_REGISTRY, _KL_MEMOIZE = _REGISTRY, _FOUND


def register_kl(type_p: type, type_q: type) -> Callable[[Formula], Formula]:
    """A decorator that enters `f(p, q)` as the divergence between two classes and their subclasses.

    Raises:
        TypeError: one of them is no class. A class need not be of `Distribution`, as those of other libraries are not.

    Example:
        >>> class Standard(torch.distributions.Normal): pass
        >>> @torch.distributions.register_kl(Standard, Standard)
        ... def _none(p, q):
        ...     return 0.0
        >>> torch.distributions.kl_divergence(Standard(0.0, 1.0), Standard(0.0, 1.0))
        0.0
    """
    for name, given in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(given, type):
            raise TypeError(f"register_kl: expected {name} to be a class, got {given}")

    def enter(formula: Formula) -> Formula:
        _REGISTRY[type_p, type_q] = formula
        _FOUND.clear()
        return formula

    return enter


def _nearest(pairs: list[tuple[type, type]], first: int) -> tuple[type, type]:
    """The pair whose class `first` (0 or 1) is the most derived, then whose other class is."""
    best = pairs[0]
    for pair in pairs[1:]:
        one, other = pair[first], pair[1 - first]
        if issubclass(one, best[first]) and (one is not best[first] or issubclass(other, best[1 - first])):
            best = pair
    return best


def _find(type_p: type, type_q: type) -> Formula | None:
    pairs = [(p, q) for p, q in _REGISTRY if issubclass(type_p, p) and issubclass(type_q, q)]
    if not pairs:
        return None
    by_p, by_q = _nearest(pairs, 0), _nearest(pairs, 1)
    if _REGISTRY[by_p] is not _REGISTRY[by_q]:
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). "
            f"Please register_kl({by_p[0].__name__}, {by_q[1].__name__})",
            RuntimeWarning,
            stacklevel=3,
        )
    return _REGISTRY[by_p]


def kl_divergence(p: Any, q: Any) -> Tensor:
    """KL(p || q), the mean under p of log p - log q, in nats, of shape `batch_shape`.

    Raises:
        NotImplementedError: no formula is known for the two classes.

    Example:
        >>> Normal = torch.distributions.Normal
        >>> torch.distributions.kl_divergence(Normal(1.0, 1.0), Normal(0.0, 1.0))
        tensor(0.5000)
    """
    key = type(p), type(q)
    if key not in _FOUND:
        _FOUND[key] = _find(*key)
    formula = _FOUND[key]
    if formula is None:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {p.__class__.__name__} and q type {q.__class__.__name__}"
        )
    return formula(p, q)
