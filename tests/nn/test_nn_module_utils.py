"""What layers of others take from `torch.nn.modules`, against PyTorch."""

from __future__ import annotations

import pytest
import torch
import torch.nn.modules.utils as theirs

import clew
import clew.nn.modules.utils as ours


@pytest.mark.parametrize("name", ["_single", "_pair", "_triple", "_quadruple"])
def test_tuples(name: str) -> None:
    for value in (3, [1, 2], (5,), 1.5):
        assert getattr(ours, name)(value) == getattr(theirs, name)(value)
    assert getattr(ours, name).__name__ == getattr(theirs, name).__name__


@pytest.mark.parametrize("library", [torch, clew])
def test_a_batch_norm_of_ones_own_checks_its_input(library: object) -> None:
    nn = library.nn  # type: ignore[attr-defined]

    class Mine(nn.BatchNorm2d):  # type: ignore[misc]
        def forward(self, input: object) -> object:
            self._check_input_dim(input)
            return input

    with pytest.raises(ValueError, match=r"expected 4D input \(got 2D input\)"):
        Mine(3)(library.ones(2, 3))  # type: ignore[attr-defined]
