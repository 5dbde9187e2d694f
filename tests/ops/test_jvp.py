"""What an operation's class says of its derivative: the tangents of its results, from those of its inputs."""

import numpy
import pytest
import sampling
from test_registry import Prepared, every, missing_derivatives_say_so

import clew
from clew import _core

pytestmark = pytest.mark.beyond

WRITES_INPUT, COMPOSITE, PROPERTY = 256, 1024, 128
DIFFERENTIABLE = [
    one
    for one in sampling.overloads()
    if one.domain
    and one.differentiable
    and not one.unsampled
    and not one.has(WRITES_INPUT)
    and not one.has(COMPOSITE)
    and not one.operation.endswith("_")
]


def tensors_in(value):
    if isinstance(value, clew.Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for one in value:
            yield from tensors_in(one)


class Call:
    """One call with a tangent for each input that has a derivative."""

    def __init__(self, sample, seed=0):
        self.prepared = Prepared(sample)
        generator = numpy.random.default_rng(seed)
        self.operation = getattr(_core.ops, sample.overload.operation)
        self.inputs = [
            one
            for argument in (*self.prepared.places, *self.prepared.named.values())
            for one in tensors_in(argument)
            if one.requires_grad
        ]
        self.tangents = {}
        for one in self.inputs:
            tangent = clew.from_numpy(generator.standard_normal(tuple(one.shape)))
            tangent = tangent * (1 + 0.5j) if one.is_complex() else tangent
            self.tangents[one] = tangent if one.is_leaf else tangent + tangent.mT  # sampling.Symmetric

    def results(self, step=0.0):
        """Of the inputs moved by so much along their tangents."""
        moved = {id(one): one.detach() + step * self.tangents[one] for one in self.inputs}

        def at(value):
            if isinstance(value, clew.Tensor):
                return moved.get(id(value), value)
            return type(value)(map(at, value)) if isinstance(value, list | tuple) else value

        clew.manual_seed(0)
        with clew.no_grad():
            places, named = map(at, self.prepared.places), {k: at(v) for k, v in self.prepared.named.items()}
            result = self.operation(*places, **named)
        return list(result) if isinstance(result, list | tuple) else [result]

    def jvp(self, tangents=None, by_rule=False, results=None):
        results = self.results() if results is None else results
        given = self.tangents if tangents is None else tangents
        found = _core.jvp(self.operation, results, given, by_rule, *self.prepared.places, **self.prepared.named)
        return [
            clew.zeros_like(result) if tangent is None else tangent.detach()
            for result, tangent in zip(results, found, strict=True)
        ]


def assert_close(found, expected, rtol, atol):
    for one, other in zip(found, expected, strict=True):
        assert one.shape == other.shape
        assert one.dtype == other.dtype
        numpy.testing.assert_allclose(one.numpy(), other.numpy(), rtol=rtol, atol=atol)


@every(DIFFERENTIABLE)
def test_the_class_says_what_transposing_the_rules_says(overload):
    for sample in sampling.samples(overload):
        call = Call(sample)
        if not call.inputs:
            continue
        with missing_derivatives_say_so():
            expected = call.jvp(by_rule=True)
            assert_close(call.jvp(), expected, 1e-9, 1e-12)
            # Each input alone: what has no tangent is skipped.
            sums = [clew.zeros_like(one) for one in expected]
            for one in call.inputs:
                for total, part in zip(sums, call.jvp({one: call.tangents[one]}), strict=True):
                    total += part
            assert_close(sums, expected, 1e-9, 1e-12)


@every([one for one in DIFFERENTIABLE if not one.draws])
def test_the_class_says_what_differences_say(overload):
    for sample in sampling.samples(overload):
        call = Call(sample)
        if not call.inputs:
            continue
        with missing_derivatives_say_so():
            found, step = call.jvp(), 1e-6
            ahead, behind = call.results(step), call.results(-step)
            has_derivative = [one.requires_grad for one in call.prepared()]
            for tangent, more, less, differs in zip(found, ahead, behind, has_derivative, strict=True):
                if differs:
                    assert_close([tangent], [(more - less) / (2 * step)], 1e-4, 1e-6)


@every(DIFFERENTIABLE)
def test_tangents_have_derivatives_of_their_own(overload):
    for sample in sampling.samples(overload):
        with missing_derivatives_say_so():
            gradients = []
            for by_rule in (False, True):
                call = Call(sample)
                call.prepared.by_parts = False
                if not call.inputs:
                    continue
                found = _core.jvp(
                    call.operation,
                    call.prepared(),
                    call.tangents,
                    by_rule,
                    *call.prepared.places,
                    **call.prepared.named,
                )
                total = sum((abs(one) * abs(one)).sum() for one in found if one is not None)
                total = total + sum(0 * abs(one).sum() for one in call.prepared.leaves)
                gradients.append(clew.autograd.grad(total, call.prepared.leaves))
            assert_close(*(gradients or ([], [])), 1e-9, 1e-12)


def test_most_need_no_rule_of_their_own():
    said = [one.derivative for one in DIFFERENTIABLE]
    elementwise, by_rule = said.count("elementwise"), said.count("")
    assert elementwise > 100
    assert len(said) - elementwise - by_rule > 90
    assert by_rule < len(said) / 3, sorted(one.operation for one in DIFFERENTIABLE if not one.derivative)
