"""A policy with Gaussian actions, a memory and a schedule by divergence."""

import torch
from skrl.memories.torch import RandomMemory
from skrl.resources.preprocessors.torch import RunningStandardScaler
from skrl.resources.schedulers.torch import KLAdaptiveLR

from bench.drawn import normal, perceptron


def main():
    memory = RandomMemory(memory_size=8, num_envs=2, device="cpu")
    memory.create_tensor("states", size=4)
    for _ in range(8):
        memory.add_samples(states=normal(2, 4))
    scaler = RunningStandardScaler(size=4, device="cpu")
    found = [scaler(memory.get_tensor_by_name("states").reshape(-1, 4), train=True)]
    optimizer = torch.optim.Adam(perceptron().parameters(), lr=0.01)
    schedule = KLAdaptiveLR(optimizer)
    for divergence in (0.1, 0.001, 0.05):
        schedule.step(divergence)
        found.append(optimizer.param_groups[0]["lr"])
    return found, memory.sample(names=["states"], batch_size=4)[0][0]
