"""Functions in forward mode: `jvp` gives the tangents of what `forward` returned."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .. import _core
from .._core import Tensor

if TYPE_CHECKING:
    from .context import FunctionCtx
    from .function import Function


@contextmanager
def _suspended(levels: Sequence[int]) -> Iterator[None]:
    before = [_core.suspend_dual_level(level, True) for level in levels]
    try:
        yield
    finally:
        for level, was in zip(levels, before, strict=True):
            _core.suspend_dual_level(level, was)


def run_with_tangents(cls: type[Function], ctx: FunctionCtx, args: Sequence[Any], run: Callable[[], Any]) -> Any:
    """What `run` returns, the outputs of `forward`, with tangents along all levels that an argument has one along."""
    levels = _core.dual_levels()
    along = {}
    for level in levels:
        tangents = [_core.tangent_of(level, one) if isinstance(one, Tensor) else None for one in args]
        if any(one is not None for one in tangents):
            along[level] = tangents
    try:
        if not along:
            return run()
        with _suspended(levels):
            result = run()
        outputs = result if isinstance(result, tuple) else (result,)
        for level, tangents in along.items():
            # Levels further out see what jvp computes.
            with _suspended([one for one in levels if one >= level]):
                found = cls.jvp(ctx, *_materialized(ctx, args, tangents))
            _give(cls, level, args, outputs, found)
    finally:
        ctx.__dict__.pop("saved_for_forward", None)
    return result


def _materialized(ctx: FunctionCtx, args: Sequence[Any], tangents: list[Tensor | None]) -> list[Tensor | None]:
    if not ctx.materialize_grads:
        return tangents
    from ..ops.creation_like import zeros_like

    return [
        zeros_like(one) if tangent is None and isinstance(one, Tensor) and _is_inexact(one) else tangent
        for one, tangent in zip(args, tangents, strict=True)
    ]


def _is_inexact(tensor: Tensor) -> bool:
    return tensor.is_floating_point() or tensor.is_complex()


def _give(cls: type[Function], level: int, args: Sequence[Any], outputs: tuple[Any, ...], found: Any) -> None:
    tangents = found if isinstance(found, tuple) else (found,)
    if len(tangents) != len(outputs):
        raise RuntimeError(
            f"{cls.__name__}.jvp: expected a tangent or None for each of the {len(outputs)} outputs of forward, got "
            f"{len(tangents)}"
        )
    inputs = [one for one in args if isinstance(one, Tensor)]
    for output, tangent in zip(outputs, tangents, strict=True):
        if not isinstance(output, Tensor) or not _is_inexact(output):
            continue
        _check(cls, output, tangent)
        if any(output is one for one in inputs):  # it was written: other inputs are returned as views
            _core.write_tangent(level, output, tangent)
        elif tangent is not None:
            _core.give_tangent(level, output, tangent, inputs)


def _check(cls: type[Function], output: Tensor, tangent: Any) -> None:
    if tangent is None:
        return
    if not isinstance(tangent, Tensor):
        raise TypeError(
            f"{cls.__name__}.jvp: expected a tensor or None for each output of forward, got {type(tangent).__name__}"
        )
    if tangent.shape != output.shape or tangent.dtype != output.dtype:
        raise RuntimeError(
            f"{cls.__name__}.jvp: expected a tangent of the shape {output.shape} and {output.dtype} like its output, "
            f"got {tangent.shape} and {tangent.dtype}"
        )
