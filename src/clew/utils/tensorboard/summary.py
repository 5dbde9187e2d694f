"""Summaries of numbers and texts: what an event of TensorBoard's carries."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.mesh import metadata as mesh_metadata
from tensorboard.plugins.mesh.plugin_data_pb2 import MeshPluginData
from tensorboard.plugins.pr_curve.plugin_data_pb2 import PrCurvePluginData
from tensorboard.plugins.text.plugin_data_pb2 import TextPluginData

from ..._core import Tensor
from .arrays import Array, as_array

_MOST_BYTES = 2**31  # that one protocol buffer holds
_MOST_THRESHOLDS = 127  # more make TensorBoard fail
_LEAST_COUNT = 1e-7  # that a precision or recall is divided by

# The name that TensorBoard has for a dtype, and the field that holds its values.
_TENSOR_FIELDS = {
    "bool": ("DT_BOOL", "bool_val"),
    "uint8": ("DT_UINT8", "int_val"),
    "int8": ("DT_INT8", "int_val"),
    "int16": ("DT_INT16", "int_val"),
    "int32": ("DT_INT32", "int_val"),
    "int64": ("DT_INT64", "int64_val"),
    "float32": ("DT_FLOAT", "float_val"),
    "float64": ("DT_DOUBLE", "double_val"),
}


def plugin_metadata(plugin: str, content: bytes = b"") -> SummaryMetadata:
    """What says which of TensorBoard's plugins shows a value."""
    return SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name=plugin, content=content))


def _shape(sizes: Sequence[int]) -> TensorShapeProto:
    return TensorShapeProto(dim=[TensorShapeProto.Dim(size=size) for size in sizes])


def _floats(array: Array) -> TensorProto:
    return TensorProto(dtype="DT_FLOAT", float_val=array.reshape(-1).tolist(), tensor_shape=_shape(array.shape))


def _one(tag: str, **value: Any) -> Summary:
    return Summary(value=[Summary.Value(tag=tag, **value)])


def scalar(tag: str, value: Any, new_style: bool = False, double_precision: bool = False) -> Summary:
    """One number; in the new style as a tensor, which TensorBoard reads faster."""
    array = as_array(value).squeeze()
    if array.ndim:
        raise AssertionError(f"add_scalar: expected one number, got shape {tuple(array.shape)}; reduce it first")
    number = float(array)
    if not new_style:
        return _one(tag, simple_value=number)
    if double_precision:
        tensor = TensorProto(dtype="DT_DOUBLE", double_val=[number])
    else:
        tensor = TensorProto(dtype="DT_FLOAT", float_val=[number])
    return _one(tag, tensor=tensor, metadata=plugin_metadata("scalars"))


def tensor(tag: str, value: Tensor) -> Summary:
    """All elements of a tensor."""
    array = as_array(value)
    if array.nbytes >= _MOST_BYTES:
        raise ValueError(f"add_tensor: expected less than 2 GiB, got {array.nbytes} bytes; write it in parts")
    if array.dtype.name not in _TENSOR_FIELDS:
        raise ValueError(f"add_tensor: expected one of {', '.join(_TENSOR_FIELDS)}, got {array.dtype.name}; convert it")
    kind, values = _TENSOR_FIELDS[array.dtype.name]
    proto = TensorProto(dtype=kind, tensor_shape=_shape(array.shape), **{values: array.reshape(-1).tolist()})
    return _one(tag, tensor=proto, metadata=plugin_metadata("tensor"))


def text(tag: str, value: str) -> Summary:
    """A text, which TensorBoard shows as Markdown."""
    proto = TensorProto(dtype="DT_STRING", string_val=[value.encode()], tensor_shape=_shape([1]))
    content = TextPluginData(version=0).SerializeToString()
    return _one(f"{tag}/text_summary", tensor=proto, metadata=plugin_metadata("text", content))


