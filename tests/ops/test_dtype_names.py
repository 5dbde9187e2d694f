"""Dtypes of PyTorch of which clew makes no tensors: names for tables, annotations and checks."""

import copy
import pickle

import pytest
import torch

import clew
from clew import _core

NAMES = sorted(_core.dtype_names)


def facts(library, name):
    """What can be asked of a dtype; an error counts as its type."""
    kind = getattr(library, name)
    found = {"repr": f"torch.{repr(kind).partition('.')[2]}"}
    for fact in ("itemsize", "is_floating_point", "is_complex", "is_signed"):
        try:
            found[fact] = getattr(kind, fact)
        except RuntimeError as error:
            found[fact] = type(error)
    found["real"] = repr(kind.to_real()).partition(".")[2]
    try:
        found["complex"] = repr(kind.to_complex()).partition(".")[2]
    except RuntimeError as error:
        found["complex"] = type(error)
    for limits in ("finfo", "iinfo"):
        try:
            found[limits] = repr(getattr(library, limits)(kind))
        except (TypeError, NotImplementedError):
            found[limits] = None
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_name_has_pytorchs_facts(name):
    assert facts(clew, name) == facts(torch, name)


def test_every_dtype_of_pytorch_has_a_name():
    theirs = {name for name in dir(torch) if isinstance(getattr(torch, name), torch.dtype)}
    ours = {name for name in dir(clew) if isinstance(getattr(clew, name), clew.dtype)}
    assert theirs == ours


def test_it_is_one_object():
    assert clew.chalf is clew.complex32
    table = {clew.uint16: 16, clew.float8_e4m3fn: 8}
    assert table[clew.uint16] == 16
    assert clew.uint16 != clew.int16
    assert copy.deepcopy(clew.uint32) is clew.uint32
    assert pickle.loads(pickle.dumps(clew.float8_e5m2)) is clew.float8_e5m2


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "make",
    [
        lambda kind: clew.zeros(2, dtype=kind),
        lambda kind: clew.tensor([1], dtype=kind),
        lambda kind: clew.ones(2).to(kind),
        lambda kind: clew.ones(2).to("cpu", kind),
        lambda kind: clew.ones(2).type(kind),
        lambda kind: clew.ones(2).view(kind),
        lambda kind: clew.ones(2).sum(dtype=kind),
        lambda kind: clew.arange(2, dtype=kind),
        lambda kind: clew.from_numpy(__import__("numpy").ones(2)).to(kind),
        lambda kind: clew.nn.Linear(1, 1, dtype=kind),
        lambda kind: clew.nn.Linear(1, 1).to(kind),
        lambda kind: clew.promote_types(clew.int8, kind),
        lambda kind: clew.set_default_dtype(kind),
    ],
)
def test_no_tensor_is_made_of_it(make, name):
    kind = getattr(clew, name)

    with pytest.raises((NotImplementedError, TypeError), match=r"float32.*complex64 or complex128|floating"):
        make(kind)
