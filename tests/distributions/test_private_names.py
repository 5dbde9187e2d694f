"""Names of PyTorch's that are private, and that libraries import."""

import importlib

import pytest
import torch

import clew


def both(path):
    """The same attribute of both packages."""
    module, _, name = path.rpartition(".")
    return tuple(getattr(importlib.import_module(f"{root}.{module}"), name) for root in ("clew", "torch"))


def close(ours, theirs):
    assert ours.shape == theirs.shape
    torch.testing.assert_close(torch.from_numpy(ours.numpy()), theirs)


W = [[1.0, 0.5], [0.2, -1.0], [0.3, 0.7]]
D = [0.5, 1.0, 2.0]


@pytest.mark.parametrize(
    ("path", "arguments"),
    [
        ("distributions.utils._sum_rightmost", ([[1.0, 2.0], [3.0, 4.0]], 1)),
        ("distributions.transforms._clipped_sigmoid", ([-200.0, 0.0, 200.0],)),
        ("distributions.multivariate_normal._batch_mv", (W, [1.0, 2.0])),
        ("distributions.multivariate_normal._batch_mahalanobis", ([[2.0, 0.0], [1.0, 3.0]], [1.0, 2.0])),
        ("distributions.multivariate_normal._precision_to_scale_tril", ([[2.0, 0.5], [0.5, 1.0]],)),
        ("distributions.lowrank_multivariate_normal._batch_capacitance_tril", (W, D)),
        ("nn.init._calculate_fan_in_and_fan_out", ([[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]],)),
        ("nn.init._calculate_correct_fan", (W, "fan_in")),
        ("nn.init._calculate_correct_fan", (W, "FAN_OUT")),
        ("nn.init._no_grad_fill_", (W, 3.0)),
        ("nn.init._no_grad_zero_", (W,)),
    ],
)
def test_they_compute_what_pytorchs_do(path, arguments):
    ours, theirs = both(path)
    made = [[lib.tensor(x) if isinstance(x, list) else x for x in arguments] for lib in (clew, torch)]
    one, other = ours(*made[0]), theirs(*made[1])
    if isinstance(other, torch.Tensor):
        close(one, other)
    else:
        assert one == other


def test_the_parts_of_a_low_rank_covariance():
    found = []
    for lib in (clew, torch):
        module = importlib.import_module(f"{lib.__name__}.distributions.lowrank_multivariate_normal")
        w, d, x = lib.tensor(W), lib.tensor(D), lib.tensor([1.0, -2.0, 0.5])
        tril = module._batch_capacitance_tril(w, d)
        found.append((module._batch_lowrank_logdet(w, d, tril), module._batch_lowrank_mahalanobis(w, d, x, tril)))
    for one, other in zip(*found, strict=True):
        close(one, other)


def test_draws_are_pytorchs():
    for lib in (clew, torch):
        lib.manual_seed(3)
    ours, theirs = both("distributions.utils._standard_normal")
    close(ours((2, 3), dtype=clew.float64, device="cpu"), theirs((2, 3), dtype=torch.float64, device="cpu"))
    for name, bounds in (("uniform", (-1.0, 2.0)), ("normal", (1.0, 2.0)), ("trunc_normal", (0.0, 1.0, -1.0, 2.0))):
        ours, theirs = both(f"nn.init._no_grad_{name}_")
        close(ours(clew.empty(4), *bounds), theirs(torch.empty(4), *bounds))


def test_errors_and_classes():
    with pytest.raises(ValueError, match="Mode fan not supported"):
        clew.nn.init._calculate_correct_fan(clew.ones(2, 2), "fan")
    from clew.distributions import constraints, kl, normal, transforms

    assert isinstance(transforms.ExpTransform().inv, transforms._InverseTransform)
    assert isinstance(constraints.real_vector, constraints._IndependentConstraint)
    assert constraints._DependentProperty is constraints.dependent_property
    assert constraints._IntegerLessThan(3).check(clew.tensor([2, 4])).tolist() == [True, False]
    assert (normal.Normal, normal.Normal) in kl._KL_REGISTRY
    assert normal._standard_normal is importlib.import_module("clew.distributions.utils")._standard_normal
