"""Standard output, whose reader may go before the end."""

from __future__ import annotations

import os
import sys


def flush() -> None:
    """Write what waits, unless the script has closed it."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and not stream.closed:
            stream.flush()


def drop_the_rest() -> None:
    """What is still written goes nowhere, so that the interpreter's end does not complain of it."""
    if sys.__stdout__ is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno())
