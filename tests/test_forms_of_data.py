"""What constructors, `stack` and its kin, dtypes' limits, tensor types and storages make of every form of argument."""

import array
import fractions
import re

import numpy
import pytest

import clew

CONSTRUCTORS = ("tensor", "as_tensor", "Tensor", "FloatTensor", "LongTensor")
JOINING = ("stack", "cat", "hstack", "vstack", "dstack", "column_stack")
NOTHING = object()


def data_forms(m):
    x, z = m.tensor([1.0, 2.0]), m.tensor(3.0)
    f32, f64, i32, i64 = numpy.float32, numpy.float64, numpy.int32, numpy.int64
    return {
        "int": 3, "float": 3.0, "bool": True, "np.float32": f32(2), "np.float64": f64(2), "np.int32": i32(2),
        "np.int64": i64(2), "np.bool": numpy.bool_(True), "list": [1, 2], "floats": [1.0, 2], "mixed": [1, 2.5, True],
        "bools": [True, False], "nested": [[1, 2], [3, 4]], "ragged": [[1], [2, 3]], "empty": [], "empties": [[], []],
        "tuple": (1, 2), "Size": m.Size([2, 3]), "Size of 0": m.Size([]), "array": numpy.array([1.0, 2.0]),
        "array of float32": numpy.array([1.0, 2.0], f32), "array of int32": numpy.array([1, 2], i32),
        "array of bool": numpy.array([True]), "0-dim array": numpy.array(3.0), "0-dim array of int": numpy.array(3),
        "array of bytes": numpy.array([1, 2], numpy.uint8), "array of objects": numpy.array([1, None], object),
        "array of strings": numpy.array(["a"]), "arrays": [numpy.array([1, 2]), numpy.array([3, 4])],
        "arrays of two dtypes": [numpy.array([1.0, 2]), numpy.array([3, 4])],
        "arrays of float32": [numpy.array([1.0, 2], f32)] * 2, "arrays of two lengths": [numpy.ones(1), numpy.ones(2)],
        "NumPy floats": [f32(1), f32(2)], "NumPy float and int": [f64(1), 2], "NumPy ints": [i32(1), i32(2)],
        "NumPy bools": [numpy.bool_(True), False], "tensor": x, "tensor of int": m.tensor([1, 2]), "0-dim tensor": z,
        "0-dim tensors": [z, z], "tensors": [x, x], "0-dim tensors of int": [m.tensor(1), m.tensor(2)],
        "tensors of one": [m.tensor([1.0]), m.tensor([2.0])], "tensor and numbers": [z, 1, f64(2)],
        "leaf in a list": [m.tensor(1.0, requires_grad=True)], "tensors in lists": [[z, z], [z, 1]], "None": None,
        "str": "ab", "dict": {1: 2}, "range": range(3), "generator": (k for k in range(2)), "set": {1, 2},
        "array.array": array.array("f", [1, 2]), "bytes": b"ab", "object": NOTHING, "large": 2**40,
        "bytearray": bytearray(b"ab"), "memoryview": memoryview(b"abc"), "empty array": numpy.zeros((0, 3)),
        "array with steps": numpy.arange(6.0)[::2], "str in a list": ["a"], "bytes in a list": [b"a"], "Nones": [None],
        "empty arrays": [numpy.zeros((0, 3))], "fractions": [fractions.Fraction(1, 2), 1], "objects": [NOTHING],
        "leaf": m.ones(1, requires_grad=True),
    }  # fmt: skip


SIZES = {
    "2, 3": lambda m: (2, 3), "": lambda m: (), "Size": lambda m: (m.Size([2, 3]),), "0": lambda m: (0,),
    "2.0, 3": lambda m: (2.0, 3), "NumPy": lambda m: (numpy.int64(2), numpy.int64(3)), "negative": lambda m: (-1,),
}  # fmt: skip
OPTIONS = {
    "int64": lambda m: {"dtype": m.int64}, "float64": lambda m: {"dtype": m.float64},
    "bool": lambda m: {"dtype": m.bool}, "Python's float": lambda m: {"dtype": float},
    "device": lambda m: {"device": "cpu"},
    "requires_grad": lambda m: {"requires_grad": True},
}  # fmt: skip


def listed(m):
    x, z = m.tensor([1.0, 2.0]), m.tensor(3.0)
    return {
        "tensors": [x, x], "a tuple": (x, x), "two dtypes": [x, m.tensor([1, 2])], "two shapes": [x, z], "none": [],
        "arrays": [numpy.array([1.0])], "numbers": [1, 2], "tensor and number": [x, 1], "a tensor": m.ones(2, 3),
        "an array": numpy.ones((2, 2)), "0-dim": [z, z], "a generator": (k for k in [x, x]), "None": None,
    }  # fmt: skip


