"""Older names of clew.linalg's functions, and products of vectors. The module is loaded when one of them is called."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

from .. import _core
from .._core import Tensor
from .._domains import domain
from .._numeric import array_of
from .._out import filled
from .creation import eye
from .tensordot import tensordot

__all__ = [
    "chain_matmul",
    "cholesky",
    "cholesky_inverse",
    "cholesky_solve",
    "cross",
    "det",
    "dist",
    "frobenius_norm",
    "inner",
    "inverse",
    "logdet",
    "lu_solve",
    "lu_unpack",
    "matrix_exp",
    "matrix_power",
    "nuclear_norm",
    "orgqr",
    "pinverse",
    "qr",
    "slogdet",
    "svd",
    "triangular_solve",
    "vander",
    "vdot",
]
METHODS = [
    "cholesky",
    "cholesky_inverse",
    "cholesky_solve",
    "cross",
    "det",
    "dist",
    "inner",
    "inverse",
    "logdet",
    "lu_solve",
    "matrix_exp",
    "matrix_power",
    "orgqr",
    "pinverse",
    "qr",
    "slogdet",
    "svd",
    "triangular_solve",
    "vdot",
]

_ops: Any = _core.ops


def _linalg(name: str = "") -> Any:
    return import_module(f"clew.linalg{name}")


class svd_result(NamedTuple):
    U: Tensor
    S: Tensor
    V: Tensor


class triangular_solve_result(NamedTuple):
    solution: Tensor
    cloned_coefficient: Tensor


# ------------------------------------------------------------------------------------------------- inverses and systems
@domain("input=dominant(a, b, b)")
def inverse(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of each matrix: `clew.linalg.inv`.

    Example:
        >>> torch.inverse(torch.tensor([[2.0, 0.0], [0.0, 4.0]]))
        tensor([[0.5000, 0.0000],
                [0.0000, 0.2500]])
    """
    result: Tensor = _linalg().inv(input, out=out)
    return result


@domain("input=real(a, c, b)")
def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """The pseudoinverse: `clew.linalg.pinv` with singular values up to `rcond` times the largest as zeros.

    Example:
        >>> torch.pinverse(torch.tensor([[2.0], [0.0]]))
        tensor([[0.5000, 0.0000]])
    """
    result: Tensor = _linalg().pinv(input, rtol=rcond)
    return result


@domain("input=real(a, b, b)")
def det(input: Tensor) -> Tensor:
    """The determinant of each matrix: `clew.linalg.det`.

    Example:
        >>> torch.det(torch.tensor([[2.0, 1.0], [1.0, 3.0]]))
        tensor(5.)
    """
    result: Tensor = _linalg().det(input)
    return result


@domain("input=real(a, b, b)")
def slogdet(input: Tensor, *, out: tuple[Tensor, Tensor] | None = None) -> Any:
    """Sign and logarithm of the determinant: `clew.linalg.slogdet`.

    Example:
        >>> sign, logabsdet = torch.slogdet(torch.tensor([[0.0, 1.0], [1.0, 0.0]]))
        >>> sign, logabsdet
        (tensor(-1.), tensor(0.))
    """
    return _linalg().slogdet(input, out=out)


@domain("input=definite(a, b, b)")
def logdet(input: Tensor) -> Tensor:
    """The logarithm of the determinant of each matrix: NaN if it is negative, -inf if it is zero.

    Example:
        >>> torch.logdet(torch.eye(2))
        tensor(0.)
    """
    sign, logarithm = _linalg().slogdet(input)
    result: Tensor = logarithm.masked_fill(sign < 0, float("nan"))
    return result


