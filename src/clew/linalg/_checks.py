"""What the functions of clew.linalg share: checks of their arguments, the error of matrices, the identity."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._core import Tensor
from .._size import broadcast_shapes
from ..ops.creation import eye


class LinAlgError(RuntimeError):
    """A matrix for which there is no result: singular, or not positive-definite.

    Example:
        >>> try:
        ...     torch.linalg.inv(torch.zeros(2, 2))
        ... except torch.linalg.LinAlgError as error:
        ...     print(str(error)[:42])
        linalg.inv: The diagonal element 1 is zero
    """

    __module__ = "clew.linalg"


def check_tensor(name: str, argument: str, value: Any) -> None:
    if not isinstance(value, Tensor):
        raise TypeError(f"{name}(): argument '{argument}' must be Tensor, not {type(value).__name__}")


def check_floating(name: str, *tensors: Tensor, complex: bool = False) -> None:
    for x in tensors:
        check_tensor(name, "A", x)
        if x.is_complex() and not complex:
            raise NotImplementedError(f"{name}: complex matrices are not supported yet; got {x.dtype}")
        if not (x.dtype.is_floating_point or x.is_complex()):
            raise RuntimeError(
                f"{name}: Expected a floating point or complex tensor as input. Got {x.dtype}; cast it by .to(...)"
            )
    if any(x.dtype != tensors[0].dtype for x in tensors):
        kinds = " and ".join(str(x.dtype) for x in tensors)
        raise RuntimeError(f"{name}: Expected tensors of the same dtype, but got {kinds} instead")


def check_matrices(name: str, A: Tensor, argument: str = "A", *, floating: bool = True) -> None:
    check_tensor(name, argument, A)
    if floating:
        check_floating(name, A)
    if A.dim() < 2:
        raise RuntimeError(
            f"{name}: The input tensor {argument} must have at least 2 dimensions, got shape {list(A.shape)}"
        )


def check_square(name: str, A: Tensor, argument: str = "A", *, floating: bool = True) -> None:
    check_matrices(name, A, argument, floating=floating)
    rows, columns = A.shape[-2:]
    if rows != columns:
        raise RuntimeError(
            f"{name}: {argument} must be batches of square matrices, but they are {rows} by {columns} matrices"
        )


def check_info(name: str, info: Tensor, message: str) -> None:
    """Raise for the first matrix whose `info` is not 0, which `message` gets as `index`.

    Raises:
        LinAlgError: there is one.
    """
    while _core.batch_of(info):  # under vmap: of all samples
        info = _core.batch_value(info)
    if info.is_meta or not info.any():
        return
    codes = info.reshape(-1).tolist()
    place = next(i for i, code in enumerate(codes) if code)
    batch = f"(Batch element {place}): " if info.dim() else ""
    raise LinAlgError(f"{name}: {batch}{message.format(index=codes[place])}")


def identity_like(like: Tensor, rows: int, columns: int) -> Tensor:
    """Ones on the diagonal, of the dtype of `like`."""
    return eye(rows, columns, dtype=like.dtype, device=like.device)


# ------------------------------------------------------------------------ results without values, for operation(infer=)
def info_like(A: Tensor) -> Tensor:
    """An empty tensor for a number that tells what is wrong with each matrix."""
    return A.new_empty(A.shape[:-2], dtype=_core.dtypes["int32"])


def solution_like(A: Tensor, B: Tensor, left: bool) -> Tensor:
    """An empty tensor for the X with A X = B, or X A = B."""
    if A.shape[-1] != A.shape[-2] or B.shape[-2 if left else -1] != A.shape[-1]:
        raise RuntimeError(f"linalg.solve: expected matching matrices, got {list(A.shape)} and {list(B.shape)}")
    return B.new_empty((*broadcast_shapes(A.shape[:-2], B.shape[:-2]), *B.shape[-2:]))
