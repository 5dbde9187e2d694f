"""Reinforcement learning."""

from __future__ import annotations

from typing import Any

import clew as torch
from clew import nn
from clew.nn import functional as F

from .harness import batches, case, mlp


@case
def policy_gradient() -> Any:
    policy = mlp(4, 8, 2)
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)

    def step(states: Any, returns: Any) -> Any:
        chosen = torch.distributions.Categorical(logits=policy(states))
        action = chosen.sample()
        loss = -(chosen.log_prob(action) * returns[:, 0]).mean() - 0.01 * chosen.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return action, loss.item()

    return step, batches((6, 4), (6, 1)), [policy]


@case
def q_learning() -> Any:
    net, target = mlp(4, 8, 2), mlp(4, 8, 2)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)

    def step(state: Any, following: Any, reward: Any) -> Any:
        with torch.no_grad():
            goal = reward[:, 0] + 0.9 * target(following).max(1).values
        value = net(state)[:, 0]
        loss = F.smooth_l1_loss(value, goal)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        for slow, fast in zip(target.parameters(), net.parameters(), strict=True):
            slow.data.lerp_(fast.data, 0.05)
        return loss.item()

    return step, batches((5, 4), (5, 4), (5, 1)), [net, target]


@case
def actor_critic() -> Any:
    actor, critic = mlp(4, 8, 2), mlp(4, 8, 1)
    of_actor = torch.optim.Adam(actor.parameters(), lr=1e-2)
    of_critic = torch.optim.Adam(critic.parameters(), lr=1e-2)

    def step(states: Any, returns: Any) -> Any:
        chosen = torch.distributions.Categorical(logits=actor(states))
        action = chosen.sample()
        advantage = returns[:, 0] - critic(states)[:, 0]
        actor_loss = -(chosen.log_prob(action) * advantage.detach()).mean()
        critic_loss = advantage.pow(2).mean()
        of_actor.zero_grad()
        actor_loss.backward()
        of_actor.step()
        of_critic.zero_grad()
        critic_loss.backward()
        of_critic.step()
        return actor_loss.item(), critic_loss.item()

    return step, batches((6, 4), (6, 1)), [actor, critic]


@case
def clipped_policy() -> Any:
    policy = mlp(4, 8, 2)
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)

    def step(states: Any, advantage: Any) -> Any:
        advantage = (advantage[:, 0] - advantage.mean()) / (advantage.std() + 1e-8)
        with torch.no_grad():
            before = torch.distributions.Categorical(logits=policy(states))
            action = before.sample()
            old = before.log_prob(action)
        for _ in range(3):
            ratio = (torch.distributions.Categorical(logits=policy(states)).log_prob(action) - old).exp()
            loss = -torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
            optimizer.step()
        return loss.item()

    return step, batches((6, 4), (6, 1)), [policy, optimizer]
