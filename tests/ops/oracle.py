"""One line tests an operation against PyTorch: values, dtypes, node names, gradients, gradients of gradients.

    check("mul", sample((2, 3)), sample((3,)))
    check("clamp", sample((4,)), kwargs={"min": -0.5})
    check("__rsub__", sample((4,)), 2.0, method=True)
    check("relu_", sample((4,)), method=True)          # in place, on a copy
    sweep("exp")                                       # the same over layouts, ranks, sizes and dtypes

Inputs are NumPy arrays (tensors for the operation), lists of them, or anything else, which is passed as it is. All
floating arrays require a gradient unless `grad=False`. With CLEW_TEST_ORACLE=1 PyTorch is compared with itself, which
tests the tests.
"""

import importlib
import os

import numpy
import pytest
import torch as reference

module = reference if os.environ.get("CLEW_TEST_ORACLE") == "1" else importlib.import_module("clew")

TOLERANCE = {"float32": (2e-5, 3e-6), "float64": (1e-9, 1e-11)}  # relative, absolute

DOMAINS = {
    "real": lambda generator, shape: generator.standard_normal(shape) * 1.5,
    "positive": lambda generator, shape: generator.uniform(0.2, 3.0, shape),
    "unit": lambda generator, shape: generator.uniform(-0.9, 0.9, shape),
    "nonzero": lambda generator, shape: generator.uniform(0.3, 2.0, shape) * generator.choice([-1.0, 1.0], shape),
    "above1": lambda generator, shape: generator.uniform(1.1, 3.0, shape),
}


# ------------------------------------------------------------------------------------------------------------- samples
def sample(shape=(3, 4), domain="real", dtype="float64", seed=0):
    """An array of the shape with values from the domain; integers are from -5 to 5 without 0 (uint8: 1 to 5)."""
    generator = numpy.random.default_rng([seed, *shape])
    kind = numpy.dtype(dtype)
    if kind.kind == "b":
        return generator.integers(0, 2, shape).astype(kind)
    if kind.kind in "iu":
        values = generator.integers(1, 6, shape)
        return numpy.asarray(values if kind.kind == "u" else values * generator.choice([-1, 1], shape), dtype=kind)
    return numpy.asarray(DOMAINS[domain](generator, shape), dtype=kind)


def strided(array):
    """The same values in memory with gaps and its axes in another order."""
    room = numpy.zeros([2 * size for size in reversed(array.shape)], dtype=array.dtype)
    view = room[(*(slice(None, None, 2) for _ in array.shape), ...)].transpose()
    view[...] = array
    return view


