"""A policy's loss of proximal policy optimization, and advantages."""

import torch
from tensordict import TensorDict
from tensordict.nn import TensorDictModule
from torchrl.modules import NormalParamExtractor, ProbabilisticActor, TanhNormal, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

from bench.drawn import normal, perceptron, trained, uniform


def main():
    network = torch.nn.Sequential(perceptron(4, 2), NormalParamExtractor())
    module = TensorDictModule(network, in_keys=["observation"], out_keys=["loc", "scale"])
    actor = ProbabilisticActor(module, in_keys=["loc", "scale"], distribution_class=TanhNormal, return_log_prob=True)
    critic = ValueOperator(perceptron(4, 1), in_keys=["observation"])
    ends = {"done": torch.zeros(8, 1, dtype=torch.bool), "terminated": torch.zeros(8, 1, dtype=torch.bool)}
    data = TensorDict(
        {"observation": normal(8, 4), "next": {"observation": normal(8, 4), "reward": uniform(8, 1), **ends}}, [8]
    )
    data = actor(data).detach()
    GAE(gamma=0.9, lmbda=0.95, value_network=critic)(data)
    loss = ClipPPOLoss(actor, critic, entropy_bonus=False)

    def total():
        values = loss(data)
        return values["loss_objective"] + values["loss_critic"]

    # Some gradients are 0 but for rounding. Adam divides by their size, so its losses would depend on the rounding.
    return data["advantage"], trained(total, torch.optim.SGD(loss.parameters(), 0.01))
