"""Lines of the user's code, and the calls there that freed something, as copies that outlive the graph."""

from __future__ import annotations

import linecache
import os
from dataclasses import dataclass
from types import FrameType

from ..._cells import place_text, site_text
from .notebook import Shown
from .records import Release, Site


@dataclass(frozen=True, slots=True)
class Place(Shown):
    """A line of the user's code. ``str`` gives ``train.py:5 in main``.

    Example:
        >>> x = clew.ones(1000, requires_grad=True)
        >>> loss = (x * x).sum()
        >>> type(clew.explain(loss).nodes[0].made_at).__name__
        'Place'
    """

    file: str
    line: int
    function: str

    @classmethod
    def of(cls, site: Site | None) -> Place | None:
        """Copy what the engine tells, so that the record outlives the graph."""
        return None if site is None else cls(site.file, site.line, site.function)

    @classmethod
    def of_frame(cls, frame: FrameType) -> Place:
        """The line that a frame is at."""
        return cls(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_qualname)

    @property
    def source(self) -> str:
        """The text of the line, without indentation; empty when the file cannot be read."""
        return linecache.getline(self.file, self.line).strip()

    @property
    def short(self) -> str:
        """``train.py:5``, or ``Cell In[4], line 5`` of a notebook."""
        return place_text(self.file, self.line)

    @property
    def full(self) -> str:
        """``/home/me/train.py:5 in main``; of a notebook's cell as :attr:`short`."""
        in_file = f"{os.path.basename(self.file)}:{self.line}"
        return f"{self.file}:{self.line} in {self.function}" if self.short == in_file else str(self)

    def __str__(self) -> str:
        return site_text(self.file, self.line, self.function)


@dataclass(frozen=True, slots=True)
class ReleaseRecord(Shown):
    """The call that freed what a node had saved.

    Example:
        >>> x = clew.ones(1000, requires_grad=True)
        >>> loss = (x * x).sum()
        >>> loss.backward()
        >>> clew.explain(loss).nodes[1].released.call
        'backward'
    """

    kind: str
    place: Place | None
    serial: int

    @classmethod
    def of(cls, release: Release) -> ReleaseRecord:
        """Copy what the engine tells."""
        return cls(release.kind, Place.of(release.site), release.serial)

    @property
    def call(self) -> str:
        """The call's name as the user writes it."""
        return "autograd.grad" if self.kind == "grad" else self.kind

    def __str__(self) -> str:
        return f"{self.call}() at {self.place}" if self.place else f"{self.call}()"