def with_same_strides(array):
    """A copy that nobody else holds, with the strides of `array`."""
    span = sum((size - 1) * step for size, step in zip(array.shape, array.strides, strict=True) if size > 1)
    if array.size == 0 or any(step < 0 or step % array.itemsize for step in array.strides):
        return array.copy()
    room = numpy.empty(span // array.itemsize + 1, dtype=array.dtype)
    copy = numpy.lib.stride_tricks.as_strided(room, array.shape, array.strides)
    copy[...] = array
    return copy


# ----------------------------------------------------------------------------------------------------------- one check
def convert(value, to, leaves, grad):
    """Arrays become tensors of the module `to`; those that require a gradient are added to `leaves`."""
    if isinstance(value, numpy.ndarray):
        tensor = to.from_numpy(with_same_strides(value))
        if grad and value.dtype.kind == "f":
            tensor.requires_grad_()
            leaves.append(tensor)
        return tensor
    if isinstance(value, list | tuple):
        return type(value)(convert(item, to, leaves, grad) for item in value)
    if isinstance(value, reference.dtype):
        return getattr(to, str(value).removeprefix("torch."))
    return value


def arrays_in(value):
    if isinstance(value, numpy.ndarray):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from arrays_in(item)


def resolve(owner, name):
    for part in name.split("."):
        owner = getattr(owner, part)
    return owner


def outputs_of(to, name, inputs, kwargs, method, grad):
    leaves = []
    arguments = [convert(value, to, leaves, grad) for value in inputs]
    keywords = {key: convert(value, to, leaves, grad) for key, value in kwargs.items()}
    if not method:
        result = resolve(to, name)(*arguments, **keywords)
    else:
        in_place = name.startswith("__i") if name.endswith("__") else name.endswith("_")
        in_place = in_place and name != "__invert__"
        owner = arguments[0].clone() if in_place else arguments[0]
        result = getattr(owner, name)(*arguments[1:], **keywords)
        if in_place:
            assert result is owner, f"{name} did not return its tensor"
    return leaves, list(result) if isinstance(result, list | tuple) else [result]


def array_of(tensor):
    # PyTorch's zeros that take no memory have to be forced.
    return tensor.numpy(force=True) if isinstance(tensor, reference.Tensor) else tensor.detach().numpy()


def kind_of(tensor):
    return str(tensor.dtype).rpartition(".")[2]


def tolerances(arrays, rtol, atol):
    """What is given, else what suits the lowest floating precision among the inputs."""
    kinds = [array.dtype.name for array in arrays if array.dtype.name in TOLERANCE]
    relative, absolute = TOLERANCE[min(kinds, default="float64")]
    return relative if rtol is None else rtol, absolute if atol is None else atol


def compare(what, ours, theirs, rtol, atol):
    """Values, shape and dtype of two tensors agree. `None` counts as zeros."""
    if ours is None and theirs is None:
        return
    if ours is None or theirs is None:
        present = array_of(theirs if ours is None else ours)
        assert not present.any(), f"{what}: one side is None, the other is {present}"
        return
    assert tuple(ours.shape) == tuple(theirs.shape), (
        f"{what}: shape {tuple(ours.shape)}, expected {tuple(theirs.shape)}"
    )
    kind = kind_of(theirs)
    assert kind_of(ours) == kind, f"{what}: dtype {kind_of(ours)}, expected {kind}"
    if kind not in TOLERANCE:
        rtol = atol = 0
    elif kind == "float32":
        rtol, atol = max(rtol, TOLERANCE[kind][0]), max(atol, TOLERANCE[kind][1])
    numpy.testing.assert_allclose(array_of(ours), array_of(theirs), rtol=rtol, atol=atol, err_msg=what)


def weighted_sum(to, tensors, seed):
    """The sum of all elements with fixed random weights that are tensors too: a scalar to differentiate."""
    total, weights = None, []
    for number, tensor in enumerate(tensors):
        generator = numpy.random.default_rng([seed, number])
        values = numpy.asarray(generator.standard_normal(tuple(tensor.shape)), dtype=kind_of(tensor))
        weight = to.from_numpy(values).requires_grad_()
        weights.append(weight)
        part = (tensor * weight).sum()
        total = part if total is None else total + part
    return total, weights


def differentiate(to, outputs, leaves, second):
    """First gradients of the leaves, then second ones of the leaves and of the cotangents."""
    total, weights = weighted_sum(to, outputs, 1)
    first = to.autograd.grad(total, leaves, create_graph=second, allow_unused=True)
    if not second:
        return list(first), []
    again = [gradient for gradient in first if gradient is not None and gradient.requires_grad]
    if not again:
        return list(first), []
    total, _ = weighted_sum(to, again, 2)
    return list(first), list(to.autograd.grad(total, [*leaves, *weights], allow_unused=True))


def check(name, *inputs, grad=True, second=True, kwargs=None, atol=None, rtol=None, method=False, node=True):
    """The operation `name` ("mul", "nn.functional.gelu") does on these inputs what it does in PyTorch.

    method: call it as a method of the first input. Names that end in "_" are called on a copy of it.
    node: the result's `grad_fn` has PyTorch's name, too.
    """
    kwargs = kwargs or {}
    rtol, atol = tolerances([*arrays_in(inputs), *arrays_in(list(kwargs.values()))], rtol, atol)
    our_leaves, ours = outputs_of(module, name, inputs, kwargs, method, grad)
    their_leaves, theirs = outputs_of(reference, name, inputs, kwargs, method, grad)
    assert len(ours) == len(theirs), f"{name}: {len(ours)} results, expected {len(theirs)}"
    for number, (our, their) in enumerate(zip(ours, theirs, strict=True)):
        if not isinstance(their, reference.Tensor):
            assert our == their, f"{name}: {our}, expected {their}"
            continue
        compare(f"{name}: result {number}", our, their, rtol, atol)
        assert our.requires_grad == their.requires_grad, f"{name}: requires_grad is {our.requires_grad}"
        if node and their.grad_fn is not None:
            assert our.grad_fn.name() == their.grad_fn.name()
    differentiable = [number for number, their in enumerate(theirs) if getattr(their, "requires_grad", False)]
    if not differentiable:
        return
    our_first, our_second = differentiate(module, [ours[i] for i in differentiable], our_leaves, second)
    their_first, their_second = differentiate(reference, [theirs[i] for i in differentiable], their_leaves, second)
    for number, (our, their) in enumerate(zip(our_first, their_first, strict=True)):
        compare(f"{name}: gradient of tensor {number}", our, their, rtol, atol)
    # Where one side proved that all second gradients are zero, the other side's must be.
    our_second = our_second or [None] * len(their_second)
    their_second = their_second or [None] * len(our_second)
    for number, (our, their) in enumerate(zip(our_second, their_second, strict=True)):
        compare(f"{name}: second gradient of tensor {number}", our, their, rtol, atol)


def check_out(name, *inputs, kwargs=None, dtype=None):
    """`out=` fills the tensor that is given, of the right shape or empty, and returns it."""
    kwargs = kwargs or {}
    _, (expected,) = outputs_of(reference, name, inputs, kwargs, False, False)
    kind = dtype or kind_of(expected)
    for shape in (tuple(expected.shape), (0,)):
        destination = module.zeros(shape, dtype=getattr(module, kind))
        _, (result,) = outputs_of(module, name, inputs, {**kwargs, "out": destination}, False, False)
        assert result is destination
        compare(f"{name}(out=)", destination, expected.to(getattr(reference, kind)), *TOLERANCE["float64"])


def check_error(name, *inputs, error=RuntimeError, match=None, kwargs=None, method=False):
    """Both refuse these inputs with an error of this type; ours holds the words `match`."""
    for to in (reference, module):
        with pytest.raises(error) as raised:
            outputs_of(to, name, inputs, kwargs or {}, method, False)
    if match is not None and module is not reference:
        assert match in str(raised.value), str(raised.value)


# -------------------------------------------------------------------------------------------------------------- sweeps
SHAPES = {
    "0-dim": (),
    "one": (1,),
    "vector": (7,),
    "matrix": (3, 5),
    "cube": (2, 3, 4),
    "empty": (0,),
    "empty axis": (2, 0, 3),
}
LARGE = (300, 257)  # more than one chunk of elements


def sweep(name, domain="real", integers=True, second=True, large=True, **options):
    """`check` of an operation on one tensor over ranks, layouts, sizes and dtypes."""
    for shape in SHAPES.values():
        check(name, sample(shape, domain), second=second, **options)
        check(name, sample(shape, domain, "float32"), second=False, **options)
    check(name, strided(sample((3, 5), domain)), second=second, **options)
    check(name, strided(sample((2, 3, 4), domain)), second=second, **options)
    check(name, numpy.broadcast_to(sample((5,), domain), (3, 5)), second=False, **options)
    if large:
        check(name, sample(LARGE, domain), second=False, **options)
        check(name, strided(sample(LARGE, domain, "float32")), second=False, **options)
    for dtype in ("int64", "int32", "uint8", "bool") if integers else ():
        check(name, sample((3, 5), dtype=dtype), **options)


def sweep_pair(name, domains=("real", "real"), dtypes=(), second=True, large=True, **options):
    """`check` of an operation on two tensors over broadcasting, ranks, layouts, sizes, and given pairs of dtypes."""
    first, other = domains
    pairs = [
        ((), ()),
        ((3, 5), (3, 5)),
        ((3, 5), ()),
        ((), (3, 5)),
        ((3, 1), (1, 5)),
        ((5,), (3, 5)),
        ((2, 3, 4), (3, 1)),
        ((0, 3), (1, 3)),
    ]
    for left, right in pairs:
        check(name, sample(left, first, seed=1), sample(right, other, seed=2), second=second, **options)
        check(name, sample(left, first, "float32", 1), sample(right, other, "float32", 2), second=False, **options)
    check(name, strided(sample((3, 5), first, seed=1)), sample((3, 5), other, seed=2), second=second, **options)
    check(name, sample((2, 3, 4), first, seed=1), strided(sample((3, 4), other, seed=2)), second=second, **options)
    if large:
        check(name, sample(LARGE, first, seed=1), sample(LARGE, other, seed=2), second=False, **options)
        check(name, sample(LARGE, first, seed=1), sample(LARGE[1:], other, seed=2), second=False, **options)
    for left, right in dtypes:
        for left_shape, right_shape in (((3, 5), (3, 5)), ((3, 5), ()), ((), (3, 5))):
            check(
                name, sample(left_shape, first, left, 1), sample(right_shape, other, right, 2), second=False, **options
            )


ALL_DTYPES = ("bool", "uint8", "int32", "int64", "float32", "float64")
ALL_PAIRS = [(left, right) for left in ALL_DTYPES for right in ALL_DTYPES]
NUMBER_PAIRS = [(left, right) for left, right in ALL_PAIRS if "bool" not in (left, right)]
INTEGER_PAIRS = [(left, right) for left, right in ALL_PAIRS if "float" not in left + right]
FLOAT_PAIRS = [(left, right) for left, right in ALL_PAIRS if "float" in left + right]
