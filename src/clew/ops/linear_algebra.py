"""Older names of clew.linalg's functions, and products of vectors. clew.linalg is loaded when one of them is called."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._core import Tensor
from .._domains import domain
from .._out import filled
from ._options import linalg
from .tensordot import tensordot

__all__ = [
    "chain_matmul",
    "cross",
    "det",
    "dist",
    "frobenius_norm",
    "inner",
    "inverse",
    "logdet",
    "matrix_exp",
    "matrix_power",
    "nuclear_norm",
    "pinverse",
    "slogdet",
    "vander",
    "vdot",
]
METHODS = [
    "cross",
    "det",
    "dist",
    "inner",
    "inverse",
    "logdet",
    "matrix_exp",
    "matrix_power",
    "pinverse",
    "slogdet",
    "vdot",
]

_ops: Any = _core.ops


# ------------------------------------------------------------------------------------------------- inverses and systems
@domain("input=dominant(a, b, b)")
def inverse(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of each matrix: `clew.linalg.inv`.

    Example:
        >>> torch.inverse(torch.tensor([[2.0, 0.0], [0.0, 4.0]]))
        tensor([[0.5000, 0.0000],
                [0.0000, 0.2500]])
    """
    result: Tensor = linalg().inv(input, out=out)
    return result


@domain("input=real(a, c, b)")
def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """The pseudoinverse: `clew.linalg.pinv` with singular values up to `rcond` times the largest as zeros.

    Example:
        >>> torch.pinverse(torch.tensor([[2.0], [0.0]]))
        tensor([[0.5000, 0.0000]])
    """
    result: Tensor = linalg().pinv(input, rtol=rcond)
    return result


@domain("input=real(a, b, b)")
def det(input: Tensor) -> Tensor:
    """The determinant of each matrix: `clew.linalg.det`.

    Example:
        >>> torch.det(torch.tensor([[2.0, 1.0], [1.0, 3.0]]))
        tensor(5.)
    """
    result: Tensor = linalg().det(input)
    return result


@domain("input=real(a, b, b)")
def slogdet(input: Tensor, *, out: tuple[Tensor, Tensor] | None = None) -> Any:
    """Sign and logarithm of the determinant: `clew.linalg.slogdet`.

    Example:
        >>> sign, logabsdet = torch.slogdet(torch.tensor([[0.0, 1.0], [1.0, 0.0]]))
        >>> sign, logabsdet
        (tensor(-1.), tensor(0.))
    """
    return linalg().slogdet(input, out=out)


@domain("input=definite(a, b, b)")
def logdet(input: Tensor) -> Tensor:
    """The logarithm of the determinant of each matrix: NaN if it is negative, -inf if it is zero.

    Example:
        >>> torch.logdet(torch.eye(2))
        tensor(0.)
    """
    sign, logarithm = linalg().slogdet(input)
    result: Tensor = logarithm.masked_fill(sign < 0, float("nan"))
    return result


# ---------------------------------------------------------------------------------------------- products, powers, norms
@domain("input=unit(a, b, b), n=3")
def matrix_power(input: Tensor, n: int, *, out: Tensor | None = None) -> Tensor:
    """The n-th power of each matrix: `clew.linalg.matrix_power`.

    Example:
        >>> torch.matrix_power(torch.tensor([[1.0, 1.0], [0.0, 1.0]]), 3)
        tensor([[1., 3.],
                [0., 1.]])
    """
    result: Tensor = linalg().matrix_power(input, n, out=out)
    return result


@domain("input=unit(a, b, b)")
def matrix_exp(input: Tensor) -> Tensor:
    """The exponential of each matrix: `clew.linalg.matrix_exp`.

    Example:
        >>> torch.matrix_exp(torch.zeros(2, 2))
        tensor([[1., 0.],
                [0., 1.]])
    """
    result: Tensor = linalg().matrix_exp(input)
    return result


@domain("matrices=[real(a, b), real(b, c), real(c, a)]")
def chain_matmul(*matrices: Tensor, out: Tensor | None = None) -> Tensor:
    """The product of matrices in the order that takes the fewest multiplications: `clew.linalg.multi_dot`.

    PyTorch warns that it is deprecated.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings(action="ignore"):
        ...     torch.chain_matmul(torch.ones(2, 3), torch.ones(3, 4), torch.ones(4, 1))
        tensor([[12.],
                [12.]])
    """
    result: Tensor = linalg().multi_dot(matrices, out=out) if len(matrices) > 1 else matrices[0]
    return result