def with_default_type(m, kind):
    m.set_default_tensor_type(kind)
    try:
        return m.ones(1)
    finally:
        m.set_default_dtype(m.float32)


def written(storage):
    storage[0] = 5.0
    return storage.tolist()


def x_of(m):
    return m.tensor([1.0, 2.0])


PROGRAMS = {
    "type": lambda m: x_of(m).type(),
    "type of int": lambda m: m.tensor([1]).type(),
    "type by keyword": lambda m: x_of(m).type(dtype=m.int32),
    "type waits": lambda m: x_of(m).type(m.int64, non_blocking=True),
    **{
        f"type {name}": lambda m, name=name: x_of(m).type(name)
        for name in ("torch.FloatTensor", "torch.LongTensor", "torch.Tensor", "FloatTensor", "float", "torch.Foo")
    },
    **{
        f"type of class {name}": lambda m, name=name: x_of(m).type(getattr(m, name))
        for name in ("LongTensor", "Tensor", "float64")
    },
    "type float": lambda m: x_of(m).type(float),
    "type 1": lambda m: x_of(m).type(1),
    "new of data": lambda m: x_of(m).new([1, 2]),
    "new of an array": lambda m: m.tensor([1]).new(numpy.array([1, 2])),
    "new of a tensor": lambda m: x_of(m).new(x_of(m)),
    "new of another dtype": lambda m: x_of(m).new(m.tensor([1])),
    "new of a float": lambda m: x_of(m).new(3.0),
    "new of a bool": lambda m: x_of(m).new(True),
    "new of None": lambda m: x_of(m).new(None),
    "new of a storage": lambda m: x_of(m).new(x_of(m).storage()),
    "new sizes": lambda m: [x_of(m).new(*one).shape for one in ((), (2, 3), (m.Size([4]),), (numpy.int64(2),))],
    "new with a dtype": lambda m: x_of(m).new(2, dtype=m.int64),
    "new_tensor": lambda m: m.tensor([1]).new_tensor([1.5]),
    **{
        f"{limits} {name}": lambda m, limits=limits, of=of: repr(getattr(m, limits)(of(m)))
        for limits in ("finfo", "iinfo")
        for name, of in {
            "float": lambda m: float,
            "int": lambda m: int,
            "bool": lambda m: bool,
            "float32": lambda m: m.float32,
            "int64": lambda m: m.int64,
            "float16": lambda m: m.float16,
            "str": lambda m: "float32",
            "None": lambda m: None,
        }.items()
    },
    "equal limits": lambda m: [
        m.finfo(float) == m.finfo(m.float64),
        m.finfo() == m.finfo(float),
        m.iinfo(m.int64) == m.iinfo(int),
    ],
    "finfo": lambda m: repr(m.finfo()),
    "iinfo": lambda m: repr(m.iinfo()),
    "default type": lambda m: with_default_type(m, m.DoubleTensor),
    "default type by name": lambda m: with_default_type(m, "torch.DoubleTensor"),
    "default type of integers": lambda m: with_default_type(m, m.LongTensor),
    "default type of a dtype": lambda m: with_default_type(m, m.float64),
    "default type of None": lambda m: with_default_type(m, None),
    "is_storage": lambda m: [
        m.is_storage(one) for one in (x_of(m), x_of(m).storage(), x_of(m).untyped_storage(), None)
    ],
    "storage": lambda m: [
        (len(one), one.size(), one.tolist(), one.dtype, one.nbytes(), one.element_size(), list(one), one[-1])
        for one in (m.arange(6.0).reshape(2, 3)[1:].storage(), m.tensor([1, 2]).storage())
    ],
    "storage of a tensor is written": lambda m: (lambda x: (x.storage().fill_(3), x)[1])(x_of(m)),
    "storage of data": lambda m: m.FloatStorage([1, 2]).tolist(),
    "storage of a size": lambda m: len(m.DoubleStorage(3)),
    "storage is written": lambda m: written(m.FloatStorage([1.0, 2.0])),
    "storage beyond": lambda m: m.FloatStorage([1.0])[1],
    "storage by a string": lambda m: m.FloatStorage([1.0])["a"],
    "tensor of a storage": lambda m: m.FloatTensor(m.FloatStorage([1.0, 2.0])),
    "storage type": lambda m: (x_of(m).storage_type().__name__, isinstance(x_of(m).storage(), m.FloatStorage)),
    "storage classes": lambda m: (
        isinstance(x_of(m).storage(), m.TypedStorage),
        isinstance(x_of(m).untyped_storage(), m.UntypedStorage),
    ),
    "bytes of a storage": lambda m: [x_of(m).untyped_storage().tolist(), x_of(m).untyped_storage()[3]],
    "isinstance": lambda m: [isinstance(x_of(m), one) for one in (m.FloatTensor, m.LongTensor, m.Tensor)],
    "Tensor of a dtype": lambda m: m.Tensor([1], dtype=m.int64),
    "Tensor on a device": lambda m: m.Tensor([1], device="cpu"),
    "Tensor by keyword": lambda m: m.Tensor(data=[1]),
    "Tensor is the same memory": lambda m: (lambda x: (m.Tensor(x).fill_(5), x)[1])(x_of(m)),
    "as_tensor is the same memory": lambda m: (lambda a: (m.as_tensor(a).fill_(5), a.tolist())[1])(numpy.ones(2)),
    "as_tensor is the same": lambda m: (lambda x: m.as_tensor(x) is x)(x_of(m)),
    "stack along axes": lambda m: [m.stack([x_of(m)] * 3, dim) for dim in (1, -1, -2)],
    "stack beyond the axes": lambda m: m.stack([x_of(m)], 2),
    "stack by axis": lambda m: m.stack([x_of(m)], axis=1),
}


