"""set_flush_denormal: subnormal numbers as zero, in the thread that asks and those that compute for it."""

import pytest
import torch

import clew

SMALL = {clew.float32: 1e-40, clew.float64: 1e-310}
TINY = 2e-20  # its square is subnormal in float32


@pytest.fixture(autouse=True)
def as_before():
    threads = clew.get_num_threads()
    yield
    clew.set_flush_denormal(False)
    clew.set_num_threads(threads)


def test_values_are_pytorchs():
    results = []
    for module in (clew, torch):
        for on in (False, True):
            small, tiny = module.full((5,), 1e-40), module.full((5,), TINY)
            assert module.set_flush_denormal(on)
            results.append([(small * 1).tolist(), (tiny * tiny).tolist()])
            module.set_flush_denormal(False)
    assert results[:2] == results[2:]
    assert results[0] != results[1]


@pytest.mark.parametrize("dtype", SMALL)
def test_all_threads_that_compute_for_it(dtype):
    clew.set_num_threads(2)
    x = clew.full((1 << 22,), SMALL[dtype], dtype=dtype)
    assert (x * 1).count_nonzero() == x.numel()
    clew.set_flush_denormal(True)
    y = x * 1
    clew.set_flush_denormal(False)
    assert y.count_nonzero() == 0
    assert (x * 1).count_nonzero() == x.numel()


def test_a_compiled_function_computes_as_eager():
    def step(x):
        y = x * TINY
        y.sum().backward()
        return y

    f = clew.compile(step)
    for on in (False, False, False, True, True, False):
        clew.set_flush_denormal(on)
        results = []
        for one in (step, f):
            x = clew.full((5,), TINY, requires_grad=True)
            results.append((one(x).tolist(), x.grad.tolist()))
        assert results[0] == results[1]
        assert (results[0][0][0] == 0) == on
    assert f.hits


def test_moments_of_adam_end_at_zero():
    clew.set_flush_denormal(True)
    p = clew.zeros(3, requires_grad=True)
    optimizer = clew.optim.Adam([p], lr=1e-3)
    p.grad = clew.ones(3)
    for _ in range(1200):  # 0.9 ** 830 is subnormal
        optimizer.step()
        p.grad = clew.zeros(3)
    assert optimizer.state[p]["exp_avg"].tolist() == [0.0] * 3


@pytest.mark.parametrize("mode", [1, None, "on"])
def test_what_is_no_bool(mode):
    with pytest.raises(TypeError, match="set_flush_denormal: expects a bool, got"):
        clew.set_flush_denormal(mode)
