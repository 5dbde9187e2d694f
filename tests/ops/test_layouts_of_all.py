"""Where the results of every operation lie in memory, for arguments that lie in several ways, beside PyTorch's."""

import contextlib

import numpy
import pytest
import sampling
from test_layouts import channels_last, laid_out, spread, transposed
from test_registry import SAMPLED, calls_to, different_on_purpose, every

import clew

pytestmark = [pytest.mark.beyond, pytest.mark.filterwarnings("ignore::UserWarning")]
LAYOUTS = (numpy.ascontiguousarray, transposed, spread, channels_last)


def placed(module, value, layout):
    """A sample's argument with its arrays laid out so."""
    if isinstance(value, numpy.ndarray):
        plain = numpy.asarray(value)
        return laid_out(module, layout(plain)) if plain.ndim > 1 else module.from_numpy(numpy.array(plain))
    if isinstance(value, list | tuple):
        return type(value)(placed(module, one, layout) for one in value)
    return sampling.to_module(module, value, grad=False)


def call(module, function, arguments, layout):
    places, named = arguments
    result = function(
        *(placed(module, one, layout) for one in places),
        **{name: placed(module, one, layout) for name, one in named.items()},
    )
    return list(result) if isinstance(result, list | tuple) else [result]


def pytorchs(sample, oracle, layout):
    for function in sampling.calls_of(sample.overload, oracle):
        for arguments in calls_to(function, sample):
            with contextlib.suppress(TypeError, ValueError, RuntimeError):
                return call(oracle, function, arguments, layout)
    return None


def strides(tensor):
    """Along axes where they say something."""
    return [stride for stride, size in zip(tensor.stride(), tensor.shape, strict=True) if size > 1]


def is_known(overload):
    name = overload.path if isinstance(overload, sampling.Composition) else overload.operation
    names = {name, overload.operation, name.removesuffix("_ex"), f"nn.functional.{overload.operation}"}
    return different_on_purpose("strides") & names


COMPARED = [one for one in SAMPLED if one.is_public and not one.draws and not is_known(one)]


@every([one for one in COMPARED if one.operation != "conj_physical"])  # a copy, in PyTorch the tensor itself
def test_results_lie_as_pytorchs_do(overload, oracle):
    compared = 0
    for sample in sampling.samples(overload):
        for layout in LAYOUTS:
            expected = pytorchs(sample, oracle, layout)
            if expected is None:  # PyTorch refuses the strides, or has it with other arguments
                continue
            results = call(clew, sampling.call_of(overload, clew), sample.positional(), layout)
            for ours, theirs in zip(results, expected, strict=True):
                compared += 1
                if isinstance(ours, clew.Tensor) and ours.numel() > 1:
                    assert strides(ours) == strides(theirs), layout.__name__
    assert compared or not sampling.calls_of(overload, oracle)
