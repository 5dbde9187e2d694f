"""The tangents of every operation's results, in public calls: of functions, methods, in-place forms, compositions.

What the registry says of an operation alone is in test_jvp.py. Expected values are differences, and the backward's.
"""

import numpy
import pytest
import sampling
from test_registry import SAMPLED, Prepared, every, missing_derivatives_say_so

import clew
from clew.func import jvp

pytestmark = pytest.mark.beyond

FLOATING = [one for one in SAMPLED if one.differentiable and not one.has(1 << 22)]


def directions(leaves, seed):
    generator = numpy.random.default_rng(seed)
    made = []
    for leaf in leaves:
        one = clew.from_numpy(generator.standard_normal(tuple(leaf.shape)))
        made.append(one * (1 + 0.5j) if leaf.is_complex() else one)
    return tuple(made)


def calls(overload):
    """Prepared calls, and where they are made."""
    for sample in sampling.samples(overload):
        prepared = Prepared(sample)
        if prepared.leaves:
            yield prepared, tuple(leaf.detach() for leaf in prepared.leaves)


def floats(results):
    return tuple(one for one in results if isinstance(one, clew.Tensor) and one.is_floating_point())


def assert_close(found, expected, rtol, atol):
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype
        numpy.testing.assert_allclose(one.detach().numpy(), other.detach().numpy(), rtol=rtol, atol=atol)


@every(FLOATING)
def test_tangents_are_what_differences_say(overload):
    for prepared, point in calls(overload):
        along, step = directions(point, 1), 1e-6
        with missing_derivatives_say_so():
            has_derivative = [one.requires_grad for one in floats(prepared())]
            with clew.no_grad():
                _, found = jvp(lambda *leaves: floats(prepared(*leaves)), point, along)  # noqa: B023
                ahead, behind = (
                    floats(prepared(*(x + h * v for x, v in zip(point, along, strict=True)))) for h in (step, -step)
                )
            for tangent, more, less, differs in zip(found, ahead, behind, has_derivative, strict=True):
                expected = (more - less) / (2 * step) if differs else clew.zeros_like(more)
                assert_close([tangent], [expected], 1e-4, 1e-6)


@every([one for i, one in enumerate(FLOATING) if i % 3 == 0 and not one.draws])
def test_forward_over_reverse_is_reverse_over_reverse(overload):
    for prepared, point in calls(overload):
        along = directions(point, 2)

        def gradients(*leaves):
            results = prepared.differentiable(*leaves)  # noqa: B023
            total = sum(((i + 1) * one.sin()).sum() for i, one in enumerate(results))
            total = total + sum(0 * abs(leaf).sum() for leaf in leaves)
            return clew.autograd.grad(total, leaves, create_graph=True)

        with missing_derivatives_say_so():
            leaves = [one.clone().requires_grad_() for one in point]
            first = gradients(*leaves)
            both = sum(
                (a.real * b.real).sum() + (a.imag * b.imag).sum() if a.is_complex() else (a * b).sum()
                for a, b in zip(first, along, strict=True)
            )
            expected = clew.autograd.grad(both, leaves)
            _, found = jvp(gradients, tuple(leaves), along)
            assert_close(found, expected, 1e-7, 1e-9)
