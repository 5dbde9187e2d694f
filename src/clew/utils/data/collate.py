"""Making a batch of samples."""

from __future__ import annotations

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
    first = batch[0]
    if isinstance(first, Tensor):
        stacked: Tensor = clew.stack(list(batch))
        return stacked
    if isinstance(first, (numpy.ndarray, numpy.generic)) and first.dtype.kind in "biuf":
        return clew.from_numpy(numpy.stack([numpy.asarray(sample) for sample in batch]))
    if isinstance(first, float):
        return clew.tensor(list(batch), dtype=clew.float64)
    if isinstance(first, int):
        return clew.tensor(list(batch))
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        return _like_mapping(first, {key: default_collate([sample[key] for sample in batch]) for key in first})
    if isinstance(first, Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        return _like_sequence(first, [default_collate(part) for part in zip(*batch, strict=True)])
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
