"""Random numbers in halves and small integers: those of PyTorch's generator."""

import pytest

import clew

HALVES = ("float16", "bfloat16")
ALL = (*HALVES, "int8", "int16")
DRAWS = {
    "rand": (HALVES, lambda m, n, dtype: m.rand(n, dtype=dtype)),
    "randn": (HALVES, lambda m, n, dtype: m.randn(n, dtype=dtype)),
    "uniform_": (HALVES, lambda m, n, dtype: m.empty(n, dtype=dtype).uniform_(0.1, 0.7)),
    "normal_": (HALVES, lambda m, n, dtype: m.empty(n, dtype=dtype).normal_(1, 3)),
    "normal_ transposed": (HALVES, lambda m, n, dtype: m.empty(n, 3, dtype=dtype).t().normal_(1, 3)),
    "normal_ with gaps": (HALVES, lambda m, n, dtype: m.empty(n, 3, dtype=dtype)[:, 0].normal_()),
    "normal": (HALVES, lambda m, n, dtype: m.normal(m.zeros(n, dtype=dtype), m.ones(n, dtype=dtype))),
    "exponential_": (HALVES, lambda m, n, dtype: m.empty(n, dtype=dtype).exponential_(2)),
    "log_normal_": (HALVES, lambda m, n, dtype: m.empty(n, dtype=dtype).log_normal_()),
    "cauchy_": (HALVES, lambda m, n, dtype: m.empty(n, dtype=dtype).cauchy_()),
    "bernoulli_": (ALL, lambda m, n, dtype: m.empty(n, dtype=dtype).bernoulli_(0.3)),
    "bernoulli": (HALVES, lambda m, n, dtype: m.bernoulli(m.full((n,), 0.3, dtype=dtype))),
    "bernoulli_ by each": (ALL, lambda m, n, dtype: m.empty(n, dtype=dtype).bernoulli_(m.full((n,), 0.3))),
    "bernoulli_ by halves": (HALVES, lambda m, n, dtype: m.empty(n).bernoulli_(m.full((n,), 0.3, dtype=dtype))),
    "randint": (ALL, lambda m, n, dtype: m.randint(-100, 100, (n,), dtype=dtype)),
    "random_": (ALL, lambda m, n, dtype: m.empty(n, dtype=dtype).random_()),
    "random_ below": (ALL, lambda m, n, dtype: m.empty(n, dtype=dtype).random_(77)),
    "dropout": (HALVES, lambda m, n, dtype: m.nn.functional.dropout(m.ones(n, dtype=dtype), 0.3)),
    "poisson": (HALVES, lambda m, n, dtype: m.poisson(m.full((n,), 3.0, dtype=dtype))),
}


@pytest.mark.parametrize(("draw", "name"), [(draw, name) for draw, (names, _) in DRAWS.items() for name in names])
def test_they_are_pytorchs(draw, name, oracle):
    call = DRAWS[draw][1]
    for count in (1, 5, 15, 16, 17, 32, 33, 100, 1000):
        found = []
        for module in (clew, oracle):
            module.manual_seed(3)
            found.append(call(module, count, getattr(module, name)).tolist())
            found.append(module.rand(1).item())  # as many words were drawn
        assert found[:2] == found[2:], count


def test_what_float16_cannot_hold_is_not_drawn(oracle):
    for module in (clew, oracle):
        with pytest.raises(RuntimeError, match="to - 1 is out of bounds for"):
            module.empty(3, dtype=module.float16).random_(0, 1000000)
