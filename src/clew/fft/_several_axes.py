"""Fourier transforms along several axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from textwrap import indent
from typing import Protocol

from .._core import Tensor
from .._domains import domain
from ._plans import Sizes, promoted, real, to_complex, to_half, to_real

__all__ = [
    *("fft2", "fftn", "hfft2", "hfftn", "ifft2", "ifftn", "ihfft2", "ihfftn", "irfft2", "irfftn", "rfft2", "rfftn"),
]
_LAST_TWO = (-2, -1)


@domain("input=complex(a, b, c); input=real(a, b); input=complex(a, b, c), s=(3, 2), dim=(2, 0), norm='ortho'")
def fftn(
    input: Tensor, s: Sizes = None, dim: Sizes = None, norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The discrete Fourier transform along several axes: `fft` along each of them in turn.

    Args:
        input: real or complex. Integers count as the default dtype.
        s: the numbers of points along the axes: the input is cut, or zeros are added to it. -1 stands for the input's
            size, as None does for all.
        dim: the axes; if they are not given, as many of the last as there are sizes, or all.
        norm: "backward" (or None) divides nothing, "ortho" by the square root of the number of all points, "forward"
            by that number. The inverse of the same name divides by the rest.

    Returns:
        Complex numbers of the input's precision.

    Raises:
        ImportError: SciPy, which computes it, is not installed.
        RuntimeError: no points, not as many sizes as axes, an axis twice, a norm or a dtype that there is not, or an
            `out` that is not complex.
        IndexError: there is no such axis.

    Example:
        >>> torch.fft.fftn(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
        tensor([[10.+0.j, -2.+0.j],
                [-4.+0.j,  0.+0.j]])
    """
    return to_complex("fft.fftn", promoted("fft.fftn", input, to_complex=True), s, dim, norm, True, out)


