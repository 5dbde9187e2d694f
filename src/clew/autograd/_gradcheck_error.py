"""The error of `gradcheck`, below the checks that raise it and the functions that run them."""

from __future__ import annotations


class GradcheckError(RuntimeError):
    """What `gradcheck` and `gradgradcheck` raise when a derivative is wrong."""

    __module__ = "clew.autograd.gradcheck"  # where users find it
