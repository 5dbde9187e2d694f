"""A convex program as a layer, differentiated."""

import cvxpy
import torch
from cvxpylayers.torch import CvxpyLayer

from bench.drawn import normal


def main():
    x, a, b = cvxpy.Variable(3), cvxpy.Parameter((4, 3)), cvxpy.Parameter(4)
    problem = cvxpy.Problem(cvxpy.Minimize(0.5 * cvxpy.sum_squares(a @ x - b) + cvxpy.norm1(x)), [x >= -1])
    layer = CvxpyLayer(problem, parameters=[a, b], variables=[x])
    matrix, vector = normal(4, 3).double().requires_grad_(), normal(4).double().requires_grad_()
    (solution,) = layer(matrix, vector)
    solution.square().sum().backward()
    return solution, matrix.grad, vector.grad
