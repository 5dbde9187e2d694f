"""The Fisher matrix in several representations."""

import torch
from nngeometry.metrics import FIM
from nngeometry.object import PMatDense, PMatDiag, PMatKFAC, PVector

from bench.drawn import integers, normal, perceptron


def main():
    model, found = perceptron(), []
    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(normal(16, 4), integers(2, 16)), batch_size=8)
    for kind in (PMatDense, PMatDiag, PMatKFAC):
        matrix = FIM(model=model, loader=data, representation=kind, n_output=2, device="cpu", variant="classif_logits")
        found += [matrix.trace(), matrix.mv(PVector.from_model(model)).norm(), matrix.frobenius_norm()]
    return found
