"""Row 6.2: a product takes its bias from where it lies, and what follows is done block by block; the bits are eager's.

See Note [Products with their surroundings] in core/program/passes/fused_product.h.
"""

import numpy as np
import pytest

import clew

F = clew.nn.functional

pytestmark = [pytest.mark.records_calls, pytest.mark.unsanitized("sizes that take minutes here")]
BODIES = {
    "a bias alone": lambda x, w, b: F.linear(x, w, b),
    "relu": lambda x, w, b: F.relu(F.linear(x, w, b)),
    "in place": lambda x, w, b: F.linear(x, w, b).relu_(),
    "without a bias": lambda x, w, b: F.gelu(x @ w.T),
    "a chain": lambda x, w, b: 0.5 * F.linear(x, w, b) * (1.0 + F.linear(x, w, b).tanh()),
    "read before and after": lambda x, w, b: (h := F.linear(x, w, b)) * clew.sigmoid(h) + h,
    "also a result": lambda x, w, b: [h := F.linear(x, w, b), clew.tanh(h)],
    "added to": lambda x, w, b: (x.sum(1, keepdim=True) * b).add_(x @ w.T).mul_(2.0),
    "what the product reads is written": lambda x, w, b: (y := x * 1.0, h := y @ w[: x.shape[1]].T, y.mul_(h))[1:],
    "a number of the result": lambda x, w, b: (h := F.linear(x, w, b)) * h[0, 0],
    "another shape": lambda x, w, b: F.relu(F.linear(x, w, b).view(-1)),
    "two in a row": lambda x, w, b: F.relu(F.linear(F.relu(F.linear(x, w, b)), w.T @ w @ w.T, b)),
    "a dtype beside": lambda x, w, b: F.linear(x, w, b).double() * 2.0,
    "the row is written": lambda x, w, b: (c := b * 1.0, h := F.linear(x, w, c), c.mul_(2.0), F.relu(h))[1:],
    "addmm": lambda x, w, b: F.relu(clew.addmm(b, x, w.T, beta=0.5, alpha=2.0)),
}


def bits(results):
    results = results if isinstance(results, (list, tuple)) else [results]
    return [one.detach().numpy().tobytes() for one in results]


def arguments(seed, sizes, dtype):
    rows, terms, columns = sizes
    rng = np.random.default_rng(seed)
    drawn = [rng.standard_normal(shape).astype(dtype) for shape in [(rows, terms), (columns, terms), (columns,)]]
    return [clew.from_numpy(one) for one in drawn]


# One block of each; several blocks of rows, columns and terms; loops over thin and over small operands.
SIZES = [(1100, 64, 260), (500, 300, 600), (27_000, 128, 10), (9_000, 3, 40)]


@pytest.mark.parametrize("body", BODIES)
def test_products(body):
    function = BODIES[body]
    for index, sizes in enumerate(SIZES):
        if body in ("what the product reads is written", "two in a row"):
            sizes = (sizes[0], min(sizes[1:]), min(sizes[1:]))
        dtype = ["float32", "float64"][index % 2]
        compiled = clew.compile(function, code=False)
        for seed in range(4):
            given = arguments(seed, sizes, dtype)
            assert bits(compiled(*given)) == bits(function(*given)), sizes
        assert compiled.hits == 3


@pytest.mark.parametrize("threads", [1, 2])
def test_training(threads):
    """Forward, backward, optimizer: products of all kinds with relu and its derivative behind them."""

    def made():
        clew.manual_seed(0)
        model = clew.nn.Sequential(clew.nn.Linear(100, 300), clew.nn.ReLU(), clew.nn.Linear(300, 200), clew.nn.Tanh())
        return model, clew.optim.SGD(model.parameters(), lr=0.1)

    def step_of(model, optimizer):
        def step(x, y):
            optimizer.zero_grad()
            loss = F.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            return loss.detach()

        return step

    before = clew.get_num_threads()
    clew.set_num_threads(threads)
    try:
        (one, optimizer), (other, same) = made(), made()
        compiled, plain = clew.compile(step_of(one, optimizer)), step_of(other, same)
        for seed in range(6):
            rng = np.random.default_rng(seed)
            x, y = (clew.from_numpy(rng.standard_normal((1400, n)).astype("float32")) for n in (100, 200))
            assert bits(compiled(x, y)) == bits(plain(x, y))
            assert bits(list(one.parameters())) == bits(list(other.parameters()))
        assert compiled.hits >= 4
    finally:
        clew.set_num_threads(before)


def test_the_result_has_no_memory_of_its_own():
    x, w, b = arguments(0, (2000, 100, 500), "float32")
    with clew.no_grad(), clew.keep_graph() as program:
        y = F.relu(F.linear(x, w, b))
    for _ in range(2):
        program.run()
    clew.memory.reset_peak()
    before = clew.memory.stats().live
    program.run()
    assert clew.memory.stats().peak - before < 1.5 * y.numel() * 4
    assert bits(y) == bits(F.relu(F.linear(x, w, b)))


def test_a_matrix_that_several_products_turn_is_turned_once():
    """Note [Matrices turned once]: paths of a sampler multiply by the same features again and again."""

    def path(x, q, p):
        for _ in range(5):
            q = q + 0.1 * p
            p = p - 0.1 * (x.T @ clew.sigmoid(x @ q))
        return q, p, x[:20] @ q, x.T.contiguous().T @ p

    for rows, columns, dtype in [(100, 8, "float32"), (17, 3, "float64"), (64, 64, "float32"), (65, 63, "float64")]:
        compiled = clew.compile(path)
        for seed in range(4):
            rng = np.random.default_rng(seed)
            x, q, p = (
                clew.from_numpy(rng.standard_normal(n).astype(dtype)) for n in ((rows, columns), columns, columns)
            )
            assert bits(compiled(x, q, p)) == bits(path(x, q, p)), (rows, columns)
        assert compiled.hits == 3


def test_a_matrix_that_is_written_is_turned_each_time():
    def function(x, q):
        first = x @ q
        x.mul_(2.0)
        return first, x @ q, x @ (q + first[0])

    compiled = clew.compile(function)
    for seed in range(4):
        x, q = arguments(seed, (40, 8, 1), "float32")[:2]
        other = x.clone()
        assert bits(compiled(x, q[0])) == bits(function(other, q[0]))
        assert bits(x) == bits(other)
