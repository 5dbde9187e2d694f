"""The ``clew`` command."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of the ``clew`` command; returns the exit code."""
    from . import run, xray

    parser = argparse.ArgumentParser(
        prog="clew", description="Run training scripts and see what happens to their graphs."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    command = commands.add_parser(
        "xray",
        help="run a script and say what its graphs saved, what was freed and by which line",
        description="Run a Python script; then print the graph of its last backward as a tree, what was saved and "
        "freed, who still holds a graph, and where the time of a step went.",
    )
    xray.add_arguments(command)
    command.set_defaults(run=xray.main)
    command = commands.add_parser(
        "run",
        help="run a script; with --as-torch one that was written for PyTorch",
        description="Run a Python script as Python does. With --as-torch, `import torch` means clew in it.",
    )
    run.add_arguments(command)
    command.set_defaults(run=run.main)
    options = parser.parse_args(arguments)
    code: int = options.run(options)
    return code
