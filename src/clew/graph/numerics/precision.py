"""``clew.graph.precision``: where a computation loses its digits, found by a run in float64 beside it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ... import _core
from ..model.notebook import Shown
from ..model.places import Place
from ..model.protocol import is_tensor
from ..model.subjects import parts
from ..model.wording import counted, source_text
from ..notes.finding import Finding
from .advice import advice, is_long_sum, overflow_advice
from .calls import Replay, Watching, Where, kept_program
from .shadow import UNITS, Result, Shadows

_FEW_DIGITS = 3.0  # that a line may lose without being told of
_MANY_ROUNDINGS = 2.0  # the same, of a long sum
_PART = 0.55  # of the digits of a dtype that has few
_JUMP = 0.7  # of what it has lost, in digits, has to be lost at the line itself
_MOST_LINES = 10
_MOST_NOTES = 6
_TITLES = ("digits lost", "error", "made here", "amplified", "operation", "")
_OUTSIDE = "this is no matter of digits: look at the inputs, which the operation does not take"
_NOTHING = "nothing to report: no line loses so many digits that it matters"


@dataclass(frozen=True, slots=True)
class LineRecord(Shown):
    """What the operations of one line lose. Errors are norms of differences to float64, relative to the norm.

    Example:
        >>> x = clew.tensor([0.1])
        >>> line = clew.graph.precision(lambda x: (x + 1e6) - 1e6, x).lines[0]
        >>> line.operation, round(line.error, 2)
        ('sub', 0.25)
    """

    place: Place | None
    module: str | None
    in_backward: bool
    operation: str
    """The one that loses most."""
    calls: int
    """How many results the line has made."""
    digits_lost: float
    """Of a result of the line, at most."""
    digits: float
    """That the dtype of this result has."""
    error: float
    """Of this result."""
    made: float
    """The largest error that an operation of the line made itself."""
    amplification: float
    """By how much the line has made the errors of its inputs larger, at most."""


@dataclass(frozen=True, slots=True)
class ResultRecord(Shown):
    """One tensor that the function returned, or that the kept graph has a name for.

    Example:
        >>> told = clew.graph.precision(lambda x: (x + 1e6) - 1e6, clew.tensor([0.1]))
        >>> [one.digits_lost > 4 for one in told.results]
        [True]
    """

    name: str
    error: float
    digits_lost: float


@dataclass(frozen=True, slots=True)
class Precision(Shown):
    """The answer of :func:`precision`. ``lines`` are sorted, those that lose most first.

    Example:
        >>> told = clew.graph.precision(lambda x: x.exp(), clew.tensor([100.0]))
        >>> [finding.kind for finding in told.findings]
        ['not finite']
    """

    operations: int
    dtypes: tuple[str, ...]
    """Those with less digits than float64."""
    results: tuple[ResultRecord, ...]
    lines: tuple[LineRecord, ...]
    findings: tuple[Finding, ...]
    """``lost digits``, ``not finite`` and ``decision``: each with its line, and what to do."""
    opaque: tuple[tuple[str, Place | None, str], ...]
    """(Name, line, why) of what has no float64 beside it: its results are taken as exact."""

    def __str__(self) -> str:
        compared = f"{' and '.join(self.dtypes)}, each beside float64" if self.dtypes else "nothing but float64"
        lines = [f"precision of {counted(self.operations, 'operation')}: {compared}"]
        lines += [f"  result{' ' * bool(one.name)}{one.name}: {_lost(one.digits_lost)}" for one in self.results]
        if self.lines:
            lines += ["", *_table([_TITLES, *map(_row, self.lines[:_MOST_LINES])])]
        lines += _more(len(self.lines) - _MOST_LINES, "line")
        lines += ["", *(map(str, self.findings[:_MOST_NOTES]) if self.findings else (_NOTHING,))]
        lines += _more(len(self.findings) - _MOST_NOTES, "finding")
        for name, place, why in self.opaque[:_MOST_NOTES]:
            lines.append(f"opaque: {name}{f' at {place.short}' if place else ''}: {why}")
        lines += _more(len(self.opaque) - _MOST_NOTES, "opaque place")
        return "\n".join(lines)


class Gauge:
    """Collects what :class:`Shadows` tells, line by line."""

    def __init__(self) -> None:
        self.shadows = Shadows(self._note)
        self._lines: dict[Where, list[Any]] = {}  # calls, worst result, largest made, largest amplification, cause
        self._sizes: dict[tuple[Where, str], float] = {}  # the largest result of each operation of a line
        self._not_finite: dict[Where, Result] = {}

    def _note(self, result: Result) -> None:
        where = result.origin.where
        if result.not_finite is not None:
            self._not_finite.setdefault(where, result)
        line = self._lines.setdefault(where, [0, None, 0.0, 1.0, None])
        line[0] += 1
        if result.is_residue:
            return
        key = where, result.origin.op
        self._sizes[key] = max(self._sizes.get(key, 0.0), result.size)
        line[2] = max(line[2], result.made)
        line[3] = max(line[3], result.error / max(result.origin.outside, result.origin.unit))
        if line[1] is None or _digits_lost(result) > _digits_lost(line[1]):
            line[1] = result
        if self._is_cause(result) and (line[4] is None or _jump(result) > _jump(line[4])):
            line[4] = result

    def report(self, results: Sequence[ResultRecord] = ()) -> Precision:
        """All that was found until now."""
        records = [
            LineRecord(
                where.place, where.module, where.in_backward, worst.origin.base, calls, _digits_lost(worst),
                _digits(worst.origin.unit), worst.error, made, amplification,
            )
            for where, (calls, worst, made, amplification, _) in self._lines.items()
            if worst is not None and worst.error > 0
        ]  # fmt: skip
        records.sort(key=lambda one: -one.digits_lost)
        shadows = self.shadows
        opaque = tuple((name, where.place, why) for (name, where), why in shadows.opaque.items())
        findings = (*self._overflows(), *self._losses(), *self._decisions())
        return Precision(
            shadows.operations, tuple(sorted(shadows.dtypes)), tuple(results), tuple(records), findings, opaque
        )

    def _overflows(self) -> list[Finding]:
        found = []
        for where, result in self._not_finite.items():
            own, there = result.not_finite or (0.0, 0.0)
            told = overflow_advice(result.origin) if math.isfinite(abs(there)) else _OUTSIDE
            text = f"{result.origin.base} gives {own:.4g} in {result.dtype}, where float64 gives {there:.4g}"
            found.append(Finding("not finite", where.place, text + _suffix(where), told))
        return found

    def _losses(self) -> list[Finding]:
        causes = []
        for where, (calls, worst, _, _, cause) in self._lines.items():
            is_sum = worst is not None and is_long_sum(worst.origin, calls)
            if is_sum and _digits_lost(worst) >= _MANY_ROUNDINGS:
                causes.append((where, calls, worst))
            elif cause is not None and self._is_cause(cause):
                causes.append((where, calls, cause))
        causes.sort(key=lambda one: -_digits_lost(one[2]))
        return [
            Finding(
                "lost digits",
                where.place,
                f"{cause.origin.base} leaves an error of {cause.error:.1e}: {_lost(_digits_lost(cause), cause)}, "
                f"where inputs have {max(cause.origin.outside, cause.origin.unit):.0e}{_suffix(where)}",
                advice(cause, calls),
            )
            for where, calls, cause in causes
        ]

    def _is_cause(self, result: Result) -> bool:
        """Whether the line loses digits that its inputs had.

        A value that passes through zero in a loop has few digits then, which is as it should be: the error counts
        relative to the largest result of the loop. An optimizer that divides a gradient by its size makes whole steps
        of gradients that are zero but for rounding: they are as arbitrary in float64.
        """
        if result.origin.op.endswith("_step"):
            return False
        unit = result.origin.unit
        error = result.error * result.size / (self._sizes[result.origin.where, result.origin.op] or 1.0)
        limit = min(_FEW_DIGITS, _PART * _digits(unit))
        return _digits_of(error, unit) >= limit and error >= 10 ** (_JUMP * limit) * max(result.origin.outside, unit)

    def _decisions(self) -> list[Finding]:
        found: dict[tuple[str, Where], list[int]] = {}
        for flip in self.shadows.flips:
            counts = found.setdefault((flip.op, flip.where), [0, 0])
            counts[0] += flip.count
            counts[1] += flip.total
        return [
            Finding(
                "decision",
                where.place,
                f"{op} decides otherwise in float64 for {count:,} of {counted(total, 'element')}{_suffix(where)}",
                "the values that it compares are nearly equal, or have lost their digits: see above",
            )
            for (op, where), (count, total) in found.items()
        ]


def precision(what: Any, /, *args: Any, **kwargs: Any) -> Precision:
    """Find where a computation loses its digits: each operation runs in float64, too, beside the original.

    A float64 shadow stands beside each storage; views and writes in place follow it. Whole numbers, branches, indices
    and random draws are the original's, and what float64 would decide otherwise is reported. Each operation is also run
    in float64 on the original's inputs. So the error that it *made* is known apart from the one that it *inherited*.
    Errors are norms of differences, relative to the norm of the tensor.

    Args:
        what: a function, which is called once with `args` and `kwargs`, backward passes in it included; or what
            `keep_graph()` kept, a tensor of the block or the `Program`, whose steps are run on copies. The second
            changes nothing and knows no modules.

    Returns:
        The answer as data; ``str`` or ``print`` gives it as text.

    Raises:
        TypeError: `what` is a tensor that nobody kept (a plain graph has no record of what the forward computed), or
            neither kept nor callable.

    Example:
        >>> def spread(x):
        ...     return (x * x).mean() - x.mean() ** 2
        >>> told = clew.graph.precision(spread, clew.tensor([1000.0, 1001.0, 1002.0]))
        >>> [(finding.kind, finding.advice) for finding in told.findings]
        [('lost digits', 'a variance by subtraction: use var(), or subtract the mean before squaring')]
    """
    gauge = Gauge()
    core = kept_program(what)
    if core is not None:
        if args or kwargs:
            raise TypeError("precision: expected a kept graph alone, got arguments for it; set its inputs instead")
        core.check()
        replay = Replay(core)
        replay.run(gauge.shadows.look)
        names: dict[str, Any] = {"": what} if isinstance(what, _core.Tensor) else what._names
        places = [(name, core.register_of(one)) for name, one in names.items()]
        return gauge.report(_results(gauge, [(name, replay.registers[one]) for name, one in places if one >= 0]))
    if is_tensor(what) or not callable(what):
        got = "a tensor that nobody kept" if is_tensor(what) else type(what).__name__
        raise TypeError(
            f"precision: expected a result of keep_graph(), or a function and its arguments, got {got}; a plain graph "
            "has no record of what the forward computed. To do: precision(f, *args), or compute it inside "
            "`with clew.keep_graph():`"
        )
    watching = Watching(gauge.shadows.look)
    watching.start()
    try:
        returned = what(*args, **kwargs)
    finally:
        watching.stop()
    tensors = [(name, one) for name, one in parts(returned) if is_tensor(one)]
    return gauge.report(_results(gauge, tensors))


def _results(gauge: Gauge, tensors: Sequence[tuple[str, Any]]) -> list[ResultRecord]:
    records = []
    for name, tensor in tensors:
        unit = UNITS.get(str(tensor.dtype).rpartition(".")[2])
        if unit is None:
            continue
        error = gauge.shadows.error_of(tensor)
        records.append(ResultRecord(name, error, _digits_of(error, unit)))
    return records


def _jump(result: Result) -> float:
    return result.error / max(result.largest_input, result.origin.unit)


def _digits(unit: float) -> float:
    return -math.log10(unit)


def _digits_of(error: float, unit: float) -> float:
    return min(max(0.0, math.log10(error / unit)), _digits(unit)) if error > 0 else 0.0


def _digits_lost(result: Result) -> float:
    return _digits_of(result.error, result.origin.unit)


def _lost(digits: float, result: Result | None = None) -> str:
    of = f" of {_digits(result.origin.unit):.1f}" if result is not None else ""
    return f"{digits:.1f}{of} digits lost"


def _suffix(where: Where) -> str:
    return f"{f' in {where.module}' if where.module else ''}{', in its backward' * where.in_backward}"


def _row(line: LineRecord) -> tuple[str, ...]:
    place = f"{line.place}{source_text(line.place)}" if line.place else ""
    where = Where(None, line.module, line.in_backward)
    return (
        f"{line.digits_lost:.1f} of {line.digits:.1f}",
        f"{line.error:.0e}",
        f"{line.made:.0e}",
        f"{line.amplification:.0e}x" if line.amplification >= 1000 else f"{line.amplification:.0f}x",
        f"{line.operation}{_suffix(where)}",
        place,
    )


def _table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(_TITLES) - 1)]
    return ["  ".join([*map(str.ljust, row, widths), row[-1]]).rstrip() for row in rows]


def _more(count: int, noun: str) -> list[str]:
    return [f"… {count:,} more {noun}{'s' * (count > 1)}"] if count > 0 else []
