"""Proximal policy optimization, A2C and DQN on CartPole."""

from stable_baselines3 import A2C, DQN, PPO

from bench.drawn import array, filled


def main():
    found = []
    settings = {"policy_kwargs": {"net_arch": [8]}, "seed": 0, "device": "cpu"}
    for kind, more in ((PPO, {"n_steps": 32, "batch_size": 16}), (A2C, {}), (DQN, {"learning_starts": 16})):
        agent = kind("MlpPolicy", "CartPole-v1", **settings, **more)
        filled(agent.policy)
        agent.learn(64)
        found.append([parameter for parameter in agent.policy.parameters()])
    return found, agent.predict(array(4))[0]
