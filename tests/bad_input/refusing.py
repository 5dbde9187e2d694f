"""How the tests of this folder ask: the same call on PyTorch says which type of exception is right."""

import gc
import warnings
from dataclasses import dataclass
from typing import Any

import pytest


@dataclass
class Things:
    """Tensors that a bad call may take; none of them may change."""

    leaf: Any  # float32 (3,), requires a gradient and has one
    matrix: Any  # float32 (2, 3), requires a gradient
    result: Any  # float32 (2, 3), made by an operation
    plain: Any  # float32 (2, 3)
    integers: Any  # int64 (3,)
    mask: Any  # bool (3,)


def make_things(torch):
    leaf = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    leaf.grad = torch.tensor([0.5, 0.25, 0.125])
    matrix = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
    return Things(
        leaf, matrix, matrix * 2, torch.ones(2, 3), torch.tensor([0, 1, 2]), torch.tensor([True, False, True])
    )


def state_of(things):
    """All that could have changed."""
    found = {}
    for name, tensor in vars(things).items():
        found[name] = (
            tensor.tolist(),
            tuple(tensor.shape),
            tuple(tensor.stride()),
            str(tensor.dtype),
            tensor._version,
            tensor.requires_grad,
            id(tensor.grad_fn),
            tensor.data_ptr(),
            None if not tensor.is_leaf or tensor.grad is None else (id(tensor.grad), tensor.grad.tolist()),
        )
    return found


def raised_by(module, call):
    """The exception that the call raises on fresh tensors, and whether anything changed."""
    things = make_things(module)
    before = state_of(things)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            call(module, things)
        except BaseException as error:
            return type(error), str(error), state_of(things) == before
    raise AssertionError("nothing was raised")


def assert_refused(torch, oracle, on_oracle, call, words, error=None):
    """The call raises PyTorch's type of exception (or the one given), says the words and changes nothing."""
    expected = error or raised_by(oracle, call)[0]
    got, message, unchanged = raised_by(torch, call)
    gc.collect()
    assert issubclass(got, expected), f"{got.__name__}: {message}"
    if on_oracle:
        return
    assert unchanged, "a refused call changed its operands"
    for word in [words] if isinstance(words, str) else words:
        assert word.lower() in message.lower(), message
    assert len(message.split()) >= 4, f"says too little: {message}"
    assert "std::" not in message, message
    assert "nanobind" not in message, message
    assert torch.is_grad_enabled()


def cases(table):
    """Parameters for a table of name: (words, call) or (words, call, error)."""
    return [pytest.param(row[1], row[0], row[2] if len(row) > 2 else None, id=name) for name, row in table.items()]
