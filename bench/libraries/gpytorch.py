"""Exact and variational Gaussian processes."""

import gpytorch
import torch
from gpytorch.distributions import MultivariateNormal
from gpytorch.variational import CholeskyVariationalDistribution, VariationalStrategy

from bench.drawn import trained, uniform


class Exact(gpytorch.models.ExactGP):
    def __init__(self, x, y, likelihood):
        super().__init__(x, y, likelihood)
        self.mean, self.kernel = (
            gpytorch.means.ConstantMean(),
            gpytorch.kernels.ScaleKernel(gpytorch.kernels.MaternKernel()),
        )

    def forward(self, x):
        return MultivariateNormal(self.mean(x), self.kernel(x))


class Variational(gpytorch.models.ApproximateGP):
    def __init__(self, points):
        distribution = CholeskyVariationalDistribution(points.size(0))
        super().__init__(VariationalStrategy(self, points, distribution))
        self.mean, self.kernel = gpytorch.means.ZeroMean(), gpytorch.kernels.RBFKernel()

    def forward(self, x):
        return MultivariateNormal(self.mean(x), self.kernel(x))


def main():
    x = uniform(30).sort().values
    y, likelihood = torch.sin(6 * x), gpytorch.likelihoods.GaussianLikelihood()
    model = Exact(x, y, likelihood)
    exact = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    losses = trained(lambda: -exact(model(x), y), model)
    model.eval(), likelihood.eval()
    found = likelihood(model(torch.linspace(0, 1, 5)))
    sparse, noise = Variational(x[::5].clone()), gpytorch.likelihoods.GaussianLikelihood()
    bound = gpytorch.mlls.VariationalELBO(noise, sparse, num_data=30)
    return losses, found.mean, found.variance, trained(lambda: -bound(sparse(x), y), sparse)