# ----------------------------------------------------------------------------------------------------------- histograms
def histogram(tag: str, values: Any, bins: Any, max_bins: int | None = None) -> Summary:
    """How many of the values lie in each bin."""
    flat = as_array(values).astype(float).reshape(-1)
    if flat.size == 0:
        raise ValueError("add_histogram: expected values, got none; leave an empty tensor out")
    counts, limits = numpy.histogram(flat, bins=bins)
    if max_bins is not None and len(counts) > max_bins:
        counts, limits = _coarser(counts, limits, len(counts) // max_bins)
    counts, limits = _filled_part(counts, limits)
    moments = (flat.min(), flat.max(), len(flat), flat.sum(), flat.dot(flat))
    return histogram_raw(tag, *moments, limits.tolist(), counts.tolist())


def histogram_raw(
    tag: str, min: Any, max: Any, num: Any, sum: Any, sum_squares: Any, bucket_limits: Any, bucket_counts: Any
) -> Summary:
    """A histogram that was counted elsewhere; each limit is the upper end of a bucket."""
    found = HistogramProto(min=min, max=max, num=num, sum=sum, sum_squares=sum_squares)
    found.bucket_limit.extend(bucket_limits)
    found.bucket.extend(bucket_counts)
    return _one(tag, histo=found)


def _coarser(counts: Array, limits: Array, together: int) -> tuple[Array, Array]:
    """Each `together` neighbours as one bin; the last may have fewer."""
    starts = numpy.arange(0, len(counts), together)
    return numpy.add.reduceat(counts, starts), numpy.append(limits[starts], limits[-1])


def _filled_part(counts: Array, limits: Array) -> tuple[Array, Array]:
    """The bins from the first to the last that have values, each with its upper limit, and an empty one before them.

    The upper limit of that one is where the first begins.
    """
    filled = numpy.flatnonzero(counts)
    if not filled.size:
        raise ValueError("add_histogram: expected values within the bins, got none; give bins that reach further")
    first, last = filled[0], filled[-1] + 1
    return numpy.concatenate([[0], counts[first:last]]), limits[first : last + 1]


# --------------------------------------------------------------------------------------------------------------- curves
def pr_curve(tag: str, labels: Any, predictions: Any, num_thresholds: int = 127, weights: Any = None) -> Summary:
    """Precision and recall for each of evenly spaced thresholds from 0 to 1."""
    count = min(num_thresholds, _MOST_THRESHOLDS)
    truth = as_array(labels).astype(float).reshape(-1)
    bucket = numpy.floor(as_array(predictions) * (count - 1)).astype(numpy.int64).reshape(-1)
    weight = numpy.broadcast_to(1.0 if weights is None else as_array(weights).reshape(-1), truth.shape)
    within = (bucket >= 0) & (bucket < count)
    # What is predicted at a threshold is all that lies in its bucket or above.
    positives, negatives = (
        numpy.bincount(bucket[within], (share * weight)[within], minlength=count)[::-1].cumsum()[::-1]
        for share in (truth, 1.0 - truth)
    )
    missed, rejected = positives[0] - positives, negatives[0] - negatives
    precision = positives / numpy.maximum(_LEAST_COUNT, positives + negatives)
    recall = positives / numpy.maximum(_LEAST_COUNT, positives + missed)
    return pr_curve_raw(tag, positives, negatives, rejected, missed, precision, recall, count)


def pr_curve_raw(
    tag: str, tp: Any, fp: Any, tn: Any, fn: Any, precision: Any, recall: Any, num_thresholds: int = 127
) -> Summary:
    """A curve that was counted elsewhere: six numbers for each threshold."""
    data = numpy.stack([as_array(one) for one in (tp, fp, tn, fn, precision, recall)])
    plugin_data = PrCurvePluginData(version=0, num_thresholds=min(num_thresholds, _MOST_THRESHOLDS))
    return _one(tag, tensor=_floats(data), metadata=plugin_metadata("pr_curves", plugin_data.SerializeToString()))


def custom_scalars(layout: Mapping[str, Mapping[str, Sequence[Any]]]) -> Summary:
    """Which scalars are shown in one chart: `{category: {title: ["Multiline" or "Margin", tags]}}`."""
    categories = [
        layout_pb2.Category(title=name, chart=[_chart(title, *chart) for title, chart in charts.items()])
        for name, charts in layout.items()
    ]
    content = layout_pb2.Layout(category=categories).SerializeToString()
    proto = TensorProto(dtype="DT_STRING", string_val=[content], tensor_shape=TensorShapeProto())
    return _one("custom_scalars__config__", tensor=proto, metadata=plugin_metadata("custom_scalars"))


def _chart(title: str, kind: str, tags: Sequence[str]) -> layout_pb2.Chart:
    if kind != "Margin":
        return layout_pb2.Chart(title=title, multiline=layout_pb2.MultilineChartContent(tag=tags))
    if len(tags) != 3:
        raise AssertionError(f"add_custom_scalars: expected 3 tags (value, lower, upper) for a margin, got {len(tags)}")
    series = layout_pb2.MarginChartContent.Series(value=tags[0], lower=tags[1], upper=tags[2])
    return layout_pb2.Chart(title=title, margin=layout_pb2.MarginChartContent(series=[series]))


# --------------------------------------------------------------------------------------------------------------- meshes
def mesh(tag: str, vertices: Any, colors: Any, faces: Any, config: Mapping[str, Any] | None) -> Summary:
    """Points, triangles between them, and the colours of the points, each of shape (batch, count, 3)."""
    kinds = MeshPluginData.VERTEX, MeshPluginData.FACE, MeshPluginData.COLOR
    given = [(kind, value) for kind, value in zip(kinds, (vertices, faces, colors), strict=True) if value is not None]
    components = mesh_metadata.get_components_bitmask([kind for kind, _ in given])
    settings = "{}" if config is None else json.dumps(config, sort_keys=True)
    values = []
    for kind, value in given:
        array = numpy.asarray(value if isinstance(value, list | tuple) else as_array(value))
        if array.ndim != 3:
            raise ValueError(f"add_mesh: expected tensors of shape (batch, count, 3), got {tuple(array.shape)}")
        metadata = mesh_metadata.create_summary_metadata(
            tag, None, kind, components, array.shape, None, json_config=settings
        )
        name = mesh_metadata.get_instance_name(tag, kind)
        values.append(Summary.Value(tag=name, tensor=_floats(array), metadata=metadata))
    return Summary(value=values)
