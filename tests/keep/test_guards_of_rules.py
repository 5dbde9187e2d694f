"""6.5: the rules of products go different ways where there are zeros; a replay takes the way of its own values."""

import pytest

import clew

pytestmark = pytest.mark.beyond

FUNCTIONS = {
    "prod": lambda w: w.prod(),
    "prod of an axis": lambda w: w.prod(0),
    "cumprod": lambda w: w.cumprod(0).sum(),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_gradient_of_products_runs_again_on_other_values(name, oracle):
    function = FUNCTIONS[name]
    w = clew.tensor([1.0, 2.0, 3.0], requires_grad=True)
    with clew.keep_graph() as program:
        function(w).backward()
    for values in ([1.0, 2.0, 4.0], [5.0, -2.0, 0.5], [0.0, 2.0, 3.0], [0.0, 0.0, 3.0]):
        w.data, w.grad = clew.tensor(values), None
        program.run()
        same = oracle.tensor(values, requires_grad=True)
        function(same).backward()
        assert w.grad.tolist() == pytest.approx(same.grad.tolist())


@pytest.mark.parametrize("name", FUNCTIONS)
def test_both_ways_are_one_variant(name):
    function = FUNCTIONS[name]
    compiled = clew.compile(lambda w: clew.autograd.grad(function(w), w)[0])
    for values in ([1.0, 2.0, 3.0], [0.0, 2.0, 3.0], [4.0, 2.0, 3.0], [1.0, 0.0, 5.0]):
        w = clew.tensor(values, requires_grad=True)
        assert compiled(w).tolist() == clew.autograd.grad(function(w), w)[0].tolist()
    assert (compiled.hits, compiled.misses) == (3, 1)
