"""Summaries of hyperparameters, for the HParams tab."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from google.protobuf import struct_pb2
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.plugins.hparams import api_pb2, metadata, plugin_data_pb2

from ..._core import Tensor
from .arrays import as_array
from .summary import plugin_metadata


def hparams(
    values: Mapping[str, Any], metrics: Mapping[str, Any], domains: Mapping[str, Sequence[Any]] | None = None
) -> tuple[Summary, ...]:
    """The experiment (which hyperparameters and metrics there are), the start of a run (their values), and its end."""
    domains = domains or {}
    if not isinstance(domains, dict):
        raise TypeError(f"add_hparams: expected hparam_domain_discrete to be a dict, got {type(domains).__name__}")
    for name, choices in domains.items():
        known = name in values and isinstance(choices, list)
        if not known or not all(isinstance(one, type(values[name])) for one in choices):
            raise TypeError(
                f"add_hparams: expected hparam_domain_discrete[{name!r}] to be a list of the type of hparam_dict's"
            )
    experiment, start = api_pb2.Experiment(), plugin_data_pb2.SessionStartInfo()
    for name, value in values.items():
        if value is not None:
            kind, field, read = _kind(name, value)
            setattr(start.hparams[name], field, read(value))
            info = experiment.hparam_infos.add(name=name, type=api_pb2.DataType.Value(kind))
            choices = [struct_pb2.Value(**{field: read(one)}) for one in domains.get(name, ())]
            if choices:
                info.domain_discrete.values.extend(choices)
    for name in metrics:
        experiment.metric_infos.add(name=api_pb2.MetricName(tag=name))
    end = plugin_data_pb2.SessionEndInfo(status=api_pb2.Status.Value("STATUS_SUCCESS"))
    return (
        _summary(metadata.EXPERIMENT_TAG, experiment=experiment),
        _summary(metadata.SESSION_START_INFO_TAG, session_start_info=start),
        _summary(metadata.SESSION_END_INFO_TAG, session_end_info=end),
    )


def _kind(name: str, value: Any) -> tuple[str, str, Any]:
    """TensorBoard's type of a value, the field that holds it, and how to read it."""
    if isinstance(value, int | float):  # bools, too, as in PyTorch
        return "DATA_TYPE_FLOAT64", "number_value", float
    if isinstance(value, str):
        return "DATA_TYPE_STRING", "string_value", str
    if isinstance(value, Tensor):
        return "DATA_TYPE_FLOAT64", "number_value", lambda x: float(as_array(x).reshape(-1)[0])
    raise ValueError(
        f"add_hparams: expected hparam_dict[{name!r}] to be an int, float, str, bool or tensor, got "
        f"{type(value).__name__}; convert it, as with str()"
    )


def _summary(tag: str, **content: Any) -> Summary:
    data = plugin_data_pb2.HParamsPluginData(version=metadata.PLUGIN_DATA_VERSION, **content)
    told = plugin_metadata(metadata.PLUGIN_NAME, data.SerializeToString())
    return Summary(value=[Summary.Value(tag=tag, metadata=told)])
