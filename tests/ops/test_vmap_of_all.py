"""Every operation under vmap gives what it gives for each sample alone, and so do its gradients.

Each tensor of each sample of a domain becomes a batch in turn. What an operation gives for one sample is compared with
PyTorch in test_registry.py.
"""

import numpy
import pytest
import sampling

import clew

pytestmark = pytest.mark.beyond

SEEDS = (0, 1, 2)
OVERLOADS = [
    one
    for one in (*sampling.overloads(), *sampling.compositions())
    if one.domain and not one.unsampled and not one.draws
]
# What a memory holds beyond the tensor, or holds by chance.
NOT_COMPARED = ("as_strided", "_as_strided", "_empty_like", "Tensor.new_empty", "empty_like", "empty_strided")


def replaced(tree, path, value):
    if not path:
        return value
    if isinstance(tree, dict):
        return {**tree, path[0]: replaced(tree[path[0]], path[1:], value)}
    return [replaced(one, path[1:], value) if i == path[0] else one for i, one in enumerate(tree)]


class Case:
    """One tensor of one sample that becomes a batch."""

    def __init__(self, overload, place, path):
        self.overload, self.path = overload, path
        self.operation = sampling.call_of(overload, clew)
        calls = [sampling.samples(overload, seed=seed)[place].positional() for seed in SEEDS]
        self.call = sampling.to_module(clew, list(calls[0]), grad=False)
        arrays = [numpy.asarray(sampling.at(call, path)) for call in calls]
        self.comparable = all(array.shape == arrays[0].shape for array in arrays)
        if self.comparable:
            self.samples = [clew.tensor(array) for array in arrays]

    def __call__(self, sample):
        places, named = replaced(self.call, self.path, sample)
        if self.overload.operation.endswith("_"):
            places = [places[0].clone(), *places[1:]]
        result = self.operation(*places, **named)
        results = result if isinstance(result, list | tuple) else (result,)
        return tuple(one for one in results if isinstance(one, clew.Tensor))

    def alone(self, samples):
        """The results for each sample, stacked."""
        return [clew.stack(of_one) for of_one in zip(*(self(sample) for sample in samples), strict=True)]


def cases(overload):
    for place, sample in enumerate(sampling.samples(overload)):
        for path in sampling.tensors_in(sample.positional()):
            case = Case(overload, place, path)
            if not case.comparable:
                continue
            try:
                expected = case.alone(case.samples)
            except (RuntimeError, ValueError, IndexError, TypeError, NotImplementedError):
                continue  # this argument does not go with those of the first sample
            if expected:
                yield case, expected


def is_close(found, expected):
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    values = [one.detach().resolve_conj() for one in (found, expected)]
    values = [(one.float() if one.dtype in (clew.bfloat16, clew.float16) else one).numpy() for one in values]
    numpy.testing.assert_allclose(*values, rtol=1e-9, atol=1e-9)


def may_refuse(overload):
    """Operations of the registry that can't be batched: by what they are, not by name."""
    of_values = overload.flags & 1 << 19  # kSizedByValues
    writes = overload.operation.endswith("_") or overload.flags & sampling.WRITES_INPUT
    takes_sections = any(one["name"] in ("split_sizes", "tensor_indices_or_sections") for one in overload.arguments)
    # Running statistics are written.
    statistics = any(one["name"] == "running_mean" for one in overload.arguments)
    composed = overload.has(sampling.COMPOSITE) or isinstance(overload, sampling.Composition)
    return of_values or writes or takes_sections or statistics or composed


def check_refusal(overload, error):
    assert str(error).startswith("vmap:"), error
    assert may_refuse(overload), error


@pytest.mark.parametrize("overload", OVERLOADS, ids=lambda overload: overload.schema.replace("Tensor ", ""))
def test_vmap_gives_what_each_sample_gives(overload):
    if overload.schema.startswith(tuple(f"{name}(" for name in NOT_COMPARED)):
        pytest.skip("it reads memory beyond the tensor")
    for case, expected in cases(overload):
        for dim in (0, -1):
            batch = clew.stack(case.samples, dim)
            try:
                found = clew.vmap(case, in_dims=dim)(batch)
            except (RuntimeError, NotImplementedError) as error:
                if dim == -1 and "stride" in str(error):
                    continue  # the last axis of such a sample is not contiguous
                check_refusal(overload, error)
                continue
            for one, wanted in zip(found, expected, strict=True):
                is_close(one, wanted)


@pytest.mark.parametrize(
    "overload",
    [one for one in OVERLOADS if one.differentiable],
    ids=lambda overload: overload.schema.replace("Tensor ", ""),
)
def test_gradients_through_vmap_are_those_of_each_sample(overload):
    for case, expected in cases(overload):
        if not case.samples[0].is_floating_point() or not any(one.is_floating_point() for one in expected):
            continue
        batch = clew.stack(case.samples).requires_grad_()
        leaves = [sample.clone().requires_grad_() for sample in case.samples]
        try:
            alone = case.alone(leaves)
        except (RuntimeError, NotImplementedError):
            continue  # this argument may not ask for a gradient
        try:
            found = clew.vmap(case)(batch)
        except (RuntimeError, NotImplementedError) as error:
            check_refusal(overload, error)
            continue
        places = [i for i, one in enumerate(found) if one.requires_grad]
        assert places == [i for i, one in enumerate(alone) if one.requires_grad]
        if not places or any(not found[i].is_floating_point() for i in places):
            continue
        weights = [clew.tensor(sampling.Sampler(7).real(*found[i].shape)).to(found[i].dtype) for i in places]
        try:
            wanted = clew.autograd.grad([alone[i] for i in places], leaves, weights, allow_unused=True)
        except (RuntimeError, NotImplementedError, ValueError):
            continue  # no derivative there, or an attribute would have to say for which inputs
        (gradient,) = clew.autograd.grad([found[i] for i in places], batch, weights, allow_unused=True)
        if wanted[0] is None:
            assert gradient is None or not gradient.any()
            continue
        is_close(gradient, clew.stack(wanted))
