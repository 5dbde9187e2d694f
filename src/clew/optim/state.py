"""An optimizer's state as plain data: parameters become numbers, in the order of the groups."""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import clew
from clew import Tensor

Groups = list[dict[str, Any]]


def pack_state(state: Mapping[Tensor, dict[str, Any]], groups: Groups) -> dict[str, Any]:
    """What `Optimizer.state_dict` gives."""
    numbers: dict[int, int] = {}
    packed_groups = []
    for group in groups:
        for parameter in group["params"]:
            numbers.setdefault(id(parameter), len(numbers))
        packed_groups.append(
            {name: value for name, value in group.items() if name != "params"}
            | {"params": [numbers[id(parameter)] for parameter in group["params"]]}
        )
    packed = {numbers[id(key)] if isinstance(key, Tensor) else key: value for key, value in state.items()}
    return {"state": packed, "param_groups": packed_groups}


def load_state(
    state_dict: Mapping[str, Any], groups: Groups, defaults: dict[str, Any]
) -> tuple[defaultdict[Tensor, dict[str, Any]], Groups]:
    """The state and the groups that `state_dict` gives an optimizer whose groups are now `groups`."""
    saved_groups = copy.deepcopy(state_dict["param_groups"])
    if len(groups) != len(saved_groups):
        raise ValueError(
            "loaded state dict has a different number of parameter groups: "
            f"expected {len(groups)}, got {len(saved_groups)}"
        )
    parameters: dict[Any, Tensor] = {}
    for group, saved in zip(groups, saved_groups, strict=True):
        if len(group["params"]) != len(saved["params"]):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group: "
                f"expected {len(group['params'])} parameters, got {len(saved['params'])}"
            )
        parameters |= zip(saved["params"], group["params"], strict=True)
    state: defaultdict[Any, dict[str, Any]] = defaultdict(dict)
    for number, value in state_dict["state"].items():
        parameter = parameters.get(number)
        # What is not kept for a parameter is kept as it is.
        state[number if parameter is None else parameter] = _fit(value, parameter, None)
    names = [{"param_names": group["param_names"]} if "param_names" in group else {} for group in groups]
    loaded = [
        {**defaults, **own, **saved, "params": group["params"]}
        for own, saved, group in zip(names, saved_groups, groups, strict=True)
    ]
    return state, loaded


def _fit(value: Any, parameter: Tensor | None, key: Any) -> Any:
    """A copy of `value`, its floating tensors in the parameter's dtype; a step count as a tensor of its own."""
    if isinstance(value, dict):
        return {name: _fit(part, parameter, name) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_fit(part, parameter, None) for part in value)
    if key == "step":
        return value.clone() if isinstance(value, Tensor) else clew.tensor(float(value))
    if not isinstance(value, Tensor):
        return copy.deepcopy(value)
    if (
        parameter is not None
        and (parameter.is_floating_point() or parameter.is_complex())
        and value.dtype != parameter.dtype
    ):
        return value.to(parameter.dtype)
    return value.clone()
