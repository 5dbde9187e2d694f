"""The handle that takes a registered hook away again."""

from __future__ import annotations

import itertools
import weakref
from collections import OrderedDict
from typing import Any

__all__ = [
    "RemovableHandle",
    "register",
]

_next_id = itertools.count()


class RemovableHandle:
    """What `register_..._hook` returns: `remove()` unregisters the hook; a `with` block does so at its end.

    The handle refers to the table of hooks weakly, so keeping it does not keep the module alive.

    Example:
        >>> linear = torch.nn.Linear(2, 1)
        >>> with linear.register_forward_hook(lambda module, args, output: print(tuple(output.shape))):
        ...     _ = linear(torch.ones(5, 2))
        (5, 1)
    """

    def __init__(self, hooks: OrderedDict[int, Any]) -> None:
        self.id = next(_next_id)
        self._hooks = weakref.ref(hooks)

    def remove(self) -> None:
        """Unregister the hook. Calling it again does nothing."""
        hooks = self._hooks()
        if hooks is not None:
            hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.remove()

    def __getstate__(self) -> tuple[OrderedDict[int, Any] | None, int]:
        return self._hooks(), self.id

    def __setstate__(self, state: tuple[OrderedDict[int, Any] | None, int]) -> None:
        hooks, self.id = state
        # A handle whose table is gone stays usable: the table made here dies at once.
        self._hooks = weakref.ref(OrderedDict() if hooks is None else hooks)


def register(hooks: OrderedDict[int, Any], hook: Any, prepend: bool = False) -> RemovableHandle:
    """Add `hook` to the table `hooks`, first if `prepend`, and return its handle.

    Example:
        >>> from collections import OrderedDict
        >>> table = OrderedDict()
        >>> handle = clew.utils.hooks.register(table, print)
        >>> list(table.values()) == [print]
        True
        >>> handle.remove()
        >>> len(table)
        0
    """
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle
