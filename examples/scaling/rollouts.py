"""Workers play, one learner learns: REINFORCE (Williams 1992) on a cart that balances a pole.

    python examples/scaling/rollouts.py      # needs gymnasium; half a minute

In each round the policy travels to the workers, which play episodes without a graph and send back what they saw and
did. The learner goes through all of it as one batch, with the graph, and makes one step. Workers share no memory with
it, so that they may as well be on other machines: with Dask, `Client.map` takes the place of the pool's `map`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from typing import NamedTuple

import gymnasium
import numpy as np

import clew as torch
from clew import nn

DISCOUNT = 0.99


class Episode(NamedTuple):
    """What a worker sends back: a row for each step."""

    seen: np.ndarray
    actions: np.ndarray
    returns: np.ndarray


def policy() -> nn.Module:
    """Scores of both pushes."""
    return nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))


@torch.no_grad()
def play(model: nn.Module, seed: int) -> Episode:
    """One episode. Runs in a worker."""
    torch.set_num_threads(1)
    game, dice = gymnasium.make("CartPole-v1"), np.random.default_rng(seed)
    now, _ = game.reset(seed=seed)
    seen, actions, rewards, over = [], [], [], False
    while not over:
        right = model(torch.from_numpy(now)).softmax(0)[1].item()
        action = int(dice.random() < right)
        seen.append(now)
        actions.append(action)
        now, reward, fallen, late, _ = game.step(action)
        rewards.append(float(reward))
        over = fallen or late
    returns = np.zeros(len(rewards), dtype=np.float32)
    following = 0.0
    for step in reversed(range(len(rewards))):
        returns[step] = following = rewards[step] + DISCOUNT * following
    return Episode(np.stack(seen), np.array(actions), returns)


def learn(model: nn.Module, optimizer: torch.optim.Optimizer, episodes: list[Episode]) -> None:
    """One step along the policy's gradient."""
    seen, actions, returns = (torch.from_numpy(np.concatenate(parts)) for parts in zip(*episodes, strict=True))
    logs = model(seen).log_softmax(1).gather(1, actions.unsqueeze(1)).squeeze(1)
    optimizer.zero_grad()
    loss = -(logs * (returns - returns.mean()) / (returns.std() + 1e-6)).mean()
    loss.backward()
    optimizer.step()


def train(pool: Executor, rounds: int, episodes: int) -> Iterator[float]:
    """The mean length of an episode in each round, 500 at most."""
    torch.manual_seed(0)
    model = policy()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for number in range(rounds):
        seeds = range(number * episodes, (number + 1) * episodes)
        played = list(pool.map(play, [model] * episodes, seeds, chunksize=max(1, episodes // 4)))
        learn(model, optimizer, played)
        yield float(np.mean([len(one.returns) for one in played]))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--episodes", type=int, default=16, help="in a round")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    with ProcessPoolExecutor(options.workers) as pool:
        lengths = list(train(pool, options.rounds, options.episodes))
    for first in range(0, len(lengths), 10):
        part = lengths[first : first + 10]
        print(f"rounds {first:3} to {first + len(part) - 1:3}: the pole stood for {np.mean(part):5.1f} steps")


if __name__ == "__main__":
    main()
