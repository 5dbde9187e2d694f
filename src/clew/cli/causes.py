"""What a traceback does not make plain: the name that is missing behind an error which another library raised."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator

from .._unsupported import UnsupportedError, UnsupportedModuleError


def cause_of(error: BaseException, command: str) -> str | None:
    """One line to print below the traceback, or None if that is clear by itself.

    Args:
        error: what the script ended in.
        command: what was typed, `run` or `xray`.
    """
    if not _torch_is_clew():
        if any(_failed_to_import_torch(one) for one in _chain(error)):
            return f"the script imports torch, which failed. To run it on clew: clew {command} --as-torch SCRIPT"
        return None
    # Lazy imports (such as those of transformers) end in an error of their own, whose text has no cause.
    chain = list(_chain(error))
    missing: list[BaseException] = [one for one in chain if isinstance(one, (UnsupportedError, UnsupportedModuleError))]
    missing = missing or [one for one in chain if _is_of_clew(one)]
    if not missing or missing[-1] is error:
        return None
    return f"the cause of this {type(error).__name__}: {missing[-1]}"


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error, then what it was raised from or while handling."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)


def _is_of_clew(error: BaseException) -> bool:
    """Whether it is `from torch.x import y`, or `torch.x.y`, where clew's module has no such name."""
    if isinstance(error, ImportError):
        return (error.name or "").partition(".")[0] in ("clew", "torch")
    return isinstance(error, AttributeError) and str(error).startswith(("module 'clew", "module 'torch"))


def _torch_is_clew() -> bool:
    return type(sys.modules.get("torch")).__module__ == "clew._as_torch"


def _failed_to_import_torch(error: BaseException) -> bool:
    if isinstance(error, ModuleNotFoundError) and error.name == "torch":
        return True
    if not isinstance(error, ImportError | OSError):
        return False
    files = (frame.f_code.co_filename.replace("\\", "/") for frame, _ in traceback.walk_tb(error.__traceback__))
    return any(file.endswith("/torch/__init__.py") for file in files)
