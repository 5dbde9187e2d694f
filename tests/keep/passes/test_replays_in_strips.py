"""Row 6.2: elementwise calls over long arrays run strip by strip in a replay; the bits are eager's.

Programs are drawn: chains over arrays of an odd length, with views at other places, writes in place, sums between, and
values that are not finite. See Note [Strips of captured calls] in core/kernels/memory/strips.h.
"""

import random

import numpy as np
import pytest

import clew

LENGTH = 20_011  # more than a strip of 2048, and no multiple of one
UNARY = ["neg", "abs", "sqrt", "tanh", "exp", "relu", "square", "sigmoid", "reciprocal", "sign", "floor", "sin"]
BINARY = ["add", "sub", "mul", "div", "maximum", "minimum"]
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-42, 3e38]


def values(seed, dtype, length=LENGTH):
    rng = np.random.default_rng(seed)
    drawn = rng.standard_normal(length + 1).astype(dtype)
    drawn[rng.integers(0, length, 50)] = rng.choice(SPECIAL, 50)
    return clew.from_numpy(drawn[1:] if seed % 2 else drawn[:-1].copy())


def statements(seed):
    """A program as a list of steps: (what, operation, operands...)."""
    draw = random.Random(seed)
    steps, known = [], 2
    for _ in range(draw.randint(6, 30)):
        kind = draw.random()
        if kind < 0.3:
            steps.append(("unary", draw.choice(UNARY), draw.randrange(known)))
        elif kind < 0.65:
            steps.append(("binary", draw.choice(BINARY), draw.randrange(known), draw.randrange(known)))
        elif kind < 0.72:
            steps.append(("number", draw.choice(BINARY[:4]), draw.randrange(known), draw.choice([0.5, -3.0, 0.1])))
        elif kind < 0.78:
            steps.append(("where", "", draw.randrange(known), draw.randrange(known)))
        elif kind < 0.84:
            steps.append(("shifted", "", draw.randrange(known), draw.randrange(known)))
        elif kind < 0.9:
            steps.append(("in place", draw.choice(BINARY), draw.randrange(known), draw.randrange(known)))
            continue
        elif kind < 0.95:
            steps.append(("part in place", draw.choice(BINARY), draw.randrange(known), draw.randrange(known)))
            continue
        else:
            steps.append(("sum", "", draw.randrange(known), draw.randrange(known)))
        known += 1
    return steps


def run(steps, *inputs):
    made = [one * 1.0 for one in inputs]  # steps write in place
    for kind, operation, *operands in steps:
        one = made[operands[0]]
        other = made[operands[1]] if len(operands) > 1 and kind != "number" else None
        if kind == "unary":
            made.append(getattr(clew, operation)(one))
        elif kind == "binary":
            made.append(getattr(clew, operation)(one, other))
        elif kind == "number":
            made.append(getattr(clew, operation)(one, operands[1]))
        elif kind == "where":
            made.append(clew.where(one > other, one, other * 2.0))
        elif kind == "shifted":  # element i and element i + 1, which may be in another strip
            moved = clew.zeros_like(one)
            moved[1:] += other[:-1]
            made.append(moved)
        elif kind == "in place":
            getattr(one, {"maximum": "mul", "minimum": "add"}.get(operation, operation) + "_")(other)
        elif kind == "part in place":
            getattr(one[5:], {"maximum": "mul", "minimum": "add"}.get(operation, operation) + "_")(other[:-5])
        else:
            made.append(one * other.sum())
    return made[2:]


def bits(results):
    return [one.detach().numpy().tobytes() for one in results]


def pick(results, seed):
    """Some of the results; the others may have no more memory than a strip."""
    draw = random.Random(seed)
    return [results[draw.randrange(len(results))], results[-1]]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_drawn_programs(dtype, threads):
    before = clew.get_num_threads()
    clew.set_num_threads(threads)
    try:
        for program in range(30):
            check(program, dtype)
    finally:
        clew.set_num_threads(before)


def check(seed, dtype):
    steps = statements(seed)
    inputs = [values(0, dtype), values(1, dtype)]
    with clew.keep_graph() as program:
        kept = pick(run(steps, *inputs), seed)
    for place in range(1, 5):
        news = [values(2 * place, dtype), values(2 * place + 1, dtype)]
        for one, new in zip(inputs, news, strict=True):
            one.copy_(new)
        program.run()
        assert bits(kept) == bits(pick(run(steps, *news), seed)), steps


def gelu(x):
    return 0.5 * x * (1.0 + clew.tanh(0.79788456 * (x + 0.044715 * x**3)))


def of_a_chain(x):
    out = gelu(x)
    (gradient,) = clew.autograd.grad(out.sum(), x)
    return out.detach(), gradient


def test_a_chain_and_its_gradient():
    x = clew.randn(100_003).requires_grad_()
    with clew.keep_graph() as program:
        kept = of_a_chain(x)
    for _ in range(4):
        new = clew.randn(100_003)
        x.data.copy_(new)
        program.run()
        assert bits(kept) == bits(of_a_chain(new.requires_grad_()))


def test_what_is_between_has_the_memory_of_strips():
    x = clew.randn(1_000_000)
    with clew.no_grad(), clew.keep_graph() as program:
        y = gelu(x)
    program.run()
    clew.memory.reset_peak()
    before = clew.memory.stats().live
    program.run()
    assert clew.memory.stats().peak - before < 1.5 * y.numel() * 4  # the result, and no second array
    np.testing.assert_array_equal(y.numpy(), gelu(x).numpy())


@pytest.mark.records_calls
@pytest.mark.parametrize("ahead", [0, 1])
def test_arguments_that_overlap_later(ahead):
    """Two storages, as far as clew knows, on one memory; eager runs one call after the other."""
    length = 40_000

    def write(a, b):
        c = b * 2.0
        a.add_(1.0)
        return c + a, b * 3.0

    def arguments(seed, apart):
        memory = np.random.default_rng(seed).standard_normal(2 * length + 1).astype(np.float32)
        starts = [ahead, ahead + length] if apart else [ahead, 1 - ahead]
        return memory, [clew.from_numpy(memory[start : start + length]) for start in starts]

    compiled = clew.compile(write)
    for seed in range(8):
        memory, given = arguments(seed, seed < 4)
        other, same = arguments(seed, seed < 4)
        assert bits(compiled(*given)) == bits(write(*same))
        assert memory.tobytes() == other.tobytes()
