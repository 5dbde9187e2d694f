"""SciPy, which few functions need: it is imported when one of them is called."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def scipy(module: str, who: str) -> Any:
    """A module of SciPy's, for the function `who`.

    Raises:
        ImportError: SciPy is not installed.
    """
    try:
        return import_module(f"scipy.{module}")
    except ModuleNotFoundError as error:
        raise ImportError(
            f"{who}: expected SciPy, which computes it, got {error}. To do: pip install 'clew[scipy]', or pip install "
            "scipy",
            name="scipy",
        ) from None
