"""x[key] and x[key] = value, with keys of every kind, against PyTorch."""

import numpy
import pytest
from oracle import check, compare, module, reference, sample


def pair(array, grad=False):
    """The same tensor of ours and of PyTorch's."""
    both = [to.from_numpy(array.copy()) for to in (module, reference)]
    return [tensor.requires_grad_() for tensor in both] if grad else both


KEYS = [  # T makes a tensor
    "0",
    "-1",
    "...",
    "None",
    "()",
    "slice(None)",
    "slice(1, None)",
    "slice(-2, -1)",
    "slice(None, None, 2)",
    "slice(5, 1)",
    "slice(-99, 99)",
    "(0, 1)",
    "(0, 1, 2)",
    "(slice(None), 1)",
    "(slice(None), slice(None))",
    "(..., 1)",
    "(..., None)",
    "(0, ..., 0)",
    "(None, 0, None)",
    "(..., ...)",
    "True",
    "False",
    "(True, 0)",
    "(0, True)",
    "(slice(None), False)",
    "(None, True, 0)",
    "[0, 1]",
    "[1]",
    "[]",
    "[True, False]",
    "([0, 1], [2, 0])",
    "([0, 1], slice(None), [2, 0])",
    "(slice(None), [0, 1], [2, 0])",
    "(0, [0, 1])",
    "(0, slice(None), [0, 1])",
    "([0], ..., 0)",
    "([[0], [1]], [0, 2])",
    "([0, 1], None, [0, 2])",
    "(None, [0, 1])",
    "range(2)",
    "T(1)",
    "T([1, 0, 1])",
    "T([[1, 0], [0, 1]])",
    "(T(1), T(0))",
    "(T([1, 0]), slice(1, 3))",
    "T([True, False])",
    "T([[True, False, True], [False, False, True]])",
    "(T([[True, False, True], [False, False, True]]), 1)",
    "(T([[True, False, True], [False, False, True]]), slice(1, None))",
    "(slice(None), T([True, False, True]))",
    "(T([True, False]), T([0, 2]))",
    "T(True)",
    "T(False)",
    "T([-1, -2])",
    "numpy.array([1, 0])",
    "numpy.array([1, 0], dtype='int32')",
    "numpy.array([1, 0], dtype='int8')",
    "numpy.array([True, False])",
    "numpy.array([[0, 1], [1, 0]])",
    "numpy.array(1)",
    "numpy.int64(1)",
    "(numpy.int32(0), numpy.array([0, 1]))",
]


def key_for(text, to):
    return eval(text, {"T": to.tensor, "numpy": numpy})


@pytest.mark.parametrize("text", KEYS)
def test_getitem(text):
    array = sample((2, 3, 4))
    ours, theirs = pair(array, grad=True)
    results = [x[key_for(text, to)] for x, to in ((ours, module), (theirs, reference))]
    compare(f"x[{text}]", *results, 1e-9, 1e-11)
    assert results[0].grad_fn.name() == results[1].grad_fn.name()
    assert results[0]._is_view() == results[1]._is_view()
    assert results[0] is not ours
    weight = sample(tuple(results[1].shape), seed=5)
    for result, to in zip(results, (module, reference), strict=True):
        (result * to.from_numpy(weight)).sum().backward()
    compare(f"gradient of x[{text}]", ours.grad, theirs.grad, 1e-9, 1e-11)


