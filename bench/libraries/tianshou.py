"""Networks of reinforcement learning, replay buffers and returns."""

import numpy as np
import torch
from tianshou.data import Batch, ReplayBuffer
from tianshou.utils.net.common import Net
from tianshou.utils.net.continuous import ContinuousActorProbabilistic
from tianshou.utils.net.discrete import DiscreteActor

from bench.drawn import array, filled, normal, trained


def main():
    buffer = ReplayBuffer(size=16)
    for step in range(12):
        ends = {"terminated": step % 5 == 4, "truncated": False}
        buffer.add(Batch(obs=array(4), act=step % 2, rew=float(step), obs_next=array(4), info={}, **ends))
    batch, _ = buffer.sample(8)
    observations = torch.as_tensor(np.array(batch.obs))
    actor = filled(DiscreteActor(preprocess_net=Net(state_shape=4, hidden_sizes=[16]), action_shape=2))
    gaussian = filled(
        ContinuousActorProbabilistic(preprocess_net=Net(state_shape=4, hidden_sizes=[16]), action_shape=2)
    )
    losses = trained(lambda: actor(observations)[0].square().mean(), actor)
    return losses, [part for part in gaussian(normal(3, 4))[0]], batch.rew
