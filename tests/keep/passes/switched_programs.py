"""Runs compiled programs in which each pass has something to do, and compares them with eager bit by bit.

Prints one line a program: its name and what `why()` says of its variant. Exits with 1 if bits differ.
"""

import sys

import numpy as np

import clew
from clew import nn
from clew.nn import functional as F


def training(optimizer):
    def program():
        clew.manual_seed(0)
        model = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.LayerNorm(128), nn.Linear(128, 8))
        steps = optimizer(model.parameters())

        def step(x, y):
            steps.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            steps.step()
            return loss

        return step, lambda at: (clew.randn(32, 64), clew.randint(0, 8, (32,)))

    return program


def strips():
    def step(x):
        y = (x.sigmoid() * x.exp() + x.tanh() * 0.5).square()
        y.sum().backward()
        return y

    return step, lambda at: (clew.randn(100_000, requires_grad=True),)


def attention():
    w = clew.randn(3 * 16, 16, requires_grad=True)

    def step(x):
        q, k, v = (x @ w.T).unflatten(2, (3, 2, 8)).permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        y.square().sum().backward()
        return y, w.grad.clone()

    return step, lambda at: (clew.randn(2, 24, 16),)


def iterations():
    w = clew.randn(8, 8) * 0.1

    def step(x):
        for _ in range(200):
            x = (x @ w + x).tanh() * 0.9
        return x

    return step, lambda at: (clew.randn(8, 8),)


def products():
    w = clew.randn(100, 100)

    def step(x):
        h = x @ w.T + w[0]
        return (h + x) @ w.T, x.clone().mul_(2.0).view(-1).flip(0), clew.cat([h, x])

    return step, lambda at: (clew.randn(100, 100),)


PROGRAMS = {
    "sgd": training(lambda parameters: clew.optim.SGD(parameters, 0.1, momentum=0.9)),
    "adam": training(lambda parameters: clew.optim.AdamW(parameters, 0.01)),
    "strips": strips,
    "attention": attention,
    "iterations": iterations,
    "products": products,
}


def outcomes(name, transform):
    """The bits of all results of six calls."""
    clew.manual_seed(1)
    step, arguments = PROGRAMS[name]()
    called = transform(step)
    found = []
    for at in range(6):
        results = called(*arguments(at))
        results = results if isinstance(results, tuple) else (results,)
        found += [np.array(one.detach().numpy()).tobytes() for one in results]
    return found, called


def main():
    is_right = True
    for name in PROGRAMS:
        expected, _ = outcomes(name, lambda step: step)
        found, compiled = outcomes(name, lambda step: clew.compile(step, fullgraph=True))
        is_right &= found == expected
        print(
            name,
            found == expected,
            *(line.strip() for line in compiled.why().splitlines() if "variant:" in line),
            sep="; ",
        )
    sys.exit(not is_right)


if __name__ == "__main__":
    main()
