"""Bayesian optimization: a fitted Gaussian process and expected improvement."""

import torch
from botorch.acquisition import LogExpectedImprovement, qExpectedImprovement
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from gpytorch.mlls import ExactMarginalLogLikelihood

from bench.drawn import trained, uniform


def main():
    x = uniform(12, 2).double()
    y = torch.sin(5 * x[:, :1]) + x[:, 1:]
    model = SingleTaskGP(x, y)
    likelihood = ExactMarginalLogLikelihood(model.likelihood, model)
    losses = trained(lambda: -likelihood(model(*model.train_inputs), model.train_targets), model, rate=0.001)
    model.eval()
    bounds, settings = torch.tensor([[0.0, 0.0], [1.0, 1.0]]).double(), {"q": 1, "num_restarts": 2, "raw_samples": 8}
    _, value = optimize_acqf(
        LogExpectedImprovement(model, best_f=y.max()), bounds=bounds, options={"seed": 0}, **settings
    )
    several = qExpectedImprovement(model, best_f=0.5)(uniform(3, 2, 2).double())
    return losses, model.posterior(x[:3]).variance, value, several
