"""SchNet and PaiNN: energies and forces of atoms."""

import schnetpack
import torch
from schnetpack.nn.cutoff import CosineCutoff
from schnetpack.nn.radial import GaussianRBF

from bench.drawn import filled, integers, normal


def main():
    found = []
    pairs = torch.tensor([[i, j] for i in range(5) for j in range(5) if i != j])
    settings = {"n_atom_basis": 16, "n_interactions": 2, "radial_basis": GaussianRBF(8, 4.0), "cutoff_fn": CosineCutoff(4.0)}
    for kind in (schnetpack.representation.SchNet, schnetpack.representation.PaiNN):
        model, places = filled(kind(**settings)), normal(5, 3).requires_grad_()
        inputs = {"_atomic_numbers": 1 + integers(8, 5), "_Rij": places[pairs[:, 1]] - places[pairs[:, 0]], "_idx_i": pairs[:, 0], "_idx_j": pairs[:, 1]}
        energy = model(inputs)["scalar_representation"].tanh().sum()
        found += [energy, *torch.autograd.grad(energy, places)]
    return found
