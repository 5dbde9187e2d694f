"""``clew run SCRIPT``: run a script as Python does; with ``--as-torch`` one that was written for PyTorch."""

from __future__ import annotations

import argparse
import sys

from . import script

__all__ = ["DESCRIPTION", "HELP", "add_arguments", "main"]

HELP = "run a script; --as-torch runs one that was written for PyTorch"
DESCRIPTION = "Run a Python script as Python does. With --as-torch, `import torch` means clew in it."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What is to be run, and whether it is compared with PyTorch."""
    check = parser.add_argument_group("comparing with PyTorch")
    check.add_argument(
        "--check",
        action="store_const",
        const="all",
        help="also run each operation, gradient and optimizer step in PyTorch, and report differences",
    )
    # An option of its own: what stands behind `--check` is the script.
    check.add_argument(
        "--check=forward", action="store_const", const="forward", dest="check", help="the same without gradients"
    )
    check.add_argument(
        "--every",
        metavar="N",
        type=_at_least_one,
        default=1,
        help="check the first and then each N-th call of an operation at a line",
    )
    script.add_arguments(parser)


def _at_least_one(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a number of calls, 1 or more, got {text!r}")
    return int(text)


def main(options: argparse.Namespace) -> int:
    """Run it. Returns the script's exit code, or 2 if it is not a script; under ``--check``, 1 if anything differs."""
    try:
        loaded = script.load(options)
    except script.NotAScript as error:
        print(f"clew run: {error}", file=sys.stderr)
        return 2
    script.warn_of_own_options("run", options, add_arguments)
    if options.check:
        from .check import run_checked

        ending = run_checked(loaded, options)
    else:
        ending = script.run(loaded, options.arguments)
    if isinstance(ending.error, KeyboardInterrupt):
        script.end_by_interrupt(ending.error)
    return ending.exit_code
