"""Learning from pairs, neighbours and other models."""

from __future__ import annotations

import copy
from typing import Any

import clew as torch
from clew import nn
from clew.nn import functional as F

from .harness import batches, case, mlp, training


@case
def distillation() -> Any:
    teacher, student = mlp(4, 16, 3).eval(), mlp(4, 4, 3)
    optimizer = torch.optim.Adam(student.parameters(), lr=1e-2)

    def step(x: Any, y: Any) -> Any:
        with torch.no_grad():
            soft = (teacher(x) / 2.0).softmax(-1)
        out = student(x)
        imitation = F.kl_div((out / 2.0).log_softmax(-1), soft, reduction="batchmean") * 4.0
        loss = 0.7 * imitation + 0.3 * F.cross_entropy(out, y.argmax(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return {"loss": loss.item(), "imitation": imitation.item()}

    return step, batches((5, 4), (5, 3)), [teacher, student]


@case
def contrastive() -> Any:
    encoder = mlp(6, 8, 4)
    optimizer = torch.optim.Adam(encoder.parameters(), lr=1e-2)

    def loss_of(model: Any, one: Any, other: Any) -> Any:
        a, b = F.normalize(model(one), dim=-1), F.normalize(model(other), dim=-1)
        logits = a @ b.T / 0.1
        goal = torch.arange(len(logits))
        return 0.5 * (F.cross_entropy(logits, goal) + F.cross_entropy(logits.T, goal))

    return training(encoder, optimizer, loss_of, "item"), batches((5, 6), (5, 6)), [encoder, optimizer]


@case
def momentum_contrast() -> Any:
    query = mlp(6, 8, 4)
    key = copy.deepcopy(query).requires_grad_(False)
    queue = F.normalize(torch.randn(8, 4), dim=-1)
    optimizer = torch.optim.SGD(query.parameters(), lr=0.1)

    def step(one: Any, other: Any) -> Any:
        with torch.no_grad():
            for slow, fast in zip(key.parameters(), query.parameters(), strict=True):
                slow.mul_(0.99).add_(fast, alpha=0.01)
            keys = F.normalize(key(other), dim=-1)
        q = F.normalize(query(one), dim=-1)
        logits = torch.cat([(q * keys).sum(-1, keepdim=True), q @ queue.clone().T], dim=1) / 0.2
        loss = F.cross_entropy(logits, torch.zeros(len(logits), dtype=torch.int64))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        queue.copy_(torch.cat([queue[len(keys) :], keys]))
        return loss.item()

    return step, batches((2, 6), (2, 6)), [query, key, queue]


@case
def matrix_factorization() -> Any:
    users, items = nn.Embedding(6, 3), nn.Embedding(5, 3)
    optimizer = torch.optim.Adagrad([*users.parameters(), *items.parameters()], lr=0.1)

    def step(user: Any, item: Any, rating: Any) -> Any:
        u, v = users(user), items(item)
        loss = F.mse_loss((u * v).sum(-1), rating) + 0.01 * (u.pow(2).mean() + v.pow(2).mean())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    def batch(i: int) -> tuple[Any, ...]:
        generator = torch.Generator().manual_seed(i)
        user, item = (torch.randint(0, n, (4,), generator=generator) for n in (6, 5))
        return user, item, torch.randn(4, generator=generator)

    return step, batch, [users, items]


@case
def graph_convolution() -> Any:
    first, second = nn.Linear(3, 8), nn.Linear(8, 2)
    optimizer = torch.optim.Adam([*first.parameters(), *second.parameters()], lr=1e-2)
    source, target = torch.tensor([0, 1, 2, 3, 4, 0]), torch.tensor([1, 2, 3, 4, 0, 2])
    degree = torch.ones(5).index_add(0, target, torch.ones(6)).unsqueeze(-1)

    def spread(x: Any) -> Any:
        return x.index_add(0, target, x[source]) / degree

    def step(x: Any, y: Any) -> Any:
        hidden = F.relu(first(spread(x)))
        loss = F.cross_entropy(second(spread(hidden))[:3], y[:3].argmax(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step, batches((5, 3), (5, 2)), [first, second]


@case
def label_propagation() -> Any:
    known = torch.tensor([0, 1, 2])
    label = torch.eye(3)

    def step(x: Any) -> Any:
        with torch.no_grad():
            weight = torch.exp(-torch.cdist(x, x).pow(2)).fill_diagonal_(0.0)
            weight = weight / weight.sum(1, keepdim=True)
            belief = torch.full((len(x), 3), 1 / 3)
            for _ in range(4):
                belief[known] = label
                belief = weight @ belief
        return belief, belief.argmax(-1)

    return step, batches((6, 2)), [label]


@case
def k_means() -> Any:
    centers = torch.randn(3, 2)

    def step(x: Any) -> Any:
        nearest = torch.cdist(x, centers).argmin(-1)
        member = F.one_hot(nearest, 3).to(x.dtype)
        count = member.sum(0).clamp(min=1).unsqueeze(-1)
        centers.lerp_(member.T @ x / count, 0.5)
        return nearest, torch.bincount(nearest, minlength=3)

    return step, batches((7, 2)), [centers]
