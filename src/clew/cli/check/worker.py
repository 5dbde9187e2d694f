"""The process in which PyTorch runs what the script ran in clew, on the same inputs, and compares what came out."""

from __future__ import annotations

import functools
import itertools
import mmap
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

try:
    import torch
except Exception as error:  # whatever hinders it: the parent says so
    Connection(int(sys.argv[1])).send(("", f"{type(error).__name__}: {error}"))
    sys.exit(2)

from .channel import DTYPE, ELLIPSIS, SLICE, TENSOR
from .comparing import Difference, difference, is_another_choice
from .equivalents import NOT_UNIQUE, NoEquivalent, equivalent

_WIDER = {torch.float16: torch.float64, torch.bfloat16: torch.float64, torch.float32: torch.float64}
_WIDER |= {torch.complex64: torch.complex128}
Place = tuple[int, int | None]
"""Of a tensor among the arguments: of the argument and, in a list, of the item."""


class Memory:
    """A half of what the processes share."""

    def __init__(self, file: int) -> None:
        self._file, self._size = file, 0

    def see(self, size: int) -> None:
        if size != self._size:
            self._map, self._size = mmap.mmap(self._file, size), size

    def tensor(self, spec: tuple[Any, ...], owned: bool) -> torch.Tensor:
        """The tensor that this tuple stands for; `owned`: it outlives the half's content, or may be written."""
        _, offset, nbytes, name, shape, strides, as_it_lies, _ = spec
        dtype = getattr(torch, name)
        if nbytes == 0:
            return torch.empty_strided(shape, strides, dtype=dtype)
        flat = torch.frombuffer(self._map, dtype=dtype, count=nbytes // dtype.itemsize, offset=offset)
        if as_it_lies:
            return (flat.clone() if owned else flat).as_strided(shape, strides)
        extent = 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
        room = torch.empty(extent, dtype=dtype)
        if 0 in strides or extent < flat.numel():  # elements share places
            room[torch.arange(extent).as_strided(shape, strides).flatten()] = flat
            return room.as_strided(shape, strides)
        return room.as_strided(shape, strides).copy_(flat.view(shape))

    def decode(self, value: Any, owned: bool) -> Any:
        """What was encoded by the channel."""
        if isinstance(value, list):
            return [self.decode(item, owned) for item in value]
        if isinstance(value, dict):
            return {key: self.decode(item, owned) for key, item in value.items()}
        if not isinstance(value, tuple):
            return value
        if value[0] == TENSOR:
            return self.tensor(value, owned)
        if value[0] == SLICE:
            return slice(*value[1:])
        if value[0] == ELLIPSIS:
            return ...
        return getattr(torch, value[1]) if value[0] == DTYPE else torch.device(value[1])


class _Call:
    """A call, as PyTorch runs it. With leaves its gradients may be asked for later."""

    def __init__(
        self,
        function: Callable[[Any], Any],
        elementwise: bool,
        values: Any,
        pristine: Callable[[], Any] | None,
        leaves: list[Place | None],
    ) -> None:
        # What was not written has no need of `pristine`, which gives the values again.
        self.function, self.elementwise, self.places = function, elementwise, leaves
        self.pristine: Callable[[], Any] = pristine or (lambda: values)
        self.leaves: list[Any] = []
        for place in leaves:
            leaf: Any = None if place is None else _at(values, place)
            self.leaves.append(leaf if leaf is None else leaf.requires_grad_())
            if place is not None and pristine is not None:  # a leaf must not be written
                argument, item = place
                (values if item is None else values[argument])[argument if item is None else item] = leaf.clone()
        self.values = values
        with torch.set_grad_enabled(bool(leaves)):
            self.outputs = list(_leaves(function(values)))

    @functools.cached_property
    def wider(self) -> _Call | None:
        """The same in a wider dtype; None where that fails."""
        with suppress(Exception):
            return _Call(self.function, self.elementwise, _widened(self.pristine()), lambda: None, self.places)
        return None

    def output(self, place: int) -> torch.Tensor | None:
        """One of those in a wider dtype."""
        return None if self.wider is None or place >= len(self.wider.outputs) else self.wider.outputs[place]

    def gradients(self, incoming: list[torch.Tensor | None]) -> list[torch.Tensor | None]:
        """Of the leaves, from gradients of the outputs."""
        return _gradients([(self, incoming)])[0]


def _gradients(calls: list[tuple[_Call, list[torch.Tensor | None]]]) -> list[list[torch.Tensor | None]]:
    """Those of the leaves of each call, in one run of PyTorch's engine: to start it takes longer than most rules."""
    outputs, grads, wanted = [], [], []
    for call, incoming in calls:
        for y, g in zip(call.outputs, incoming, strict=False):
            if g is not None and y.requires_grad:
                outputs.append(y)
                grads.append(g.to(y.dtype))
        wanted += [leaf for leaf in call.leaves if leaf is not None]
    found = iter(torch.autograd.grad(outputs, wanted, grads, retain_graph=True, allow_unused=True) if outputs else ())
    return [[None if leaf is None else next(found, None) for leaf in call.leaves] for call, _ in calls]


class Worker:
    """Runs records, and counts what came of them."""

    def __init__(self) -> None:
        self.checked: Counter[str] = Counter()
        self.differ: Counter[str] = Counter()
        self.unchecked: Counter[tuple[str, str, str]] = Counter()
        self.differences: dict[tuple[int, str, str], list[Any]] = {}
        self._calls: dict[int, _Call] = {}
        self._ready: dict[int, list[torch.Tensor | None]] = {}  # gradients, by the call's number
        self._optimizers: dict[str, Any] = {}

    def run_all(self, records: list[Any], memory: Memory) -> None:
        """A batch of records. Gradients that follow each other are computed together."""
        for kind, group in itertools.groupby(records, key=lambda record: record[0]):
            several = list(group)
            if kind == "gradient":
                known = {
                    one[3]: one for one in reversed(several) if one[3] in self._calls
                }  # a call's first, if it has more
                with suppress(Exception):  # one by one, then, to count the one that fails
                    pairs = [(self._calls[one], memory.decode(known[one][4], False)) for one in known]
                    self._ready = dict(zip(known, _gradients(pairs), strict=True))
            for record in several:
                self._run(record, memory)
            self._ready = {}

    def _run(self, record: tuple[Any, ...], memory: Memory) -> None:
        kind = record[0]
        if kind == "drop":
            for number in record[1]:
                self._calls.pop(number, None)
            return
        _, site, name, *rest = record
        try:
            found = [one for one in getattr(self, f"_{kind}")(memory, name, *rest) if one[1] is not None]
        except NoEquivalent as error:
            self.unchecked[kind, name, str(error)] += 1
            return
        except Exception as error:
            text = str(error).strip().partition("\n")[0][:160]
            self.unchecked[kind, name, f"PyTorch raises {type(error).__name__}: {text}"] += 1
            return
        (self.differ if found else self.checked)[kind] += 1
        for part, one in found:
            self.differences.setdefault((site, name, part), [0, one])[0] += 1

    def found(self) -> dict[str, Any]:
        """All of it, as plain data."""
        counts = {name: dict(getattr(self, name)) for name in ("checked", "differ", "unchecked")}
        differences = [(*key, count, tuple(one)) for key, (count, one) in self.differences.items()]
        return {**counts, "differences": differences}

    def _operation(
        self, memory: Memory, schema: str, form: str, number: int, places: Any, args: Any, outs: Any, written: Any
    ) -> Iterator[tuple[str, Difference | None]]:
        """A call of the registry's. `places` are those of inputs that its node has edges for; `written` has the places
        of inputs that it wrote, and what stands there now."""
        function, elementwise = equivalent(schema, form == "in_place")
        name = schema.partition("(")[0].partition(".")[0]
        leaves = [place if _requires_grad(_at(args, place)) else None for place in places]
        values = memory.decode(args, bool(leaves or written))
        copy = memory.decode(args, True) if written and leaves else None
        pristine = (lambda: copy or memory.decode(args, True)) if written else None
        call = _Call(function, elementwise, values, pristine, leaves)
        results = list(enumerate(outs)) if form != "in_place" else []
        theirs = dict(enumerate(call.outputs))
        for place, spec in written:
            theirs[len(call.outputs) + len(results)] = _at(call.values, place)
            results.append((len(call.outputs) + len(results), spec))
        other_choice = False
        for place, spec in results:
            if spec is None or theirs.get(place) is None:
                continue
            ours = memory.tensor(spec, False)
            found = difference(ours, theirs[place], functools.partial(call.output, place), elementwise)
            if found is not None and is_another_choice(name, values, ours, theirs[place], memory.decode(outs, False)):
                other_choice, found = True, None
            yield (f"output {place}" if len(results) > 1 else "value"), found
        if number >= 0 and not other_choice:
            self._calls[number] = call

    def _gradient(self, memory: Memory, name: str, number: int, incoming: Any, given: Any) -> Any:
        """What a node's rule gave, from gradients of the results of its call."""
        call = self._calls.get(number)
        if call is None:
            raise NoEquivalent("its call was not checked, or the choice among equal values was another")
        grads = memory.decode(incoming, False)
        if any(grad is not None for grad in grads[len(call.outputs) :]):
            raise NoEquivalent("of a result that PyTorch's operation does not give")
        theirs = self._ready.pop(number, None) or call.gradients(grads)
        for place, (spec, leaf) in enumerate(zip(given, call.leaves, strict=True)):
            if spec is None or leaf is None:
                continue
            ours, other = memory.tensor(spec, False), theirs[place]
            other = torch.zeros_like(leaf) if other is None else other
            if (
                ours.shape != other.shape and ours.numel() >= other.numel()
            ):  # the engine sums over what was broadcast, and casts
                ours = ours.sum_to_size(other.shape)
            elementwise = call.elementwise and ours.shape == call.outputs[0].shape

            def wider(place: int = place) -> torch.Tensor | None:
                return None if call.wider is None else call.wider.gradients(grads)[place]

            yield f"gradient of input {place}", difference(ours.to(other.dtype), other, wider, elementwise)

    def _function(self, memory: Memory, path: str, autocast: str, args: Any, kwargs: Any, result: Any) -> Any:
        """A function that is made of operations, by its public name, in a region of autocast of this dtype."""
        if path.rpartition(".")[2] in NOT_UNIQUE:
            raise NoEquivalent("its vectors are not unique; the operation in it is compared")
        function: Any = functools.reduce(getattr, path.split("."), torch)
        given = [args, kwargs]

        def run(values: Any) -> Any:
            with torch.autocast("cpu", getattr(torch, autocast or "bfloat16"), enabled=bool(autocast)):
                return function(*values[0], **values[1])

        call = _Call(
            run,
            False,
            memory.decode(given, True),
            lambda: memory.decode(given, True),
            [],
        )
        ours = list(_leaves(memory.decode(result, False)))
        if len(ours) != len(call.outputs):
            raise NoEquivalent(f"PyTorch's function gives {len(call.outputs)} results, not {len(ours)}")
        for place, (one, other) in enumerate(zip(ours, call.outputs, strict=True)):
            part = f"output {place}" if len(ours) > 1 else "value"
            if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
                yield part, difference(one, other, functools.partial(call.output, place), False)
            elif isinstance(one, bool | int | float | str) and one != other and one == one:
                yield part, Difference(f"{one}, PyTorch {other}", "the same value")

    def _step(self, memory: Memory, name: str, groups: Any, after: Any) -> Any:
        """An optimizer's step, from the parameters, gradients, state and options before it."""
        run = functools.partial(self._optimize, name)
        given = memory.decode(groups, True)
        call = _Call(run, False, given, lambda: memory.decode(groups, True), [])
        ours = list(_leaves(memory.decode(after, False)))
        for place, (one, other) in enumerate(zip(ours, call.outputs, strict=True)):
            if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
                part = "a parameter" if any(other is p for group in given for p in group["params"]) else "state"
                yield part, difference(one, other, functools.partial(call.output, place), False)

    def _optimize(self, name: str, groups: Any) -> Any:
        optimizer = self._optimizers.get(name)
        if optimizer is None:  # to make one takes longer than a step
            options = {"lr": 1e-3} if name in ("SGD", "Muon") else {}
            optimizer = getattr(torch.optim, name)([torch.ones(1, 1, requires_grad=True)], **options)
            self._optimizers[name] = optimizer
        known = optimizer.defaults
        optimizer.state.clear()
        optimizer.param_groups = []
        for group in groups:
            options = {key: value for key, value in group["options"].items() if key in known}
            optimizer.param_groups.append({**known, **options, "params": group["params"]})
            for parameter, grad, state in zip(group["params"], group["grads"], group["states"], strict=True):
                parameter.grad = grad
                if state:
                    optimizer.state[parameter] = state
        optimizer.step()
        params = [p for group in groups for p in group["params"]]
        return [[p, *(optimizer.state[p][key] for key in sorted(optimizer.state.get(p, ())))] for p in params]


def _at(values: Any, place: Place) -> Any:
    argument, item = place
    return values[argument] if item is None else values[argument][item]


def _requires_grad(spec: Any) -> bool:
    """Whether this stands for a tensor that has a gradient in clew."""
    return isinstance(spec, tuple) and spec[0] == TENSOR and spec[-1]


def _widened(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach().to(_WIDER.get(value.dtype, value.dtype), copy=True)
    if isinstance(value, torch.dtype):
        return _WIDER.get(value, value)
    if isinstance(value, list):
        return [_widened(item) for item in value]
    return {key: _widened(item) for key, item in value.items()} if isinstance(value, dict) else value


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, list | tuple | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _leaves(item)
    else:
        yield value


def main() -> None:
    """Take records, and say what was found when asked, until there are no more."""
    connection = Connection(int(sys.argv[1]))
    memories = [Memory(int(file)) for file in sys.argv[2:]]
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    connection.send((str(torch.__version__), ""))
    leaf = torch.ones(1, requires_grad=True)  # what is imported at first use takes seconds: while the script starts
    torch.autograd.grad(leaf * 2, leaf)
    torch.optim.SGD([leaf], lr=0.1)
    worker = Worker()
    with suppress(EOFError):
        while True:
            batch = connection.recv()
            if batch is None:
                connection.send(worker.found())
                worker = Worker()
                continue
            number, size, records = batch
            memories[number].see(size)
            worker.run_all(records, memories[number])
            connection.send(number)


if __name__ == "__main__":
    main()
