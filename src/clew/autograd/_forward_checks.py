"""The check of `gradcheck` that derivatives in forward mode are right."""

from __future__ import annotations

import numpy

from .._core import Tensor
from .gradcheck import GradcheckError
from .gradient_checks import Array, Checks, _close, _flat, _like, _outputs


def check_tangents(checks: Checks, outputs: list[Tensor]) -> None:
    """Compares every entry of every Jacobian, or one random direction of each input.

    Raises:
        GradcheckError: one differs from differences of the function.
    """
    generator = numpy.random.default_rng(0)
    for which, one in enumerate(checks.checked):
        size = one.numel()
        directions = generator.random((1, size)) if checks.fast else numpy.eye(size)
        rows = [_tangents(checks, which, direction) for direction in directions]
        for number, matrix in enumerate(checks.numerical(one, outputs)):
            theirs = directions @ matrix
            ours = numpy.array([row[number] for row in rows]).reshape(theirs.shape)
            if not _close(ours, theirs, checks.rtol, checks.atol):
                text = checks.mismatch(number, which, one, theirs, ours)
                raise GradcheckError(text.replace("Jacobian", "Jacobian computed with forward mode", 1))


def _tangents(checks: Checks, which: int, direction: Array) -> list[Array]:
    """For each output, its derivative along a direction of one of the checked inputs."""
    from ..func import jvp

    one = checks.checked[which]

    def of_one(given: Tensor) -> tuple[Tensor, ...]:
        return tuple(_outputs(checks.func, tuple(given if other is one else other for other in checks.inputs)))

    return [_flat(found, found) for found in jvp(of_one, (one,), (_like(one, direction),))[1]]
