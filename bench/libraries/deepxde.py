"""A network informed by Poisson's equation, with Adam and L-BFGS."""

import os

os.environ["DDE_BACKEND"] = "pytorch"

import deepxde
import numpy as np
import torch

from bench.drawn import filled


def main():
    deepxde.config.set_random_seed(0)
    geometry = deepxde.geometry.Interval(-1, 1)

    def equation(x, y):
        return deepxde.grad.hessian(y, x) + torch.pi**2 * torch.sin(torch.pi * x)

    boundary = deepxde.icbc.DirichletBC(geometry, lambda x: np.zeros_like(x[:, :1]), lambda x, on: on)
    data = deepxde.data.PDE(geometry, equation, boundary, 16, 2, train_distribution="uniform")
    model = deepxde.Model(data, filled(deepxde.nn.FNN([1, 16, 16, 1], "tanh", "Glorot normal")))
    model.compile("adam", lr=0.01, verbose=0)
    history, _ = model.train(iterations=5, display_every=1, verbose=0)
    return history.loss_train, model.predict(np.array([[0.5]], dtype="float32"))
