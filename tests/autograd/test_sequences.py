"""`tensor(data)` of numbers, sequences and arrays: each is read once, and means what it means in PyTorch."""

import array
import collections
import ctypes

import numpy
import pytest


class Answers:
    """A sequence of a class of its own."""

    def __init__(self, *items):
        self.items = items

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        return self.items[index]


class Counts:
    """Counts how often it is asked for each element."""

    def __init__(self, count):
        self.asked = [0] * count

    def __len__(self):
        return len(self.asked)

    def __getitem__(self, index):
        self.asked[index] += 1
        return float(index)


MEANINGS = {
    "one-element tensors are numbers": lambda m: [m.tensor([1.0]), m.tensor([2.0])],
    "whatever their axes": lambda m: [m.tensor([[1.0]]), 2.0, m.tensor(3)],
    "a tensor where a list is due": lambda m: [[3.0, 4.0], m.tensor([1.0, 2.0])],
    "dtypes of tensors promote": lambda m: [m.tensor(1, dtype=m.int32), m.tensor(2, dtype=m.uint8)],
    "a double among them": lambda m: [m.tensor([1.0], dtype=m.float64), m.tensor([2.0])],
    "bools of tensors": lambda m: [m.tensor(True), m.tensor(False)],
    "a bool and an int": lambda m: [True, m.tensor(2)],
    "scalars of NumPy keep their dtype": lambda m: [numpy.int32(1), numpy.int32(2)],
    "also doubles": lambda m: [numpy.float64(2)],
    "floats and scalars of NumPy": lambda m: [numpy.float32(1.5), 2.0],
    "arrays": lambda m: [numpy.array([1.0, 2.0]), numpy.array([3.0, 4.0])],
    "an array that goes backwards": lambda m: [numpy.arange(4.0)[::-1]],
    "empty arrays": lambda m: [numpy.zeros((2, 0))],
    "empty lists": lambda m: [[], []],
    "deeper empty lists": lambda m: [[[]]],
    "numbers of ctypes": lambda m: (ctypes.c_float * 3)(1, 2, 3),
    "rows of ctypes": lambda m: (ctypes.c_double * 2 * 3)(),
    "an array of Python": lambda m: array.array("d", [1, 2]),
    "memory": lambda m: memoryview(b"abc"),
    "bytes that can change": lambda m: bytearray(b"abc"),
    "a range": lambda m: range(3),
    "a deque": lambda m: collections.deque([1, 2.5]),
    "a sequence of somebody's": lambda m: Answers(1, Answers(2, 3).items[0]),
    "sequences in a list": lambda m: [Answers(1, 2), (3, True)],
    "a size": lambda m: m.Size([1, 2]),
    "an int that is too large, among floats": lambda m: [2**63, 1.0],
}


@pytest.mark.parametrize("name", MEANINGS)
@pytest.mark.filterwarnings("ignore:Creating a tensor from a list of numpy:UserWarning")
def test_what_data_means(name, torch, oracle):
    made, expected = torch.tensor(MEANINGS[name](torch)), oracle.tensor(MEANINGS[name](oracle))
    assert str(made.dtype) == str(expected.dtype)
    assert tuple(made.shape) == tuple(expected.shape)
    assert made.tolist() == expected.tolist()


