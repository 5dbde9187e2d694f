"""The process in which PyTorch runs what the script ran in clew, on the same inputs, and compares what came out."""

from __future__ import annotations

import functools
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

from .channel import DEVICE, DTYPE, ELLIPSIS, SLICE, TENSOR
from .comparing import Difference, difference
from .equivalents import NoEquivalent, equivalent, parse

_CHOOSES = {"sort", "topk", "kthvalue", "median", "nanmedian", "mode", "max", "min", "cummax", "cummin"}
_CHOOSES_ONE = {"argmax", "argmin"}
_NOT_UNIQUE = {"linalg_qr", "linalg_svd", "_linalg_svd", "linalg_eig", "linalg_eigh", "_linalg_eigh"}
_NOT_UNIQUE_FUNCTIONS = {"qr", "svd", "eig", "eigh"}
_WIDER = {torch.float16: torch.float64, torch.bfloat16: torch.float64, torch.float32: torch.float64}
_WIDER |= {torch.complex64: torch.complex128}


class _Memory:
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
            if owned:
                flat = flat.clone()
            return flat.as_strided(shape, strides)
        extent = 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
        room = torch.empty(extent, dtype=dtype)
        if 0 in strides or extent < flat.numel():  # elements share places
            room[torch.arange(extent).as_strided(shape, strides).flatten()] = flat
            return room.as_strided(shape, strides)
        return room.as_strided(shape, strides).copy_(flat.view(shape))


class _Call:
    """A call whose gradients may be compared later."""

    def __init__(self, name: str, elementwise: bool, outputs: list[Any], leaves: list[Any], values: Any) -> None:
        self.name, self.elementwise, self.outputs, self.leaves, self.values = name, elementwise, outputs, leaves, values
        self.in_wider: Callable[[], _Call | None] = lambda: None
        self.places: list[int] = []  # of its inputs, for each gradient that the node gives

    @functools.cached_property
    def again(self) -> _Call | None:
        """The same in a wider dtype; None where that fails."""
        return self.in_wider()

    def gradients(self, incoming: list[torch.Tensor | None]) -> list[torch.Tensor | None]:
        """Of the leaves, from gradients of the outputs."""
        pairs = [(y, g) for y, g in zip(self.outputs, incoming, strict=False) if g is not None and y.requires_grad]
        wanted = [leaf for leaf in self.leaves if leaf is not None]
        if not pairs:
            return [None] * len(self.leaves)
        outputs, grads = zip(*pairs, strict=True)
        grads = tuple(g.to(y.dtype) for y, g in pairs)
        found = iter(torch.autograd.grad(outputs, wanted, grads, retain_graph=True, allow_unused=True))
        return [None if leaf is None else next(found) for leaf in self.leaves]


