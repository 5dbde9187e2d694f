"""``clew run SCRIPT``: run a script as Python does; with ``--as-torch`` one that was written for PyTorch."""

from __future__ import annotations

import argparse
import sys

from . import script
from .script import add_arguments

__all__ = ["DESCRIPTION", "HELP", "add_arguments", "main"]

HELP = "run a script; with --as-torch one that was written for PyTorch"
DESCRIPTION = "Run a Python script as Python does. With --as-torch, `import torch` means clew in it."


def main(options: argparse.Namespace) -> int:
    """Run it. Returns the script's exit code, or 2 if it is not a script."""
    try:
        loaded = script.load(options)
    except script.NotAScript as error:
        print(f"clew run: {error}", file=sys.stderr)
        return 2
    script.warn_of_own_options("run", options, add_arguments)
    ending = script.run(loaded, options.arguments)
    if isinstance(ending.error, KeyboardInterrupt):
        script.end_by_interrupt(ending.error)
    return ending.exit_code
