"""Differential equations, sampling and inference as in the sciences."""

from __future__ import annotations

import math
from typing import Any

import clew as torch
from clew import nn
from clew.nn import functional as F

from .harness import batches, case, mlp, mse, training


@case
def physics_informed() -> Any:
    net = mlp(1, 8, 8, 1)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)

    def step(t: Any) -> Any:
        t = t.detach().requires_grad_()
        u = net(t)
        (du,) = torch.autograd.grad(u.sum(), t, create_graph=True)
        (d2u,) = torch.autograd.grad(du.sum(), t, create_graph=True)
        loss = ((d2u + u) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step, batches((7, 1)), [net]


@case
def hamiltonian() -> Any:
    data = torch.randn(6, 3)

    def energy(q: Any) -> Any:
        return F.softplus(-(data @ q)).sum() + 0.5 * (q * q).sum()

    def step(q: Any, p: Any) -> Any:
        for _ in range(3):
            q = q.detach().requires_grad_()
            (g,) = torch.autograd.grad(energy(q), q)
            p = p - 0.05 * g
            q = (q + 0.1 * p).detach()
        return q, p

    return step, batches((3,), (3,)), [data]


@case
def runge_kutta() -> Any:
    a = torch.randn(2, 2, requires_grad=True)

    def step(y: Any) -> Any:
        for _ in range(4):
            k1 = a @ y
            k2 = a @ (y + 0.05 * k1)
            y = y + 0.1 * k2
        loss = (y * y).sum()
        (g,) = torch.autograd.grad(loss, a)
        return loss.item(), g

    return step, batches((2,)), [a]


@case
def neural_ode() -> Any:
    field = mlp(2, 8, 2)
    optimizer = torch.optim.Adam(field.parameters(), lr=1e-2)

    def loss_of(model: Any, y: Any, goal: Any) -> Any:
        h = 0.1
        for _ in range(4):
            k1 = model(y)
            k2 = model(y + h / 2 * k1)
            k3 = model(y + h / 2 * k2)
            k4 = model(y + h * k3)
            y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return F.mse_loss(y, goal)

    return training(field, optimizer, loss_of, "item"), batches((3, 2), (3, 2)), [field, optimizer]


@case
def gaussian_process() -> Any:
    logs = torch.zeros(3, requires_grad=True)
    optimizer = torch.optim.Adam([logs], lr=0.05)

    def step(x: Any, y: Any) -> Any:
        length, amplitude, noise = logs.exp()
        distance = (x - x.T) ** 2
        kernel = amplitude * torch.exp(-0.5 * distance / length**2) + noise * torch.eye(x.shape[0])
        factor = torch.linalg.cholesky(kernel)
        solved = torch.cholesky_solve(y, factor)
        loss = 0.5 * (y * solved).sum() + factor.diagonal().log().sum() + 0.5 * len(x) * math.log(2 * math.pi)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step, batches((5, 1), (5, 1)), [logs, optimizer]


@case
def langevin_sampling() -> Any:
    weights = torch.zeros(3, requires_grad=True)

    def step(x: Any, y: Any) -> Any:
        energy = F.mse_loss(x @ weights, y[:, 0]) + 0.5 * weights.pow(2).sum()
        (slope,) = torch.autograd.grad(energy, weights)
        with torch.no_grad():
            weights.add_(slope, alpha=-0.01).add_(torch.randn_like(weights), alpha=math.sqrt(0.02))
        return energy.item()

    return step, batches((5, 3), (5, 1)), [weights]


@case
def optimal_transport() -> Any:
    points = torch.randn(4, 2, requires_grad=True)
    optimizer = torch.optim.SGD([points], lr=0.1)

    def step(goal: Any) -> Any:
        cost = torch.cdist(points, goal).pow(2)
        f, g = torch.zeros(4), torch.zeros(5)
        for _ in range(4):
            f = -((g - cost) / 0.5).logsumexp(1) * 0.5
            g = -((f.unsqueeze(1) - cost) / 0.5).logsumexp(0) * 0.5
        loss = (((f.unsqueeze(1) + g - cost) / 0.5).exp() * cost).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step, batches((5, 2)), [points]


@case
def least_squares_by_lbfgs() -> Any:
    model = nn.Linear(3, 1)
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=3)

    def step(x: Any, y: Any) -> Any:
        def closure() -> Any:
            optimizer.zero_grad()
            loss = mse(model, x, y)
            loss.backward()
            return loss

        return optimizer.step(closure).item()

    return step, batches((6, 3), (6, 1)), [model]


@case
def style_by_gram_matrices() -> Any:
    features = nn.Sequential(nn.Conv2d(1, 3, 3), nn.Tanh()).requires_grad_(False)
    image = torch.randn(1, 1, 5, 5, requires_grad=True)
    optimizer = torch.optim.Adam([image], lr=0.05)

    def gram(picture: Any) -> Any:
        flat = features(picture).flatten(2)
        return flat @ flat.transpose(1, 2) / flat.shape[-1]

    def step(style: Any) -> Any:
        optimizer.zero_grad()
        loss = F.mse_loss(gram(image), gram(style).detach())
        loss.backward()
        optimizer.step()
        return loss.item()

    return step, batches((1, 1, 5, 5)), [image, features]
