"""Nested dictionaries of tensors with batch dimensions, and modules on them."""

import torch
from tensordict import TensorDict
from tensordict.nn import TensorDictModule, TensorDictSequential

from bench.drawn import normal, perceptron


def main():
    data = TensorDict({"a": normal(4, 3), "nested": {"b": normal(4, 2)}}, batch_size=[4])
    stacked = torch.stack([data, data.clone()], 0)
    joined = torch.cat([data, data[:2]], 0).apply(lambda value: 2 * value)
    network = TensorDictSequential(
        TensorDictModule(perceptron(3, 5), in_keys=["a"], out_keys=["hidden"]),
        TensorDictModule(perceptron(5, 1), in_keys=["hidden"], out_keys=["result"]),
    )
    result = network(data.clone())
    return (
        stacked["nested", "b"].sum(0),
        joined["a"],
        result["result"],
        stacked.reshape(8)["a"],
        data.flatten_keys()["nested.b"],
    )