@domain("input=complex(a, b, c); input=real(a, b); input=complex(a, b, c), s=(3, 2), dim=(2, 0), norm='forward'")
def ifftn(
    input: Tensor, s: Sizes = None, dim: Sizes = None, norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The inverse of `fftn`. Arguments, results and errors are those of `fftn`, and `norm` as for `ifft`.

    Example:
        >>> torch.fft.ifftn(torch.tensor([[10.0, -2.0], [-4.0, 0.0]]))
        tensor([[1.+0.j, 2.+0.j],
                [3.+0.j, 4.+0.j]])
    """
    return to_complex("fft.ifftn", promoted("fft.ifftn", input, to_complex=True), s, dim, norm, False, out)


@domain("input=real(a, b, c); input=real(a, b); input=real(a, b, c), s=(3, 2), dim=(2, 0), norm='ortho'")
def rfftn(
    input: Tensor, s: Sizes = None, dim: Sizes = None, norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """`fftn` of real numbers; along the last of the axes only the first `n // 2 + 1` numbers.

    Arguments and errors are those of `fftn`; a complex input, or no axis at all, is refused with a RuntimeError.

    Example:
        >>> torch.fft.rfftn(torch.tensor([[1.0, 2.0, 3.0], [3.0, 4.0, 5.0]])).shape
        torch.Size([2, 2])
    """
    return to_half("fft.rfftn", real("fft.rfftn", input), s, dim, norm, True, out)


@domain("input=complex(a, b, c); input=real(a, b); input=complex(a, b, c), s=(5, 2), dim=(2, 0), norm='ortho'")
def irfftn(
    input: Tensor, s: Sizes = None, dim: Sizes = None, norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The inverse of `rfftn`: real numbers.

    Args:
        input: the half of the transform.
        s: the sizes of the result; along the last axis `2 * (size - 1)` unless given, so the inverse of an odd number
            needs it.
        dim, norm, out: as of `ifftn`. `out` is real.

    Raises:
        RuntimeError: as of `fftn`; or there is no axis.

    Example:
        >>> values = torch.tensor([[1.0, 2.0, 3.0], [3.0, 4.0, 5.0]])
        >>> torch.fft.irfftn(torch.fft.rfftn(values), s=(2, 3)).allclose(values)
        True
    """
    return to_real("fft.irfftn", promoted("fft.irfftn", input, to_complex=True), s, dim, norm, False, out)


@domain("input=complex(a, b, c); input=real(a, b); input=complex(a, b, c), s=(5, 2), dim=(2, 0), norm='ortho'")
def hfftn(
    input: Tensor, s: Sizes = None, dim: Sizes = None, norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """`fftn` of numbers that turn into their conjugates where all axes are reversed, from their first half.

    Arguments and errors are those of `irfftn`, and `norm` that of `fftn`.

    Example:
        >>> torch.fft.hfftn(torch.tensor([[2.5, -0.5], [0.0, 0.0]]))
        tensor([[2., 3.],
                [2., 3.]])
    """
    return to_real("fft.hfftn", promoted("fft.hfftn", input, to_complex=True), s, dim, norm, True, out)


@domain("input=real(a, b, c); input=real(a, b); input=real(a, b, c), s=(3, 2), dim=(2, 0), norm='ortho'")
def ihfftn(
    input: Tensor, s: Sizes = None, dim: Sizes = None, norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The inverse of `hfftn`: of the `ifftn` of real numbers the first half along the last axis.

    Arguments and errors are those of `rfftn`, and `norm` that of `ifftn`.

    Example:
        >>> torch.fft.ihfftn(torch.tensor([[2.0, 3.0], [2.0, 3.0]])).real
        tensor([[ 2.5000, -0.5000],
                [ 0.0000,  0.0000]])
    """
    return to_half("fft.ihfftn", real("fft.ihfftn", input), s, dim, norm, False, out)


# ------------------------------------------------------------------------------------------------------------- two axes
class AlongTwo(Protocol):
    """A transform along two axes."""

    def __call__(
        self,
        input: Tensor,
        s: Sizes = None,
        dim: int | Sequence[int] = _LAST_TWO,
        norm: str | None = None,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...


def _along_two(transform: Callable[..., Tensor], where: str, example: str) -> AlongTwo:
    @domain(where)
    def along_two(
        input: Tensor,
        s: Sizes = None,
        dim: int | Sequence[int] = _LAST_TWO,
        norm: str | None = None,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        return transform(input, s, dim, norm, out=out)

    name = transform.__name__
    along_two.__name__ = along_two.__qualname__ = name.removesuffix("n") + "2"
    along_two.__doc__ = (
        f"`{name}` along the last two axes, unless others are given.\n\nExample:\n{indent(example, '    ')}"
    )
    return along_two


fft2 = _along_two(
    fftn,
    "input=complex(a, b, c); input=real(a, b), s=(3, 2)",
    """>>> torch.fft.fft2(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
tensor([[10.+0.j, -2.+0.j],
        [-4.+0.j,  0.+0.j]])
""",
)
ifft2 = _along_two(
    ifftn,
    "input=complex(a, b, c); input=real(a, b), s=(3, 2)",
    """>>> torch.fft.ifft2(torch.tensor([[10.0, -2.0], [-4.0, 0.0]]))
tensor([[1.+0.j, 2.+0.j],
        [3.+0.j, 4.+0.j]])
""",
)
rfft2 = _along_two(
    rfftn,
    "input=real(a, b, c); input=real(a, b), s=(3, 2)",
    """>>> torch.fft.rfft2(torch.tensor([[1.0, 2.0, 3.0], [3.0, 4.0, 5.0]])).shape
torch.Size([2, 2])
""",
)
irfft2 = _along_two(
    irfftn,
    "input=complex(a, b, c); input=real(a, b), s=(3, 2)",
    """>>> torch.fft.irfft2(torch.tensor([[10.0, -2.0], [-4.0, 0.0]]))
tensor([[1., 2.],
        [3., 4.]])
""",
)
hfft2 = _along_two(
    hfftn,
    "input=complex(a, b, c); input=real(a, b), s=(3, 2)",
    """>>> torch.fft.hfft2(torch.tensor([[2.5, -0.5], [0.0, 0.0]]))
tensor([[2., 3.],
        [2., 3.]])
""",
)
ihfft2 = _along_two(
    ihfftn,
    "input=real(a, b, c); input=real(a, b), s=(3, 2)",
    """>>> torch.fft.ihfft2(torch.tensor([[2.0, 3.0], [2.0, 3.0]])).real
tensor([[ 2.5000, -0.5000],
        [ 0.0000,  0.0000]])
""",
)
