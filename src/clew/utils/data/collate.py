"""Making a batch of samples."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy

import clew
from clew import Tensor


def default_collate(batch: Sequence[Any]) -> Any:
    """One batch of the samples: tensors are stacked, numbers become a tensor, containers are batched part by part.

    Args:
        batch: samples of one kind: tensors, arrays, numbers, strings (which stay a list), or tuples, lists or
            mappings of such.

    Raises:
        TypeError: samples of another kind.
        RuntimeError: sequences of different lengths.

    Example:
        >>> torch.utils.data.default_collate([{"x": torch.zeros(2), "label": 0}, {"x": torch.ones(2), "label": 1}])
        {'x': tensor([[0., 0.],
                [1., 1.]]), 'label': tensor([0, 1])}
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)


def collate_tensor_fn(batch: Sequence[Tensor], *, collate_fn_map: Any = None) -> Tensor:
    """The tensors, stacked."""
    stacked: Tensor = clew.stack(list(batch))
    return stacked


default_collate_fn_map: dict[Any, Any] = {Tensor: collate_tensor_fn}
"""How `default_collate` makes a batch of samples of a class. What is added here comes before its own rules."""
np_str_obj_array_pattern = re.compile(r"[SaUO]")
"""The dtypes of NumPy arrays of which no tensor can be made."""


def collate(batch: Sequence[Any], *, collate_fn_map: dict[Any, Any] | None = None) -> Any:
    """`default_collate` with functions for samples of other classes: `function(batch, collate_fn_map=...)`."""
    first = batch[0]
    of_class = (collate_fn_map or {}).get(type(first))
    for kind, function in () if of_class else (collate_fn_map or {}).items():
        if isinstance(first, kind):
            of_class = function
            break
    if of_class is not None:
        return of_class(batch, collate_fn_map=collate_fn_map)
    if isinstance(first, (numpy.ndarray, numpy.generic)) and first.dtype.kind in "biuf":
        return clew.from_numpy(numpy.stack([numpy.asarray(sample) for sample in batch]))
    if isinstance(first, float):
        return clew.tensor(list(batch), dtype=clew.float64)
    if isinstance(first, int):
        return clew.tensor(list(batch))
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        parts = {key: collate([sample[key] for sample in batch], collate_fn_map=collate_fn_map) for key in first}
        return _like_mapping(first, parts)
    if isinstance(first, Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        return _like_sequence(
            first, [collate(part, collate_fn_map=collate_fn_map) for part in zip(*batch, strict=True)]
        )
    raise TypeError(
        f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {type(first)}"
    )


def default_convert(sample: Any) -> Any:
    """A sample with its arrays as tensors: the `collate_fn` of loaders without batches.

    Example:
        >>> import numpy
        >>> torch.utils.data.default_convert({"x": numpy.ones(2, "float32")})
        {'x': tensor([1., 1.])}
    """
    if isinstance(sample, (numpy.ndarray, numpy.generic)) and sample.dtype.kind in "biuf":
        return clew.from_numpy(numpy.asarray(sample))
    if isinstance(sample, Mapping):
        return _like_mapping(sample, {key: default_convert(part) for key, part in sample.items()})
    if isinstance(sample, Sequence) and not isinstance(sample, (str, bytes)):
        return _like_sequence(sample, [default_convert(part) for part in sample])
    return sample


def _like_mapping(sample: Mapping[Any, Any], parts: dict[Any, Any]) -> Any:
    try:
        return type(sample)(parts)  # type: ignore[call-arg]
    except TypeError:
        return parts  # a mapping that is not made from a dict


def _like_sequence(sample: Sequence[Any], parts: list[Any]) -> Any:
    if isinstance(sample, tuple):
        return type(sample)(*parts) if hasattr(sample, "_fields") else parts
    try:
        return type(sample)(parts)  # type: ignore[call-arg]
    except TypeError:
        return parts  # a sequence that is not made from a list
