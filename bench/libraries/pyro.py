"""Stochastic variational inference, and Hamiltonian Monte Carlo."""

import pyro
import pyro.distributions as dist
import torch
from pyro.infer import HMC, MCMC, SVI, Trace_ELBO
from pyro.infer.autoguide import AutoNormal

from bench.drawn import normal


def main():
    pyro.clear_param_store()
    pyro.set_rng_seed(0)
    x = normal(20, 2)
    y = x @ torch.tensor([1.0, -2.0]) + 0.1 * normal(20)

    def model():
        weights = pyro.sample("w", dist.Normal(0.0, torch.ones(2)).to_event(1))
        scale = pyro.sample("s", dist.HalfNormal(1.0))
        with pyro.plate("data", 20):
            pyro.sample("y", dist.Normal(x @ weights, scale), obs=y)

    guide = AutoNormal(model)
    inference = SVI(model, guide, pyro.optim.Adam({"lr": 0.05}), Trace_ELBO())
    losses = [inference.step() for _ in range(6)]
    chain = MCMC(
        HMC(model, step_size=0.02, num_steps=3, adapt_step_size=False), 4, warmup_steps=2, disable_progbar=True
    )
    chain.run()
    return losses, guide.median(), chain.get_samples()["w"]