def told(value, m, uninitialised=False):
    """A result, comparable between the two."""
    if isinstance(value, m.Tensor):
        kind, shape = str(value.dtype), tuple(value.shape)
        return (kind, shape, value.requires_grad, None if uninitialised else value.tolist())
    if isinstance(value, list | tuple):
        return [told(one, m) for one in value]
    return repr(value)


def outcome(program, m, uninitialised=False):
    try:
        return told(program(m), m, uninitialised)
    except Exception as error:
        return type(error)


def assert_agree(program, torch, oracle, uninitialised=False):
    ours, theirs = outcome(program, torch, uninitialised), outcome(program, oracle, uninitialised)
    if isinstance(ours, type) and isinstance(theirs, type):
        assert issubclass(ours, theirs), f"expected {theirs}, got {ours}"
    else:
        assert ours == theirs


# PyTorch takes a number for a length; ours of 2**40 elements ends as MemoryError.
LENGTHS = {"int", "np.int32", "np.int64", "Size", "Size of 0", "0-dim array of int"}
# PyTorch asks that NumPy's numbers in a list are of the kind asked for; here they are converted as Python's.
CONVERTED = {("LongTensor", "arrays of float32"), ("LongTensor", "NumPy floats"), ("LongTensor", "NumPy bools")}
CONVERTED |= {("LongTensor", "tensors"), ("NumPy floats", "int64"), ("NumPy floats", "bool")}


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("form", data_forms(clew))
@pytest.mark.parametrize("constructor", CONSTRUCTORS)
def test_data_in_every_form(constructor, form, torch, oracle):
    if (constructor, form) in CONVERTED:
        pytest.skip("converted here")
    if form == "large" and constructor not in ("tensor", "as_tensor"):
        pytest.skip("more memory than there is")
    uninitialised = constructor not in ("tensor", "as_tensor") and form in LENGTHS
    assert_agree(lambda m: getattr(m, constructor)(data_forms(m)[form]), torch, oracle, uninitialised)


@pytest.mark.parametrize("form", SIZES)
@pytest.mark.parametrize("constructor", ["Tensor", "FloatTensor", "LongTensor"])
def test_sizes_in_every_form(constructor, form, torch, oracle):
    assert_agree(lambda m: getattr(m, constructor)(*SIZES[form](m)), torch, oracle, True)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("form", ["floats", "array", "tensor", "list", "arrays", "NumPy floats"])
@pytest.mark.parametrize("constructor", ["tensor", "as_tensor"])
def test_data_with_options(constructor, form, options, torch, oracle):
    if (form, options) in CONVERTED:
        pytest.skip("converted here")
    assert_agree(lambda m: getattr(m, constructor)(data_forms(m)[form], **OPTIONS[options](m)), torch, oracle)


@pytest.mark.parametrize("form", listed(clew))
@pytest.mark.parametrize("function", JOINING)
def test_lists_that_are_joined(function, form, torch, oracle):
    assert_agree(lambda m: getattr(m, function)(listed(m)[form]), torch, oracle)


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("program", PROGRAMS)
def test_types_limits_and_storages(program, torch, oracle):
    assert_agree(PROGRAMS[program], torch, oracle)


def test_a_number_is_no_data_for_tensor(torch):
    with pytest.raises(TypeError, match=re.compile("sequence.*float")):
        torch.Tensor(3.0)
    assert torch.Tensor(torch.Size([2, 3])).shape == (2, 3)
