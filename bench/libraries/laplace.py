"""The Laplace approximation of a network's last layer."""

import torch
from laplace import Laplace
from laplace.curvature import BackPackGGN

from bench.drawn import integers, normal, perceptron


def main():
    model = perceptron()
    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(normal(16, 4), integers(2, 16)), batch_size=8)
    found = []
    for structure, weights in (("kron", "last_layer"), ("diag", "all"), ("full", "last_layer")):
        approximation = Laplace(
            model, "classification", subset_of_weights=weights, hessian_structure=structure, backend=BackPackGGN
        )
        approximation.fit(data)
        found += [approximation.log_marginal_likelihood(), approximation(normal(3, 4), link_approx="probit")]
    return found
