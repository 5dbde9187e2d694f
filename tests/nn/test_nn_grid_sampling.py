"""`grid_sample` and `affine_grid` against PyTorch: values, gradients, points at and beyond the ends."""

import itertools

import numpy
import pytest
import torch

import clew

MODES = [
    (axes, mode, padding, align)
    for axes, mode, padding, align in itertools.product(
        (2, 3), ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection"), (False, True)
    )
    if axes == 2 or mode != "bicubic"
]


def run(library, image, grid, upstream=None, **options):
    x = library.tensor(image, dtype=library.float64, requires_grad=True)
    g = library.tensor(grid, dtype=library.float64, requires_grad=True)
    result = library.nn.functional.grid_sample(x, g, **options)
    if upstream is None:
        upstream = numpy.random.default_rng(1).standard_normal(tuple(result.shape))
    result.backward(library.tensor(upstream, dtype=library.float64))
    return [one.detach().numpy() for one in (result, x.grad, g.grad)]


@pytest.mark.parametrize(("axes", "mode", "padding", "align"), MODES)
@pytest.mark.parametrize("sizes", [(4, 5, 3), (2, 1, 3)])
def test_it_is_pytorchs(axes, mode, padding, align, sizes):
    draw = numpy.random.default_rng(0)
    image = draw.standard_normal((2, 3, *sizes[:axes]))
    grid = draw.uniform(-3.3, 3.3, (2, 5, 4, *[2] * (axes - 2), axes))
    options = {"mode": mode, "padding_mode": padding, "align_corners": align}
    for ours, theirs in zip(run(clew, image, grid, **options), run(torch, image, grid, **options), strict=True):
        numpy.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("axes", "mode", "padding", "align"), MODES)
def test_points_on_elements_ends_and_edges(axes, mode, padding, align):
    """Dyadic points, where each library computes the same coordinates without rounding."""
    image = numpy.random.default_rng(0).standard_normal((1, 1, *[4] * axes))
    line = numpy.linspace(-2, 2, 17)
    grid = numpy.stack([line, line[::-1], line][:axes], -1).reshape(1, 17, 1, *[1] * (axes - 2), axes)
    if align:  # -1 and 1 are the centers; in between are thirds
        grid = numpy.stack([numpy.array([-1.0, 1.0, 0.0, 1.5, -1.5, 3.0])] * axes, -1)
        grid = grid.reshape(1, 6, 1, *[1] * (axes - 2), axes)
    options = {"mode": mode, "padding_mode": padding, "align_corners": align}
    for ours, theirs in zip(run(clew, image, grid, **options), run(torch, image, grid, **options), strict=True):
        numpy.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("axes", "mode", "padding", "align"), MODES)
def test_second_derivatives(axes, mode, padding, align):
    draw = numpy.random.default_rng(2)
    image = clew.tensor(draw.standard_normal((1, 2, *[3] * axes)), requires_grad=True)
    grid = clew.tensor(draw.uniform(-1.4, 1.4, (1, 2, 2, *[1] * (axes - 2), axes)), requires_grad=True)

    def f(image, grid):
        return clew.nn.functional.grid_sample(image, grid, mode, padding, align)

    assert clew.autograd.gradcheck(f, (image, grid))
    assert clew.autograd.gradgradcheck(f, (image, grid))


@pytest.mark.filterwarnings("ignore:Since version 1.3.0")
@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("size", [(2, 3, 4, 5), (2, 1, 1, 4), (2, 3, 4, 5, 2)])
def test_affine_grids(size, align):
    axes = len(size) - 2
    values = numpy.random.default_rng(0).standard_normal((2, axes, axes + 1))
    found = []
    for library in (clew, torch):
        theta = library.tensor(values, requires_grad=True)
        grid = library.nn.functional.affine_grid(theta, size, align_corners=align)
        (grid * grid).sum().backward()
        found.append((grid.detach().numpy(), theta.grad.numpy()))
    for ours, theirs in zip(*found, strict=True):
        numpy.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


def test_float32_nan_and_errors():
    image = clew.arange(16.0).view(1, 1, 4, 4)
    grid = clew.tensor([[[[float("nan"), 0.0]]]])
    theirs = torch.nn.functional.grid_sample(
        torch.arange(16.0).view(1, 1, 4, 4), torch.tensor([[[[-1.0, 0.0]]]]), align_corners=True
    )
    sample = clew.nn.functional.grid_sample
    assert sample(image, grid, align_corners=True).item() == theirs.item()
    assert sample(image, grid, align_corners=True).dtype == clew.float32
    with pytest.warns(UserWarning, match="align_corners"):
        sample(image, grid)
    for wrong in (
        lambda: sample(image, grid, mode="cubic"),
        lambda: sample(image, grid, padding_mode="wrap"),
        lambda: clew.nn.functional.affine_grid(clew.ones(1, 2, 3), (1, 1, 0, 2), align_corners=True),
    ):
        with pytest.raises(ValueError, match="expected"):
            wrong()
    for wrong in (
        lambda: sample(image, grid.double(), align_corners=True),
        lambda: sample(image[0], grid, align_corners=True),
        lambda: sample(image, clew.zeros(2, 1, 1, 2), align_corners=True),
        lambda: sample(clew.ones(1, 1, 2, 2, 2), clew.zeros(1, 1, 1, 1, 3), mode="bicubic", align_corners=True),
    ):
        with pytest.raises(RuntimeError, match="expected"):
            wrong()