class Worker:
    """Runs records, and counts what came of them."""

    def __init__(self) -> None:
        self.checked: Counter[str] = Counter()
        self.differ: Counter[str] = Counter()
        self.unchecked: Counter[tuple[str, str, str]] = Counter()
        self.differences: dict[tuple[int, str, str], list[Any]] = {}
        self._calls: dict[int, _Call] = {}
        self._optimizers: dict[str, Any] = {}

    # What a record says ---------------------------------------------------------------------------------------------

    def run(self, record: tuple[Any, ...], memory: _Memory) -> None:
        """One record."""
        kind = record[0]
        if kind == "drop":
            for number in record[1]:
                self._calls.pop(number, None)
            return
        _, site, name, *rest = record
        try:
            found = list(getattr(self, f"_{kind}")(memory, name, *rest))
        except NoEquivalent as error:
            self.unchecked[kind, name, str(error)] += 1
            return
        except Exception as error:
            text = str(error).strip().partition("\n")[0][:160]
            self.unchecked[kind, name, f"PyTorch raises {type(error).__name__}: {text}"] += 1
            return
        (self.differ if found else self.checked)[kind] += 1
        for part, one in found:
            known = self.differences.setdefault((site, name, part), [0, one])
            known[0] += 1

    def found(self) -> dict[str, Any]:
        """All of it, as plain data."""
        return {
            "checked": dict(self.checked),
            "differ": dict(self.differ),
            "unchecked": dict(self.unchecked),
            "differences": [(*key, count, tuple(one)) for key, (count, one) in self.differences.items()],
        }

    def _operation(
        self, memory: _Memory, schema: str, form: str, number: int, places: Any, args: Any, outs: Any, written: Any
    ) -> Iterator[tuple[str, Difference]]:
        """A call of the registry's: `written` are the places of inputs that it wrote, and what stands there now."""
        name, arguments = parse(schema)
        in_place = form == "in_place"
        function, elementwise = equivalent(schema, in_place)
        records = number >= 0
        values = self._decode(memory, args, records or bool(written))
        pristine = self._decode(memory, args, records) if written else values

        def wider() -> _Call | None:
            with suppress(Exception):
                return self._run(name, function, elementwise, arguments, _widened(pristine), args, records, True)
            return None

        call = self._run(name, function, elementwise, arguments, values, args, records, bool(written))
        call.in_wider = wider
        outputs = call.outputs
        tie = False
        if in_place:
            outs = [spec for _, spec in written[:1]]
        elif written:
            slots = self._slots(arguments, call.values)
            outputs = [*outputs, *(slots[place] for place, _ in written)]
            outs = [*outs, *([None] * (len(call.outputs) - len(outs))), *(spec for _, spec in written)]
        for place, (spec, theirs) in enumerate(zip(outs, outputs, strict=False)):
            if spec is None or theirs is None:
                continue
            ours = memory.tensor(spec, False)

            def reference(place: int = place) -> torch.Tensor | None:
                again = call.again
                return None if again is None or place >= len(again.outputs) else again.outputs[place]

            found = difference(ours, theirs, reference, elementwise)
            if found is not None and _is_as_good(name, call.values, ours, theirs, outs, memory):
                tie, found = True, None
            if found is not None:
                yield (f"output {place}" if len(outs) > 1 else "value"), found
        if records and not tie:
            call.places = places
            self._calls[number] = call

    def _gradient(self, memory: _Memory, name: str, number: int, incoming: Any, given: Any) -> Any:
        """What a node's rule gave, from gradients of the results of its call."""
        call = self._calls.get(number)
        if call is None:
            raise NoEquivalent("its call was not checked, or the choice among equal values was another")
        grads = [None if spec is None else memory.tensor(spec, True) for spec in incoming]
        if any(grad is not None for grad in grads[len(call.outputs) :]):
            raise NoEquivalent("of a result that PyTorch's operation does not give")
        theirs = call.gradients(grads)
        for place, spec in zip(call.places, given, strict=True):
            if spec is None or call.leaves[place] is None:
                continue
            other = theirs[place]
            ours = memory.tensor(spec, False)

            def wider(place: int = place) -> torch.Tensor | None:
                again = call.again
                return None if again is None else again.gradients(grads)[place]

            other = torch.zeros_like(call.leaves[place]) if other is None else other
            if ours.shape != other.shape and ours.numel() > other.numel():  # the engine sums over what was broadcast
                ours = ours.sum_to_size(other.shape)
            if ours.dtype != other.dtype:  # and casts
                ours = ours.to(other.dtype)
            found = difference(ours, other, wider, call.elementwise and ours.shape == call.outputs[0].shape)
            if found is not None:
                yield f"gradient of input {place}", found

    def _function(self, memory: _Memory, path: str, args: Any, kwargs: Any, result: Any) -> Any:
        """A function that is made of operations, by its public name."""
        if path.rpartition(".")[2] in _NOT_UNIQUE_FUNCTIONS:
            raise NoEquivalent("its vectors are not unique; the operation in it is compared")
        function: Any = functools.reduce(getattr, path.split("."), torch)
        values, named = self._decode(memory, args, True), self._decode(memory, kwargs, True)
        with torch.no_grad():
            theirs = function(*values, **named)

        def wider(place: int) -> torch.Tensor | None:
            with suppress(Exception), torch.no_grad():
                again = function(*_widened(self._decode(memory, args, True)), **_widened(named))
                found: torch.Tensor | None = list(_leaves(again))[place]
                return found
            return None

        ours, others = list(_leaves(self._decode(memory, result, False))), list(_leaves(theirs))
        if len(ours) != len(others):
            raise NoEquivalent(f"PyTorch's function gives {len(others)} results, not {len(ours)}")
        for place, (one, other) in enumerate(zip(ours, others, strict=True)):
            if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
                found = difference(one, other, functools.partial(wider, place), False)
                if found is not None:
                    yield (f"output {place}" if len(ours) > 1 else "value"), found
            elif isinstance(one, bool | int | float | str) and one != other and not (one != one and other != other):
                yield "value", Difference(f"{one}, PyTorch {other}", "the same value", float("inf"))

    def _step(self, memory: _Memory, name: str, groups: Any, after: Any) -> Any:
        """An optimizer's step, from the parameters, gradients, state and options before it."""
        kind = getattr(torch.optim, name)

        def run(convert: Callable[[Any], Any]) -> list[Any]:
            given = [self._decode(memory, group, True) for group in groups]
            params = [[convert(p) for p in group["params"]] for group in given]
            optimizer = self._optimizers.get(name)
            if optimizer is None:  # to make one takes longer than a step
                options = {"lr": 1e-3} if name in ("SGD", "Muon") else {}
                optimizer = self._optimizers[name] = kind([torch.ones(1, 1, requires_grad=True)], **options)
            optimizer.state.clear()
            known = optimizer.defaults.keys()
            optimizer.param_groups = [
                {
                    **optimizer.defaults,
                    **{key: value for key, value in group["options"].items() if key in known},
                    "params": mine,
                }
                for group, mine in zip(given, params, strict=True)
            ]
            for own, mine in zip(given, params, strict=True):
                for parameter, grad, state in zip(mine, own["grads"], own["states"], strict=True):
                    parameter.grad = None if grad is None else convert(grad)
                    if state:
                        optimizer.state[parameter] = {key: convert(value) for key, value in state.items()}
            optimizer.step()
            return [
                [p.detach(), *(optimizer.state[p][key] for key in sorted(optimizer.state[p]))]
                for one in params
                for p in one
            ]

        theirs = run(lambda value: value)
        again: list[Any] = []

        def wider(place: int, at: int) -> torch.Tensor:
            if not again:
                again.extend(run(lambda x: _widened(x) if isinstance(x, torch.Tensor) else x))
            found: torch.Tensor = again[place][at]
            return found

        for place, (spec, others) in enumerate(zip(after, theirs, strict=True)):
            ours = self._decode(memory, spec, False)
            for at, (one, other) in enumerate(zip(ours, others, strict=False)):
                if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
                    found = difference(one, other, functools.partial(wider, place, at), False)
                    if found is not None:
                        yield f"parameter {place}" if at == 0 else f"state of parameter {place}", found

    # Running it -----------------------------------------------------------------------------------------------------

    @staticmethod
    def _run(
        name: str, function: Any, elementwise: bool, arguments: Any, values: Any, args: Any, records: bool, writes: bool
    ) -> _Call:
        leaves: list[Any] = []
        if records:
            values, leaves = _with_leaves(arguments, values, args, writes)
        with torch.set_grad_enabled(records):
            results = function(values)
        return _Call(name, elementwise, list(_leaves(results)), leaves, values)

    def _decode(self, memory: _Memory, value: Any, owned: bool) -> Any:
        if isinstance(value, list):
            return [self._decode(memory, item, owned) for item in value]
        if isinstance(value, dict):
            return {key: self._decode(memory, item, owned) for key, item in value.items()}
        if not isinstance(value, tuple):
            return value
        kind = value[0]
        if kind == TENSOR:
            return memory.tensor(value, owned)
        if kind == DTYPE:
            return getattr(torch, value[1])
        if kind == SLICE:
            return slice(*value[1:])
        if kind == ELLIPSIS:
            return ...
        assert kind == DEVICE
        return getattr(torch, value[1].removeprefix("torch.")) if "torch." in value[1] else torch.device(value[1])

    @staticmethod
    def _slots(arguments: Any, values: Any) -> list[Any]:
        """The tensors among the arguments, as a call of the registry counts its inputs."""
        slots: list[Any] = []
        for argument, value in zip(arguments, values, strict=True):
            if argument.is_list:
                slots.extend(value)
            elif argument.is_tensor:
                slots.append(value)
        return slots