@domain("input=definite(a, b, b); input=definite(b, b), upper=True")
def cholesky(input: Tensor, upper: bool = False, *, out: Tensor | None = None) -> Tensor:
    """The Cholesky factor: `clew.linalg.cholesky`. PyTorch warns that it is deprecated.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings(action="ignore"):
        ...     torch.cholesky(torch.tensor([[4.0, 2.0], [2.0, 5.0]]))
        tensor([[2., 0.],
                [1., 2.]])
    """
    if not input.numel():
        result: Tensor = filled("cholesky", input.clone(), out)
    else:
        result = _linalg().cholesky(input, upper=upper, out=out)
    return result


@domain("input=real(b, a), input2=dominant(b, b); input=real(a, b, a), input2=dominant(a, b, b), upper=True")
def cholesky_solve(input: Tensor, input2: Tensor, upper: bool = False, *, out: Tensor | None = None) -> Tensor:
    """Solve `A X = input` with the Cholesky factor of A.

    Args:
        input: shape (*, n, k).
        input2: L with `L @ L.mT == A`, of shape (*, n, n), or with `upper=True` its transpose.

    Returns:
        X, of shape (*, n, k); the batches are broadcast.

    Example:
        >>> torch.cholesky_solve(torch.ones(1, 1), torch.tensor([[2.0]]))
        tensor([[0.2500]])
    """
    linalg = _linalg()
    lower = input2.mT if upper else input2
    half = linalg.solve_triangular(lower, input, upper=False)
    result: Tensor = linalg.solve_triangular(lower.mT, half, upper=True, out=out)
    return result


@domain("input=dominant(b, b); input=dominant(a, b, b), upper=True")
def cholesky_inverse(input: Tensor, upper: bool = False, *, out: Tensor | None = None) -> Tensor:
    """The inverse of the matrix whose Cholesky factor is given: L with `L @ L.mT`, or with `upper=True` its transpose.

    Example:
        >>> torch.cholesky_inverse(torch.tensor([[2.0]]))
        tensor([[0.2500]])
    """
    checks = _linalg("._checks")
    checks.check_square("cholesky_inverse", input)
    if not input.is_meta:
        zeros = _core.tensor(_linalg("._arrays").zero_on_diagonal(array_of(input)))
        checks.check_info("cholesky_inverse", zeros, _linalg("._systems")._SINGULAR)
    lower = input.mT if upper else input
    root = _linalg().solve_triangular(lower, eye(input.shape[-1], dtype=input.dtype, device=input.device), upper=False)
    result: Tensor = filled("cholesky_inverse", root.mT @ root, out)
    return result


