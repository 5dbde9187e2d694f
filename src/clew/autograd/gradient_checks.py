"""The checks behind `gradcheck`, in the order in which they run."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from .. import _core
from .._core import Tensor
from .._core import tensor as make_tensor
from ._gradcheck_error import GradcheckError
from .gradients import grad

Array = numpy.ndarray[Any, Any]
Func = Callable[..., Any]

_NOT_REENTRANT = (
    "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives different "
    "values, although analytical gradient matches numerical gradient. The tolerance for nondeterminism was {}. If the "
    "operation is random on purpose, pass nondet_tol="
)


def _grad(outputs: Any, inputs: Any, gradients: Any) -> tuple[Tensor | None, ...]:
    return grad(outputs, inputs, gradients, retain_graph=True, allow_unused=True)


def _outputs(func: Func, inputs: tuple[Any, ...]) -> list[Tensor]:
    result = func(*inputs)
    outputs = list(result) if isinstance(result, Sequence) else [result]
    for output in outputs:
        if not isinstance(output, Tensor):
            raise ValueError(f"gradcheck: expected func to return tensors, got {type(output).__name__}")
    return outputs


def _differentiable(outputs: list[Tensor]) -> list[Tensor]:
    return [output for output in outputs if output.requires_grad]


def _values(tensor: Tensor) -> Array:
    array: Array = tensor.detach().numpy()
    return array


def _flat(gradient: Tensor | None, like: Tensor) -> Array:
    """The gradient's elements in a row; zeros for None."""
    return numpy.zeros(like.numel()) if gradient is None else _values(gradient).astype(float).ravel()


def _like(tensor: Tensor, values: Array) -> Tensor:
    return make_tensor(values.reshape(tuple(tensor.shape)), dtype=tensor.dtype)


def _random_like(tensor: Tensor, with_gaps: bool) -> Tensor:
    """Uniform from -1 to 1, of the default generator."""
    with_gaps = with_gaps and tensor.numel() > 1
    shape = list(tensor.shape)
    drawn = tensor.new_empty([*shape[:-1], 2 * shape[-1]] if with_gaps else shape)
    (_core.ops.view_as_real(drawn) if drawn.is_complex() else drawn).uniform_(-1, 1)
    return drawn[..., 1::2] if with_gaps else drawn


def _close(analytical: Array, numerical: Array, rtol: float, atol: float) -> bool:
    return bool(numpy.allclose(analytical, numerical, rtol=rtol, atol=atol))


