"""``--as-torch``: while a script runs, ``import torch`` means clew."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType


class _Alias:
    """Finder and loader of ``torch`` and ``torch.x.y``: the module is ``clew`` or ``clew.x.y`` itself, not a copy."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != "torch" and not name.startswith("torch."):
            return None
        ours = _ours(name)
        if importlib.util.find_spec(ours) is None:
            raise ModuleNotFoundError(
                f"No module named {name!r}: with --as-torch it means {ours!r}, which is not there", name=name
            )
        return ModuleSpec(name, self)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        # The import system takes what stands in sys.modules after this; so `torch.nn is clew.nn`, and clew's own
        # `__name__` and `__spec__` stay as they are.
        sys.modules[module.__name__] = importlib.import_module(_ours(module.__name__))


def install() -> None:
    """Make ``torch`` and everything below it mean clew, in this process, from now on."""
    for name in [name for name in sys.modules if name == "torch" or name.startswith("torch.")]:
        del sys.modules[name]
    sys.meta_path.insert(0, _Alias())


def _ours(name: str) -> str:
    return "clew" + name.removeprefix("torch")
