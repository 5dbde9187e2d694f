"""`torch.utils._foreach_utils`: tensors by device and dtype."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._core import Tensor

Groups = dict[tuple[Any, Any], tuple[list[list[Tensor | None]], list[int]]]


def _get_foreach_kernels_supported_devices() -> list[str]:
    """None: nothing is faster for lists of tensors."""
    return []


def _get_fused_kernels_supported_devices() -> list[str]:
    """None: an optimizer's step is one operation as it is."""
    return []


def _group_tensors_by_device_and_dtype(
    tensorlistlist: Sequence[Sequence[Tensor | None]], with_indices: bool = False
) -> Groups:
    """Parallel lists of tensors, split into such lists by device and dtype of the first list's tensors.

    Args:
        with_indices: give the places that the tensors had, too.

    Returns:
        A dict by device and dtype: the lists, and the places or nothing.
    """
    groups: Groups = {}
    for index, row in enumerate(zip(*tensorlistlist, strict=True)):
        first = row[0]
        assert first is not None, "_group_tensors_by_device_and_dtype: expected no None in the first list"
        lists, places = groups.setdefault((first.device, first.dtype), ([[] for _ in row], []))
        for some, tensor in zip(lists, row, strict=True):
            some.append(tensor)
        if with_indices:
            places.append(index)
    return groups


def _has_foreach_support(tensors: Sequence[Tensor], device: Any) -> bool:
    return False


def _device_has_foreach_support(device: Any) -> bool:
    return False
