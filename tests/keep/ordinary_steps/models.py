"""Models and functions of users: recurrent cells, attention, modules, hooks, state and results of many forms."""

from __future__ import annotations

import math
from typing import Any

import clew as torch
from clew import nn
from clew.nn import functional as F

from .harness import batches, case, mlp, mse, training


@case
def inference() -> Any:
    model = mlp(4, 8, 2).eval()

    def step(x: Any) -> Any:
        with torch.no_grad():
            return model(x).argmax(-1)

    return step, batches((3, 4)), [model]


@case
def results_in_a_dict() -> Any:
    model = mlp(4, 8, 3)

    def step(x: Any) -> Any:
        logits = model(x)
        return {"logits": logits, "probability": logits.softmax(-1), "best": [logits.max().item(), None]}

    return step, batches((5, 4)), [model]


@case
def recurrent() -> Any:
    cell, head = nn.GRUCell(2, 4), nn.Linear(4, 1)
    optimizer = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.1)

    def step(x: Any) -> Any:
        h = torch.zeros(x.shape[1], 4)
        for frame in x:
            h = cell(frame, h)
        loss = head(h).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step, batches((3, 2, 2)), [cell, head]


@case
def lstm() -> Any:
    net = nn.LSTM(2, 4, batch_first=True)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    return training(net, optimizer, lambda m, x: m(x)[0].pow(2).mean()), batches((2, 3, 2)), [net]


@case
def embedding() -> Any:
    table, head = nn.Embedding(10, 4), nn.Linear(4, 10)
    optimizer = torch.optim.SGD([*table.parameters(), *head.parameters()], lr=0.1)

    def step(tokens: Any) -> Any:
        loss = F.cross_entropy(head(table(tokens[:, :-1])).reshape(-1, 10), tokens[:, 1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    def batch(i: int) -> tuple[Any, ...]:
        return (torch.randint(0, 10, (2, 5), generator=torch.Generator().manual_seed(i)),)

    return step, batch, [table, head]


@case
def custom_function() -> Any:
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return 2 * x * g

    w = torch.randn(3, requires_grad=True)

    def step(x: Any) -> Any:
        (g,) = torch.autograd.grad(Square.apply(x * w).sum(), w)
        return g

    return step, batches((3,)), [w]


@case
def module_class() -> Any:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])
            self.scale = nn.Parameter(torch.ones(()))
            self.residual = True

        def forward(self, x: Any) -> Any:
            for i, layer in enumerate(self.layers):
                h = torch.tanh(layer(x))
                x = x + h if self.residual and i > 0 else h
            return x * self.scale

    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    return training(model, optimizer, mse, "item"), batches((3, 4), (3, 4)), [model]


@case
def hooks() -> Any:
    model = mlp(4, 8, 1)
    model[0].register_forward_hook(lambda module, given, out: out * 0.5)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    return training(model, optimizer, mse, "item"), batches((5, 4), (5, 1)), [model]


@case
def backward_outside() -> Any:
    model = mlp(4, 8, 1)

    def step(x: Any, y: Any) -> Any:
        return F.mse_loss(model(x), y)

    return step, batches((5, 4), (5, 1)), [model]


@case
def einsum_attention() -> Any:
    w = torch.randn(4, 12, requires_grad=True)

    def step(x: Any) -> Any:
        q, k, v = (x @ w).chunk(3, dim=-1)
        score = torch.einsum("bqd,bkd->bqk", q, k) / math.sqrt(q.shape[-1])
        score = score.masked_fill(torch.ones(3, 3).triu(1).bool(), float("-inf"))
        loss = (score.softmax(-1) @ v).pow(2).mean()
        (g,) = torch.autograd.grad(loss, w)
        return g

    return step, batches((2, 3, 4)), [w]


@case
def in_place_buffers() -> Any:
    total, count = torch.zeros(3), torch.zeros(())

    def step(x: Any) -> Any:
        total.add_(x.sum(0))
        count.add_(x.shape[0])
        return total / count

    return step, batches((4, 3)), [total, count]


@case
def noisy_inputs() -> Any:
    model = mlp(3, 4, 1)

    def step(x: Any) -> Any:
        return model(x + 0.1 * torch.randn_like(x)).mean().item(), torch.rand(2), torch.randperm(4)

    return step, batches((4, 3)), [model]


@case
def counted_steps() -> Any:
    class Trainer:
        steps = 0

        def step(self, x: Any) -> Any:
            self.steps += 1
            return (x * x).sum()

    trainer = Trainer()
    trainer.steps = 0
    return trainer.step, batches((5,)), [vars(trainer)]


@case
def state_between_calls() -> Any:
    cell = nn.RNNCell(2, 3)

    class Runner:
        h = torch.zeros(1, 3)

        def step(self, x: Any) -> Any:
            self.h = cell(x, self.h).detach()
            return self.h.sum().item()

    runner = Runner()
    return runner.step, batches((1, 2)), [cell, vars(runner)]


@case
def tags_by_forward_algorithm() -> Any:
    emission, transition = nn.Linear(4, 3), nn.Parameter(torch.zeros(3, 3))
    optimizer = torch.optim.SGD([*emission.parameters(), transition], lr=0.1)
    tags = torch.tensor([0, 2, 1, 1])

    def step(x: Any) -> Any:
        scores = emission(x)
        gold = scores[torch.arange(len(tags)), tags].sum() + transition[tags[:-1], tags[1:]].sum()
        alpha = scores[0]
        for row in scores[1:]:
            alpha = (alpha.unsqueeze(1) + transition).logsumexp(0) + row
        loss = alpha.logsumexp(0) - gold
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step, batches((4, 4)), [emission, transition]
