"""Rearrangements and products in brackets."""

import einx

from bench.drawn import normal


def main():
    x, w = normal(2, 6, 8).requires_grad_(), normal(8, 5)
    found = [
        einx.id("b (s r) c -> b s r c", x, r=2),
        einx.sum("b [s] c", x),
        einx.dot("b s [c], [c] d -> b s d", x, w),
        einx.softmax("b s [c]", x),
    ]
    sum(value.square().sum() for value in found).backward()
    return found, x.grad
