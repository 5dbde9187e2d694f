"""Fourier transforms of short pieces of a signal, and their inverse."""

from __future__ import annotations

import warnings
from typing import Any

from .. import _core
from .._core import Tensor
from .._domains import domain
from .._methods import publish
from ..nn.functional import pad
from ..ops.ranges import arange
from ._one_axis import fft, ifft, irfft, rfft

__all__ = ["istft", "stft"]

_ops: Any = _core.ops


def _frame_window(name: str, n_fft: int, hop: int, length: int, window: Tensor | None, like: Tensor) -> Tensor:
    """The window, with zeros around it up to `n_fft`."""
    if n_fft <= 0 or hop <= 0 or not 0 < length <= n_fft:
        raise RuntimeError(
            f"{name}: expected n_fft > 0, hop_length > 0 and 0 < win_length <= n_fft, got {n_fft}, {hop} and {length}"
        )
    if window is None:
        window = like.new_ones(length)
    elif tuple(window.shape) != (length,):
        raise RuntimeError(f"{name}: expected a window of shape [{length}], got {list(window.shape)}")
    left = (n_fft - length) // 2
    return pad(window, (left, n_fft - length - left))


@domain(
    "input=real(a, 10), n_fft=4, return_complex=True; "
    "input=real(9), n_fft=5, hop_length=2, win_length=3, window=positive(3), normalized=True, return_complex=True; "
    "input=real(9), n_fft=4, center=False, onesided=False, return_complex=True"
)
def stft(
    input: Tensor, n_fft: int, hop_length: int | None = None, win_length: int | None = None,
    window: Tensor | None = None, center: bool = True, pad_mode: str = "reflect", normalized: bool = False,
    onesided: bool | None = None, return_complex: bool | None = None, align_to_window: bool | None = None,
) -> Tensor:  # fmt: skip
    """Fourier transforms of overlapping pieces of signals: X[f, t] = sum of w[k] x[t hop + k] exp(-2πi f k / n_fft).

    Args:
        input: signals (L) or (B, L).
        n_fft: the length of a piece.
        hop_length: how far apart pieces begin; n_fft // 4 by default.
        win_length: the length of the window, `n_fft` by default.
        window: factors of a piece's elements, (win_length); ones by default.
        center: begin n_fft // 2 before the signal, padded as `pad_mode` says (see `nn.functional.pad`).
        normalized: divide by sqrt(n_fft).
        onesided: only frequencies up to n_fft // 2; the default for real signals.
        return_complex: has to be given for real signals; False gives real and imaginary parts as a last axis of 2.
        align_to_window: without `center`, the first window begins with the signal; else its piece of n_fft does.

    Returns:
        (F, T) or (B, F, T).

    Raises:
        RuntimeError: shapes or lengths do not fit, `return_complex` is not given, or both `center` and
            `align_to_window` are.

    Example:
        >>> torch.stft(torch.ones(4), 2, hop_length=2, center=False, return_complex=True)
        tensor([[2.+0.j, 2.+0.j],
                [0.+0.j, 0.+0.j]])
    """
    is_complex = input.is_complex() or (window is not None and window.is_complex())
    if return_complex is None and not is_complex:
        raise RuntimeError(
            "stft requires the return_complex parameter be given for real inputs, and will further require that "
            "return_complex=True in a future PyTorch release."
        )
    if center and align_to_window is not None:
        raise RuntimeError("stft align_to_window should only be set when center = false")
    hop = n_fft // 4 if hop_length is None else hop_length
    if input.dim() not in (1, 2) or not (input.is_floating_point() or input.is_complex()):
        raise RuntimeError(f"stft: expected floating signals (L) or (B, L), got {input.dtype} of {list(input.shape)}")
    length = n_fft if win_length is None else win_length
    window = _frame_window("stft", n_fft, hop, length, window, input)
    signal = input if input.dim() == 2 else input.unsqueeze(0)
    if center:
        signal = pad(signal.unsqueeze(1), (n_fft // 2, n_fft // 2), pad_mode).squeeze(1)
    if signal.shape[1] < n_fft:
        raise RuntimeError(f"stft: expected 0 < n_fft <= {signal.shape[1]}, the padded length, got n_fft={n_fft}")
    if align_to_window:
        left = (n_fft - length) // 2
        signal = pad(signal, (left, n_fft - length - left))
    pieces = signal.unfold(-1, n_fft, hop) * window
    onesided = not is_complex if onesided is None else onesided
    if onesided and is_complex:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    result = (rfft if onesided else fft)(pieces, norm="ortho" if normalized else None).mT
    if input.dim() == 1:
        result = result.squeeze(0)
    if return_complex is False:
        warnings.warn(
            "stft with return_complex=False is deprecated. In a future pytorch release, stft will return complex "
            "tensors for all inputs, and return_complex=False will raise an error.",
            stacklevel=2,
        )
        parts: Tensor = _ops.view_as_real(result)
        return parts
    return result


@domain("unsampled, 'only some complex arrays are transforms of signals'")
def istft(
    input: Tensor, n_fft: int, hop_length: int | None = None, win_length: int | None = None,
    window: Tensor | None = None, center: bool = True, normalized: bool = False, onesided: bool | None = None,
    length: int | None = None, return_complex: bool = False,
) -> Tensor:  # fmt: skip
    """The signals whose `stft` is nearest to `input`, by least squares: overlapping pieces are added and weighed.

    Args:
        input: (F, T) or (B, F, T), complex.
        length: the length of the signals; by default what the pieces cover.
        return_complex: whether the signals are complex; then all frequencies are needed.
        n_fft, hop_length, win_length, window, center, normalized, onesided: as of `stft`.

    Returns:
        (L) or (B, L).

    Raises:
        RuntimeError: shapes or lengths do not fit, or the windows leave a gap.

    Example:
        >>> x = torch.arange(6.0)
        >>> torch.istft(torch.stft(x, 4, return_complex=True), 4)
        tensor([0., 1., 2., 3., 4., 5.])
    """
    hop = n_fft // 4 if hop_length is None else hop_length
    if not input.is_complex() or input.dim() not in (2, 3) or 0 in input.shape:
        raise RuntimeError(
            f"istft: expected complex transforms (F, T) or (B, F, T), got {input.dtype} of {list(input.shape)}"
        )
    onesided = input.shape[-2] != n_fft if onesided is None else onesided
    if input.shape[-2] != (n_fft // 2 + 1 if onesided else n_fft):
        raise RuntimeError(
            f"istft: expected {n_fft // 2 + 1 if onesided else n_fft} frequencies, got {input.shape[-2]}; see onesided"
        )
    if return_complex and onesided:
        raise RuntimeError("cannot have onesided input when return_complex is true")
    window = _frame_window("istft", n_fft, hop, n_fft if win_length is None else win_length, window, input.real)
    norm = "ortho" if normalized else None
    spectra = (input if input.dim() == 3 else input.unsqueeze(0)).mT
    if onesided:
        pieces = irfft(spectra, n_fft, norm=norm)
    else:
        pieces = ifft(spectra, norm=norm)
        pieces = pieces if return_complex else pieces.real
    count = spectra.shape[1]
    covered = n_fft + hop * (count - 1)
    places = (arange(count).unsqueeze(1) * hop + arange(n_fft)).flatten()
    signal = pieces.new_zeros(pieces.shape[0], covered).index_add(1, places, (pieces * window).flatten(1))
    weight = window.new_zeros(covered).index_add(0, places, (window * window.conj()).repeat(count))
    begin = n_fft // 2 if center else 0
    end = begin + length if length is not None else covered - begin
    signal, weight = signal[:, begin:end], weight[begin:end]
    if weight.numel() and bool(weight.abs().min() <= 1e-11):
        raise RuntimeError(
            f"istft: expected windows that overlap everywhere, got a sum of squares of {float(weight.abs().min())} "
            "somewhere; use another window or hop_length"
        )
    signal = signal / weight
    if length is not None and signal.shape[1] < length:
        signal = pad(signal, (0, length - signal.shape[1]))
    return signal if input.dim() == 3 else signal.squeeze(0)


publish(__all__, globals(), __name__)
