"""What the script runs, told to PyTorch's process: each operation at the door, functions made of them, steps.

Each operation passes an interpreter, which sends its arguments and results. A hook on its node sends the gradients
that arrive there and those that its rule gives. Functions of Python that are made of operations are replaced by ones
that send their arguments and result, too: their parts may each be right and the whole be wrong.
"""

from __future__ import annotations

import functools
import re
import sys
import threading
import types
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any, NamedTuple

import clew

from ... import _core, optim
from ...graph.program.frames import is_ours
from ..script import Script
from .channel import Channel, NotSent

_FORMS = ("functional", "in_place")
_PLACES = ("", "nn.functional", "linalg", "special", "fft")
# What reads or sets a state of the process, calls the user's functions or leaves the memory that clew has.
_NOT_FUNCTIONS = re.compile(
    "compile|vmap|save|load|as_tensor|asarray|from_dlpack|typename|seed|initial_seed|manual_seed|empty(_like|_strided)?|"
    "numel|missing_from|triplet_margin_with_distance_loss|(get|set|is|are|use|clear)?_.*"
)
_NOT_METHODS = re.compile(
    "apply_|map_|register_.*|storage.*|untyped_storage|type|share_memory_|pin_memory|cuda|cpu|new|new_empty.*|forward|"
    "rename|to_sparse.*|(get|set|is|are)?_.*"
)
_FIRST_WHOLE, _EVERY_WHOLE = 20, 10  # calls at a line of what is made of operations: these, then each tenth
_DRAWS = "draws random numbers, which are taken from clew"
_THREAD = "in another thread"
_PART = "a write into a part of a tensor"


class Line(NamedTuple):
    """Where a call is: the nearest line outside clew, and that of the script which led there."""

    file: str
    line: int
    function: str
    script_line: int
    """0: none, or the same."""


@dataclass(slots=True)
class Account:
    """What the script ran and what became of it, by kinds: `operation`, `gradient`, `function`, `step`."""

    seen: Counter[str] = field(default_factory=Counter)
    sent: Counter[str] = field(default_factory=Counter)
    not_sent: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """Kind, name and reason."""
    functional: int = 0
    """Operations outside of a backward that give new tensors: what the core counts, too."""
    ledger: int = 0
    """How many of these the core has counted on this thread."""
    passed_over: int = 0
    """Calls between two that are taken, by `--every` or of what is made of operations."""


class _NodeHook:
    """Sends the gradients of one node, or counts them if there is a reason not to.

    When the node dies, so does what PyTorch keeps of the call.
    """

    __slots__ = ("name", "number", "observer", "reason", "site")

    def __init__(self, observer: Observer, number: int, name: str, site: int, reason: str) -> None:
        self.observer, self.number, self.name, self.site, self.reason = observer, number, name, site, reason

    def __call__(self, given: tuple[Any, ...], incoming: tuple[Any, ...]) -> None:
        self.observer.gradient(self, given, incoming)

    def __del__(self) -> None:
        self.observer.dropped.append(self.number)


