"""Fourier transforms along one axis."""

from __future__ import annotations

from .._core import Tensor
from .._domains import domain
from ._plans import points, promoted, real, to_complex, to_half, to_real

__all__ = ["fft", "hfft", "ifft", "ihfft", "irfft", "rfft"]


@domain("input=complex(a, b); input=real(a, b); input=real(a, b), n=2, dim=0, norm='ortho'")
def fft(
    input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The discrete Fourier transform: `X[k]`, the sum over j of `input[j] exp(-2πi jk/n)`.

    Args:
        input: real or complex, of at least one dimension. Integers count as the default dtype.
        n: the number of points: the input is cut, or zeros are added to it; its size unless given.
        dim: the axis.
        norm: "backward" (or None) divides nothing, "ortho" by the square root of n, "forward" by n. The inverse of
            the same name divides by the rest.

    Returns:
        Complex numbers of the input's precision.

    Raises:
        ImportError: SciPy, which computes it, is not installed.
        RuntimeError: no points, a norm or a dtype that there is not, or an `out` that is not complex.
        IndexError: there is no such axis.

    Example:
        >>> torch.fft.fft(torch.tensor([1.0, 2.0, 3.0, 4.0])).real
        tensor([10., -2., -2., -2.])
    """
    return to_complex("fft.fft", promoted("fft.fft", input), points("fft.fft", n), [dim], norm, True, out)


@domain("input=complex(a, b); input=real(a, b); input=complex(a, b), n=4, dim=0, norm='ortho'")
def ifft(
    input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The inverse of `fft`: the sum over k of `input[k] exp(2πi jk/n)`, divided by n.

    Arguments, results and errors are those of `fft`, but `norm`: "backward" divides by n, "forward" by nothing.

    Example:
        >>> torch.fft.ifft(torch.tensor([10 + 0j, -2 + 2j, -2, -2 - 2j]))
        tensor([1.+0.j, 2.+0.j, 3.+0.j, 4.+0.j])
    """
    return to_complex("fft.ifft", promoted("fft.ifft", input), points("fft.ifft", n), [dim], norm, False, out)


@domain("input=real(a, b); input=real(a, c); input=real(a, b), n=5, dim=0, norm='ortho'")
def rfft(
    input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The first `n // 2 + 1` numbers of the `fft` of real ones; the others are conjugates of these.

    Arguments and errors are those of `fft`; a complex input is refused with a RuntimeError.

    Example:
        >>> torch.fft.rfft(torch.tensor([1.0, 2.0, 3.0, 4.0]))
        tensor([10.+0.j, -2.+2.j, -2.+0.j])
    """
    return to_half("fft.rfft", real("fft.rfft", input), points("fft.rfft", n), [dim], norm, True, out)


@domain("input=complex(a, b); input=real(a, b), n=5; input=complex(a, b), n=4, dim=0, norm='forward'")
def irfft(
    input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The inverse of `rfft`: n real numbers from the first `n // 2 + 1` of their transform.

    Args:
        input: the half. The imaginary part of its first number, and for an even n of its last, is not read.
        n: the number of results; `2 * (size - 1)` unless given, so the inverse of an odd number needs it.
        dim, norm, out: as of `ifft`. `out` is real.

    Raises:
        RuntimeError: as of `fft`.

    Example:
        >>> torch.fft.irfft(torch.tensor([10 + 0j, -2 + 2j, -2]))
        tensor([1., 2., 3., 4.])
    """
    return to_real(
        "fft.irfft", promoted("fft.irfft", input, to_complex=True), points("fft.irfft", n), [dim], norm, False, out
    )


@domain("input=complex(a, b); input=real(a, b), n=5; input=complex(a, b), n=4, dim=0, norm='ortho'")
def hfft(
    input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The `fft` of n numbers whose second half is the conjugate of the first, from that first half: real numbers.

    Arguments and errors are those of `irfft`, and `norm` that of `fft`.

    Example:
        >>> torch.fft.hfft(torch.tensor([2.5 + 0j, -0.5 - 0.5j, -0.5]))
        tensor([1., 2., 3., 4.])
    """
    return to_real(
        "fft.hfft", promoted("fft.hfft", input, to_complex=True), points("fft.hfft", n), [dim], norm, True, out
    )


@domain("input=real(a, b); input=real(a, c); input=real(a, b), n=5, dim=0, norm='ortho'")
def ihfft(
    input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The inverse of `hfft`: the first `n // 2 + 1` numbers of the `ifft` of real ones.

    Arguments and errors are those of `rfft`, and `norm` that of `ifft`.

    Example:
        >>> torch.fft.ihfft(torch.tensor([1.0, 2.0, 3.0, 4.0]))
        tensor([ 2.5000-0.0000j, -0.5000-0.5000j, -0.5000-0.0000j])
    """
    return to_half("fft.ihfft", real("fft.ihfft", input), points("fft.ihfft", n), [dim], norm, False, out)
