"""Solves, log-determinants and products of structured matrices."""

import torch
from linear_operator.operators import (
    DiagLinearOperator,
    KroneckerProductLinearOperator,
    ToeplitzLinearOperator,
    to_linear_operator,
)

from bench.drawn import normal, uniform


def main():
    factor = normal(8, 8).requires_grad_()
    matrix = to_linear_operator(factor @ factor.mT) + DiagLinearOperator(1 + uniform(8))
    quadratic, logdet = matrix.inv_quad_logdet(normal(8, 2), logdet=True)
    (quadratic + logdet).backward()
    a, b = normal(3, 3), normal(4, 4)
    product = KroneckerProductLinearOperator(
        to_linear_operator(a @ a.mT + torch.eye(3)), to_linear_operator(b @ b.mT + torch.eye(4))
    )
    toeplitz = ToeplitzLinearOperator(torch.tensor([3.0, 1.0, 0.5, 0.1]))
    return (
        quadratic,
        logdet,
        factor.grad,
        product.solve(normal(12)),
        product.to_dense(),
        toeplitz @ normal(4, 2),
        matrix.cholesky().to_dense(),
    )
