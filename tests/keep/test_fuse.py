"""Row 6.3: with `fuse=True` generated code may round a product and a sum at once: eager but for the last places."""

import shutil

import numpy as np
import pytest

import clew

pytestmark = [
    pytest.mark.records_calls,
    pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler"),
]


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("CLEW_CODE", "now")
    monkeypatch.setenv("CLEW_CACHE_DIR", str(tmp_path / "cache"))


def polynomial(x):
    return x * x * x * 0.3 - x * x * 1.7 + x * 2.1 - clew.tanh(x) * x + 0.5


def with_gradient(x):
    x = x.detach().requires_grad_()
    y = polynomial(x)
    return y.detach(), *clew.autograd.grad((y * y).sum(), x)


@pytest.mark.parametrize("size", [4, 9001])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_eager_but_for_rounding(size, dtype):
    compiled = clew.compile(with_gradient, fuse=True)
    for seed in range(4):
        x = clew.from_numpy(np.random.default_rng(seed).standard_normal(size).astype(dtype))
        for one, other in zip(compiled(x), with_gradient(x), strict=True):
            scale = 64 * np.finfo(dtype).eps  # of numbers of about 1, with terms of about 100
            np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=scale, atol=scale)
    assert compiled.hits == 3
    assert any("pieces" in line for line in compiled.code)


@pytest.mark.parametrize("size", [4, 9001])
def test_gradients_against_differences(size):
    compiled = clew.compile(with_gradient, fuse=True)
    for seed in range(4):
        x = clew.from_numpy(np.random.default_rng(seed).standard_normal(size))
        _, gradient = compiled(x)
    step = 1e-6
    above, below = polynomial(x + step).numpy(), polynomial(x - step).numpy()
    np.testing.assert_allclose(gradient.numpy(), (above**2 - below**2) / (2 * step), rtol=1e-6, atol=1e-6)


def test_a_decorator():
    @clew.compile(fuse=True)
    def doubled(x):
        return x * 2 + 1

    assert doubled(clew.ones(2)).tolist() == doubled(clew.ones(2)).tolist() == [3.0, 3.0]


def test_a_formula_that_is_another_is_not_used(tmp_path, monkeypatch):
    path = tmp_path / "compiler"
    path.write_text('#!/bin/sh\nfor last; do :; done; sed -i "s/a \\* b/a + b/" "$last"; exec cc "$@"')
    path.chmod(0o700)
    monkeypatch.setenv("CLEW_CC", str(path))
    compiled = clew.compile(with_gradient, fuse=True)
    for seed in range(4):
        x = clew.from_numpy(np.random.default_rng(seed).standard_normal(9001))
        got = [one.numpy().tobytes() for one in compiled(x)]
        assert got == [one.numpy().tobytes() for one in with_gradient(x)]
    assert any("results differ" in line for line in compiled.code)