class Checks:
    """One call of `gradcheck`."""

    def __init__(
        self,
        func: Func,
        inputs: tuple[Any, ...],
        eps: float,
        atol: float,
        rtol: float,
        nondet_tol: float,
        check_dtypes: bool,
        fast: bool,
    ) -> None:
        self.func, self.inputs, self.eps, self.atol, self.rtol = func, inputs, eps, atol, rtol
        self.nondet_tol, self.check_dtypes, self.fast = nondet_tol, check_dtypes, fast
        self.checked = [one for one in inputs if isinstance(one, Tensor) and one.requires_grad]

    def run(self, check_undefined: bool, forward: bool = False, backward: bool = True) -> None:
        """All checks.

        Raises:
            GradcheckError: one of them failed.
        """
        self.check_inputs()
        outputs = _outputs(self.func, self.inputs)
        differentiable = _differentiable(outputs)
        if not differentiable:
            return self.check_constant()
        if forward:
            check_tangents(self, outputs)
        if not backward:
            return None
        if self.fast:
            self.check_directions(outputs)
        else:
            self.check_jacobians(outputs)
        self.check_zero_gradients(differentiable)
        if check_undefined:
            self.check_undefined_gradients()

    def check_inputs(self) -> None:
        """There is something to check, and it can be perturbed."""
        if not self.checked:
            raise ValueError(
                "gradcheck expects at least one input tensor to require gradient, but none of them have "
                "requires_grad=True."
            )
        for number, one in enumerate(self.inputs):
            if not isinstance(one, Tensor) or not one.requires_grad:
                continue
            if one.element_size() != 8:
                warnings.warn(
                    f"Input #{number} requires gradient and is not a double precision floating point or complex. This "
                    "check will likely fail if all the inputs are not of double precision floating point or complex. ",
                    stacklevel=4,
                )
            if any(size > 1 and step == 0 for size, step in zip(one.shape, one.stride(), strict=True)):
                raise RuntimeError(
                    f"The {number}th input has a dimension with stride 0. gradcheck only supports inputs that are "
                    "non-overlapping to be able to compute the numerical gradients correctly. You should call "
                    ".contiguous on the input before passing it to gradcheck."
                )

    # ------------------------------------------------------------------------------------------------- differences
    def shifted(self, one: Tensor, shift: Callable[[Array, float], None]) -> list[Array]:
        """For each output, its central difference while `shift` moves the values of one input by a step."""
        array = _values(one)
        before = array.copy()
        found = []
        try:
            for step in (self.eps, -self.eps):
                shift(array, step)
                found.append([_values(output).astype(float) for output in _outputs(self.func, self.inputs)])
                array[...] = before
        finally:
            array[...] = before
        return [(after - ahead).ravel() / (2 * self.eps) for after, ahead in zip(*found, strict=True)]

    def numerical(self, one: Tensor, outputs: list[Tensor]) -> list[Array]:
        """For each output the matrix of d output[j] / d input[i], by differences."""
        rows: list[list[Array]] = [[] for _ in outputs]
        for index in numpy.ndindex(*one.shape):

            def shift(array: Array, step: float, index: tuple[int, ...] = index) -> None:
                array[index] += step

            for row, difference in zip(rows, self.shifted(one, shift), strict=True):
                row.append(difference)
        return [
            numpy.array(row).reshape(one.numel(), output.numel()) for row, output in zip(rows, outputs, strict=True)
        ]

    def analytical(self, output: Tensor) -> list[Array]:
        """For each checked input the same matrix, by running backward from one element after the other."""
        columns: list[list[Array]] = [[] for _ in self.checked]
        for index in range(output.numel()):
            unit = numpy.zeros(output.numel())
            unit[index] = 1
            gradients = _grad(output, self.checked, _like(output, unit))
            for column, gradient, one in zip(columns, gradients, self.checked, strict=True):
                self.check_attributes(gradient, one)
                column.append(_flat(gradient, one))
        return [
            numpy.array(column).reshape(output.numel(), one.numel()).T
            for column, one in zip(columns, self.checked, strict=True)
        ]

    def check_attributes(self, gradient: Tensor | None, one: Tensor) -> None:
        """Whether a gradient has the dtype that it should."""
        if self.check_dtypes and gradient is not None and gradient.dtype != one.dtype:
            raise GradcheckError(f"Gradient has dtype mismatch: expected {one.dtype}, got {gradient.dtype}")

    # ------------------------------------------------------------------------------------------------------ checks
    def check_constant(self) -> None:
        """No output has a history: then none may depend on the inputs."""
        outputs = [output for output in _outputs(self.func, self.inputs) if output.dtype.is_floating_point]
        if len(outputs) != len(_outputs(self.func, self.inputs)):
            return  # integers and bools step
        for one in self.checked:
            if any(matrix.any() for matrix in self.numerical(one, outputs)):
                raise GradcheckError("Numerical gradient for function expected to be zero")

    def check_jacobians(self, outputs: list[Tensor]) -> None:
        """Every entry of every Jacobian, and that a second backward gives the same."""
        numerical = [self.numerical(one, outputs) for one in self.checked]
        for number, output in enumerate(outputs):
            if not output.requires_grad:
                continue
            analytical = self.analytical(output)
            again = self.analytical(output)
            for which, one in enumerate(self.checked):
                ours, theirs = analytical[which], numerical[which][number]
                if not _close(ours, theirs, self.rtol, self.atol):
                    raise GradcheckError(self.mismatch(number, which, one, theirs, ours))
                if not _close(ours, again[which], 0.0, self.nondet_tol):
                    raise GradcheckError(_NOT_REENTRANT.format(self.nondet_tol))

    def check_directions(self, outputs: list[Tensor]) -> None:
        """One random direction in the inputs and outputs instead."""
        generator = numpy.random.default_rng(0)
        weights = [generator.random(output.numel()) for output in outputs]
        for which, one in enumerate(self.checked):
            direction = generator.random(one.numel())
            direction /= max(float(numpy.linalg.norm(direction)), 1e-12)

            def shift(array: Array, step: float, direction: Array = direction) -> None:
                array += step * direction.reshape(array.shape)

            differences = self.shifted(one, shift)
            for number, output in enumerate(outputs):
                if not output.requires_grad:
                    continue
                theirs = numpy.asarray(differences[number] @ weights[number])
                ours, again = (
                    numpy.asarray(_flat(_grad(output, [one], _like(output, weights[number]))[0], one) @ direction)
                    for _ in range(2)
                )
                tolerance = self.atol * float(direction.sum() * weights[number].sum())
                if not _close(ours, theirs, self.rtol, tolerance):
                    slow = self.numerical(one, outputs)[number], self.analytical(output)[which]
                    raise GradcheckError(
                        f"Jacobian mismatch for output {number} with respect to input {which},\n"
                        f"numerical:{theirs}\nanalytical:{ours}\n\nThe above are of one random direction (fast mode). "
                        f"{self.mismatch(number, which, one, *slow)}"
                    )
                if not _close(ours, again, 0.0, self.nondet_tol):
                    raise GradcheckError(_NOT_REENTRANT.format(self.nondet_tol))

    def mismatch(self, output: int, which: int, one: Tensor, numerical: Array, analytical: Array) -> str:
        """What is told when two Jacobians differ."""
        shown = [make_tensor(matrix, dtype=one.dtype) for matrix in (numerical, analytical)]
        return (
            f"Jacobian mismatch for output {output} with respect to input {which},\n"
            f"numerical:{shown[0]}\nanalytical:{shown[1]}\n"
        )

    def check_zero_gradients(self, outputs: list[Tensor]) -> None:
        """A backward is linear: from zeros come zeros."""
        zeros = [_like(output, numpy.zeros(output.numel())) for output in outputs]
        for gradient in _grad(outputs, self.checked, zeros):
            if gradient is not None and _values(gradient).any():
                raise GradcheckError("backward not multiplied by grad_output")

    def check_undefined_gradients(self) -> None:
        """A backward copes with outputs whose gradient is None."""
        count = len(_differentiable(_outputs(self.func, self.inputs)))
        for left_out in range(count if count > 1 else 0):
            outputs = _differentiable(_outputs(self.func, self.inputs))
            del outputs[left_out]
            zeros = [_like(output, numpy.zeros(output.numel())) for output in outputs]
            try:
                gradients = _grad(outputs, self.checked, zeros)
            except Exception as error:
                raise GradcheckError(
                    f"Expected backward function to handle undefined output grads (None for output {left_out}), got "
                    f"{type(error).__name__}: {error}"
                ) from error
            if any(gradient is not None and _values(gradient).any() for gradient in gradients):
                raise GradcheckError(
                    "Expected all input grads to be undefined or zero when all output grads are undefined or zero."
                )


