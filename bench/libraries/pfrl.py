"""Double DQN on generated transitions, and distributions of values."""

import numpy as np
import pfrl
import torch

from bench.drawn import array, filled, normal, perceptron, trained


def main():
    network = torch.nn.Sequential(perceptron(4, 2), pfrl.q_functions.DiscreteActionValueHead())
    replay, explorer = pfrl.replay_buffers.ReplayBuffer(100), pfrl.explorers.Greedy()
    settings = {
        "replay_start_size": 4,
        "minibatch_size": 4,
        "update_interval": 1,
        "target_update_interval": 4,
        "phi": np.float32,
    }
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    agent = pfrl.agents.DoubleDQN(network, optimizer, replay, 0.9, explorer, **settings)
    for _ in range(8):
        agent.act(array(4))
        agent.observe(array(4), float(array()), False, False)
    head = filled(torch.nn.Sequential(torch.nn.Linear(4, 4), pfrl.policies.GaussianHeadWithDiagonalCovariance()))
    return [*network.parameters()], trained(lambda: -head(normal(3, 4)).log_prob(torch.zeros(3, 2)).mean(), head)
