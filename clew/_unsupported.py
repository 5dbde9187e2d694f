"""Names that PyTorch has and clew has not, or not yet: asking for one says so instead of "no attribute"."""

from __future__ import annotations


class UnsupportedError(NotImplementedError, AttributeError):
    """PyTorch has this name, clew has not.

    It is an `AttributeError` too, so that `hasattr` answers False.

    >>> import clew
    >>> hasattr(clew, "compile")
    False
    """


def unsupported(name: str, instead: str = "") -> UnsupportedError:
    """The error for a name of PyTorch's, written as users write it (`torch.compile` is `compile`)."""
    return UnsupportedError(f"{name}: clew does not support it yet" + (f"; {instead}" if instead else ""))


# What scripts are likely to ask for. Other names are plain AttributeErrors.
PYTORCHS = frozenset(
    [
        "Event",
        "Stream",
        "amp",
        "ao",
        "autocast",
        "compile",
        "compiler",
        "distributed",
        "distributions",
        "export",
        "fft",
        "func",
        "fx",
        "hub",
        "istft",
        "jit",
        "linalg",
        "mps",
        "multiprocessing",
        "onnx",
        "profiler",
        "quantization",
        "sparse",
        "sparse_coo_tensor",
        "sparse_csr_tensor",
        "special",
        "stft",
        "vmap",
        "xpu",
    ]
)