@domain("input=real(a, 3), other=real(a, 3); input=real(3, b), other=real(3, b)")
def cross(input: Tensor, other: Tensor, dim: int | None = None, *, out: Tensor | None = None) -> Tensor:
    """The cross product along an axis of size 3: `clew.linalg.cross`. Without `dim`, along the first such axis.

    Raises:
        RuntimeError: no axis of size 3.

    Example:
        >>> torch.cross(torch.tensor([1.0, 0.0, 0.0]), torch.tensor([0.0, 1.0, 0.0]), dim=0)
        tensor([0., 0., 1.])
    """
    if dim is None:
        dim = next((axis for axis, size in enumerate(input.shape) if size == 3), None)
        if dim is None:
            raise RuntimeError(f"cross: no dimension of size 3 in input of shape {list(input.shape)}; give dim")
    result: Tensor = linalg().cross(input, other, dim=dim, out=out)
    return result


@domain("input=real(b), other=real(b)")
def vdot(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sum of conj(a) * b over the elements of two vectors; of real ones `clew.dot`.

    Example:
        >>> torch.vdot(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))
        tensor(11.)
    """
    result: Tensor = filled("vdot", _ops.dot(input.conj(), other), out)
    return result


@domain("input=real(a, b), other=real(c, b); input=real(b), other=real(b)")
def inner(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inner products of the vectors along the last axes; with a number, the product of all elements with it.

    Returns:
        Shape `input.shape[:-1] + other.shape[:-1]`.

    Raises:
        RuntimeError: the last sizes differ.

    Example:
        >>> torch.inner(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([1.0, 1.0]))
        tensor([3., 7.])
    """
    result: Tensor
    if not input.dim() or not other.dim():
        result = filled("inner", input * other, out)
        return result
    if input.shape[-1] != other.shape[-1]:
        raise RuntimeError(
            "inner: the last dimension must match on both input tensors but got shapes "
            f"{list(input.shape)} and {list(other.shape)}"
        )
    result = filled("inner", tensordot(input, other, ([-1], [-1])), out)
    return result


@domain("x=real(b), N=4; x=real(b), increasing=True")
def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """The powers of a vector's elements as columns, the highest first: N of them, by default as many as elements.

    Raises:
        RuntimeError: the input is no vector, or N is negative.

    Example:
        >>> torch.vander(torch.tensor([2.0, 3.0]), 3)
        tensor([[4., 2., 1.],
                [9., 3., 1.]])
    """
    if x.dim() != 1:
        raise RuntimeError(f"vander: expected a vector, got shape {list(x.shape)}")
    count = x.shape[0] if N is None else N
    if count < 0:
        raise RuntimeError(f"vander: N must be non-negative, got {N}")
    if not x.dtype.is_floating_point:
        x = x.to(_core.dtypes["int64"])
    columns = [x.new_ones(x.shape[0], min(count, 1))]
    if count > 1:
        columns.append(x.unsqueeze(-1).expand(x.shape[0], count - 1).cumprod(-1))
    powers = _ops.cat(columns, -1)
    result: Tensor = powers if increasing else powers.flip(-1)
    return result


@domain("input=real(a, b); input=real(a, b, c), dim=(0, 2), keepdim=True")
def nuclear_norm(
    input: Tensor, dim: tuple[int, int] | bool = (-2, -1), keepdim: bool = False, *, out: Tensor | None = None
) -> Tensor:
    """The sum of each matrix's singular values: `clew.linalg.matrix_norm(input, "nuc")`; `dim` may be left out.

    Example:
        >>> torch.nuclear_norm(torch.tensor([[3.0, 0.0], [0.0, -4.0]]))
        tensor(7.)
    """
    dim, keepdim = ((-2, -1), dim) if isinstance(dim, bool) else (dim, keepdim)
    result: Tensor = linalg().matrix_norm(input, "nuc", dim, keepdim, out=out)
    return result


@domain("input=real(a, b, c), dim=(0, 2)")
def frobenius_norm(
    input: Tensor, dim: int | tuple[int, ...], keepdim: bool = False, *, out: Tensor | None = None
) -> Tensor:
    """The root of the sum of squares over axes: `clew.linalg.vector_norm`. PyTorch warns that it is deprecated.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings(action="ignore"):
        ...     torch.frobenius_norm(torch.tensor([[3.0, 4.0]]), dim=1)
        tensor([5.])
    """
    result: Tensor = linalg().vector_norm(input, 2, dim, keepdim, out=out)
    return result


@domain("input=real(a, b), other=real(a, b); input=real(a, b), other=real(b), p=3")
def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """The p-norm of `input - other`: a tensor of shape (). The two are broadcast.

    Example:
        >>> torch.dist(torch.tensor([3.0, 4.0]), torch.zeros(2))
        tensor(5.)
    """
    result: Tensor = _ops.linalg_vector_norm(input - other, p)
    return result
