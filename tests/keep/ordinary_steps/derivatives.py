"""Derivatives of derivatives, and learning to learn."""

from __future__ import annotations

from typing import Any

import clew as torch
from clew.nn import functional as F

from .harness import batches, case, mlp, mse


@case
def meta_learning() -> Any:
    w = torch.randn(3, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)

    def step(x: Any, y: Any) -> Any:
        inner = ((x @ w - y[:, 0]) ** 2).mean()
        (g,) = torch.autograd.grad(inner, w, create_graph=True)
        fast = w - 0.1 * g
        outer = ((x @ fast - y[:, 0]) ** 2).mean()
        optimizer.zero_grad()
        outer.backward()
        optimizer.step()
        return outer.item()

    return step, batches((5, 3), (5, 1)), [w]


@case
def jacobian() -> Any:
    net = mlp(3, 4, 2)

    def step(x: Any) -> Any:
        x = x.detach().requires_grad_()
        y = net(x)
        return torch.stack([torch.autograd.grad(y[i], x, retain_graph=True)[0] for i in range(2)])

    return step, batches((3,)), [net]


@case
def hessian_vector_product() -> Any:
    w = torch.randn(3, requires_grad=True)

    def step(x: Any, v: Any) -> Any:
        (g,) = torch.autograd.grad(((x @ w).tanh() ** 2).sum(), w, create_graph=True)
        (h,) = torch.autograd.grad((g * v).sum(), w)
        return h

    return step, batches((4, 3), (3,)), [w]


@case
def adversarial_training() -> Any:
    model = mlp(4, 8, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(x: Any, y: Any) -> Any:
        label = y.argmax(-1)
        x = x.clone().requires_grad_()
        (slope,) = torch.autograd.grad(F.cross_entropy(model(x), label), x)
        attacked = (x + 0.1 * slope.sign()).detach().clamp(-2, 2)
        loss = F.cross_entropy(model(attacked), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step, batches((5, 4), (5, 3)), [model]


@case
def sharpness_aware() -> Any:
    model = mlp(4, 8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(x: Any, y: Any) -> Any:
        mse(model, x, y).backward()
        with torch.no_grad():
            norm = torch.stack([p.grad.norm() for p in model.parameters()]).norm() + 1e-12
            climbs = [0.05 * p.grad / norm for p in model.parameters()]
            for parameter, climb in zip(model.parameters(), climbs, strict=True):
                parameter.add_(climb)
        optimizer.zero_grad()
        loss = mse(model, x, y)
        loss.backward()
        with torch.no_grad():
            for parameter, climb in zip(model.parameters(), climbs, strict=True):
                parameter.sub_(climb)
        optimizer.step()
        optimizer.zero_grad()
        return loss.item()

    return step, batches((5, 4), (5, 1)), [model]


@case
def newton_step() -> Any:
    w = torch.zeros(3, requires_grad=True)

    def step(x: Any, y: Any) -> Any:
        loss = F.softplus(-(x @ w) * y[:, 0].sign()).mean() + 0.05 * w.pow(2).sum()
        (slope,) = torch.autograd.grad(loss, w, create_graph=True)
        hessian = torch.stack([torch.autograd.grad(one, w, retain_graph=True)[0] for one in slope])
        with torch.no_grad():
            w.sub_(torch.linalg.solve(hessian, slope))
        return loss.item(), hessian

    return step, batches((6, 3), (6, 1)), [w]
