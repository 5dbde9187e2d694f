"""Which module made a node: a log of the modules that ran, kept while somebody asks for it."""

from __future__ import annotations

import html
import threading
import weakref
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ... import _core

_MOST_ENTRIES = 400_000  # of the log; then the older half goes


class ModuleLog:
    """A log of when each module was entered and left, by the clock that numbers nodes.

    A node whose number lies between was created in that module. Where modules call each other, the innermost counts.

    Example:
        >>> model = clew.nn.Sequential(clew.nn.Linear(3, 4), clew.nn.ReLU())
        >>> with clew.graph.record_modules() as log:
        ...     y = model(clew.ones(2, 3))
        >>> log.path_at(y.grad_fn._sequence_nr())
        'Sequential.1'
    """

    def __init__(self) -> None:
        self._times: list[int] = []
        self._paths: list[str | None] = []  # the path that is current from that time on
        self.undo: Undo | None = None
        self._stacks = threading.local()
        # The names below a root are found once; "weak", so that the log keeps no model alive.
        self._names: weakref.WeakKeyDictionary[Any, dict[int, str]] = weakref.WeakKeyDictionary()
        self._kinds: dict[str, str] = {}

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(repr(self))}</pre>"

    def enter(self, module: Any) -> None:
        """The forward of ``module`` begins."""
        stack = self._stack()
        root = stack[0][0]() if stack else module
        stack.append((weakref.ref(module), self._path(root, module)))
        self._note(stack[-1][1])

    def leave(self, module: Any) -> None:
        """It ends; so do those inside it that an exception has ended."""
        stack = self._stack()
        while stack:
            left = stack.pop()[0]()
            if left is module:
                break
        self._note(stack[-1][1] if stack else None)

    def path_at(self, time: int) -> str | None:
        """The module that ran at that time; None: none did, or the log does not reach that far back."""
        position = bisect_right(self._times, time) - 1
        return self._paths[position] if position >= 0 else None

    def kind_of(self, path: str) -> str | None:
        """The class of the module at a path that :meth:`path_at` has given."""
        return self._kinds.get(path)

    def buffers(self) -> Iterator[Any]:
        """The buffers of the modules that ran and are alive."""
        for root in list(self._names):
            yield from root.buffers()

    def _stack(self) -> list[tuple[weakref.ref[Any], str]]:
        if not hasattr(self._stacks, "entries"):
            self._stacks.entries = []
        entries: list[tuple[weakref.ref[Any], str]] = self._stacks.entries
        return entries

    def _path(self, root: Any, module: Any) -> str:
        names = self._names.get(root)
        if names is None or id(module) not in names:
            names = {id(one): name for name, one in root.named_modules()}
            self._names[root] = names
        name = names.get(id(module), "?")
        kind = type(root).__name__
        path = f"{kind}.{name}" if name else kind
        if path not in self._kinds:
            self._note_kinds(root)
        return path

    def _note_kinds(self, root: Any) -> None:
        kind = type(root).__name__
        for name, one in root.named_modules():
            self._kinds[f"{kind}.{name}" if name else kind] = type(one).__name__

    def _note(self, path: str | None) -> None:
        self._times.append(_core.tick())
        self._paths.append(path)
        if len(self._times) > _MOST_ENTRIES:
            del self._times[: _MOST_ENTRIES // 2], self._paths[: _MOST_ENTRIES // 2]


_module_logs: list[ModuleLog] = []
_last: ModuleLog | None = None

Undo = Callable[[], None]
HookIntoModules = Callable[[Callable[[Any], None], Callable[[Any], None]], Undo]
_hook: HookIntoModules | None = None


def modules_are_here(hook: HookIntoModules) -> None:
    """Called by ``clew.nn`` when it is loaded: modules know the graph, the graph does not know modules.

    ``hook(enter, leave)`` has the two called with each module that is entered and left, and returns what undoes that.
    """
    global _hook
    _hook = hook
    for module_log in _module_logs:
        module_log.undo = hook(module_log.enter, module_log.leave)


@contextmanager
def record_modules() -> Iterator[ModuleLog]:
    """While it is open, record which module creates which node; :func:`module_of` can tell then and afterwards.

    Example:
        >>> model = clew.nn.Sequential(clew.nn.Linear(3, 4), clew.nn.ReLU())
        >>> with clew.graph.record_modules():
        ...     y = model(clew.ones(2, 3))
        >>> clew.graph.module_of(y.grad_fn)
        'Sequential.1'
    """
    global _last
    module_log = ModuleLog()
    if _hook is not None:
        module_log.undo = _hook(module_log.enter, module_log.leave)
    _module_logs.append(module_log)
    try:
        yield module_log
    finally:
        _module_logs.remove(module_log)
        _last = module_log
        if module_log.undo is not None:
            module_log.undo()


def module_of(node: Any) -> str | None:
    """The path of the module that created a node, such as ``"Sequential.0"``; None if modules were not recorded then.

    The open blocks of :func:`record_modules` are asked, then the one that was closed last.

    Example:
        >>> model = clew.nn.Sequential(clew.nn.Linear(3, 4), clew.nn.ReLU())
        >>> with clew.graph.record_modules():
        ...     y = model(clew.ones(2, 3))
        >>> clew.graph.module_of(y.grad_fn)
        'Sequential.1'
    """
    for module_log in _asked():
        path = module_log.path_at(node._sequence_nr())
        if path is not None:
            return path
    return None


def module_label(path: str, root: str = "") -> str:
    """What a reader calls the module at a path of :func:`module_of`: the path below the root, and the class.

    Args:
        path: begins with the class of the root.
        root: what the program calls the root.

    Example:
        >>> model = clew.nn.Sequential(clew.nn.Linear(3, 4), clew.nn.ReLU())
        >>> with clew.graph.record_modules():
        ...     y = model(clew.ones(2, 3))
        >>> module_label("Sequential.0"), module_label("Sequential", "model"), module_label("encoder.3")
        ('0 · Linear', 'model · Sequential', 'encoder.3')
    """
    for module_log in _asked():
        kind = module_log.kind_of(path)
        if kind is not None:
            _, _, below = path.partition(".")
            return f"{below or root} · {kind}" if below or root else kind
    return path


def _asked() -> list[ModuleLog]:
    return [*reversed(_module_logs), *([_last] if _last else [])]
