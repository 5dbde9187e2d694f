"""Forward mode: derivatives along a direction that are carried along with the values, by dual tensors.

A dual tensor has a tangent. What is computed with it has one, too: the derivative of the result along the direction
that the tangents of the inputs say. It costs two or three times the operation, keeps nothing for later, and needs no
graph, so it works under `no_grad`, too.

Example:
    >>> fwAD = torch.autograd.forward_ad
    >>> with fwAD.dual_level():
    ...     x = fwAD.make_dual(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 0.0]))
    ...     y, tangent = fwAD.unpack_dual(x**3)
    >>> tangent
    tensor([3., 0.])
"""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

from .. import _core
from .._core import Tensor
from .._unsupported import missing_from as _missing_from
from .grad_mode import Mode as _Mode

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]


class _Opened(threading.local):
    """By this module, on this thread: what the core calls its level 0."""

    level: int | None = None


_opened = _Opened()


class UnpackedDualTensor(NamedTuple):
    """What `unpack_dual` returns.

    Example:
        >>> fwAD = torch.autograd.forward_ad
        >>> with fwAD.dual_level():
        ...     print(fwAD.unpack_dual(torch.ones(1)).tangent)
        None
    """

    primal: Tensor
    tangent: Tensor | None


def enter_dual_level() -> int:
    """Open the level that dual tensors belong to. There is one at a time; `func.jvp` nests.

    Returns:
        Its number, 0.

    Raises:
        RuntimeError: one is open already.

    Example:
        >>> fwAD = torch.autograd.forward_ad
        >>> fwAD.enter_dual_level()
        0
        >>> fwAD.exit_dual_level()
    """
    if _opened.level is not None:
        raise RuntimeError("Nested forward mode AD is not supported at the moment; use func.jvp, which nests")
    _opened.level = _core.open_dual_level()
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """Close the level. Dual tensors have no tangent any more then.

    Raises:
        RuntimeError: it is not the one that was opened last.

    Example:
        >>> fwAD = torch.autograd.forward_ad
        >>> _ = fwAD.enter_dual_level()
        >>> fwAD.exit_dual_level()
    """
    if _opened.level is None or level not in (None, 0):
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is not supported."
        )
    _core.close_dual_level(_opened.level)
    _opened.level = None


def _check_inexact(what: str, tensor: Tensor) -> None:
    if not (tensor.is_floating_point() or tensor.is_complex()):
        raise ValueError(f"Expected {what} to be floating point or complex, but got: {tensor.dtype}")


def _level_of(level: int | None) -> int | None:
    return _opened.level if level in (None, 0) else None


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A view of the tensor that has a tangent: the direction along which to differentiate.

    Args:
        tensor: the value, of floating point or complex dtype.
        tangent: of the same shape and dtype.
        level: None or 0, the one that is open.

    Raises:
        RuntimeError: no level is open, the tensor has a tangent already, or shapes or dtypes differ.
        ValueError: a tensor of integers.

    Example:
        >>> fwAD = torch.autograd.forward_ad
        >>> with fwAD.dual_level():
        ...     x = fwAD.make_dual(torch.tensor([0.0, 1.0]), torch.ones(2))
        ...     print(fwAD.unpack_dual(x * x).tangent)
        tensor([0., 2.])
    """
    opened = _level_of(level)
    if opened is None:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    _check_inexact("primal", tensor)
    _check_inexact("tangent", tangent)
    return _core.make_dual(opened, tensor, tangent)


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The value of a tensor without its tangent, and the tangent, or None where it has none.

    Both may be differentiated.

    Example:
        >>> fwAD = torch.autograd.forward_ad
        >>> with fwAD.dual_level():
        ...     x = fwAD.make_dual(torch.tensor(2.0), torch.tensor(1.0))
        ...     value, tangent = fwAD.unpack_dual(x.exp().log())
        >>> value, tangent
        (tensor(2.), tensor(1.))
    """
    opened = _level_of(level)
    if opened is None:
        return UnpackedDualTensor(tensor, None)
    return UnpackedDualTensor(_core.primal_of(opened, tensor), _core.tangent_of(opened, tensor))


class dual_level(_Mode):
    """The level that dual tensors belong to, for a block. Also a decorator.

    Example:
        >>> fwAD = torch.autograd.forward_ad
        >>> with fwAD.dual_level():
        ...     x = fwAD.make_dual(torch.tensor(3.0), torch.tensor(1.0))
        ...     y = x * x
        ...     print(fwAD.unpack_dual(y).tangent)
        tensor(6.)
        >>> print(fwAD.unpack_dual(y).tangent)
        None
    """

    __slots__ = ()

    def __enter__(self) -> int:  # type: ignore[override]
        return enter_dual_level()

    def __exit__(self, *_: object) -> None:
        exit_dual_level()


_missing = _missing_from(__name__)


def __getattr__(name: str) -> Any:
    return _missing(name)
