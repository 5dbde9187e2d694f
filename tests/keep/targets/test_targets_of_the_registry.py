"""Row 6.11: each operation of the registry either is lowered to what it computes, or refused by name.

What `to_c`, `to_jax` and `to_onnx` write is made from kernels over memories. Here NumPy runs the kernels, with the
arguments and the values that definitions of operations give to tests.
"""

import re
import warnings

import numpy as np
import pytest
import sampling
from ops.test_registry import Prepared

import clew
from clew.keep.targets import arrays
from clew.keep.targets.functions import FUNCTIONS
from clew.keep.targets.lower import lower

pytestmark = pytest.mark.unsanitized("programs for other machines are text")

SAMPLED = [one for one in (*sampling.overloads(), *sampling.compositions()) if one.domain and not one.unsampled]


class InNumPy:
    """Of clew.keep.targets.arrays.Target."""

    def begin(self, kernel):
        pass

    def constant(self, values):
        return np.asarray(values)

    def function(self, name, args, dtype):
        if name in ("int_div", "int_rem"):
            quotient = np.trunc(args[0] / args[1]).astype(dtype)
            return quotient if name == "int_div" else args[0] - quotient * args[1]
        if "scipy" in FUNCTIONS[name].jax:
            special = pytest.importorskip("scipy.special")
            return getattr(special, FUNCTIONS[name].jax.rpartition(".")[2])(*args)
        return getattr(np, FUNCTIONS[name].jax)(*args)

    def cast(self, x, dtype):
        return x.astype(dtype)

    reshape = staticmethod(np.reshape)
    transpose = staticmethod(np.transpose)
    expand = staticmethod(np.broadcast_to)
    einsum = staticmethod(np.einsum)

    def slice(self, x, parts):
        return x[tuple(slice(*part) for part in parts)]

    def reduce(self, x, combine, axes, dtype):
        return getattr(np, combine)(x, axis=axes, keepdims=True).astype(x.dtype)

    def take(self, flat, addresses):
        return flat[addresses]

    def put(self, flat, addresses, values, adds):
        flat = flat.copy()
        (np.add.at if adds else np.ndarray.__setitem__)(flat, addresses, values)
        return flat


class In32Bits(InNumPy):
    """Of a target that has no wider numbers, as JAX by default."""

    def constant(self, values):
        assert np.array_equal(values, self.cast(values, str(values.dtype))), "a constant of more than 32 bits"
        return self.cast(values, str(values.dtype))

    def function(self, name, args, dtype):
        return super().function(name, args, dtype).astype(self._kind("bool" if name in BOOLEAN else dtype))

    def cast(self, x, dtype):
        return x.astype(self._kind(dtype))

    def _kind(self, dtype):
        assert dtype != "float64"
        return "int32" if dtype == "int64" else dtype


BOOLEAN = ("less", "greater", "less_equal", "greater_equal", "equal", "and", "or", "not")


def tensors(result):
    if isinstance(result, list | tuple):
        return [one for part in result for one in tensors(part)]
    return (
        [result]
        if isinstance(result, clew.Tensor) and result.numel() and str(result.dtype).rpartition(".")[2] in np.sctypeDict
        else []
    )


def called(prepared):
    return prepared.operation(*prepared.places, **prepared.named)


def called_in_place(prepared):
    """On every other element of a larger tensor."""
    written = clew.stack([prepared.places[0], prepared.places[0]], -1)
    getattr(written[..., 1], f"{prepared.sample.overload.operation}_")(*prepared.places[1:], **prepared.named)
    return written * written


def recorded(sample, call):
    """A call and a backward from all of its results, if it can be kept, with names of results and gradients."""
    prepared = Prepared(sample)
    with clew.keep_graph() as program:
        results = tensors(call(prepared))
        differentiable = [one for one in results if one.requires_grad and not one.is_complex()]
        if differentiable:
            weights = [clew.arange(1, one.numel() + 1, dtype=one.dtype).reshape(one.shape) for one in differentiable]
            sum((one * weight).sum() for one, weight in zip(differentiable, weights, strict=True)).backward()
    gradients = [leaf.grad for leaf in prepared.leaves if leaf.grad is not None]
    program.name(**{f"y{i}": one for i, one in enumerate(results)}, **{f"g{i}": one for i, one in enumerate(gradients)})
    return program


def lowered_or_refused(program):
    try:
        return lower(program, "to_test")
    except (NotImplementedError, ValueError) as error:
        said = str(error)
    assert re.match(r"to_test: (can't express \S+|'\S+' is no tensor that the program reads or computes)", said)
    return None


def check(sample, call, target=None, tolerance=1e-9):
    try:
        program = recorded(sample, call)
    except (clew.KeepError, RuntimeError, TypeError, ValueError, AttributeError):
        return  # not to be called so, or not to be kept: tests of the registry and of row 6.1
    lowered = lowered_or_refused(program)
    if lowered is None or (target and any(one.dtype == "float64" for one in lowered.memories())):
        return
    for one in lowered.named:
        if not one.is_input:
            one.memory.values = np.full_like(one.memory.values, 99)  # so that it has to be computed
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of divisions by zero
        state = arrays.run(lowered, target or InNumPy(), {})
    for one in lowered.named:
        got, wanted = state[one.memory].reshape(one.shape), program[one.name].detach().numpy()
        np.testing.assert_allclose(
            got, wanted, rtol=tolerance, atol=tolerance / 100, err_msg=f"{sample.overload} {one.name}"
        )


def said(overload):
    return overload.schema.replace("Tensor ", "")


@pytest.mark.parametrize("overload", SAMPLED, ids=said)
def test_it_is_computed_or_refused(overload):
    if overload.draws or "empty" in overload.name:
        pytest.skip("nothing says what it gives")
    for sample in sampling.samples(overload):
        check(sample, called)


@pytest.mark.parametrize("overload", SAMPLED, ids=said)
def test_it_is_computed_in_32_bits(overload):
    if overload.draws or "empty" in overload.name:
        pytest.skip("nothing says what it gives")
    for sample in sampling.samples(overload, dtype="float32"):
        check(sample, called, In32Bits(), 1e-4)


@pytest.mark.parametrize("overload", [one for one in SAMPLED if one.has(sampling.IN_PLACE) and not one.draws], ids=said)
def test_in_place_forms(overload):
    for sample in sampling.samples(overload):
        check(sample, called_in_place)
