"""Neural posterior estimation of a linear simulator."""

import torch
from sbi.inference import NPE
from sbi.utils import BoxUniform

from bench.drawn import normal, uniform


def main():
    prior = BoxUniform(-2 * torch.ones(2), 2 * torch.ones(2))
    parameters = 4 * uniform(200, 2) - 2
    results = parameters @ torch.tensor([[1.0, 0.5], [-0.5, 1.0]]) + 0.1 * normal(200, 2)
    inference = NPE(prior=prior, density_estimator="maf", show_progress_bars=False)
    inference.append_simulations(parameters, results).train(max_num_epochs=3, training_batch_size=50)
    posterior = inference.build_posterior()
    return posterior.log_prob(parameters[:3], x=results[:1]), inference.summary["training_loss"]
