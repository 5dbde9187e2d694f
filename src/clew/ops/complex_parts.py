"""Parts of complex numbers, conjugates, and what makes complex numbers of real ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _core
from .._core import Tensor
from .._domains import domain
from .._operation import IN_PLACE, OUT, from_forward, operation

__all__ = ["adjoint", "conj", "conj_physical", "imag", "polar", "real", "resolve_conj", "resolve_neg"]
METHODS = ["adjoint", "conj", "conj_physical"]

_ops: Any = _core.ops


@domain("real")  # of complex ones PyTorch gives a lazy view
def conj(input: Tensor) -> Tensor:
    """The complex conjugate of each element: a copy of complex tensors (never lazy), real ones themselves.

    Example:
        >>> torch.conj(torch.tensor([1 + 2j, 3 - 1j])).resolve_conj()
        tensor([1.-2.j, 3.+1.j])
    """
    result: Tensor = _ops._conj(input) if input.is_complex() else input
    return result


@domain("real; complex")
def conj_physical(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The same as `conj`.

    Example:
        >>> torch.conj_physical(torch.tensor([1 + 2j, 3 - 1j]))
        tensor([1.-2.j, 3.+1.j])
    """
    if out is None and not input.is_complex():
        return input
    result: Tensor = _core.ops.conj_physical(input, **({} if out is None else {"out": out}))
    return result


@operation(
    "conj_physical(Tensor self)",
    rules=(lambda g: conj(g),),
    node="ConjPhysicalBackward0",
    in_place_node="ConjPhysicalBackward1",
    flags=IN_PLACE | OUT,
    arrays=False,
    derivative="elementwise",
    infer=from_forward,
    domain="real",
)
def _conj_physical(self: Tensor) -> Tensor:
    """The complex conjugate of each element.

    Example:
        >>> torch.conj_physical(torch.tensor([1 + 2j, 3 - 1j]))
        tensor([1.-2.j, 3.+1.j])
    """
    return _ops._conj(self) if self.is_complex() else self.clone()


@domain("real")
def resolve_conj(input: Tensor) -> Tensor:
    """Itself: conjugates are never lazy.

    Example:
        >>> torch.resolve_conj(torch.tensor([1.0, 2.0]))
        tensor([1., 2.])
    """
    return input


@domain("real")
def resolve_neg(input: Tensor) -> Tensor:
    """Itself: negation is never lazy.

    Example:
        >>> torch.resolve_neg(torch.tensor([1.0, 2.0]))
        tensor([1., 2.])
    """
    return input


@domain("real; complex")
def real(input: Tensor) -> Tensor:
    """The real parts: a view of a complex tensor, with the real dtype; a real tensor itself.

    Example:
        >>> torch.real(torch.tensor([1 + 2j, 3 - 1j]))
        tensor([1., 3.])
    """
    result: Tensor = _ops._real(input) if input.is_complex() else input
    return result


@domain("complex")
def imag(input: Tensor) -> Tensor:
    """The imaginary parts of a complex tensor: a view with the real dtype.

    Raises:
        RuntimeError: the tensor is real.

    Example:
        >>> torch.imag(torch.tensor([1 + 2j, 3 - 1j]))
        tensor([ 2., -1.])
    """
    if not input.is_complex():
        raise RuntimeError("imag: is not implemented for tensors with non-complex dtypes; it would be zero")
    result: Tensor = _ops._imag(input)
    return result


def _write_part(part: Callable[[Tensor], Tensor]) -> property:
    def write(self: Tensor, value: Any) -> None:
        part(self).copy_(value)

    return property(part, write, doc=part.__doc__)


_core.add_method("real", _write_part(real))
_core.add_method("imag", _write_part(imag))


@domain("abs=positive(a, b), angle=unit(a, b)")
def polar(abs: Tensor, angle: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The complex numbers with these absolute values and angles: abs * cos(angle) + i abs * sin(angle).

    Raises:
        RuntimeError: the two are not of one floating dtype.

    Example:
        >>> torch.polar(torch.tensor([1.0, 2.0]), torch.tensor([0.0, 0.5]))
        tensor([1.0000+0.0000j, 1.7552+0.9589j])
    """
    if not (abs.dtype.is_floating_point and angle.dtype.is_floating_point):
        raise RuntimeError(f"polar: Expected both inputs to be floating, but got {abs.dtype} and {angle.dtype}")
    if abs.dtype != angle.dtype:
        raise RuntimeError(f"polar: Expected angle of dtype {abs.dtype}, but got {angle.dtype}; cast one of them")
    if abs.dtype.itemsize == 2:  # whose sines would be rounded
        abs, angle = abs.float(), angle.float()
    parts, where = (abs * angle.cos(), abs * angle.sin()), {} if out is None else {"out": out}
    result: Tensor = _ops.complex(*parts, **where)
    return result


@domain("input=real(a, b, c)")
def adjoint(input: Tensor) -> Tensor:
    """The conjugate transpose of each matrix, `x.mH`; of real ones a view.

    Raises:
        RuntimeError: a vector.

    Example:
        >>> torch.adjoint(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
        tensor([[1., 3.],
                [2., 4.]])
    """
    if input.dim() == 1:
        raise RuntimeError(
            f"adjoint: is only supported on matrices or batches of matrices. Got {input.dim()}-D tensor."
        )
    result: Tensor = input.mH
    return result
