"""Row 6.2: long runs of short elementwise calls, with and without code, give eager's bits.

See Note [Runs of flat calls] in core/kernels/memory/flat_calls.h and Note [Results of many calls] in
core/program/passes/shared_results.cpp.
"""

import shutil

import numpy as np
import pytest

import clew

pytestmark = pytest.mark.records_calls


@pytest.fixture(autouse=True, params=["0", "now"])
def code(request, tmp_path, monkeypatch):
    if request.param == "now" and shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    monkeypatch.setenv("CLEW_CODE", request.param)
    monkeypatch.setenv("CLEW_CACHE_DIR", str(tmp_path / "cache"))


def given(size, dtype, seed=0):
    rng = np.random.default_rng(seed)
    return [clew.from_numpy(rng.uniform(0.5, 1.5, size).astype(dtype)) for _ in range(2)]


def bits(results):
    return [one.detach().numpy().tobytes() for one in results]


def check(function, *, size=4, dtype=np.float32, calls=6):
    """New data each time; what earlier calls gave is held, so that later ones need other memory, and stays."""
    compiled = clew.compile(function)
    held = []
    for seed in range(calls):
        inputs = given(size, dtype, seed)
        held.append((compiled(*inputs), bits(function(*inputs))))
    assert all(bits(results) == wanted for results, wanted in held)
    assert compiled.hits >= calls - 3
    return compiled


def recurrence(links):
    def run(x, y):
        x, y = x.detach().requires_grad_(), y.detach().requires_grad_()
        z = x
        for _ in range(links):
            z = z * y
        return (z.detach(), *clew.autograd.grad(z.sum(), [x, y]))

    return run


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 8, 15, 16, 17, 40, 256, 257])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sizes(size, dtype):
    check(recurrence(40), size=size, dtype=dtype)


def test_a_gradient_that_hundreds_add_to():
    links = 700
    x, y = given(4, np.float32)
    y = 1 + (y - 1) / links
    compiled = clew.compile(recurrence(links))
    for _ in range(5):
        z, gx, gy = compiled(x, y)
    factor = y.numpy().astype(np.float64)
    np.testing.assert_allclose(gx, factor**links, rtol=1e-4)
    np.testing.assert_allclose(gy, links * x.numpy() * factor ** (links - 1), rtol=1e-4)
    np.testing.assert_allclose(z, x.numpy() * factor**links, rtol=1e-4)


def test_many_kinds_of_calls():
    """More kinds than are told apart: numbers, comparisons, broadcasting, other dtypes, three operands, strides."""

    def run(x, y):
        z = x
        for i in range(90):
            z = z * (1 + i / 1000) + y
            z = clew.where(z > 100 + i, z / y, z - 0.25 * i)
            z = clew.maximum(z, y[:1].expand(4)) + (z > 0).double().float()
            z = z.flip(0) if i % 7 == 0 else z.clamp(-50 - i, 50 + i)
        return z, z[::2] * y[::2]

    check(run)


def test_results_that_are_views_of_one_another():
    def run(x, y):
        total = clew.zeros(4)
        for i in range(60):
            total += x * y
            total[i % 4] -= 1
        return total, total[1:], total.view(2, 2).t()

    compiled = check(run)
    total, part, square = compiled(*given(4, np.float32))
    total.zero_()
    assert not part.any()
    assert not square.any()


def test_what_is_written_of_the_callers_own():
    state = clew.zeros(4)

    def run(x, y):
        for _ in range(50):
            state.mul_(0.5).add_(x * y)
        return state + 1

    compiled = clew.compile(run)
    for seed in range(6):
        inputs = given(4, np.float32, seed)
        before = state.clone()
        result = compiled(*inputs)
        made = state.clone()
        state.copy_(before)
        assert bits([run(*inputs)]) == bits([result])
        assert bits([state]) == bits([made])


def test_a_gradient_that_is_held_or_dropped():
    x, y = (one.requires_grad_() for one in given(4, np.float32))

    def step():
        x.grad = y.grad = None
        z = x
        for _ in range(100):
            z = z * y
        z.sum().backward()
        return x.grad, y.grad

    wanted = bits(step())
    compiled = clew.compile(step)
    held = None
    for i in range(12):
        results = compiled()
        assert bits(results) == wanted
        assert bits([x.grad, y.grad]) == wanted
        if i % 3 == 0:
            held = results  # the next call can't write over it
        del results
        assert bits(held) == wanted
    held[1].zero_()
    assert bits(compiled()) == wanted


def test_an_error_between_two_runs():
    state = clew.zeros(4)

    def run(x, index):
        for _ in range(40):
            state.add_(x)
        picked = clew.arange(4.0)[index]
        for _ in range(40):
            state.mul_(0.5)
        return picked + state

    compiled = clew.compile(run)
    for _ in range(5):
        compiled(clew.ones(4), clew.tensor([0, 1, 2, 3]))
    before, wrong = state.clone(), clew.tensor([0, 1, 2, 9])
    with pytest.raises(IndexError):
        compiled(clew.ones(4), wrong)
    # As without compile: what came before the error has happened, once.
    after = state.clone()
    state.copy_(before)
    with pytest.raises(IndexError):
        run(clew.ones(4), wrong)
    assert bits([after]) == bits([state])


def test_nothing_grows():
    compiled = clew.compile(recurrence(200))
    x, y = given(4, np.float32)
    for _ in range(5):
        held = compiled(x, y)
    before = clew.memory.stats().live
    for _ in range(2000):
        held = compiled(x, y)
    del held
    assert clew.memory.stats().live <= before
