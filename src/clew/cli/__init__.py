"""The ``clew`` command."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import NoReturn

from .. import __version__
from .output import drop_the_rest, flush

__all__ = ["commands_of", "main", "parser"]

_EXAMPLES = """\
examples:
  clew xray train.py --epochs 3              run it, then report what its graphs saved and freed
  clew xray --as-torch train.py              a script that imports torch
  clew xray --html report.html train.py      the report as a page, with graph and memory
  clew xray --at train.py:46 train.py        the backward that this line calls
  clew xray -m package.train                 a module; -c 'PROGRAM' and - (standard input) work as in python
  clew xray -m pytest tests                  what each test builds and leaves alive
  clew run --as-torch train.py               run a script that was written for PyTorch
  clew doctor                                versions, instruction set, threads, and what is slow here
  clew bench                                 a short table of speed on this machine, in 20 seconds

Options of clew stand before the script's name. Arguments after it belong to the script.
"""


class _Parser(argparse.ArgumentParser):
    """Says what was expected of an argument that is missing or not known."""

    def error(self, message: str) -> NoReturn:
        missing = message.partition("the following arguments are required: ")[2].partition(", ")[0]
        for action in self._actions:
            if missing and missing == (action.metavar or action.dest):
                message = f"expected {missing} ({action.help}), got nothing"
        super().error(message)

    def refuse(self, unknown: Sequence[str]) -> NoReturn:
        """Arguments that are none of this parser's."""
        runs_a_script = any(action.dest == "script" for action in self._actions)
        hint = "; the script's own options stand after its name" if runs_a_script else ""
        self.error(f"expected only the arguments above, got {' '.join(unknown)}{hint}")


def parser() -> _Parser:
    """The command's arguments."""
    from . import bench, completion, doctor, run, xray

    whole = _Parser(
        prog="clew",
        description="Run training scripts, and report what happens to their graphs.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    whole.add_argument("--version", action="version", version=f"clew {__version__}")
    commands = whole.add_subparsers(dest="command", metavar="COMMAND")
    for module in (xray, run, doctor, bench, completion):
        name = module.__name__.rpartition(".")[2]
        command = commands.add_parser(
            name,
            help=module.HELP,
            description=module.DESCRIPTION,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_arguments(command)
        command.set_defaults(run=module.main, parser=command)
    return whole


def commands_of(whole: argparse.ArgumentParser) -> list[argparse.ArgumentParser]:
    """The parsers of its commands."""
    choices = [action.choices for action in whole._actions if isinstance(action, argparse._SubParsersAction)]
    return [command for commands in choices for command in commands.values()]


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of the ``clew`` command; returns the exit code."""
    try:
        try:
            return _run(arguments)
        finally:
            flush()
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        drop_the_rest()
        return 128 + 13  # as of a command that SIGPIPE ended


def _run(arguments: Sequence[str] | None) -> int:
    whole = parser()
    given = sys.argv[1:] if arguments is None else list(arguments)
    if given and given[0].endswith(".py"):
        whole.error(f"expected a command before the script, such as clew xray {given[0]} or clew run {given[0]}")
    options, unknown = whole.parse_known_args(given)
    if unknown:
        getattr(options, "parser", whole).refuse(unknown)
    if options.command is None:
        whole.print_help(sys.stderr)
        return 2
    code: int = options.run(options)
    return code
