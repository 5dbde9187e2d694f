"""``clew run SCRIPT``: run a script as Python does; with ``--as-torch`` one that was written for PyTorch."""

from __future__ import annotations

import argparse
import sys

from . import script
from .script import add_arguments

__all__ = ["add_arguments", "main"]


def main(options: argparse.Namespace) -> int:
    """Run it. Returns the script's exit code, or 2 if it is not a script."""
    try:
        loaded = script.load(options)
    except script.NotAScript as error:
        print(f"clew run: {error}", file=sys.stderr)
        return 2
    ending = script.run(loaded, options.arguments)
    if isinstance(ending.error, KeyboardInterrupt):
        script.end_by_interrupt(ending.error)
    return ending.exit_code
