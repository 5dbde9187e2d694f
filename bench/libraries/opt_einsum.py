"""Contractions of several tensors along an optimized path, with gradients."""

import opt_einsum

from bench.drawn import normal


def main():
    a, b, c, d = (normal(5, 6).requires_grad_(), normal(6, 7, 4), normal(4, 7, 3), normal(3, 5).requires_grad_())
    result = opt_einsum.contract("ij,jkl,lkm,mi->", a, b, c, d)
    result.backward()
    expression = opt_einsum.contract_expression("bij,bjk,bkl->bil", (2, 3, 4), (2, 4, 5), (2, 5, 6))
    return result, a.grad, d.grad, expression(normal(2, 3, 4), normal(2, 4, 5), normal(2, 5, 6))
