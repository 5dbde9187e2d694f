"""Every operation, function and module unpacks each tensor that it saved at most once in a backward.

An unpack hook may compute again what was thrown away, as a checkpoint does, or give each tensor away once.
"""

import collections

import derivatives
import public_functions
import pytest
from test_registry import SAMPLED, every, missing_derivatives_say_so

import clew
from clew.autograd.graph import saved_tensors_hooks

pytestmark = pytest.mark.beyond


class Unpacks:
    """Counts, for each slot that is filled, how often it is unpacked in one backward."""

    def __init__(self):
        self.counts = collections.Counter()
        self.shapes = []

    def pack(self, tensor):
        self.shapes.append(tuple(tensor.shape))
        return len(self.shapes) - 1, tensor

    def unpack(self, packed):
        number, tensor = packed
        self.counts[number] += 1
        return tensor

    def repeated(self):
        found = [
            f"that of shape {self.shapes[number]} {count} times" for number, count in self.counts.items() if count > 1
        ]
        self.counts.clear()
        return found


def repeated_unpacks(case):
    """What is unpacked more than once: in the whole backward, by each input alone, and in second order."""
    faults, unpacks = [], Unpacks()

    def backward(name, outputs, inputs, weights, create_graph):
        unpacks.counts.clear()
        found = clew.autograd.grad(
            outputs, inputs, weights, retain_graph=True, create_graph=create_graph, allow_unused=True
        )
        faults.extend(f"{name}: {text}" for text in unpacks.repeated())
        return [one for one in found if one is not None and one.requires_grad]

    with saved_tensors_hooks(unpacks.pack, unpacks.unpack), missing_derivatives_say_so():
        leaves = [derivatives.plain(one).requires_grad_() for one in case.values]
        outputs = [one for one in case.function(*leaves) if one.requires_grad]
        weights = [clew.ones_like(one) for one in outputs]
        backward("backward", outputs, leaves, weights, False)
        for number, leaf in enumerate(leaves if len(leaves) > 1 else ()):
            backward(f"backward by input {number} alone", outputs, [leaf], weights, False)
        weights = [one.requires_grad_() for one in weights]
        gradients = backward("backward with create_graph", outputs, leaves, weights, True)
        if gradients:
            backward(
                "second backward", gradients, [*leaves, *weights], [clew.ones_like(one) for one in gradients], False
            )
    return faults


@every([one for one in SAMPLED if one.differentiable])
def test_an_operation(overload):
    faults = {case.name: found for case in derivatives.cases_of(overload) if (found := repeated_unpacks(case))}
    assert not faults


@pytest.mark.parametrize("function", public_functions.functions(), ids=str)
def test_a_function(function):
    assert not repeated_unpacks(derivatives.case_of(function))


def test_a_second_unpack_would_be_found():
    class Twice(clew.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            return grad * (ctx.saved_tensors[0] + ctx.saved_tensors[0])

    x = derivatives.plain(public_functions.Function("x", "x=real(2)").arrays()["x"])
    faults = repeated_unpacks(derivatives.Case("twice", lambda x: [Twice.apply(x)], [x.numpy()]))
    assert faults[0] == "backward: that of shape (2,) 2 times"
