"""What a target can't express."""

from __future__ import annotations


class Unsupported(Exception):
    """Why a step can't be lowered. Whoever knows the step says which, and where."""


def missing_package(method: str, package: str) -> ImportError:
    return ImportError(f"{method}: needs the package {package}; pip install 'clew[{package}]'")
