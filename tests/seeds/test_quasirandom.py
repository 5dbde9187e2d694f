"""Sobol points against PyTorch's, to the last bit."""

import copy
import pickle

import numpy
import pytest
import torch

import clew

OPTIONS = [{}, {"scramble": True, "seed": 0}, {"scramble": True, "seed": 1234}]


def same(ours, theirs):
    assert str(ours.dtype).partition(".")[2] == str(theirs.dtype).partition(".")[2]
    numpy.testing.assert_array_equal(ours.numpy(), theirs.numpy())


@pytest.mark.parametrize("dimension", [1, 2, 7, 300])
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_points_are_pytorchs(dimension, options, dtype):
    one, other = (library.quasirandom.SobolEngine(dimension, **options) for library in (clew, torch))
    for count in (1, 1, 5, 0, 17, 8):
        if count or dimension == 1:
            same(one.draw(count, dtype=getattr(clew, dtype)), other.draw(count, dtype=getattr(torch, dtype)))
    assert one.num_generated == other.num_generated
    one.fast_forward(1000)
    other.fast_forward(1000)
    same(one.draw(3), other.draw(3))
    same(one.reset().draw_base2(4), other.reset().draw_base2(4))
    same(one.draw_base2(4), other.draw_base2(4))
    same(one.reset().fast_forward(7).draw(2), other.reset().fast_forward(7).draw(2))
    assert repr(one) == repr(other)


def test_scrambling_without_a_seed_takes_the_numbers_of_the_stream():
    drawn = []
    for library in (clew, torch):
        library.manual_seed(5)
        drawn.append((library.quasirandom.SobolEngine(3, scramble=True).draw(4), library.rand(1)))
    same(drawn[0][0], drawn[1][0])
    assert drawn[0][1].item() == drawn[1][1].item()


def test_copies_buffers_and_errors():
    engine = clew.quasirandom.SobolEngine(3, scramble=True, seed=2)
    engine.draw(5)
    expected = copy.deepcopy(engine).draw(2)
    same(pickle.loads(pickle.dumps(engine)).draw(2), torch.from_numpy(expected.numpy()))
    out = clew.empty(2, 3)
    assert engine.draw(2, out=out) is out
    same(out, torch.from_numpy(expected.numpy()))
    with pytest.raises(ValueError, match="range of dimensionality"):
        clew.quasirandom.SobolEngine(0)
    with pytest.raises(ValueError, match="power of 2"):
        clew.quasirandom.SobolEngine(1).fast_forward(3).draw_base2(1)


def test_points_fill_the_cube():
    points = clew.quasirandom.SobolEngine(4, scramble=True, seed=3).draw_base2(8).numpy()
    # Each of 256 slices along each axis has one point.
    assert all(sorted((points[:, axis] * 256).astype(int)) == list(range(256)) for axis in range(4))
