"""Reverse and forward mode of every operation, by one input at a time.

For each tensor of floats among the arguments, one that a test otherwise takes for a constant (a weight of a loss, a
running mean) included: both modes give what differences say, or both refuse. A derivative that is missing is not 0.
"""

import numpy
import pytest
import sampling
from test_registry import SAMPLED, every

import clew

pytestmark = pytest.mark.beyond

DIFFERENTIABLE = [
    one
    for one in SAMPLED
    if one.differentiable
    and not one.draws
    and not one.has(sampling.NON_DIFFERENTIABLE)
    # Draws have no derivative by the parameters of their distribution.
    and one.operation != "normal"
    # Attributes of these say which of their inputs have a derivative: those of the sample, all of them.
    and not (one.has(sampling.HIDDEN) and "Tensor[]" in one.schema)
]
STEP = 1e-6


def replaced(tree, path, value):
    """The arguments with another one at a place."""
    if not path:
        return value
    if isinstance(tree, dict):
        return {**tree, path[0]: replaced(tree[path[0]], path[1:], value)}
    return type(tree)(replaced(one, path[1:], value) if i == path[0] else one for i, one in enumerate(tree))


class ByOneInput:
    """A call as a function of one of its tensors: a weighted sum of its differentiable results."""

    def __init__(self, sample, path):
        self.overload, self.path = sample.overload, path
        tree = sample.positional()
        array = sampling.at(tree, path)
        self.arguments = sampling.to_module(clew, tree, grad=False)
        self.point = clew.from_numpy(numpy.array(array))
        generator = numpy.random.default_rng(5)
        self.along = clew.from_numpy(numpy.asarray(generator.standard_normal(array.shape)))
        if isinstance(array, sampling.Symmetric):
            self.along = self.along + self.along.mT
        self.counted = None  # numbers of the results that have a derivative; None: all

    def results(self, x):
        places, named = replaced(self.arguments, self.path, x)
        if self.overload.operation.endswith("_"):
            places = [places[0].clone(), *places[1:]]
        clew.default_generator.manual_seed(0)
        result = sampling.call_of(self.overload, clew)(*places, **named)
        found = [one for one in (result if isinstance(result, list | tuple) else [result]) if is_inexact(one)]
        return [clew.view_as_real(one.resolve_conj()) if one.is_complex() else one for one in found]

    def __call__(self, x):
        total = clew.zeros((), dtype=clew.float64)
        for i, one in enumerate(self.results(x)):
            generator = numpy.random.default_rng([1, i])
            weight = clew.from_numpy(numpy.asarray(generator.standard_normal(tuple(one.shape))))
            if self.counted is None or i in self.counted:
                total = total + (weight * one).sum()
        return total

    def difference(self):
        with clew.no_grad():
            ahead, behind = (self(self.point + step * self.along) for step in (STEP, -STEP))
        return ((ahead - behind) / (2 * STEP)).item()

    def reverse(self):
        x = self.point.clone().requires_grad_()
        self.counted = [i for i, one in enumerate(self.results(x)) if one.requires_grad]
        total = self(x)
        if not total.requires_grad:
            return 0.0
        (gradient,) = clew.autograd.grad(total, x, materialize_grads=True)
        return (gradient * self.along).sum().item()

    def forward(self):
        return clew.func.jvp(self, (self.point,), (self.along,))[1].item()


def is_inexact(result):
    return isinstance(result, clew.Tensor) and (result.is_floating_point() or result.is_complex())


def or_refused(derivative):
    try:
        return derivative()
    except (RuntimeError, NotImplementedError) as error:
        if "not differentiable" in str(error) or "not implemented" in str(error):
            return "refused"
        raise


@every(DIFFERENTIABLE)
def test_both_modes_differentiate_or_refuse(overload):
    for sample in sampling.samples(overload):
        tree = sample.positional()
        for path in sampling.tensors_in(tree):
            if sampling.at(tree, path).dtype != numpy.float64:
                continue
            call = ByOneInput(sample, path)
            if any(one.dtype is not clew.float64 for one in call.results(call.point)):
                continue  # differences say too little
            reverse, forward = or_refused(call.reverse), or_refused(call.forward)
            if "refused" in (reverse, forward):
                assert reverse == forward, path
                continue
            expected = call.difference()
            numpy.testing.assert_allclose([reverse, forward], expected, rtol=1e-4, atol=1e-6, err_msg=str(path))