def backward_of(
    func: Func, inputs: tuple[Any, ...], grad_outputs: tuple[Tensor, ...] | None, with_gaps: bool
) -> tuple[Func, tuple[Any, ...]]:
    """The backward of `func` as a function of its inputs and of its outputs' gradients, and where to check it."""
    if grad_outputs is None:
        outputs = _differentiable(_outputs(func, inputs))
        made = [_random_like(output, with_gaps).requires_grad_() for output in outputs]
        grad_outputs = tuple(made)
    count = len(grad_outputs)

    def gradients(*args: Any) -> tuple[Tensor, ...]:
        from . import grad

        given, weights = args[: len(args) - count], args[len(args) - count :]
        outputs = _differentiable(_outputs(func, given))
        wanted = [one for one in given if isinstance(one, Tensor) and one.requires_grad]
        found = grad(outputs, wanted, weights, create_graph=True, allow_unused=True)
        return tuple(gradient for gradient in found if gradient is not None)

    return gradients, (*inputs, *grad_outputs)


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
    from ..func._tangents import jvp

    one = checks.checked[which]

    def of_one(given: Tensor) -> tuple[Tensor, ...]:
        return tuple(_outputs(checks.func, tuple(given if other is one else other for other in checks.inputs)))

    return [_flat(found, found) for found in jvp(of_one, (one,), (_like(one, direction),))[1]]