@pytest.mark.parametrize("text", KEYS)
@pytest.mark.parametrize("kind", ["number", "number tensor", "full"])
def test_setitem(text, kind):
    array = sample((2, 3, 4))
    shape = tuple(reference.from_numpy(array)[key_for(text, reference)].shape)
    if kind == "full" and repeats(text):
        return
    finished = []
    for to in (module, reference):
        leaf = to.from_numpy(array.copy()).requires_grad_()
        x = leaf * 1
        value = {
            "number": lambda: 2.5,
            "number tensor": lambda: numpy.array(1.5),
            "full": lambda: sample(shape, seed=4),
        }[kind]()
        if isinstance(value, numpy.ndarray):
            value = to.from_numpy(value).requires_grad_()
        x[key_for(text, to)] = value
        (x * to.from_numpy(sample((2, 3, 4), seed=6))).sum().backward()
        finished.append((x, leaf.grad, getattr(value, "grad", None)))
    (ours, our_grad, our_value_grad), (theirs, their_grad, their_value_grad) = finished
    compare(f"x[{text}] = ...", ours, theirs, 1e-9, 1e-11)
    compare("gradient of x", our_grad, their_grad, 1e-9, 1e-11)
    if kind == "number tensor" and repeats(text):
        # PyTorch counts a place once for each time that it is named, though the number is there once.
        places = numpy.zeros((2, 3, 4))
        places[numpy.asarray(key_for(text, reference))] = 1
        their_value_grad = reference.from_numpy(numpy.array((places * sample((2, 3, 4), seed=6)).sum()))
    compare("gradient of the value", our_value_grad, their_value_grad, 1e-9, 1e-11)
    if theirs.grad_fn.name().endswith("CopySlices"):
        assert type(ours.grad_fn).__name__ == "CopySlices"


def repeats(text):
    """Does the key name a place twice? Then the last value stays in ours, any in PyTorch."""
    return text in ("T([1, 0, 1])", "T([[1, 0], [0, 1]])", "numpy.array([[0, 1], [1, 0]])")


def test_second_derivatives():
    at = numpy.array([2, 0, 2])
    mask = sample((4,), dtype="bool")
    for key in (at, mask, 1, slice(1, 3), (slice(None, None, 2),)):
        check("__getitem__", sample((4, 3)), key, method=True)


def test_iteration_ends():
    x = module.from_numpy(sample((3, 2)))
    assert [row.tolist() for row in x] == sample((3, 2)).tolist()


def test_a_whole_key_gives_a_new_view():
    x = module.from_numpy(sample((3,)))
    for key in (..., (), slice(None), (slice(None),)):
        assert x[key] is not x
        assert x[key]._base is x


def test_dtypes_of_values():
    x = module.tensor([1, 2, 3])
    x[0] = 2.7
    x[[1]] = 5.9
    x[2] = module.tensor(8.5)
    assert x.tolist() == [2, 5, 8]
    x[x > 4] = True
    assert x.tolist() == [2, 1, 1]
    with pytest.raises(RuntimeError, match="source and destination dtypes match"):
        x[[0]] = module.tensor([1.5])


def test_leading_ones_of_a_value_do_not_matter():
    for key in ("0", "[0, 1]", "slice(None)", "(0, slice(None))"):
        ours, theirs = pair(sample((2, 3)))
        for x, to in ((ours, module), (theirs, reference)):
            x[key_for(key, to)] = to.from_numpy(sample((1, 1, 1, 3), seed=1))
        compare(key, ours, theirs, 1e-9, 1e-11)


def test_augmented_assignment():
    for key in ("0", "slice(1, None)", "[0, 0]", "(slice(None), 1)", "T([True, False])"):
        ours, theirs = pair(sample((2, 3)))
        for x, to in ((ours, module), (theirs, reference)):
            x[key_for(key, to)] += 1
        compare(key, ours, theirs, 1e-9, 1e-11)


def test_overlapping_assignment_reads_before_it_writes():
    x = module.tensor([0, 1, 2, 3])
    x[1:] = x[:-1]
    assert x.tolist() == [0, 0, 1, 2]
    x[[0, 1]] = x[[1, 0]]
    assert x.tolist() == [0, 0, 1, 2]


def test_a_saved_value_that_is_assigned_to_is_noticed():
    x = module.from_numpy(sample((3,))).requires_grad_() * 1
    y = x * x
    x[0] = 1.0
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


