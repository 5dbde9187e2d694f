"""Row 6.2: sums of what a chain over long arrays makes are added strip by strip in a replay; the bits are eager's.

See Note [Reductions of strips] in core/program/passes/reduced_strips.h.
"""

import numpy as np
import pytest

import clew

pytestmark = pytest.mark.records_calls


def gradient(x, y):
    x = x.detach().requires_grad_()
    loss = ((clew.tanh(x) - y) ** 2).mean()
    return loss.detach(), *clew.autograd.grad(loss, x)


def rewritten(x, y):
    """What is summed is written afterwards."""
    z = x * y
    before = z.sum()
    z.add_(1.0)
    return before, z.sum(), z * before


BODIES = {
    "sum": lambda x, y: (x * y + 1.0).sum(),
    "mean": lambda x, y: ((x - y) ** 2).mean(),
    "one call": lambda x, y: (x * y).sum(),
    "norms": lambda x, y: ((z := x - y).norm(), z.abs().sum(), (z * z).sum()),
    "the largest": lambda x, y: (x - y).max(),
    "also a result": lambda x, y: [z := x * 2.0 - y, z.sum(), z.mean()],
    "used in the chain": lambda x, y: (z := x * y) / z.sum(),
    "of a part": lambda x, y: (x * y + 1.0)[1:].sum(),
    "a dtype beside": lambda x, y: (x * y).double().sum(),
    "an input": lambda x, y: (x.mul_(1.5), x.sum(), y.sum(), (x * y).mean())[1:],
    "gradient": gradient,
    "rewritten": rewritten,
}


def bits(results):
    results = results if isinstance(results, (list, tuple)) else [results]
    return [one.detach().numpy().tobytes() for one in results]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("code", ["0", "now"])
def test_reductions(code, threads, monkeypatch, tmp_path):
    monkeypatch.setenv("CLEW_CODE", code)
    monkeypatch.setenv("CLEW_CACHE_DIR", str(tmp_path))
    before = clew.get_num_threads()
    clew.set_num_threads(threads)
    try:
        # One piece, or several.
        for index, (name, function) in enumerate(BODIES.items()):
            length = [9_001, 262_144, 300_001][index % 3]
            dtype = ["float32", "float64"][index // 3 % 2]
            compiled = clew.compile(function)
            for seed in range(4):
                rng = np.random.default_rng(seed)
                x, y = rng.standard_normal((2, length)).astype(dtype)
                same = [clew.from_numpy(one.copy()) for one in (x, y)]
                assert bits(compiled(*map(clew.from_numpy, (x, y)))) == bits(function(*same)), name
    finally:
        clew.set_num_threads(before)


def test_pieces_that_are_no_multiple_of_a_strip():
    x = clew.randn(4_300_001)
    compiled = clew.compile(BODIES["one call"])
    for _ in range(3):
        assert bits(compiled(x, x)) == bits(BODIES["one call"](x, x))


def test_what_is_summed_has_no_memory():
    x = clew.randn(1_000_000)
    with clew.keep_graph() as program:
        y = (x * 2.0 - 1.0).square().sum()
    for _ in range(2):
        program.run()
    clew.memory.reset_peak()
    before = clew.memory.stats().live
    program.run()
    assert clew.memory.stats().peak - before < 100_000
    assert bits(y) == bits((x * 2.0 - 1.0).square().sum())
