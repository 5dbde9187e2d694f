"""What the cache of blocks keeps for the next round of a loop."""

import os

import numpy
import pytest

ROUNDS = 30
LOOP = """
import resource

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

x, y = (torch.ones(1_000_000, requires_grad=True) for _ in range(2))
out, slope = x * y, torch.ones(1_000_000)

def rounds(count):
    for _ in range(count):
        gradients = torch.autograd.grad(out, (x, y), slope, retain_graph=True)

rounds(10)
before = faults()
rounds(ROUNDS)
print(faults() - before)
"""


@pytest.mark.beyond
@pytest.mark.skipif("LD_PRELOAD" in os.environ, reason="under a sanitizer nothing is kept")
def test_a_loop_at_its_own_peak_touches_no_new_pages(run_script):
    # The results of one round live while those of the next are made: then two blocks wait and all else is in use.
    assert int(run_script(LOOP.replace("ROUNDS", str(ROUNDS))).stdout) < ROUNDS


@pytest.mark.beyond
@pytest.mark.parametrize("operation", ["exp", "log", "sigmoid", "gelu", "pow"])
def test_non_temporal_stores_have_the_same_bits(torch, bits_at_any_thread_count, operation):
    # Note [Non-temporal stores]: 36 MB, and pieces that a cache holds. Odd: the last vectors are not whole.
    x = torch.linspace(0.1, 4, 9_000_007)
    functions = {"gelu": torch.nn.functional.gelu, "pow": lambda t: t**2.5}
    f = functions.get(operation, getattr(torch, operation, None))
    whole = bits_at_any_thread_count(lambda: f(x))
    parts = [f(x[start : start + 30_001]) for start in range(0, len(x), 30_001)]
    assert whole.tobytes() == numpy.concatenate([part.numpy() for part in parts]).tobytes()
    if operation not in functions:
        assert f(x, out=x).numpy().tobytes() == whole.tobytes()