class Observer:
    """Listens from `start()` to `stop()`, on this thread.

    Args:
        channel: the way to PyTorch.
        script: what runs.
        gradients: whether gradients and steps of optimizers are compared, too.
        every: of the calls of one operation at one line, each so many-th is checked, the first always.
    """

    def __init__(self, channel: Channel, script: Script, *, gradients: bool = True, every: int = 1) -> None:
        self.account = Account()
        self.sites: list[Line] = []
        self.dropped: list[int] = []
        self._channel, self._script, self._gradients, self._every = channel, script.file, gradients, every
        self._site_numbers: dict[tuple[CodeType, int, int], int] = {}
        self._calls: Counter[tuple[int, str]] = Counter()
        self._ours: dict[CodeType, bool] = {}
        self._number = 0  # of calls whose node has a hook
        self._inside = False  # a function or a step that is checked
        self._draws = 0
        self._thread = threading.get_ident()
        self._interpreter = _core.Interpreter(self._handle, composites=True, backward=False)
        self._restore: list[Callable[[], None]] = []

    def start(self) -> None:
        self._replace_functions()
        if self._gradients:
            for name, kind in list(vars(optim).items()):
                if isinstance(kind, type) and issubclass(kind, optim.Optimizer) and kind is not optim.Optimizer:
                    self._replace(kind, "step", self._checked_step(kind.step, name, kind))
        self._replace(threading.Thread, "run", self._counted(threading.Thread.run))
        _core.timing(True)
        self._interpreter.push()

    def stop(self) -> None:
        """Listen no more."""
        self._interpreter.pop()
        self._thread = -1  # what a library has kept of the replaced functions checks no more
        self.account.ledger = _core.timings()["operations"]
        _core.timing(False)
        for restore in reversed(self._restore):
            restore()

    def _replace(self, owner: Any, name: str, value: Any) -> None:
        own = vars(owner).get(name)
        restore = functools.partial(delattr, owner, name) if own is None else None
        self._restore.append(restore or functools.partial(setattr, owner, name, own))
        setattr(owner, name, value)

    def _counted(self, run: Callable[[Any], None]) -> Callable[[Any], None]:
        """What runs in another thread is counted only."""

        def counted(thread: Any) -> None:
            names: Counter[tuple[str, str, str]] = Counter()

            def handle(call: Any) -> None:
                names["operation", call.name, _THREAD] += call.form in _FORMS
                call.run()

            interpreter = _core.Interpreter(handle, backward=False)
            interpreter.push()
            try:
                run(thread)
            finally:
                interpreter.pop()
                self.account.seen["operation"] += names.total()
                self.account.not_sent += names

        return counted

    @contextmanager
    def _sending(self, kind: str, name: str) -> Iterator[None]:
        """While one record is written. What hinders that is counted."""
        self._channel.open += 1
        try:
            yield
            self.account.sent[kind] += 1
        except NotSent as error:
            self.account.not_sent[kind, name, str(error)] += 1
        except BaseException:
            self.account.not_sent[kind, name, "raises an error in clew"] += 1
            raise
        finally:
            self._channel.open -= 1
        if len(self.dropped) > 64:
            numbers, self.dropped = self.dropped, []
            self._channel.send(("drop", numbers))
        self._channel.flush_if_full()

    def _arguments(self, value: Any) -> Any:
        """Encoded; if that cannot be, the error, as the call has to run anyway."""
        try:
            return self._channel.encode(value)
        except NotSent as error:
            return error

    # Operations -----------------------------------------------------------------------------------------------------

    def _handle(self, call: Any) -> None:
        if call.form not in _FORMS:
            call.run()
            return
        schema, name, draws = call.schema, call.name, call.draws
        self.account.seen["operation"] += 1
        if call.form == "functional" and not call.is_composite and not _core.backward_serial():
            self.account.functional += 1
        self._draws += draws
        reason = _DRAWS if draws else _reason_not_to_send(schema, name)
        site = self._site(sys._getframe(1))
        if not reason and not self._is_due(site, schema, call.is_composite):
            call.run()
            return
        with self._sending("operation", name):
            before = _base_of(call.inputs[0]).grad_fn if call.form == "in_place" else None
            args = NotSent(reason) if reason else self._arguments(call.arguments)
            drawn = self._draws
            call.run()
            if not reason and self._draws != drawn:
                args = NotSent(_DRAWS)
            failure = str(args) if isinstance(args, NotSent) else ""
            number = -1
            if self._gradients and not call.is_composite and name != "constant":
                number = self._watch(call, name, site, before, failure)
            if failure:
                raise NotSent(failure)
            outs = self._channel.encode(call.outputs)
            given = call.arguments
            written = [(_place(given, one), self._channel.encode(one)) for one in call.written]
            places = call.differentiable if number >= 0 else []
            self._channel.send(("operation", site, schema, call.form, number, places, args, outs, written))

    def _watch(self, call: Any, name: str, site: int, before: Any, reason: str) -> int:
        """Put a hook on the node of a call; `before`: the node of what it wrote. Its number; -1: it is not sent."""
        in_place = call.form == "in_place"
        inputs = call.inputs
        one = inputs[0] if in_place else next((y for y in call.outputs if y is not None and y.grad_fn), None)
        if one is None or (not in_place and any(one is x for x in inputs)):
            return -1
        base = _base_of(one) if in_place else one  # whose history has the write
        if base.grad_fn is None or base.grad_fn is before:
            return -1
        if base is not one:
            reason = reason or _PART
        self._number += 1
        base.grad_fn.register_hook(_NodeHook(self, self._number, name, site, reason))
        return -1 if reason else self._number

    def gradient(self, hook: _NodeHook, given: tuple[Any, ...], incoming: tuple[Any, ...]) -> None:
        """A node has run: what it was given, and what it gave."""
        self.account.seen["gradient"] += 1
        reason = hook.reason or ("" if threading.get_ident() == self._thread else _THREAD)
        if reason:
            self.account.not_sent["gradient", hook.name, reason] += 1
            return
        with self._sending("gradient", hook.name):
            gradients = self._channel.encode(incoming), self._channel.encode(given)
            self._channel.send(("gradient", hook.site, hook.name, hook.number, *gradients))

    # Functions and steps --------------------------------------------------------------------------------------------

    def _replace_functions(self) -> None:
        wrappers: dict[Any, Any] = {}
        for place in _PLACES:
            module = functools.reduce(getattr, filter(None, place.split(".")), clew)
            for name, value in list(vars(module).items()):
                if isinstance(value, types.FunctionType) and _is_checked(name, value) and value not in wrappers:
                    wrappers[value] = self._checked_function(value, f"{place}.{name}".lstrip("."))
        for module in [one for name, one in list(sys.modules.items()) if name.partition(".")[0] == "clew"]:
            for name, value in list(vars(module).items()):
                if isinstance(value, types.FunctionType) and value in wrappers:
                    self._replace(module, name, wrappers[value])
        for name in dir(clew.Tensor):
            value = getattr(clew.Tensor, name, None)
            if isinstance(value, types.FunctionType) and not _NOT_METHODS.fullmatch(name):
                _core.add_method(name, self._checked_function(value, f"Tensor.{name}"))
                self._restore.append(functools.partial(_core.add_method, name, value))

    def _checked_function(self, function: Callable[..., Any], path: str) -> Callable[..., Any]:
        @functools.wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            if self._inside or threading.get_ident() != self._thread or _core.active_batches() or _core.dual_levels():
                return function(*args, **kwargs)
            self.account.seen["function"] += 1
            site = self._site(sys._getframe(1))
            if not self._is_due(site, path, True):
                return function(*args, **kwargs)
            result = None
            with self._sending("function", path):
                given, drawn = self._arguments([args, kwargs]), self._draws
                result = self._call_inside(function, *args, **kwargs)
                if isinstance(given, NotSent) or self._draws != drawn:
                    raise NotSent(_DRAWS if self._draws != drawn else str(given))
                region = ("", "bfloat16", "", "float16")[_core.autocast_state(None) & 3]
                self._channel.send(("function", site, path, region, *given, self._channel.encode(result)))
            return result

        return checked

    def _checked_step(self, step: Callable[..., Any], name: str, kind: Any) -> Callable[..., Any]:
        @functools.wraps(step)
        def checked(optimizer: Any, *closure: Any, **named: Any) -> Any:
            if self._inside or threading.get_ident() != self._thread:
                return step(optimizer, *closure, **named)
            self.account.seen["step"] += 1
            site = self._site(sys._getframe(1))
            if not self._is_due(site, name):
                return step(optimizer, *closure, **named)
            result = None
            with self._sending("step", name):
                if type(optimizer) is not kind or closure or named:
                    result = step(optimizer, *closure, **named)
                    raise NotSent("is given a closure" if closure or named else "of a class that derives from it")
                before = self._arguments([_group(optimizer, group) for group in optimizer.param_groups])
                result = self._call_inside(step, optimizer)
                if isinstance(before, NotSent):
                    raise before
                params = [p for group in optimizer.param_groups for p in group["params"]]
                after = [[p, *(state[key] for key in sorted(state))] for p in params for state in [optimizer.state[p]]]
                self._channel.send(("step", site, name, before, self._channel.encode(after)))
            return result

        return checked

    def _call_inside(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        self._inside = True
        try:
            return function(*args, **kwargs)
        finally:
            self._inside = False

    # Lines ----------------------------------------------------------------------------------------------------------

    def _is_due(self, site: int, name: str, is_whole: bool = False) -> bool:
        """Whether this call is checked. Of what is made of operations, which all are checked, fewer calls are."""
        if self._every == 1 and not is_whole:
            return True
        count = self._calls[site, name]
        self._calls[site, name] = count + 1
        every = max(self._every, _EVERY_WHOLE if is_whole and count >= _FIRST_WHOLE else 1)
        self.account.passed_over += count % every != 0
        return count % every == 0

    def _site(self, frame: FrameType | None) -> int:
        """The number of the line that called."""
        while frame is not None:
            code = frame.f_code
            if code not in self._ours:
                self._ours[code] = is_ours(code.co_filename)
            if not self._ours[code]:
                break
            frame = frame.f_back
        if frame is None:
            return 0
        script: FrameType | None = frame
        while script is not None and script.f_code.co_filename != self._script:
            script = script.f_back
        key = frame.f_code, frame.f_lineno, 0 if script is None or script is frame else script.f_lineno
        number = self._site_numbers.get(key)
        if number is None:
            number = self._site_numbers[key] = len(self.sites)
            self.sites.append(Line(key[0].co_filename, key[1], key[0].co_name, key[2]))
        return number


def _is_checked(name: str, function: Any) -> bool:
    native = function.__module__.startswith("clew") and "." not in function.__qualname__
    return native and not _NOT_FUNCTIONS.fullmatch(name)


def _reason_not_to_send(schema: str, name: str) -> str:
    if name == "constant":
        return "makes a tensor of Python's data"
    if name.startswith(("_empty", "empty", "new_empty")):
        return "its result has no meaning"
    return "" if schema else "a part of a backward"


def _base_of(tensor: Any) -> Any:
    return tensor._base if tensor._is_view() and tensor._base is not None else tensor


def _place(arguments: list[Any], tensor: Any) -> tuple[int, int | None]:
    """Of a tensor among the arguments: of the argument and, in a list, of the item."""
    for place, one in enumerate(arguments):
        if one is tensor:
            return place, None
        for item, part in enumerate(one if isinstance(one, tuple) else ()):
            if part is tensor:
                return place, item
    return 0, None


def _group(optimizer: Any, group: dict[str, Any]) -> dict[str, Any]:
    params = group["params"]
    return {
        "params": params,
        "grads": [parameter.grad for parameter in params],
        "states": [dict(optimizer.state.get(parameter, {})) for parameter in params],
        "options": {key: value for key, value in group.items() if key not in ("params", "param_names")},
    }
