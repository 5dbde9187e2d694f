"""``clew completion SHELL``: a script that makes a shell complete the command's arguments, written by ``shtab``."""

from __future__ import annotations

import argparse
import sys

HELP = "print a script that completes the arguments of clew in a shell"
DESCRIPTION = """\
Print a script that completes the arguments of clew. It needs the package shtab, once, to write it.

  bash   clew completion bash > ~/.local/share/bash-completion/completions/clew
  zsh    clew completion zsh > "${fpath[1]}/_clew"
  fish   clew completion fish > ~/.config/fish/completions/clew.fish
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    shells = ("bash", "zsh", "fish", "tcsh", "powershell")
    parser.add_argument("shell", metavar="SHELL", choices=shells, help=f"one of {', '.join(shells)}")


def main(options: argparse.Namespace) -> int:
    """Print it. Returns 2 if ``shtab`` is not installed."""
    try:
        import shtab
    except ImportError:
        print("clew completion: expected the package shtab, found none; pip install shtab", file=sys.stderr)
        return 2
    from . import commands_of, parser

    whole = parser()
    for command in commands_of(whole):
        for action in command._actions:
            if action.metavar in ("SCRIPT", "FILE"):
                vars(action)["complete"] = shtab.FILE
    print(shtab.complete(whole, shell=options.shell))
    return 0
