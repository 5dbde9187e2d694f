"""Averages gradients over ranks while a backward pass still runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import clew
from clew import Tensor

from ... import distributed as dist
from ...distributed._ordered import ordered_all_reduce
from ...distributed._shared import SharedRow, shared_row
from ...distributed._work import progress
from ...utils._pytree import tree_leaves

_FIRST = 1 << 20  # bytes of the first bucket, which is small so that it is soon under way


class _Bucket:
    """Gradients that are reduced together: some parameters of one dtype, in the order in which they become ready."""

    def __init__(self, places: list[int], parameters: Sequence[Tensor]) -> None:
        self.places = places
        self.parameters = [parameters[place] for place in places]
        self.dtype = self.parameters[0].dtype
        self.length = sum(one.numel() for one in self.parameters)
        self.shared: tuple[Tensor, list[Tensor], list[Tensor]] | None = None  # a row that others see, and the mean
        self.row: list[Tensor] | None = None  # the gradients, while they are reduced by messages
        self.means: dict[int, Tensor] = {}  # of parameters that this rank has no gradient of
        self.work: Any = None

    def parts(self, row: Tensor) -> list[Tensor]:
        """Views of a row in the shapes of the parameters."""
        pieces = row.split([one.numel() for one in self.parameters])
        return [piece.view(one.shape) for piece, one in zip(pieces, self.parameters, strict=True)]

    def write(self, parts: list[Tensor]) -> None:
        """Put the gradients into the parts of a row."""
        for parameter, part in zip(self.parameters, parts, strict=True):
            if parameter.grad is None:
                part.zero_()
            else:
                part.copy_(parameter.grad)

    def read(self, parts: list[Tensor]) -> None:
        """Take their means from there."""
        for place, parameter, part in zip(self.places, self.parameters, parts, strict=True):
            if parameter.grad is None:
                self.means[place] = part.clone()
            else:
                parameter.grad.copy_(part)


class Reducer:
    """Watches the parameters' gradients. A bucket of which all are there is reduced at once; buckets go in order.

    Args:
        names: of the parameters, for messages.
        parameters: all that require a gradient.
        group: whose ranks take part.
        bucket_bytes: at most so many bytes go together.
        deterministic: whether sums are taken in the order of the ranks.
    """

    def __init__(
        self, names: list[str], parameters: Sequence[Tensor], group: Any, bucket_bytes: int, deterministic: bool
    ) -> None:
        self._names, self._parameters, self._group, self._deterministic = names, parameters, group, deterministic
        self._buckets = [_Bucket(places, parameters) for places in _divided(parameters, bucket_bytes)]
        self._shared = self._share()
        self._unused: set[int] | None = None  # None: nobody looks for unused parameters
        self._armed = False
        self._reset()
        for place, parameter in enumerate(parameters):
            parameter.register_post_accumulate_grad_hook(self._hook_of(place))

    def _reset(self) -> None:
        self._expected = set(range(len(self._parameters))) - (self._unused or set())
        self._waiting = set(self._expected)
        self._launched = 0
        for bucket in self._buckets:
            bucket.work = bucket.row = None
            bucket.means.clear()

    def _hook_of(self, place: int) -> Any:
        return lambda _: self._is_ready(place)

    def arm(self, armed: bool, unused: set[int] | None) -> None:
        """Say before a backward whether it reduces, and which parameters it won't reach, if one looked for them.

        Raises:
            RuntimeError: the one before did not reach all parameters.
        """
        if self._waiting != self._expected:
            missing = ", ".join(self._names[place] for place in sorted(self._waiting))
            raise RuntimeError(
                "Expected to have finished reduction in the prior iteration before starting a new one: expected a "
                f"gradient of each parameter, got none of {missing}; use find_unused_parameters=True"
            )
        self._armed, self._unused = armed, unused
        self._reset()

    def _is_ready(self, place: int) -> None:
        if not self._armed:
            return
        if place not in self._waiting:
            raise RuntimeError(
                f"Expected to mark a variable ready only once: expected one gradient of {self._names[place]} in a "
                "backward, and that forward returns what depends on it as a tensor or in lists, tuples and dictionaries"
            )
        self._waiting.remove(place)
        if not self._group.queue and not self._waiting.isdisjoint(self._next().places):
            return
        with clew.no_grad():
            while self._launched < len(self._buckets) and self._waiting.isdisjoint(self._next().places):
                self._launch(self._next())
                self._launched += 1
            progress()
            if self._launched == len(self._buckets):
                self._finish()

    def _next(self) -> _Bucket:
        return self._buckets[self._launched]

    def _share(self) -> SharedRow | None:
        """Let the buckets that NumPy can add up use memory that all ranks see, if there is such."""
        chosen = [one for one in self._buckets if one.dtype in (clew.float32, clew.float64)]
        if not chosen:
            return None
        shared = shared_row(self._group, max(one.length * one.dtype.itemsize for one in chosen))
        if shared is not None:
            for bucket in chosen:
                own, mean = shared.views(bucket.length, bucket.dtype)
                bucket.shared = own, bucket.parts(own), bucket.parts(mean)
        return shared

    def _launch(self, bucket: _Bucket) -> None:
        if self._group.size() == 1:
            return
        if self._shared is not None and bucket.shared is not None:
            own, parts, means = bucket.shared
            bucket.work = self._shared.mean(own, lambda: bucket.write(parts), lambda: bucket.read(means))
            return
        row = clew.empty(bucket.length, dtype=bucket.dtype)
        bucket.row = bucket.parts(row)
        bucket.write(bucket.row)
        if self._deterministic:
            bucket.work = ordered_all_reduce(row, dist.ReduceOp.AVG, self._group)
        else:
            bucket.work = dist.all_reduce(row, dist.ReduceOp.AVG, self._group, async_op=True)

    def _finish(self) -> None:
        """Wait for all buckets, and put the means into the gradients."""
        used = self._used_anywhere()
        for bucket in self._buckets:
            if bucket.work is not None:
                bucket.work.wait()
            if bucket.row is not None:
                bucket.read(bucket.row)
            for place, mean in bucket.means.items():
                if place in used:
                    self._parameters[place].grad = mean
        self._reset()

    def _used_anywhere(self) -> set[int]:
        """The parameters that some rank's loss depends on: those that none does keep the gradient None."""
        everyone = range(len(self._parameters))
        if self._unused is None:
            return set(everyone)
        flags = clew.tensor([place not in self._unused for place in everyone], dtype=clew.int32)
        dist.all_reduce(flags, dist.ReduceOp.MAX, self._group)
        return {place for place, flag in enumerate(flags.tolist()) if flag}

    def not_reached(self, outputs: Any) -> set[int]:
        """The parameters that no output depends on."""
        reached = {id(leaf) for leaf in _leaves(outputs)}
        return {place for place, parameter in enumerate(self._parameters) if id(parameter) not in reached}


def _divided(parameters: Sequence[Tensor], limit: int) -> Iterator[list[int]]:
    """Parameters from the last to the first, as their gradients come, in parts of one dtype and limited size."""
    part: list[int] = []
    size, room = 0, min(_FIRST, limit)
    for place in reversed(range(len(parameters))):
        parameter = parameters[place]
        length = parameter.numel() * parameter.element_size()
        if part and (size + length > room or parameter.dtype != parameters[part[0]].dtype):
            yield part
            part, size, room = [], 0, limit
        part.append(place)
        size += length
    yield part


def _leaves(outputs: Any) -> Iterator[Tensor]:
    """The leaves of the graphs that end in these outputs."""
    todo: list[Any] = []
    for one in tree_leaves(outputs):
        if not isinstance(one, Tensor):
            continue
        if one.grad_fn is not None:
            todo.append(one.grad_fn)
        elif one.requires_grad:
            yield one
    seen = set()
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        variable = getattr(node, "variable", None)
        if variable is not None:
            yield variable
        todo.extend(next_ for next_, _ in node.next_functions if next_ is not None)
