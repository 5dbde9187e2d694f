"""Symmetry functions of atoms and a potential's forces."""

import torch
import torchani

from bench.drawn import normal, perceptron


def main():
    radial = torchani.aev.ANIRadial(eta=16.0, shifts=[0.9, 1.4, 1.9, 2.4], cutoff=3.5)
    angular = torchani.aev.ANIAngular(eta=8.0, zeta=32.0, shifts=[0.9, 1.8], sections=[0.3, 1.0, 2.0], cutoff=3.0)
    computer = torchani.aev.AEVComputer(radial=radial, angular=angular, num_species=2)
    places = (
        torch.tensor([[[0.0, 0, 0], [1, 0, 0], [0, 1.1, 0], [0.5, 0.5, 1]]]) + 0.1 * normal(1, 4, 3)
    ).requires_grad_()
    features = computer(torch.tensor([[0, 1, 0, 1]]), places)
    energy = perceptron(features.shape[-1], 1)(features).sum()
    return features, energy, torch.autograd.grad(energy, places)
