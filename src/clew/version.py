"""Versions, under the names of `torch.version`: the PyTorch that clew follows, and clew's own behind the plus sign."""

from __future__ import annotations

import re
from typing import Any

from . import __version__ as _clew_version

__all__ = ["TorchVersion", "cuda", "debug", "git_version", "hip", "xpu"]


class TorchVersion(str):
    """A version as a string that compares by numbers, with another such string or with a tuple.

    Example:
        >>> clew.version.TorchVersion("2.13.0+clew0.1.0") >= (2, 4), clew.version.TorchVersion("2.13.0") > "2.9.1"
        (True, True)
    """

    __slots__ = ()

    def __new__(cls, version: object = "") -> TorchVersion:
        return super().__new__(cls, version)

    def _numbers(self, other: Any) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        if not isinstance(other, str | tuple | list):
            return None
        (own, late), (others, later) = _numbers(self), _numbers(other)
        length = max(len(own), len(others))
        return (*own, *[0] * (length - len(own)), late), (*others, *[0] * (length - len(others)), later)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str) and "+" in other:
            return str.__eq__(self, other)
        both = self._numbers(other)
        return both is not None and both[0] == both[1]

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__

    def __lt__(self, other: Any) -> bool:
        both = self._numbers(other)
        return NotImplemented if both is None else both[0] < both[1]

    def __gt__(self, other: Any) -> bool:
        both = self._numbers(other)
        return NotImplemented if both is None else both[0] > both[1]

    def __le__(self, other: Any) -> bool:
        return not self > other

    def __ge__(self, other: Any) -> bool:
        return not self < other


def _numbers(version: str | tuple[Any, ...] | list[Any]) -> tuple[tuple[int, ...], int]:
    """The numbers of a release; and whether a version comes before it ("rc1": -1) or after it ("+cpu", "post1": 1)."""
    text = version if isinstance(version, str) else ".".join(map(str, version))
    release, rest = re.match(r"v?([\d.]*)(.*)", text).groups()  # type: ignore[union-attr]  # it matches any text
    return tuple(map(int, release.strip(".").split("."))), bool(rest) * (1 if rest[:1] == "+" or "post" in rest else -1)


PYTORCH = "2.13.0"
__version__ = TorchVersion(f"{PYTORCH}+clew{_clew_version}")
git_version: str | None = None
debug = False
cuda: str | None = None
hip: str | None = None
xpu: str | None = None
