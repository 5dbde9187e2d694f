"""`FlopCounterMode`: how many floating-point operations products, convolutions and attention take, by module."""

from __future__ import annotations

from typing import Any

from .. import _core
from ..nn import Module
from ..nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from ..profiler.recording import _FLOPS, _label

__all__ = ["FlopCounterMode"]


class FlopCounterMode:
    """Count the operations of a block, a multiplication and an addition as two.

    What a backward takes is counted for "Global" only.

    Args:
        mods, depth, display, custom_mapping: `display=True` prints the table at the end, down to `depth` modules;
            formulas of one's own are not supported.

    Example:
        >>> with torch.utils.flop_counter.FlopCounterMode(display=False) as counter:
        ...     _ = torch.nn.Linear(3, 4)(torch.ones(2, 3))
        >>> counter.get_total_flops(), counter.get_flop_counts()["Linear"]
        (48, {'aten.addmm': 48})
    """

    def __init__(self, mods: Any = None, depth: int = 2, display: bool = True, custom_mapping: Any = None) -> None:
        if custom_mapping:
            raise NotImplementedError("FlopCounterMode: expected no custom_mapping, got one; count with clew.profiler")
        self.depth, self.display = depth, display
        self.flop_counts: dict[str, dict[str, int]] = {"Global": {}}
        self._names: dict[int, str] = {}
        self._running: list[str] = []
        self._undo: list[Any] = []

    def __enter__(self) -> FlopCounterMode:
        self.flop_counts = {"Global": {}}
        self._interpreter = _core.Interpreter(self._handle)
        self._interpreter.push()
        self._undo = [
            register_module_forward_pre_hook(self._enter),
            register_module_forward_hook(self._leave, always_call=True),
        ]
        return self

    def __exit__(self, *error: Any) -> None:
        self._interpreter.pop()
        for hook in self._undo:
            hook.remove()
        self._running.clear()
        if self.display:
            print(self.get_table(self.depth))

    def _enter(self, module: Module, inputs: Any) -> None:
        if not self._running:
            root = type(module).__name__
            self._names = {id(one): f"{root}.{name}".rstrip(".") for name, one in module.named_modules()}
        self._running.append(self._names.get(id(module), type(module).__name__))

    def _leave(self, module: Module, inputs: Any, outputs: Any) -> None:
        if self._running:
            self._running.pop()

    def _handle(self, call: Any) -> None:
        label = _label(call.form, call.name)
        shapes = [[] if one is None else list(one.shape) for one in call.inputs]
        call.run()
        if label is None or label[0] not in _FLOPS or label[0] in ("aten::add", "aten::mul"):
            return
        key, count = label[0].replace("::", "."), _FLOPS[label[0]](shapes, list(call.outputs[0].shape))
        running = () if _core.backward_serial() else self._running
        for name in {"Global", *running}:
            counts = self.flop_counts.setdefault(name, {})
            counts[key] = counts.get(key, 0) + count

    def get_total_flops(self) -> int:
        """Those of the whole block."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[str, int]]:
        """For "Global" and each module ("Net.layer") the count of each operation."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """A text with a row for each module down to `depth`."""
        depth, total = self.depth if depth is None else depth, max(self.get_total_flops(), 1)
        rows = [(name, sum(counts.values())) for name, counts in self.flop_counts.items() if name.count(".") < depth]
        return "\n".join(f"{name:40} {count:>16,} {100 * count / total:6.2f}%" for name, count in rows)
