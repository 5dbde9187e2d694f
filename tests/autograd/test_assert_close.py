"""clew.testing.assert_close says what PyTorch's says."""

import re

import numpy
import pytest

pytestmark = pytest.mark.unsanitized("it is Python alone")

nan, inf = float("nan"), float("inf")

PAIRS = {
    "close": lambda torch: (torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.000001])),
    "not close": lambda torch: (torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, 2.1, 3.0])),
    "matrix": lambda torch: (torch.zeros(2, 3), torch.tensor([[0.0, 0.0, 0.0], [0.0, 1.0, 2.0]])),
    "0-dim": lambda torch: (torch.tensor(1.0), torch.tensor(1.1)),
    "integers": lambda torch: (torch.tensor([1, 2]), torch.tensor([1, 3])),
    "bools": lambda torch: (torch.tensor([True, True]), torch.tensor([False, True])),
    "uint8": lambda torch: (torch.tensor([1], dtype=torch.uint8), torch.tensor([3], dtype=torch.uint8)),
    "dtypes": lambda torch: (torch.tensor([1, 2]), torch.tensor([1.0, 2.0])),
    "shapes": lambda torch: (torch.tensor([1, 2]), torch.tensor([1, 2, 3])),
    "floats": lambda torch: (1.0, 1.1),
    "ints": lambda torch: (1, 2),
    "int and float": lambda torch: (1, 1.0),
    "flags": lambda torch: (True, False),
    "none": lambda torch: (None, None),
    "lists": lambda torch: ([1.0, 2.0], [1.0, 2.5]),
    "nested": lambda torch: ({"a": [1.0, (2.0, 3.0)]}, {"a": [1.0, (2.0, 4.0)]}),
    "lengths": lambda torch: ([1.0], [1.0, 2.0]),
    "keys": lambda torch: ({"a": 1.0}, {"b": 1.0}),
    "infinite": lambda torch: (torch.tensor([inf]), torch.tensor([1.0])),
    "equal infinite": lambda torch: (torch.tensor([inf, -inf]), torch.tensor([inf, -inf])),
    "text": lambda torch: ("a", "a"),
    "tensor and list": lambda torch: (torch.ones(2), [1.0, 1.0]),
    "arrays": lambda torch: (numpy.ones(2), numpy.zeros(2)),
    "empty": lambda torch: (torch.zeros(0, 2), torch.zeros(0, 2)),
}


def verdict(module, make, **options):
    try:
        module.testing.assert_close(*make(module), **options)
    except (AssertionError, TypeError) as error:
        # Relative differences of integers are float32 in PyTorch.
        text = re.sub(r"\d+\.\d+", lambda number: f"{float(number[0]):.5f}", str(error))
        return type(error), text
    return None


@pytest.mark.parametrize("name", PAIRS)
def test_the_verdict_is_pytorchs(torch, oracle, name):
    for options in ({}, {"check_dtype": False}, {"rtol": 0.0, "atol": 0.3}, {"rtol": 0.0, "atol": 0.0}):
        assert verdict(torch, PAIRS[name], **options) == verdict(oracle, PAIRS[name], **options)


def test_not_a_number(torch):
    x = torch.tensor([nan])
    with pytest.raises(AssertionError, match="not close"):
        torch.testing.assert_close(x, x)
    torch.testing.assert_close(x, x, equal_nan=True)


def test_strides(torch):
    a, b = torch.ones(3, 2), torch.ones(2, 3).t()
    torch.testing.assert_close(a, b)
    with pytest.raises(AssertionError, match="stride"):
        torch.testing.assert_close(a, b, check_stride=True)


def test_messages_of_ones_own(torch):
    a, b = torch.ones(1), torch.zeros(1)
    with pytest.raises(AssertionError, match=r"^mine$"):
        torch.testing.assert_close(a, b, msg="mine")
    with pytest.raises(AssertionError, match=r"^Mine: Tensor-likes are not close"):
        torch.testing.assert_close(a, b, msg=lambda text: "Mine: " + text)
    with pytest.raises(ValueError, match="rtol"):
        torch.testing.assert_close(a, b, rtol=0.1)


def test_tensors_with_history(torch):
    x = torch.ones(2, requires_grad=True)
    torch.testing.assert_close(x * 2, torch.full((2,), 2.0))
