"""``clew run --check``: each operation of a script runs in PyTorch, too, and the report names those that differ."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from .. import script
from ..output import flush

if TYPE_CHECKING:
    from .channel import Channel

__all__ = ["checked", "run_checked"]


def run_checked(loaded: script.Script, options: argparse.Namespace) -> script.Ending:
    """Run it, then report. The exit code is 1 if anything differs, else the script's; 2 where there is no PyTorch."""
    from .channel import Channel, NoPyTorch

    channel = Channel()
    try:
        version = channel.wait_for_pytorch()
    except NoPyTorch as error:
        channel.close()
        print(
            f"clew run --check: expected PyTorch, to compare with, got {error}. To do: pip install torch",
            file=sys.stderr,
        )
        return script.Ending(2, None, sys.modules["__main__"])
    ending, text = checked(loaded, options, channel, version)
    channel.close()
    print(text, file=sys.stderr)
    return ending


def checked(
    loaded: script.Script, options: argparse.Namespace, channel: Channel, version: str
) -> tuple[script.Ending, str]:
    """Run it beside the PyTorch at the other end of the channel. Gives how it ended, and the report."""
    from .observer import Observer
    from .report import report

    observer = Observer(channel, loaded, gradients=options.check != "forward", every=options.every)
    observer.start()
    try:
        ending = script.run(loaded, options.arguments)
    finally:
        observer.stop()
    flush()
    text, differs = report(channel.found(), observer, version, options)
    return script.Ending(1 if differs else ending.exit_code, ending.error, ending.module), text
