"""Every operation in a compiled function gives eager's bits, and so do its gradients; few keep such a function eager.

All tensors of a sample of a domain are arguments of the function, which gets new ones at each call. What an operation
gives is compared with PyTorch in test_registry.py.
"""

import warnings

import numpy
import pytest
import sampling

import clew

pytestmark = [pytest.mark.beyond, pytest.mark.records_calls]

SEEDS = (0, 1, 2, 3)
# What a memory holds by chance.
BY_CHANCE = ("as_strided", "_as_strided", "_empty_like", "empty", "empty_like", "empty_strided", "new", "new_empty")
OVERLOADS = [
    one
    for one in (*sampling.overloads(), *sampling.compositions())
    if one.is_public and one.domain and not one.unsampled and one.operation not in BY_CHANCE
]
# What the size of a result is found by NumPy, or what else can't be tracked.
EAGER = {
    "is_set_to": "calls clew.is_set_to",
    "histogram": "calls Tensor.numpy",
    "unique": "calls clew.ops.finding.unique",
    "unique_consecutive": "calls clew.ops.finding.unique_consecutive",
}


def plain(tree):
    """NumPy's numbers as Python's."""
    if isinstance(tree, dict):
        return {key: plain(value) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return type(tree)(map(plain, tree))
    return tree.item() if isinstance(tree, numpy.generic) else tree


def with_tensors(tree, tensors, path=()):
    if path in tensors:
        return tensors[path]
    if isinstance(tree, dict):
        return {key: with_tensors(value, tensors, (*path, key)) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return [with_tensors(value, tensors, (*path, key)) for key, value in enumerate(tree)]
    return tree


def step_of(overload, call, paths):
    """The operation and its gradients, as a function of its tensors."""
    operation = sampling.call_of(overload, clew)

    def step(*tensors):
        arguments = [one.clone() for one in tensors]
        places, named = with_tensors(call, dict(zip(paths, arguments, strict=True)))
        result = operation(*places, **named)
        results = result if isinstance(result, list | tuple) else (result,)
        results = [one for one in results if isinstance(one, clew.Tensor)]
        ends = [one for one in results if one.requires_grad]
        leaves = [one for one in tensors if one.requires_grad]
        if not ends:
            return results
        total = sum((one.real if one.is_complex() else one).sum() for one in ends)
        gradients = clew.autograd.grad(total, leaves, allow_unused=True, materialize_grads=True)
        return [*(one.detach() for one in results), *gradients]

    return step


def tensors_of(call, paths):
    made = [clew.tensor(sampling.at(call, path)) for path in paths]
    return [one.requires_grad_() if one.is_floating_point() or one.is_complex() else one for one in made]


def drawn_alike(function, call, paths):
    clew.manual_seed(0)
    return function(*tensors_of(call, paths))


def bits(results):
    plain = [one.detach().reshape(-1) for one in results]
    plain = [one.view(clew.int16) if one.dtype == clew.bfloat16 else one for one in plain]
    return [(one.shape, one.dtype, bare.numpy().tobytes()) for one, bare in zip(results, plain, strict=True)]


@pytest.mark.parametrize("overload", OVERLOADS, ids=[one.name for one in OVERLOADS])
def test_a_compiled_function_gives_the_bits_of_eager(overload):
    for place in range(len(sampling.samples(overload))):
        calls = [plain(sampling.samples(overload, seed=seed)[place].positional()) for seed in SEEDS]
        paths = list(sampling.tensors_in(calls[0]))
        step = step_of(overload, calls[0], paths)
        try:
            expected = [drawn_alike(step, call, paths) for call in calls]
        except (RuntimeError, ValueError, IndexError, TypeError, NotImplementedError):
            continue  # the other arguments do not go with these
        compiled = clew.compile(step)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            got = [drawn_alike(compiled, call, paths) for call in calls]
        for one, other in zip(got, expected, strict=True):
            assert bits(one) == bits(other)
        reason = EAGER.get(overload.operation)
        assert ("stays eager" in compiled.why()) == (reason is not None), compiled.why()
        assert reason is None or reason in compiled.why()
