"""Whether rounding decides a result: told by PyTorch in float64, and by PyTorch with errors put into each operation."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from typing import Any

import numpy
import sampling
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

# Draws, whose numbers are others in float64, and results that are made of bits.
DRAWS = {
    one.operation.strip("_")
    for one in (*sampling.overloads(), *sampling.compositions())
    if one.draws or re.search("dropout|rrelu", one.operation)
}
INCOMPARABLE = re.compile("|".join((*sorted(DRAWS), "empty", "nextafter")))
WORSE = 16.0  # times PyTorch's error
RUNS = 4  # with errors
LARGER = 16.0  # errors: what they do must grow by a fourth of this at least, else another branch was taken


def widened(statement: str) -> str:
    return statement.replace("torch.float32", "torch.float64").replace(".float()", ".double()")


class Jitter(TorchDispatchMode):
    """What an operation makes anew is off by up to so many units in the last place."""

    def __init__(self, units: float) -> None:
        super().__init__()
        self.units = units

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        known = {x.untyped_storage().data_ptr() for x in tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)}
        for x in tree_leaves(result):
            if isinstance(x, torch.Tensor) and x.is_floating_point() and x.untyped_storage().data_ptr() not in known:
                sign = numpy.random.default_rng().choice([-1.0, 0.0, 1.0], tuple(x.shape))
                x.mul_(torch.from_numpy(numpy.asarray(1 + self.units * sign * torch.finfo(x.dtype).eps)).to(x.dtype))
        return result


def run(program: list[str], compiled: Callable[[str], Any]) -> dict[str, Any]:
    """What PyTorch's names hold after a program."""
    names: dict[str, Any] = {"torch": torch, "log": []}
    try:
        for statement in program:
            with contextlib.suppress(Exception):
                exec(compiled(statement), names)
    finally:
        torch.set_grad_enabled(True)
    return names


def in_double(program: list[str], compiled: Callable[[str], Any]) -> dict[str, Any]:
    """The same where float32 is float64."""
    torch.set_default_dtype(torch.float64)
    try:
        return run(list(map(widened, program)), compiled)
    finally:
        torch.set_default_dtype(torch.float32)


def noise(
    path: str,
    program: list[str],
    compiled: Callable[[str], Any],
    theirs: numpy.ndarray,
    places: numpy.ndarray,
    units: float = 1.0,
) -> float:
    """How far errors of rounding take what `path` names, at these places; 0 where that can't be told."""
    largest = 0.0
    for _ in range(RUNS):
        with Jitter(units):
            names = run(program, compiled)
        got = numbers(eval(path, names))
        if got.shape != theirs.shape or not numpy.isfinite(got[places]).all():
            return 0.0
        largest = max(largest, float(abs(got - theirs)[places].max()))
    return largest


def rounding_decides(
    path: str, ours: Any, theirs: Any, program: list[str], compiled: Callable[[str], Any], agree: Callable[..., bool]
) -> bool:
    """Whether what `path` names in clew is right, or no more wrong than errors of rounding may make it."""
    try:
        a, b = numbers(eval(path, dict(ours))), numbers(eval(path, dict(theirs)))
        c = numbers(eval(path, in_double(program, compiled)))
        if not a.size or not a.shape == b.shape == c.shape:
            return False
        in_one_width = numpy.array_equal(b, c, equal_nan=True)  # float64 throughout
        with numpy.errstate(all="ignore"):
            if not in_one_width and agree(a.astype("f4"), c.astype("f4")):
                return True
            finite = numpy.isfinite(b) & numpy.isfinite(c)
            if not numpy.array_equal(a[~finite], b[~finite], equal_nan=True) or not numpy.isfinite(a[finite]).all():
                return False
            apart = abs(a - b)[finite].max()
            if abs(a - c)[finite].max() <= WORSE * abs(b - c)[finite].max():
                return True
            of_one = noise(path, program, compiled, b, finite)
            if apart > WORSE * of_one:
                return False
            return noise(path, program, compiled, b, finite, LARGER) >= LARGER / 4 * of_one
    except Exception:
        return False


def numbers(value: Any) -> numpy.ndarray:
    """As float64, whatever it is.

    Raises:
        TypeError: it has no floating dtype.
    """
    if isinstance(value, float):
        return numpy.array(value)
    array = value.detach().numpy()
    if array.dtype.kind != "f":
        raise TypeError
    return numpy.asarray(array, "f8")
