"""Steps with what stands around the arithmetic: checkpoints, matched classes, packed sequences, toggles, results."""

from __future__ import annotations

import collections
import functools
import operator
import types
from typing import Any

import clew as torch
from clew import nn
from clew.nn import functional as F
from clew.utils.checkpoint import checkpoint

from .harness import batches, case, mlp, mse, training
from .python import Outcome, Settings


@case
def reentrant_checkpoint() -> Any:
    model = mlp(4, 8, 8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def loss_of(model: nn.Module, x: Any, y: Any) -> Any:
        return F.mse_loss(model[4:](checkpoint(model[2:4], model[:2](x), use_reentrant=True)), y)

    return training(model, optimizer, loss_of, "detach"), batches((5, 4), (5, 1)), [model]


@case
def reentrant_checkpoint_of_batch_norm() -> Any:
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Tanh())
    head = nn.Linear(8, 1)
    optimizer = torch.optim.SGD([*model.parameters(), *head.parameters()], lr=0.1)

    def loss_of(model: nn.Module, x: Any, y: Any) -> Any:
        return F.mse_loss(head(checkpoint(model[1:], model[0](x), use_reentrant=True)), y)

    return training(model, optimizer, loss_of, "item"), batches((5, 4), (5, 1)), [model, head]


@case
def matched_classes() -> Any:
    parts = [Settings(2.0), Outcome(1.0, 2.0, 3)]

    def step(x: Any) -> Any:
        for part in parts:
            match part:
                case Settings(rate=rate):
                    x = x * rate
                case Outcome(loss, accuracy):
                    x = x * loss + accuracy
        return x

    return step, batches((4,)), []


@case
def dispatched_on_classes() -> Any:
    @functools.singledispatch
    def norm(value: Any) -> Any:
        return value

    norm.register(torch.Tensor)(lambda value: value.norm())
    norm.register(list)(lambda value: sum(norm(one) for one in value))
    return (lambda x: norm([x, x * 2, 3.0])), batches((4,)), []


@case
def items_by_getters() -> Any:
    table = [("b", 2.0), ("a", 1.0)]
    first = operator.itemgetter(0)

    def step(x: Any) -> Any:
        for _, factor in sorted(table, key=first):
            x = x * factor + 1
        return operator.itemgetter("x", "y")({"x": x, "y": -x})

    return step, batches((4,)), []


@case
def results_in_a_namespace() -> Any:
    def step(x: Any) -> Any:
        out = types.SimpleNamespace(loss=x.sum(), value=x.mean().item(), count=len(x))
        out.twice = out.loss * 2
        return vars(out), out.count

    return step, batches((4,)), []


@case
def results_in_an_ordered_dict_and_a_set() -> Any:
    return (lambda x: (collections.OrderedDict(a=x * 2, b=x.sum().item()), {"a", len(x)})), batches((4,)), []


@case
def packed_sequences() -> Any:
    lstm, lengths = nn.LSTM(3, 4, batch_first=True), torch.tensor([4, 3, 2])

    def step(x: Any) -> Any:
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True)
        out, (h, _) = lstm(packed)
        padded, counts = nn.utils.rnn.pad_packed_sequence(out, batch_first=True)
        return padded.sum() + h.sum(), counts

    return step, batches((3, 4, 3)), [lstm]


@case
def adam_with_one_cycle_outside() -> Any:
    model = mlp(4, 8, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=100)
    plain = batches((5, 4), (5, 1))

    def batch(i: int) -> tuple[Any, ...]:
        if i:
            scheduler.step()
        return plain(i)

    return training(model, optimizer, mse, "detach"), batch, [model, optimizer]


@case
def toggled_discriminator() -> Any:
    maker, judge = mlp(3, 8, 2), mlp(2, 8, 1)
    optimizers = [torch.optim.Adam(one.parameters(), lr=0.01) for one in (maker, judge)]

    def step(z: Any, real: Any) -> Any:
        judge.requires_grad_(True)
        optimizers[1].zero_grad()
        judged = F.softplus(judge(maker(z).detach())).mean() + F.softplus(-judge(real)).mean()
        judged.backward()
        optimizers[1].step()
        judge.requires_grad_(False)
        optimizers[0].zero_grad()
        made = F.softplus(-judge(maker(z))).mean()
        made.backward()
        optimizers[0].step()
        return judged.detach(), made.detach()

    return step, batches((5, 3), (5, 2)), [maker, judge]


@case
def autocast_switched_off() -> Any:
    model = mlp(4, 8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def loss_of(model: nn.Module, x: Any, y: Any) -> Any:
        with torch.autocast("cpu", enabled=False):
            return F.mse_loss(model(x), y)

    return training(model, optimizer, loss_of, "item"), batches((5, 4), (5, 1)), [model]


@case
def counted_in_a_dict() -> Any:
    counts = {"n": 0}

    def step(x: Any) -> Any:
        counts["n"] += 1
        return x * 2

    return step, batches((4,)), [counts]