BAD = [
    ("0-dim", "0", IndexError, "invalid index of a 0-dim tensor"),
    ("0-dim", "slice(None)", IndexError, "slice() cannot be applied to a 0-dim tensor"),
    ("0-dim", "T(0)", IndexError, "too many indices for tensor of dimension 0"),
    ("0-dim", "[0]", IndexError, "too many indices for tensor of dimension 0"),
    ("matrix", "2", IndexError, "index 2 is out of bounds for dimension 0 with size 2"),
    ("matrix", "-3", IndexError, "index -3 is out of bounds for dimension 0 with size 2"),
    ("matrix", "(0, 3)", IndexError, "index 3 is out of bounds for dimension 1 with size 3"),
    ("matrix", "(0, 0, 0)", IndexError, "too many indices for tensor of dimension 2"),
    ("matrix", "([0], slice(None), [0])", IndexError, "too many indices for tensor of dimension 2"),
    ("matrix", "[0, 2]", IndexError, "index 2 is out of bounds for dimension 0 with size 2"),
    ("matrix", "T([0, 9])", IndexError, "index 9 is out of bounds for dimension 0 with size 2"),
    ("matrix", "([0, 1], [0, 1, 2])", IndexError, "could not be broadcast together with shapes [2], [3]"),
    (
        "matrix",
        "[True, False, True]",
        IndexError,
        "The shape of the mask [3] at index 0 does not match the shape of the indexed tensor [2, 3]",
    ),
    ("matrix", "T([0.5])", IndexError, "tensors used as indices must be long, int, byte or bool tensors"),
    (
        "matrix",
        "0.5",
        IndexError,
        "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got float)",
    ),
    ("matrix", "{}", IndexError, "got dict"),
    ("matrix", "'a'", TypeError, "str"),
    ("matrix", "slice(None, None, -1)", ValueError, "step must be greater than zero"),
    ("matrix", "slice(None, None, 0)", ValueError, "slice step cannot be zero"),
    ("matrix", "slice(0.5)", TypeError, "slice indices must be integers"),
    ("empty", "0", IndexError, "index 0 is out of bounds for dimension 0 with size 0"),
    ("empty", "[0]", IndexError, "index is out of bounds for dimension with size 0"),
]
SHAPES = {"0-dim": (), "matrix": (2, 3), "empty": (0, 3)}


@pytest.mark.parametrize(("shape", "text", "error", "words"), BAD)
def test_bad_keys(shape, text, error, words):
    ours, theirs = pair(sample(SHAPES[shape]))
    with pytest.raises(error):
        theirs[key_for(text, reference)]
    before = ours.tolist()
    with pytest.raises(error) as raised:
        ours[key_for(text, module)]
    assert words in str(raised.value)
    with pytest.raises(error):
        ours[key_for(text, module)] = 1.0
    assert ours.tolist() == before


@pytest.mark.parametrize("value", ["a", None, [1.0, 2.0, 3.0], numpy.ones(3), object()])
def test_bad_values(value):
    x = module.from_numpy(sample((2, 3)))
    with pytest.raises(TypeError, match="can't assign a"):
        x[0] = value
    assert x._version == 0


def test_values_that_do_not_fit():
    x = module.from_numpy(sample((2, 3)))
    for key, shape in ((0, (2, 3)), (slice(0, 1), (3, 3)), ([0, 1], (3, 3)), (x > 0, (99,))):
        with pytest.raises(RuntimeError):
            x[key] = module.from_numpy(sample(shape))
    assert numpy.array_equal(x.numpy(), sample((2, 3)))
    assert x._version == 0


def test_items_are_not_deleted():
    with pytest.raises(TypeError, match="does not support deleting items"):
        del module.tensor([1, 2])[0]


def test_a_list_of_more_than_numbers_is_read_as_a_tuple_for_now():
    x = module.from_numpy(sample((2, 3)))
    with pytest.warns(UserWarning, match="non-tuple sequence"):
        result = x[[[0, 1], [2, 0]]]
    assert result.tolist() == x[[0, 1], [2, 0]].tolist()


def test_a_view_that_needed_no_gradient_is_multiplied_by_what_needs_one():
    x = module.ones(4)
    weight = module.tensor([2.0, 3.0], requires_grad=True)
    x[:2].mul_(weight)
    x[2:] *= weight[0]
    x.sum().backward()
    assert weight.grad.tolist() == [3.0, 1.0]
