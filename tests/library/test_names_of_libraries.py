"""Names that libraries reach for behind PyTorch's public ones, and that do something."""

import pickle

import pytest


def test_loaders_may_set_the_kind_of_their_data(torch):
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(3)))
    assert loader._dataset_kind == 0
    loader._dataset_kind = 1
    assert loader._dataset_kind == 1


def test_a_library_of_kernels_is_a_file_that_can_not_be_loaded(torch):
    with pytest.raises(OSError, match="load_library"):
        torch.ops.load_library("kernels.so")


def test_serialization_has_pickle(torch):
    assert torch.serialization.pickle is pickle


def test_the_line_search_finds_what_pytorchs_finds(torch, oracle):
    def found(m):
        import importlib

        search = importlib.import_module(f"{m.__name__}.optim.lbfgs")._strong_wolfe
        start, direction = m.tensor([2.0, -1.0]), m.tensor([-1.0, 3.0])

        def at(x, t, d):
            y = (x + t * d).requires_grad_()
            loss = ((y - 0.5) ** 4).sum()
            return float(loss.detach()), m.autograd.grad(loss, y)[0]

        loss, grad = at(start, 0.0, direction)
        loss, grad, t, calls = search(at, start, 1.0, direction, loss, grad, grad.dot(direction))
        return [loss, *grad.tolist(), t, calls]

    assert found(torch) == pytest.approx(found(oracle), rel=1e-5)
