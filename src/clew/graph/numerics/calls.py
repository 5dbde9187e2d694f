"""Operations shown one at a time with their values: of a function while it runs, or of a kept graph step by step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ... import _core
from ..model.places import Place
from ..program.modules import ModuleLog, module_label, record_modules

Tensors = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Where:
    """The line that an operation belongs to, and its module. An operation of a backward has those of its node."""

    place: Place | None
    module: str | None = None
    in_backward: bool = False

    def __str__(self) -> str:
        module = f" [{self.module}]" if self.module else ""
        return f"{self.place or 'an unknown line'}{module}{', backward' * self.in_backward}"


@dataclass(slots=True)
class Replayed:
    """One step of a kept graph, which runs when :meth:`run` is called, on copies of what the block read."""

    core: _core.Program
    number: int
    form: str
    name: str
    inputs: Tensors
    written: Tensors
    draws: bool
    outputs: Tensors = ()

    def run(self) -> None:
        """As `_core.Call.run`."""
        if self.form != "read":
            self.outputs = tuple(self.core.run_step(self.number, list(self.inputs), False))

    def repeat_wide(self, inputs: list[Any]) -> list[Any]:
        """As `_core.Call.repeat_wide`."""
        if self.form == "python":
            raise NotImplementedError("its body is Python")
        return self.core.run_step(self.number, inputs, True)


Call = _core.Call | Replayed
Look = Callable[[Call, Where], None]


class Watching:
    """Shows each operation of this thread to ``look`` between :meth:`start` and :meth:`stop`."""

    def __init__(self, look: Look) -> None:
        self._look: Look | None = look
        self._interpreter = _core.Interpreter(self._handle)
        self._modules: ModuleLog | None = None
        self._recording = record_modules()

    def start(self) -> None:
        """Begin to look."""
        self._modules = self._recording.__enter__()
        self._timeline = _core.MemoryTimeline()  # while one is on, the engine says which node runs
        self._interpreter.push()

    def stop(self) -> None:
        """Look no more."""
        self._look = None
        self._interpreter.pop()
        self._timeline.stop()
        self._recording.__exit__(None, None, None)

    def _handle(self, call: _core.Call) -> None:
        if self._look is None:
            return call.run()
        self._look(call, self._where())
        return None

    def _where(self) -> Where:
        assert self._modules is not None
        running = _core.running_node()
        site, time = (_core.current_site(), _core.tick()) if running is None else running
        path = self._modules.path_at(time)
        return Where(Place.of(site), None if path is None else module_label(path), running is not None)


def watch_function(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], look: Look) -> Any:
    """Call the function, and show ``look`` each operation that it calls; what it returns."""
    watching = Watching(look)
    watching.start()
    try:
        return function(*args, **kwargs)
    finally:
        watching.stop()


@dataclass(slots=True)
class Replay:
    """Runs a kept graph step by step on copies, so that nothing of the user's changes; ``registers`` are its values."""

    core: _core.Program
    registers: list[Any] = field(default_factory=list)

    def run(self, look: Look) -> None:
        """Show ``look`` each step, which has to run it. Random streams are afterwards where they were."""
        registers = self.core.registers()
        self.registers = [None] * len(registers)
        memories: dict[int, Any] = {}
        for reg, tensor, grad_of in self.core.inputs():
            present = tensor.grad if grad_of else tensor
            if present is None:
                continue
            memory = registers[reg][0]
            if memory not in memories:
                memories[memory] = _core.whole_memory(present).clone()
            self.registers[reg] = _core.tensor_on(memories[memory], _core.geometry_of(present)[0], False)
        for reg, tensor in self.core.constants():
            self.registers[reg] = tensor
        states = [(stream, stream.get_state()) for stream in self.core.generators()]
        try:
            for number, step in enumerate(self.core.steps()):
                self._step(number, step, look)
        finally:
            for stream, state in states:
                stream.set_state(state)

    def _step(self, number: int, step: tuple[Any, ...], look: Look) -> None:
        name, kind, inputs, outputs, written, _, site, in_backward, draws, _ = step
        if kind in ("nothing", "rebind"):
            return
        values = self.registers
        given = tuple(None if reg < 0 else values[reg] for reg in inputs)
        writes = tuple(values[reg] for reg in written)
        call = Replayed(self.core, number, kind, name.removeprefix("read."), given, writes, draws)
        look(call, Where(Place.of(site), None, in_backward))
        for reg, made in zip(outputs, call.outputs, strict=False):
            if reg >= 0:
                values[reg] = made


def kept_program(what: object) -> _core.Program | None:
    """The program of a result of ``keep_graph()``: the block's program, or a tensor that the block made."""
    if isinstance(core := getattr(what, "_core", None), _core.Program):
        return core
    return _core.kept_program(what) if isinstance(what, _core.Tensor) else None
