"""Distributions and a policy gradient."""

import clew as torch
from clew import nn
from clew.distributions import Categorical, Normal

policy = nn.Linear(4, 2)
distribution = Categorical(logits=policy(torch.randn(4)))
action = distribution.sample()
(-distribution.log_prob(action) * 1.5).backward()
noise = Normal(0.0, 1.0).rsample((3,))
print(int(action), noise.shape)
