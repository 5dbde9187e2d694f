"""What docstrings derive from the registry is true: shapes, views and errors are as told, of every sampled operation.

(Their examples and what they say of dtypes: tests/test_examples_in_docstrings.py.)
"""

import numpy
import pytest
import sampling

import clew
from clew import _core, _operation_docs

pytestmark = pytest.mark.beyond


def told_of(overload):
    """What the registry says of it, as docstrings read it."""
    overloads = vars(_core.ops)[overload.operation].overloads
    return next(one for one in overloads if one["name"] == overload.name)


def select(wanted):
    found = [one for one in sampling.overloads() if one.is_public and not one.unsampled and wanted(told_of(one))]
    return pytest.mark.parametrize("overload", found, ids=lambda overload: overload.name)


def call(overload, **changed):
    """(result, tensors among the arguments) of the first sample, with other arguments."""
    sample = sampling.samples(overload)[0]
    changed = {name: change(sample.arguments.get(name)) for name, change in changed.items()}
    places, named = sampling.Sample(overload, sample.arguments | changed).positional()
    places, named = (sampling.to_module(clew, one, grad=False) for one in (places, named))
    result = sampling.call_of(overload, clew)(*places, **named)
    return result, [one for one in (*places, *named.values()) if isinstance(one, clew.Tensor)]


def flattened(result):
    return list(result) if isinstance(result, tuple | list) else [result]


@select(lambda one: "memory" in _operation_docs._shape(one) and "view" in _operation_docs._shape(one))
def test_views_look_at_the_memory_of_self(overload):
    result, tensors = call(overload)
    for one in flattened(result):
        assert one.untyped_storage().data_ptr() == tensors[0].untyped_storage().data_ptr()


@select(_operation_docs.keeps_shape)
def test_shapes_are_kept(overload):
    result, (tensor, *_) = call(overload)
    assert all(one.shape == tensor.shape for one in flattened(result))


@select(lambda one: one["differentiable"] and not one["flags"] & (sampling.COMPOSITE | sampling.WRITES_INPUT))
def test_what_is_saved_is_told(overload):
    """Where every tensor requires a gradient: nothing but that, and all of it in one sample or another."""
    entry = told_of(overload)
    told = {name.strip() for one in entry["saves"].split("; ") for name in one.partition(":")[2].split(",")} - {""}
    saved, missing = set(), set()
    for sample in sampling.samples(overload):
        places, named = (sampling.to_module(clew, one) for one in sample.positional())
        node = flattened(sampling.call_of(overload, clew)(*places, **named))[0].grad_fn
        names = [*(one["name"] for one in entry["arguments"]), *entry["output_names"]]
        saved |= {name for name in names if is_tensor(getattr(node, f"_saved_{name}", None))}
        missing |= {one["name"] for one in entry["arguments"] if one["optional"]}
    assert saved <= told <= saved | missing


def is_tensor(value):
    return isinstance(value, clew.Tensor) or (isinstance(value, tuple) and any(map(is_tensor, value)))


@select(lambda one: _operation_docs._is_elementwise(one) and not one["flags"] & sampling.VIEW)
def test_shapes_are_broadcast(overload):
    result, tensors = call(overload)
    assert flattened(result)[0].shape == clew.broadcast_shapes(*(one.shape for one in tensors))


def operands(overload):
    return [
        one for one in _operation_docs._tensors(told_of(overload)) if one in sampling.samples(overload)[0].arguments
    ]


@select(lambda one: _operation_docs._is_elementwise(one) and len(_operation_docs._tensors(one)) > 1)
def test_shapes_that_do_not_broadcast_are_refused(overload):
    names = [
        one for one in operands(overload) if isinstance(sampling.samples(overload)[0].arguments[one], numpy.ndarray)
    ]
    if len(names) < 2:
        pytest.skip("its sample has a number")
    sizes = iter(range(5, 5 + len(names)))
    with pytest.raises(RuntimeError):
        call(overload, **{name: lambda value: numpy.resize(value, (next(sizes),)) for name in names})


@select(_operation_docs.axes_of)
def test_an_axis_that_there_is_not_is_an_index_error(overload):
    kinds = {one["name"]: one["type"] for one in overload.arguments}
    for name in _operation_docs.axes_of(told_of(overload)):
        with pytest.raises(IndexError):
            call(overload, **{name: lambda value, kind=kinds[name]: no_axes(value, kind)})


def no_axes(value, kind):
    """As many as there are by default, or in the sample."""
    return 99 if kind == "int" else tuple(99 + i for i in range(len(value or (0, 1))))


@select(_operation_docs.index_error)
def test_an_index_out_of_range_raises_what_is_told(overload):
    name = next(one["name"] for one in overload.arguments if one["name"] in ("index", "indices"))

    def beyond(value):
        return [beyond(one) for one in value] if isinstance(value, list) else value * 0 + 99

    with pytest.raises((IndexError, RuntimeError)) as caught:
        call(overload, **{name: beyond})
    assert caught.type.__name__ == _operation_docs.index_error(told_of(overload))


@select(lambda one: any(argument["name"] == "keepdim" for argument in one["arguments"]))
def test_reduced_axes_are_missing_or_of_size_1(overload):
    for keepdim in (True, False):
        result, (tensor, *_) = call(overload, keepdim=lambda _, keepdim=keepdim: keepdim)
        one = flattened(result)[0]
        assert (one.ndim == tensor.ndim) is keepdim
