"""A layer that turns gradients around."""

from pytorch_revgrad import RevGrad

from bench.drawn import normal


def main():
    x = normal(4, 3).requires_grad_()
    RevGrad(alpha=0.5)(x).square().sum().backward()
    return x.grad
