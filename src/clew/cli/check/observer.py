"""What the script runs, told to PyTorch's process: each operation at the door, functions made of them, steps.

Each operation passes an interpreter, which sends its arguments and results. A hook on its node sends the gradients
that arrive there and those that its rule gives. Functions of Python that are made of operations are replaced by ones
that send their arguments and result, too: their parts may each be right and the whole be wrong.
"""

from __future__ import annotations

import functools
import sys
import threading
import types
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

import clew

from ... import _core, optim
from ...graph.program.frames import is_ours
from ..script import Script
from .channel import Channel, NotSent

_PLACES = ("", "nn.functional", "linalg", "special", "fft")
# What reads or sets a state of the process, calls the user's functions or leaves the memory that clew has.
_NOT_FUNCTIONS = {
    *("compile", "vmap", "save", "load", "as_tensor", "asarray", "from_dlpack", "typename", "seed", "initial_seed"),
    *("manual_seed", "get_rng_state", "set_rng_state", "is_storage", "triplet_margin_with_distance_loss", "empty"),
    *("empty_like", "empty_strided", "missing_from", "is_tensor", "numel", "is_complex", "is_floating_point"),
}
_NOT_METHODS = {
    *("apply_", "map_", "register_hook", "register_post_accumulate_grad_hook", "storage", "untyped_storage", "type"),
    *("get_device", "is_pinned", "is_shared", "share_memory_", "pin_memory", "cuda", "cpu", "new", "new_empty"),
    *("new_empty_strided", "is_set_to", "storage_type", "forward", "is_complex", "is_floating_point", "is_signed"),
    *("rename", "to_sparse", "is_conj", "is_neg", "is_same_size"),
}
_DRAWS = "draws random numbers, which are taken from clew"
_THREAD = "in another thread"
_FORMS = ("functional", "in_place")
_NOTHING_TO_COMPARE = ("_empty", "empty", "new_empty")


@dataclass(frozen=True, slots=True)
class Line:
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
    """Calls between two that `--every` takes."""