REFUSED = {
    "tensors of more elements": lambda m: m.tensor([m.tensor([1.0, 2.0]), m.tensor([2.0, 3.0])]),
    "lists of different lengths": lambda m: m.tensor([[1, 2], [3]]),
    "a number for a list": lambda m: m.tensor([[1], 2]),
    "a list for a number": lambda m: m.tensor([1, [2]]),
    "an int beyond int64": lambda m: m.tensor([2**63]),
    "an int beyond all": lambda m: m.tensor([10**400]),
    "an int that no float holds": lambda m: m.tensor([10**400, 1.0]),
    "NaN as an int": lambda m: m.tensor([float("nan")], dtype=m.int64),
    "infinity as a byte": lambda m: m.tensor([float("inf")], dtype=m.uint8),
    "an int beyond a byte": lambda m: m.tensor([300], dtype=m.uint8),
    "a floating tensor as an int": lambda m: m.tensor([m.tensor(2.5)], dtype=m.int64),
    "text": lambda m: m.tensor("a"),
    "bytes": lambda m: m.tensor([b"a"]),
    "nothing": lambda m: m.tensor([None]),
    "a set": lambda m: m.tensor({1, 2}),
    "a dict": lambda m: m.tensor({1: 2}),
    "an iterator": lambda m: m.tensor(iter([1])),
    "a foreign order of bytes": lambda m: m.tensor(numpy.zeros(3, ">f8")),
    "objects": lambda m: m.tensor(numpy.array([1, "a"], dtype=object)),
    "a sequence that ends early": lambda m: m.tensor(type("Short", (Answers,), {"__len__": lambda self: 3})(1, 2)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name, torch, oracle):
    with pytest.raises(Exception) as expected:  # noqa: PT011 - the oracle says which
        REFUSED[name](oracle)
    with pytest.raises(type(expected.value)):
        REFUSED[name](torch)


@pytest.mark.parametrize("value", [2.0**63 - 1024, -(2.0**63)])
def test_the_limits_of_int64_are_kept(value, torch):
    assert torch.tensor([value], dtype=torch.int64).tolist() == [int(value)]


@pytest.mark.beyond
def test_the_first_float_beyond_int64_is_refused(torch):
    """PyTorch lets it become the smallest."""
    with pytest.raises(RuntimeError, match="without overflow"):
        torch.tensor([2.0**63], dtype=torch.int64)


@pytest.mark.beyond
def test_a_byte_is_not_negative(torch):
    with pytest.raises(RuntimeError, match="without overflow"):
        torch.tensor([-1], dtype=torch.uint8)


@pytest.mark.beyond
@pytest.mark.parametrize("nested", [False, True])
def test_a_sequence_is_read_once(nested, torch):
    data = Counts(3)
    torch.tensor([data, [1, 2, 3]] if nested else data)
    assert data.asked == [1, 1, 1]


@pytest.mark.beyond
def test_a_list_that_shrinks_while_it_is_read(torch):
    rows = []
    rows.extend([type("Clears", (Answers,), {"__len__": lambda self: rows.clear() or 1})(1.0), [2.0], [3.0]])
    with pytest.raises(RuntimeError, match="shrank"):
        torch.tensor(rows)


@pytest.mark.beyond
def test_a_list_that_grows_while_it_is_read(torch):
    rows = []
    rows.extend([type("Adds", (Answers,), {"__len__": lambda self: rows.append([4.0]) or 1})(1.0), [2.0]])
    assert torch.tensor(rows).tolist() == [[1.0], [2.0]]


@pytest.mark.beyond
def test_a_list_whose_elements_are_exchanged_while_it_is_read(torch):
    row = [2.0]

    def exchange(self):
        row[:] = ["text" * 100]
        return 1

    with pytest.raises(TypeError, match="invalid data type 'str'"):
        torch.tensor([type("Exchanges", (Answers,), {"__len__": exchange})(1.0), row])


def test_objects_with_an_index_are_no_data(torch):
    class Index:
        def __index__(self):
            raise AssertionError("nobody asks")

    with pytest.raises(RuntimeError, match="infer dtype of Index"):
        torch.tensor([1, Index()])


@pytest.mark.beyond
def test_too_many_dimensions(torch):
    data = 1.0
    for _ in range(65):
        data = [data]
    with pytest.raises(ValueError, match="too many dimensions"):
        torch.tensor(data)
    endless = []
    endless.append(endless)
    with pytest.raises(ValueError, match="too many dimensions"):
        torch.tensor(endless)


@pytest.mark.beyond
@pytest.mark.parametrize("first", ["u1", "i4", "f8"])
@pytest.mark.parametrize("second", ["?", "u1", "i4", "i8", "f4", "f8"])
def test_fields_of_records_are_copied(first, second, torch):
    """Their elements are no whole number of items apart, and may begin between them."""
    records = numpy.zeros(5, dtype=[("a", first), ("b", second)])
    records["b"] = [0, 1, 1, 0, 1] if second == "?" else numpy.arange(5) * 3
    field = torch.tensor(records["b"])
    assert field.tolist() == records["b"].tolist()
    assert field.element_size() == records["b"].itemsize
    assert torch.tensor([records["b"], records["b"]])[1].tolist() == records["b"].tolist()
    assert torch.tensor(records["b"], dtype=torch.float64).tolist() == records["b"].astype("f8").tolist()


def test_from_numpy_refuses_fields_of_records(torch):
    records = numpy.zeros(3, dtype=[("a", "i4"), ("b", "f8")])
    with pytest.raises(ValueError, match="not a multiple of the element byte size"):
        torch.from_numpy(records["b"])


def test_a_field_with_whole_strides_is_lent(torch):
    records = numpy.zeros(3, dtype=[("a", "f8"), ("b", "f8")])
    torch.from_numpy(records["b"]).fill_(2)
    assert records["b"].tolist() == [2.0, 2.0, 2.0]