def _with_leaves(arguments: Any, values: list[Any], args: Any, writes: bool) -> tuple[list[Any], list[Any]]:
    """The arguments with leaves for those tensors that require grad in clew; and the leaves, by input."""
    leaves: list[Any] = []

    def leaf(value: Any, spec: Any) -> Any:
        if not isinstance(value, torch.Tensor) or not spec[-1] or not (value.is_floating_point() or value.is_complex()):
            leaves.append(None)
            return value
        leaves.append(value.requires_grad_())
        return value.clone() if writes else value

    changed = []
    for argument, value, spec in zip(arguments, values, args, strict=True):
        if argument.is_list:
            changed.append([leaf(one, its) for one, its in zip(value or [], spec or [], strict=True)])
        else:
            changed.append(leaf(value, spec) if argument.is_tensor else value)
    return changed, leaves


def _is_as_good(name: str, values: Any, ours: Any, theirs: Any, outs: Any, memory: _Memory) -> bool:
    """Whether it is another choice among equal values, or another basis of the same factorization."""
    x = values[0] if values else None
    if not isinstance(x, torch.Tensor) or ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return False
    if theirs.dtype == torch.int64 and name in _CHOOSES | _CHOOSES_ONE:
        dims = [value for value in values[1:] if type(value) is int]
        if name in ("topk", "kthvalue"):
            dims = dims[1:]
        if not dims or x.ndim == 0:
            return bool(torch.equal(x.flatten()[ours.flatten()], x.flatten()[theirs.flatten()]))
        if ours.ndim < x.ndim:
            ours, theirs = ours.unsqueeze(dims[0]), theirs.unsqueeze(dims[0])
        return bool(torch.equal(x.gather(dims[0], ours), x.gather(dims[0], theirs)))
    if name in _NOT_UNIQUE:
        parts = [memory.tensor(spec, False) for spec in outs if spec is not None]
        if name == "linalg_qr":
            again = parts[0] @ parts[1]
        elif "svd" in name:
            again = parts[0] @ torch.diag_embed(parts[1]).to(x.dtype) @ parts[2]
        else:
            again = parts[1] @ torch.diag_embed(parts[0]).to(parts[1].dtype) @ torch.linalg.inv(parts[1])
        tolerance = 64 * torch.finfo(x.dtype).eps * float(x.abs().max()) * max(x.shape[-2:])
        return again.shape == x.shape and bool(((again - x).abs() <= tolerance).all())
    return False


def _widened(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach().to(_WIDER.get(value.dtype, value.dtype), copy=True)
    if isinstance(value, torch.dtype):
        return _WIDER.get(value, value)
    if isinstance(value, list):
        return [_widened(item) for item in value]
    if isinstance(value, dict):
        return {key: _widened(item) for key, item in value.items()}
    return value


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, list | tuple):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, dict):
        yield from _leaves(list(value.values()))
    else:
        yield value


def main() -> None:
    """Take records until there are no more; then say what was found."""
    connection = Connection(int(sys.argv[1]))
    memories = [_Memory(int(file)) for file in sys.argv[2:]]
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    worker = Worker()
    connection.send((str(torch.__version__), ""))
    leaf = torch.ones(1, requires_grad=True)  # what is imported at first use takes seconds: while the script starts
    torch.autograd.grad(leaf * 2, leaf)
    torch.optim.SGD([leaf], lr=0.1)
    with suppress(EOFError):
        while True:
            batch = connection.recv()
            if batch is None:
                connection.send(worker.found())
                worker = Worker()
                continue
            number, size, records = batch
            memories[number].see(size)
            for record in records:
                worker.run(record, memories[number])
            connection.send(number)


if __name__ == "__main__":
    main()