class _NodeHook:
    """Sends the gradients of one node. When the node dies, so does what PyTorch keeps of the call.

    With a reason not to check them, it counts them.
    """

    __slots__ = ("_name", "_number", "_observer", "_reason", "_site")

    def __init__(self, observer: Observer, number: int, name: str, site: int, reason: str) -> None:
        self._observer, self._number, self._name, self._site, self._reason = observer, number, name, site, reason

    def __call__(self, given: tuple[Any, ...], incoming: tuple[Any, ...]) -> None:
        self._observer.gradient(self._number, self._name, self._site, self._reason, given, incoming)

    def __del__(self) -> None:
        if not self._reason:
            self._observer.dropped.append(self._number)


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
        self._number = 0
        self._inside = 0  # functions that run
        self._stepping = False  # as a part of a step that is checked
        self._draws = 0
        self._thread = threading.get_ident()
        self._interpreter = _core.Interpreter(self._handle, composites=True, backward=False)
        self._restore: list[Callable[[], None]] = []

    def start(self) -> None:
        self._replace_functions()
        if self._gradients:
            self._replace_steps()
        run = threading.Thread.run
        threading.Thread.run = self._counted(run)  # type: ignore[assignment, method-assign]
        self._restore.append(functools.partial(setattr, threading.Thread, "run", run))
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

    def _counted(self, run: Callable[[threading.Thread], None]) -> Callable[[threading.Thread], None]:
        """What runs in another thread is counted only."""

        def counted(thread: threading.Thread) -> None:
            names: Counter[str] = Counter()

            def handle(call: Any) -> None:
                if call.form in _FORMS:
                    names[call.name] += 1
                call.run()

            interpreter = _core.Interpreter(handle, backward=False)
            interpreter.push()
            try:
                run(thread)
            finally:
                interpreter.pop()
                self.account.seen["operation"] += names.total()
                self.account.not_sent.update({("operation", name, _THREAD): n for name, n in names.items()})

        return counted

    # Operations -----------------------------------------------------------------------------------------------------

    def _handle(self, call: Any) -> None:
        form = call.form
        if form not in _FORMS:
            call.run()
            return
        schema, name, draws = call.schema, call.name, call.draws
        self.account.seen["operation"] += 1
        if form == "functional" and not call.is_composite and not _core.backward_serial():
            self.account.functional += 1
        if draws:
            self._draws += 1
        if reason := _reason_not_to_send(schema, name, draws):
            self.account.not_sent["operation", name, reason] += 1
            before = _base_of(call.inputs[0]).grad_fn if draws and form == "in_place" else None
            call.run()
            if self._gradients and draws and not call.is_composite:
                self._watch(name, 0, call.inputs, call.outputs, before, form, reason)
            return
        site = self._site(sys._getframe(1))
        if not self._is_due(site, schema):
            call.run()
            return
        self._channel.open += 1
        try:
            self._operation(call, form, schema, name, site)
        finally:
            self._channel.open -= 1
        self._channel.flush_if_full()

    def _operation(self, call: Any, form: str, schema: str, name: str, site: int) -> None:
        channel = self._channel
        try:
            args = channel.encode(call.arguments)
        except NotSent as error:
            call.run()
            self.account.not_sent["operation", name, str(error)] += 1
            return
        inputs = call.inputs
        before = _base_of(inputs[0]).grad_fn if form == "in_place" else None
        draws = self._draws
        try:
            call.run()
        except BaseException:
            self.account.not_sent["operation", name, "raises an error in clew"] += 1
            raise
        if self._draws != draws:
            self.account.not_sent["operation", name, _DRAWS] += 1
            return
        outputs = call.outputs
        try:
            outs = [None if y is None else channel.encode(y) for y in outputs]
            written = [(_place(inputs, one), channel.encode(one)) for one in call.written]
        except NotSent as error:
            self.account.not_sent["operation", name, str(error)] += 1
            return
        number = -1
        if self._gradients and not call.is_composite:
            number = self._watch(name, site, inputs, outputs, before, form)
        places = call.differentiable if number >= 0 else None
        channel.send(("operation", site, schema, form, number, places, args, outs, written))
        self.account.sent["operation"] += 1
        self._drop()

    def _watch(
        self,
        name: str,
        site: int,
        inputs: tuple[Any, ...],
        outputs: tuple[Any, ...],
        before: Any,
        form: str,
        reason: str = "",
    ) -> int:
        """Put a hook on the node of a call, whose input 0 had the node `before`. Its number; -1: it is not sent."""
        candidates = inputs[:1] if form == "in_place" else outputs
        one = next((y for y in candidates if y is not None and y.grad_fn is not None), None)
        if one is not None and form == "in_place" and _base_of(one) is not one:
            one, reason = _base_of(one), reason or "a write into a part of a tensor"  # whose history has the write
        if (
            one is None
            or one.grad_fn is None
            or one.grad_fn is before
            or (form != "in_place" and any(one is x for x in inputs))
        ):
            return -1
        self._number += 1
        one.grad_fn.register_hook(_NodeHook(self, self._number, name, site, reason))
        return -1 if reason else self._number

    def gradient(
        self, number: int, name: str, site: int, reason: str, given: tuple[Any, ...], incoming: tuple[Any, ...]
    ) -> None:
        """A node has run: what it was given, and what it gave."""
        self.account.seen["gradient"] += 1
        if threading.get_ident() != self._thread:
            reason = reason or _THREAD
        if reason:
            self.account.not_sent["gradient", name, reason] += 1
            return
        channel = self._channel
        channel.open += 1
        try:
            record = ("gradient", site, name, number, channel.encode(incoming), channel.encode(given))
            channel.send(record)
            self.account.sent["gradient"] += 1
        except NotSent as error:
            self.account.not_sent["gradient", name, str(error)] += 1
        finally:
            channel.open -= 1
        self._drop()
        channel.flush_if_full()

    def _drop(self) -> None:
        if len(self.dropped) > 64:
            numbers, self.dropped = self.dropped, []
            self._channel.send(("drop", numbers))

    # Functions ------------------------------------------------------------------------------------------------------

    def _replace_functions(self) -> None:
        wrappers: dict[Any, Any] = {}
        for place in _PLACES:
            module = functools.reduce(getattr, filter(None, place.split(".")), clew)
            for name, value in list(vars(module).items()):
                if isinstance(value, types.FunctionType) and _is_checked(name, value) and value not in wrappers:
                    wrappers[value] = self._wrapped(value, f"{place}.{name}".lstrip("."))
        modules = [one for name, one in list(sys.modules.items()) if name.partition(".")[0] == "clew"]
        for module in modules:
            for name, value in list(vars(module).items()):
                if isinstance(value, types.FunctionType) and value in wrappers and module.__name__ != __name__:
                    setattr(module, name, wrappers[value])
                    self._restore.append(functools.partial(setattr, module, name, value))
        for name in dir(clew.Tensor):
            value = getattr(clew.Tensor, name, None)
            if isinstance(value, types.FunctionType) and name not in _NOT_METHODS and not name.startswith("_"):
                _core.add_method(name, self._wrapped(value, f"Tensor.{name}"))
                self._restore.append(functools.partial(_core.add_method, name, value))

    def _wrapped(self, function: Callable[..., Any], path: str) -> Callable[..., Any]:
        @functools.wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            if self._inside or threading.get_ident() != self._thread or _is_transformed():
                return function(*args, **kwargs)
            return self._function(function, path, args, kwargs)

        return checked

    def _function(self, function: Callable[..., Any], path: str, args: Any, kwargs: Any) -> Any:
        self.account.seen["function"] += 1
        site = self._site(sys._getframe(2))
        if not self._is_due(site, path):
            return function(*args, **kwargs)
        channel, draws, failure = self._channel, self._draws, ""
        channel.open += 1
        self._inside += 1
        try:
            try:
                given = channel.encode(args), channel.encode(kwargs)
            except NotSent as error:
                failure = str(error)
            try:
                result = function(*args, **kwargs)
            except BaseException:
                self.account.not_sent["function", path, "raises an error in clew"] += 1
                raise
            try:
                encoded = None if failure else channel.encode(result)
            except NotSent as error:
                failure = str(error)
            if self._draws != draws:
                failure = _DRAWS
            if failure:
                self.account.not_sent["function", path, failure] += 1
            else:
                channel.send(("function", site, path, *given, encoded))
                self.account.sent["function"] += 1
        finally:
            self._inside -= 1
            channel.open -= 1
        channel.flush_if_full()
        return result

    # Steps of optimizers --------------------------------------------------------------------------------------------

    def _replace_steps(self) -> None:
        for name, kind in list(vars(optim).items()):
            if not (isinstance(kind, type) and issubclass(kind, optim.Optimizer)) or kind is optim.Optimizer:
                continue
            own = vars(kind).get("step")
            kind.step = self._checked_step(kind.step, name, kind)  # type: ignore[method-assign]
            undo = functools.partial(delattr, kind, "step") if own is None else None
            self._restore.append(undo or functools.partial(setattr, kind, "step", own))

    def _checked_step(self, step: Callable[..., Any], name: str, kind: Any) -> Callable[..., Any]:
        @functools.wraps(step)
        def checked(optimizer: Any, closure: Any = None) -> Any:
            result: Any = None
            given = () if closure is None else (closure,)
            if self._stepping or threading.get_ident() != self._thread:
                return step(optimizer, *given)
            self.account.seen["step"] += 1
            if closure is not None or type(optimizer) is not kind:
                reason = "is given a closure" if closure is not None else "of a class that derives from it"
                self.account.not_sent["step", name, reason] += 1
                return step(optimizer, *given)
            site = self._site(sys._getframe(1))
            if not self._is_due(site, name):
                return step(optimizer)
            channel = self._channel
            channel.open += 1
            try:
                before = [channel.encode(_group(optimizer, group)) for group in optimizer.param_groups]
                self._stepping = True
                result = step(optimizer)
                after = [
                    [channel.encode(p), *(channel.encode(state[key]) for key in sorted(state))]
                    for group in optimizer.param_groups
                    for p in group["params"]
                    for state in [optimizer.state.get(p, {})]
                ]
                channel.send(("step", site, name, before, after))
                self.account.sent["step"] += 1
            except NotSent as error:
                self.account.not_sent["step", name, str(error)] += 1
                return result if self._stepping else step(optimizer)
            finally:
                self._stepping = False
                channel.open -= 1
            channel.flush_if_full()
            return result

        return checked

    # Lines ----------------------------------------------------------------------------------------------------------

    def _is_due(self, site: int, name: str) -> bool:
        if self._every == 1:
            return True
        count = self._calls[site, name]
        self._calls[site, name] = count + 1
        if count % self._every:
            self.account.passed_over += 1
        return count % self._every == 0

    def _site(self, frame: FrameType | None) -> int:
        """The number of the line that called."""
        ours = self._ours
        while frame is not None:
            code = frame.f_code
            known = ours.get(code)
            if known is None:
                known = ours[code] = is_ours(code.co_filename)
            if not known:
                break
            frame = frame.f_back
        if frame is None:
            return self._number_of(None, None)
        nearest, script = frame, frame
        while script.f_code.co_filename != self._script and script.f_back is not None:
            script = script.f_back
        return self._number_of(nearest, script if script.f_code.co_filename == self._script else None)

    def _number_of(self, nearest: FrameType | None, script: FrameType | None) -> int:
        code = nearest.f_code if nearest is not None else _NO_CODE
        line = nearest.f_lineno if nearest is not None else 0
        script_line = script.f_lineno if script is not None and script is not nearest else 0
        number = self._site_numbers.get((code, line, script_line))
        if number is None:
            number = self._site_numbers[code, line, script_line] = len(self.sites)
            self.sites.append(Line(code.co_filename, line, code.co_name, script_line))
        return number


