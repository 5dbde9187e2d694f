"""Running a user's script as Python itself would: its name, its arguments, its exit code, its traceback."""

from __future__ import annotations

import argparse
import builtins
import importlib.util
import linecache
import os
import signal
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import CodeType, ModuleType, TracebackType

from .._as_torch import as_torch
from ..graph.program.frames import is_ours
from .causes import cause_of
from .output import flush


class NotAScript(Exception):
    """What was to be run is not a Python script. The text says why, in one line."""


@dataclass(frozen=True, slots=True)
class Script:
    """Compiled code and what ``__main__`` must know about it."""

    file: str
    code: CodeType
    first_on_path: str
    argv0: str
    package: str | None = None
    spec: ModuleSpec | None = None


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended. ``error`` is what it raised, other than ``SystemExit``."""

    exit_code: int
    error: BaseException | None
    module: ModuleType


def load_file(path: str) -> Script:
    """Read and compile a script.

    Raises:
        NotAScript: there is no such file, it is a folder, or it does not hold Python source.
    """
    try:
        with open(path, "rb") as file:
            source = file.read()
    except OSError as error:
        reason = "is a folder" if isinstance(error, IsADirectoryError) else (error.strerror or str(error)).lower()
        raise NotAScript(f"{path}: expected a Python script, got a path that cannot be read: {reason}") from None
    file_name = os.path.abspath(path)
    return Script(file_name, _compile(source, file_name, path), os.path.dirname(os.path.realpath(path)), path)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What is to be run, as Python's own command takes it, and what `torch` means in it."""
    parser.add_argument(
        "--as-torch", action="store_true", help="in the script and the processes it starts, `import torch` means clew"
    )
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("-m", dest="is_module", action="store_true", help="SCRIPT is a module's name, as in `python -m`")
    kind.add_argument("-c", dest="is_code", action="store_true", help="SCRIPT is a program, as in `python -c`")
    parser.add_argument("script", metavar="SCRIPT", help="the Python script to run; -: from standard input")
    rest = parser.add_argument("arguments", metavar="ARGS", nargs=argparse.REMAINDER, help="passed on to the script")
    rest.required = False  # argparse of Python 3.11 takes it for a missing argument where SCRIPT is missing


def warn_of_own_options(
    command: str, options: argparse.Namespace, add_arguments: Callable[[argparse.ArgumentParser], None]
) -> None:
    """Say on stderr if an option of ours stands among the script's arguments, which is where it does nothing."""
    parser = argparse.ArgumentParser(add_help=False)
    add_arguments(parser)
    ours = {option for option in parser._option_string_actions if option.startswith("--")}
    misplaced = [argument for argument in options.arguments if argument.partition("=")[0] in ours]
    if misplaced:
        print(
            f"clew {command}: {misplaced[0]} after the script's name is passed on to the script. If it is meant for "
            f"clew, write it before: clew {command} {misplaced[0]} ... {options.script}",
            file=sys.stderr,
        )


def load(options: argparse.Namespace) -> Script:
    """What these arguments say is to be run; from here on `torch` is clew, where they say so.

    Raises:
        NotAScript: it cannot be run.
    """
    if options.is_module:
        loaded = load_module(options.script)
    elif options.is_code:
        loaded = _load_text(options.script.encode(), "<string>", "-c")
    elif options.script == "-":
        loaded = _load_text(sys.stdin.buffer.read(), "<stdin>", "-")
    else:
        loaded = load_file(options.script)
    if options.as_torch:
        as_torch()
    return loaded


def _load_text(source: bytes, name: str, argv0: str) -> Script:
    """A program that is in no file. Its lines are kept, so that a report can show them."""
    code = _compile(source, name, argv0)
    linecache.cache[name] = len(source), None, source.decode().splitlines(keepends=True), name
    return Script(name, code, "", argv0)


def load_module(name: str) -> Script:
    """The script that ``python -m name`` would run.

    Raises:
        NotAScript: there is no such module, or it cannot be run.
    """
    sys.path.insert(0, os.getcwd())
    try:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            name += ".__main__"
            spec = importlib.util.find_spec(name)
    except (ImportError, ValueError) as error:
        raise NotAScript(f"-m {name}: expected a module, got {error}") from None
    finally:
        del sys.path[0]
    if spec is None or not spec.origin or not spec.origin.endswith(".py"):
        raise NotAScript(f"-m {name}: expected a module written in Python, found none of this name")
    with open(spec.origin, "rb") as file:
        source = file.read()
    return Script(spec.origin, _compile(source, spec.origin, spec.origin), os.getcwd(), spec.origin, spec.parent, spec)


def _compile(source: bytes, path: str, shown: str) -> CodeType:
    try:
        return compile(source, path, "exec", dont_inherit=True)
    except SyntaxError as error:
        line = f":{error.lineno}" if error.lineno else ""
        raise NotAScript(f"{shown}{line}: expected a Python script, got {error.msg}") from None
    except (ValueError, UnicodeDecodeError) as error:
        raise NotAScript(f"{shown}: expected a Python script, got {error}") from None


def run(script: Script, arguments: list[str], command: str = "run") -> Ending:
    """Run it as ``__main__`` under ``clew command``. Ctrl-C is left to the caller.

    A traceback goes to stderr, with the user's frames only, and below it what it does not make plain.
    """
    module = ModuleType("__main__")
    if not script.file.startswith("<"):
        module.__file__ = script.file
    module.__package__ = script.package
    module.__spec__ = script.spec
    module.__loader__ = SourceFileLoader("__main__", script.file)
    module.__dict__["__cached__"] = None
    module.__dict__["__builtins__"] = builtins
    sys.modules["__main__"] = module
    sys.argv = [script.argv0, *arguments]
    sys.path[0:0] = [script.first_on_path]
    try:
        exec(script.code, module.__dict__)
    except SystemExit as exit_:
        return Ending(_exit_code(exit_), None, module)
    except BaseException as error:
        error.__traceback__ = _of_the_user(error.__traceback__)
        if not isinstance(error, KeyboardInterrupt):
            print_traceback(error)
            if cause := cause_of(error, command):
                print(f"clew {command}: {cause}", file=sys.stderr)
        return Ending(1, error, module)
    return Ending(0, None, module)


def _exit_code(exit_: SystemExit) -> int:
    if exit_.code is None:
        return 0
    if isinstance(exit_.code, int):
        return exit_.code
    print(exit_.code, file=sys.stderr)
    return 1


def print_traceback(error: BaseException) -> None:
    """On stderr, through ``sys.excepthook`` if the script has set one."""
    flush()
    if sys.excepthook is not sys.__excepthook__:  # the user's own
        sys.excepthook(type(error), error, error.__traceback__)
    else:
        traceback.print_exception(error)


def end_by_interrupt(error: KeyboardInterrupt) -> None:
    """End as Python does at Ctrl-C: traceback, then by the signal, so that a shell sees it too."""
    print_traceback(error)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.excepthook = lambda *_: None
    raise error


def _of_the_user(trace: TracebackType | None) -> TracebackType | None:
    """The same traceback without frames inside clew, at whatever depth they stand."""
    kept: list[TracebackType] = []
    while trace is not None:
        if not is_ours(trace.tb_frame.f_code.co_filename):
            kept.append(trace)
        trace = trace.tb_next
    below: TracebackType | None = None
    for entry in reversed(kept):
        below = TracebackType(below, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return below
