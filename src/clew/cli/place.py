"""A line of the user's code as it is given on the command line: ``46``, ``digits.py:46``, ``digits.py:46 in main``."""

from __future__ import annotations

import argparse
import os
import re
from dataclasses import dataclass

_FORM = re.compile(r"(?:(?P<file>.+):)?(?P<line>\d+)(?: in .*)?")


@dataclass(frozen=True, slots=True)
class At:
    """A line; ``file`` is a path or the end of one."""

    file: str
    line: int

    @classmethod
    def parse(cls, text: str) -> At:
        """
        Example:
            >>> At.parse("digits.py:46 in train_step")
            At(file='digits.py', line=46)
        """
        found = _FORM.fullmatch(text.strip())
        if found is None:
            raise argparse.ArgumentTypeError(f"expected LINE or FILE:LINE, such as 46 or digits.py:46, got {text!r}")
        return cls(found["file"] or "", int(found["line"]))

    def within(self, script: str) -> At:
        """The line of this script, if its file is the script or none was named."""
        return At(script, self.line) if self.matches(script, self.line) else self

    def matches(self, file: str, line: int) -> bool:
        """Whether it is that line."""
        path = os.path.normpath(self.file) if self.file else ""
        return line == self.line and (path in ("", file) or file.endswith(os.sep + path.lstrip(os.sep)))

    @property
    def exact(self) -> tuple[str, int] | None:
        """File and line for the engine, which compares whole paths; None: only the end of the path is known."""
        return (self.file, self.line) if os.path.isabs(self.file) or self.file.startswith("<") else None

    def __str__(self) -> str:
        return f"{os.path.basename(self.file)}:{self.line}"
