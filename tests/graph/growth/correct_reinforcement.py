"""Correct loops: episodes, replay, sampling."""

from __future__ import annotations

import copy
from collections import deque
from typing import Any

from small_training import CORRECT_ITERATIONS, batch, correct, mse, network, step, trainer

import clew
from clew import nn


def policy() -> tuple[Any, Any]:
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    return model, clew.optim.Adam(model.parameters(), lr=0.01)


def act(model: Any, state: Any) -> tuple[Any, Any]:
    scores = nn.functional.log_softmax(model(state), dim=-1)
    action = int(clew.rand(()).item() < 0.5)
    return scores[action], clew.randn(())


@correct
def policy_gradient_with_growing_episodes() -> None:
    model, optimizer = policy()
    for length in range(1, CORRECT_ITERATIONS + 1):
        taken = [act(model, clew.randn(4)) for _ in range(length)]
        step(optimizer, -sum(score * reward for score, reward in taken) / length)


@correct
def actor_waits_while_the_critic_learns() -> None:
    """The critic takes a step at each action; the actor's scores wait for the end of an episode of 30 actions."""
    actor, optimizer = policy()
    critic, critic_optimizer = trainer()
    for _ in range(3):
        scores, advantages = [], []
        for _ in range(30):
            state = clew.randn(4)
            score, reward = act(actor, state)
            error = reward - critic(state).squeeze()
            step(critic_optimizer, error.square())
            scores.append(score)
            advantages.append(error.detach())
        step(optimizer, -sum(score * advantage for score, advantage in zip(scores, advantages, strict=True)))


@correct
def replay_of_detached_transitions() -> None:
    model, optimizer = trainer()
    replay: deque[Any] = deque(maxlen=1000)
    for _ in range(CORRECT_ITERATIONS):
        state = clew.randn(4)
        value = model(state)
        replay.append((state, value.detach(), clew.randn(1)))
        states, _, rewards = zip(*list(replay)[-8:], strict=True)
        step(optimizer, mse(model(clew.stack(states)), clew.stack(rewards)))


@correct
def target_network() -> None:
    model, optimizer = trainer()
    target = copy.deepcopy(model)
    for number in range(CORRECT_ITERATIONS):
        x, y = batch()
        with clew.no_grad():
            wanted = y + 0.9 * target(x)
        step(optimizer, mse(model(x), wanted))
        if number % 10 == 0:
            target.load_state_dict(model.state_dict())


@correct
def proximal_policy_epochs() -> None:
    model, optimizer = policy()
    for _ in range(6):
        states = clew.randn(16, 4)
        with clew.no_grad():
            old = nn.functional.log_softmax(model(states), dim=-1)
        for _ in range(10):
            ratio = (nn.functional.log_softmax(model(states), dim=-1) - old).exp()
            step(optimizer, -clew.minimum(ratio, ratio.clamp(0.8, 1.2)).mean())


@correct
def generator_against_discriminator() -> None:
    generator, discriminator = nn.Linear(2, 4), network()
    first = clew.optim.Adam(generator.parameters())
    second = clew.optim.Adam(discriminator.parameters())
    history = []
    for _ in range(CORRECT_ITERATIONS // 2):
        fake = generator(clew.randn(8, 2))
        loss = discriminator(fake.detach()).mean() - discriminator(batch()[0]).mean()
        step(second, loss)
        step(first, -discriminator(fake).mean())
        history.append(loss.item())


@correct
def pool_of_generated_samples() -> None:
    generator, discriminator = nn.Linear(2, 4), network()
    first = clew.optim.SGD(generator.parameters(), lr=0.01)
    second = clew.optim.SGD(discriminator.parameters(), lr=0.01)
    pool: list[Any] = []
    for _ in range(CORRECT_ITERATIONS // 2):
        fake = generator(clew.randn(8, 2))
        pool.append(fake.detach())
        step(second, discriminator(pool[len(pool) // 2]).mean())
        step(first, -discriminator(fake).mean())


@correct
def hamiltonian_monte_carlo() -> None:
    def slope(at: Any) -> Any:
        at = at.detach().requires_grad_()
        return clew.autograd.grad((at * at).sum() / 2, at)[0]

    position, samples = clew.randn(3), []
    for _ in range(CORRECT_ITERATIONS // 10):
        momentum = clew.randn(3)
        for _ in range(10):
            momentum = momentum - 0.05 * slope(position)
            position = position + 0.1 * momentum
        samples.append(position)


@correct
def langevin_samples() -> None:
    energy, optimizer = trainer()
    for _ in range(6):
        x = clew.randn(8, 4)
        for _ in range(30):
            x.requires_grad_()
            (slope,) = clew.autograd.grad(energy(x).sum(), x)
            x = (x - 0.1 * slope + 0.01 * clew.randn(8, 4)).detach()
        step(optimizer, energy(batch()[0]).mean() - energy(x).mean())


@correct
def adversarial_examples() -> None:
    model, optimizer = trainer()
    for _ in range(CORRECT_ITERATIONS // 4):
        x, y = batch()
        change = clew.zeros(8, 4, requires_grad=True)
        for _ in range(3):
            (slope,) = clew.autograd.grad(mse(model(x + change), y), change)
            change = (change + 0.1 * slope.sign()).detach().requires_grad_()
        step(optimizer, mse(model(x + change), y))


@correct
def memory_of_keys() -> None:
    """Contrastive learning: a queue of keys from a slow copy of the network."""
    model, optimizer = trainer()
    slow, queue = copy.deepcopy(model), clew.zeros(64, 1)
    for _ in range(CORRECT_ITERATIONS):
        x, _ = batch()
        with clew.no_grad():
            keys = slow(x)
            for mean, weight in zip(slow.parameters(), model.parameters(), strict=True):
                mean.mul_(0.99).add_(weight, alpha=0.01)
        step(optimizer, nn.functional.softmax(model(x) @ queue.T, dim=1).mean())
        queue = clew.cat([keys, queue])[:64]
