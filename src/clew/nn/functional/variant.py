"""The in-place variants of native functions."""

from __future__ import annotations

from collections.abc import Callable

import clew
from clew import Tensor


def variant(name: str, inplace: bool) -> Callable[..., Tensor]:
    """`clew.<name>` or, if `inplace`, `clew.<name>_`.

    Raises:
        NotImplementedError: there is no in-place variant.
    """
    function: Callable[..., Tensor] | None = getattr(clew, name + "_" if inplace else name, None)
    if function is None:
        raise NotImplementedError(f"{name}: inplace=True is not supported; leave inplace off")
    return function