@domain("b=real(b, a), A=dominant(b, b); b=real(b, a), A=dominant(b, b), upper=False, transpose=True")
def triangular_solve(
    b: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> triangular_solve_result:
    """Solve `A X = b` for triangular A, or `A.mT X = b`: `clew.linalg.solve_triangular` with the solution, and A.

    Example:
        >>> X, A = torch.triangular_solve(torch.tensor([[6.0]]), torch.tensor([[2.0]]))
        >>> X
        tensor([[3.]])
    """
    linalg = _linalg()
    matrix = A.mT if transpose else A
    solution = linalg.solve_triangular(matrix, b, upper=upper != transpose, unitriangular=unitriangular)
    return triangular_solve_result(solution, A.expand(*solution.shape[:-2], *A.shape[-2:]).clone())


@domain("b=real(b, a), LU_data=dominant(b, b), LU_pivots=index(1, b).astype('int32') + b")
def lu_solve(b: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Solve `A X = b` with the LU decomposition of A: `clew.linalg.lu_solve`. PyTorch warns that it is deprecated.

    Example:
        >>> import warnings
        >>> LU, pivots = torch.linalg.lu_factor(torch.tensor([[0.0, 1.0], [2.0, 0.0]]))
        >>> with warnings.catch_warnings(action="ignore"):
        ...     torch.lu_solve(torch.tensor([[1.0], [4.0]]), LU, pivots)
        tensor([[2.],
                [1.]])
    """
    result: Tensor = _linalg().lu_solve(LU_data, LU_pivots, b, out=out)
    return result


@domain("LU_data=real(c, b), LU_pivots=index(1, b).astype('int32') + b")
def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True) -> Any:
    """The matrices P, L and U of the packed form that `clew.linalg.lu_factor` gives, with `P @ L @ U` the original.

    Args:
        unpack_data: False leaves L and U empty.
        unpack_pivots: False leaves P empty.

    Raises:
        RuntimeError: the pivots are not int32.

    Example:
        >>> P, L, U = torch.lu_unpack(*torch.linalg.lu_factor(torch.tensor([[0.0, 1.0], [2.0, 3.0]])))
        >>> P
        tensor([[0., 1.],
                [1., 0.]])
    """
    _linalg("._checks").check_matrices("lu_unpack", LU_data, "LU", floating=False)
    if unpack_pivots and LU_pivots.dtype != _core.dtypes["int32"]:
        raise RuntimeError(
            f"lu_unpack: LU_pivots is expected to be of torch.int32 dtype, got {LU_pivots.dtype}; cast it"
        )
    return _linalg("._lu").unpacked(LU_data, LU_pivots, unpack_data, unpack_pivots)


# ------------------------------------------------------------------------------------------------------- factorizations
@domain("input=real(a, c, b)")
def qr(input: Tensor, some: bool = True, *, out: tuple[Tensor, Tensor] | None = None) -> Any:
    """The QR decomposition: `clew.linalg.qr`, complete with `some=False`.

    Example:
        >>> Q, R = torch.qr(torch.eye(3)[:, :2], some=False)
        >>> Q.shape, R.shape
        (torch.Size([3, 3]), torch.Size([3, 2]))
    """
    return _linalg().qr(input, "reduced" if some else "complete", out=out)


@domain("unsampled, 'signs of vectors are arbitrary: _linalg_svd is sampled'")
def svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> svd_result:
    """The singular value decomposition `input = U @ diag(S) @ V.mT`: `clew.linalg.svd` with V instead of its transpose.

    Args:
        some: leave out the vectors beyond the smaller size.
        compute_uv: False gives zeros for U and V.

    Example:
        >>> torch.svd(torch.tensor([[3.0, 0.0], [0.0, 4.0]])).S
        tensor([4., 3.])
    """
    linalg = _linalg()
    _linalg("._checks").check_matrices("linalg.svd", input)
    if not compute_uv:
        rows, columns = input.shape[-2:]
        batch = input.shape[:-2]
        return svd_result(
            input.new_zeros(*batch, rows, rows), linalg.svdvals(input), input.new_zeros(*batch, columns, columns)
        )
    U, S, Vh = linalg.svd(input, not some)
    return svd_result(U, S, Vh.mT)


@domain("input=unit(a, c, b), input2=fraction(a, a)")
def orgqr(input: Tensor, input2: Tensor) -> Tensor:
    """A product of Householder reflectors: `clew.linalg.householder_product`.

    Example:
        >>> torch.orgqr(torch.tensor([[0.0], [1.0]]), torch.tensor([1.0]))
        tensor([[ 0.],
                [-1.]])
    """
    result: Tensor = _linalg().householder_product(input, input2)
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
    result: Tensor = _linalg().matrix_power(input, n, out=out)
    return result


@domain("input=unit(a, b, b)")
def matrix_exp(input: Tensor) -> Tensor:
    """The exponential of each matrix: `clew.linalg.matrix_exp`.

    Example:
        >>> torch.matrix_exp(torch.zeros(2, 2))
        tensor([[1., 0.],
                [0., 1.]])
    """
    result: Tensor = _linalg().matrix_exp(input)
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
    result: Tensor = _linalg().multi_dot(matrices, out=out) if len(matrices) > 1 else matrices[0]
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
    result: Tensor = _linalg().cross(input, other, dim=dim, out=out)
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
    result: Tensor = _linalg().matrix_norm(input, "nuc", dim, keepdim, out=out)
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
    result: Tensor = _linalg().vector_norm(input, 2, dim, keepdim, out=out)
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
