"""Decompositions of tensors: CP, Tucker and trains, with gradients."""

import tensorly
import torch
from tensorly.decomposition import parafac, tensor_train, tucker

from bench.drawn import normal


def main():
    tensorly.set_backend("pytorch")
    tensor = normal(4, 5, 6).double()
    factors = parafac(tensor, rank=2, init="svd", n_iter_max=5)
    core = tucker(tensor, rank=[2, 2, 2], n_iter_max=5)
    train = tensor_train(tensor, rank=[1, 2, 2, 1])
    found = [tensorly.cp_to_tensor(factors), tensorly.tucker_to_tensor(core), tensorly.tt_to_tensor(train)]
    a, b = normal(3, 2).requires_grad_(), normal(4, 2)
    product = tensorly.tenalg.khatri_rao([a, b])
    return found, product, torch.autograd.grad(product.square().sum(), a)
