"""Constructors with a dtype in their name, as programs before 2018 spell them."""

import numpy
import pytest

NAMES = [
    "FloatTensor",
    "DoubleTensor",
    "HalfTensor",
    "BFloat16Tensor",
    "LongTensor",
    "IntTensor",
    "ShortTensor",
    "CharTensor",
]
NAMES += ["ByteTensor", "BoolTensor"]

CALLS = {
    "a list": lambda m, make: make([1, 0, 2]),
    "nested lists": lambda m, make: make([[1, 0], [2, 3]]),
    "an array": lambda m, make: make(numpy.array([1, 2])),
    "no data": lambda m, make: make(),
    "sizes": lambda m, make: make(2, 3).shape,
    "a size": lambda m, make: make(2).shape,
    "a Size": lambda m, make: make(m.Size([2, 0])).shape,
    "a tuple of data": lambda m, make: make((2, 3)),
    "a device": lambda m, make: make([1], device="cpu"),
}


def outcome(value):
    return (value.dtype, value.tolist()) if hasattr(value, "tolist") else value


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("call", CALLS)
def test_they_make_what_pytorchs_make(name, call, torch, oracle):
    ours, theirs = (outcome(CALLS[call](m, getattr(m, name))) for m in (torch, oracle))
    assert str(ours) == str(theirs)


@pytest.mark.parametrize("call", [call for call in CALLS if call != "a device"])
def test_new_takes_the_dtype(call, torch, oracle):
    ours, theirs = (outcome(CALLS[call](m, m.ones(1, dtype=m.float64).new)) for m in (torch, oracle))
    assert str(ours) == str(theirs)


def test_tensors_are_instances_by_dtype(torch):
    assert isinstance(torch.ones(1), torch.FloatTensor)
    assert not isinstance(torch.ones(1), torch.LongTensor)
    assert not isinstance(3.0, torch.FloatTensor)
    assert isinstance(torch.ones(1).long(), torch.LongTensor)


def test_a_tensor_is_not_copied(torch):
    x = torch.ones(2)
    torch.FloatTensor(x)[0] = 5
    assert x.tolist() == [5, 1]


@pytest.mark.parametrize(
    "named", [lambda m: m.LongTensor, lambda m: "torch.LongTensor", lambda m: m.int64], ids=["class", "text", "dtype"]
)
def test_type_converts(named, torch):
    converted = torch.ones(2).type(named(torch))
    assert converted.dtype is torch.int64
    assert converted.type() == "torch.LongTensor"


def test_the_default_type_is_set(torch):
    try:
        torch.set_default_tensor_type(torch.DoubleTensor)
        assert torch.ones(1).dtype is torch.float64
        torch.set_default_tensor_type("torch.FloatTensor")
        assert torch.ones(1).dtype is torch.float32
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize(
    ("act", "error"),
    [
        (lambda m: m.FloatTensor("a"), TypeError),
        (lambda m: m.FloatTensor(2.5), TypeError),
        (lambda m: m.FloatTensor(m.ones(2, dtype=m.float64)), TypeError),
        (lambda m: m.ones(1).type("torch.NoTensor"), ValueError),
        (lambda m: m.ones(1).type(float), ValueError),
        (lambda m: m.ones(1).type(3), TypeError),
        (lambda m: m.finfo("float32"), TypeError),
        (lambda m: m.iinfo(numpy.int32), TypeError),
        (lambda m: m.iinfo(float), TypeError),
        (lambda m: m.ones(1).to(list), TypeError),
        (lambda m: m.ones(1).to("cpu", str), TypeError),
    ],
)
def test_other_arguments_are_refused(act, error, torch, oracle):
    for m in (torch, oracle):
        with pytest.raises(error):
            act(m)


def test_pythons_types_stand_for_dtypes(torch, oracle):
    for m in (torch, oracle):
        assert m.finfo(float).eps == numpy.finfo(float).eps
        assert m.iinfo(int).max == 2**63 - 1
        assert m.ones(1).to(float).dtype is m.float64
        assert m.ones(1).to("cpu", int).dtype is m.int64
        assert m.ones(1).to(dtype=bool).dtype is m.bool


def test_the_cpu_is_the_default_device(torch):
    torch.set_default_device("cpu")
    assert torch.get_default_device() == torch.device("cpu")
    torch.set_default_device(None)
