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