_NO_CODE = compile("", "<no line>", "exec")


def _is_checked(name: str, function: Any) -> bool:
    setting = name.startswith(("get_", "set_", "is_", "are_", "use_", "clear_", "_")) and name != "is_nonzero"
    return function.__module__.startswith("clew") and name not in _NOT_FUNCTIONS and not setting


def _reason_not_to_send(schema: str, name: str, draws: bool) -> str:
    if draws:
        return _DRAWS
    if name == "constant":
        return "makes a tensor of Python's data"
    if not schema:
        return "a part of a backward"
    return "its result has no meaning" if name.startswith(_NOTHING_TO_COMPARE) else ""


def _is_transformed() -> bool:
    """Whether tensors may stand for samples, or have tangents."""
    return bool(_core.active_batches() or _core.dual_levels())


def _base_of(tensor: Any) -> Any:
    return tensor._base if tensor._is_view() and tensor._base is not None else tensor


def _place(inputs: tuple[Any, ...], tensor: Any) -> int:
    return next((place for place, one in enumerate(inputs) if one is tensor), 0)


def _group(optimizer: Any, group: dict[str, Any]) -> dict[str, Any]:
    params = group["params"]
    return {
        "params": params,
        "grads": [parameter.grad for parameter in params],
        "states": [dict(optimizer.state.get(parameter, {})) for parameter in params],
        "options": {key: value for key, value in group.items() if key not in ("params", "param_names")},
    }
