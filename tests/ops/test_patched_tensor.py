"""Programs and libraries patch ``torch.Tensor``: what they assign to the type is what tensors then have."""

from __future__ import annotations

from typing import Any

import pytest

import clew


def test_a_method_can_be_replaced_and_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    original = clew.Tensor.backward
    seen: list[float] = []

    def recorded(self: clew.Tensor, *args: Any, **kwargs: Any) -> None:
        seen.append(self.item())
        original(self, *args, **kwargs)

    monkeypatch.setattr(clew.Tensor, "backward", recorded)
    x = clew.tensor([3.0], requires_grad=True)
    (x * x).backward()
    assert seen == [9.0]
    assert x.grad is not None
    assert x.grad.item() == 6.0
    monkeypatch.undo()
    (x * x).backward()
    assert seen == [9.0]


def test_attributes_can_be_added_and_deleted_and_subclasses_see_them() -> None:
    clew.Tensor.twice = property(lambda self: self * 2)  # type: ignore[attr-defined]
    try:
        assert clew.ones(1).twice.item() == 2.0  # type: ignore[attr-defined]
        assert clew.nn.Parameter(clew.ones(1)).twice.item() == 2.0  # type: ignore[attr-defined]
    finally:
        del clew.Tensor.twice  # type: ignore[attr-defined]
    assert not hasattr(clew.Tensor, "twice")
    with pytest.raises(AttributeError, match="twice"):
        del clew.Tensor.twice  # type: ignore[attr-defined]


def test_a_subclass_takes_any_attribute() -> None:
    class Mine(clew.Tensor):
        pass

    Mine.__add__ = lambda self, other: "added"  # type: ignore[assignment,method-assign,return-value]
    assert clew.ones(1).as_subclass(Mine) + 1 == "added"


def test_operators_can_be_replaced_and_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    x, weight = clew.ones(1), clew.nn.Parameter(clew.ones(1))
    for name in ("__add__", "__getitem__", "__neg__", "__repr__", "__len__", "__lt__", "__iadd__"):
        answer = 3 if name == "__len__" else name
        monkeypatch.setattr(clew.Tensor, name, lambda *_, answer=answer: answer)
    for tensor in (x, weight):
        answers = [tensor + 1, tensor[0], -tensor, len(tensor), tensor < 1]
        assert answers == ["__add__", "__getitem__", "__neg__", 3, "__lt__"]
    assert repr(x) == "__repr__"
    assert (1 + x).item() == 2.0  # __radd__ is another
    monkeypatch.undo()
    for tensor in (x, weight):
        assert [(tensor + 1).item(), tensor[0].item(), (-tensor).item(), len(tensor)] == [2.0, 1.0, -1.0, 1]
    assert repr(x) == "tensor([1.])"


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
def test_a_storage_shows_all_elements_of_the_memory() -> None:
    import torch

    for library in (torch, clew):
        row = library.tensor([[1.0, 2.0], [3.0, 4.0]])[1]
        storage = row.storage()
        assert storage.tolist() == list(storage) == [1.0, 2.0, 3.0, 4.0]
        assert (len(storage), storage.size(), storage.nbytes(), storage.element_size()) == (4, 4, 16, 4)
        assert storage.data_ptr() == storage.untyped().data_ptr() == row.data_ptr() - 8
        storage[2] = 7.0
        assert row[0].item() == storage[2] == 7.0
