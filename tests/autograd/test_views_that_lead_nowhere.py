"""A view made under no_grad requires a gradient as its base does, and leads nowhere: what is computed of it has a graph
that gives nobody a gradient."""

from typing import Any

import pytest

COMPUTED = {
    "index": lambda m, x: x[m.arange(3)],
    "index_put": lambda m, x: x.index_put((m.arange(3),), m.ones(4)),
    "unbind": lambda m, x: x.unbind(0)[1],
    "split": lambda m, x: x.split(2)[0],
    "split_with_sizes": lambda m, x: x.split([1, 2])[1],
    "stack": lambda m, x: m.stack([x, x]),
    "product": lambda m, x: x @ x.t(),
    "gather": lambda m, x: x.gather(1, m.zeros(3, 1, dtype=m.int64)),
    "softmax": lambda m, x: x.softmax(1),
    "layer_norm": lambda m, x: m.nn.functional.layer_norm(x, (4,)),
    "batch_norm": lambda m, x: m.nn.functional.batch_norm(x, None, None, training=True),
    "attention": lambda m, x: m.nn.functional.scaled_dot_product_attention(x[None], x[None], x[None]),
    "convolution": lambda m, x: m.nn.functional.conv1d(x[None], m.ones(2, 3, 2)),
}


@pytest.mark.parametrize("name", COMPUTED)
def test_a_backward_passes_by(name: str, torch: Any, oracle: Any) -> None:
    def run(m: Any) -> list[Any]:
        leaf = m.arange(12.0).reshape(3, 4).requires_grad_()
        doubled = leaf * 2
        with m.no_grad():
            x = doubled[...]
        y = COMPUTED[name](m, x)
        y.sum().backward()
        return [x.requires_grad, x.is_leaf, y.requires_grad, leaf.grad, x.grad]

    assert str(run(torch)) == str(run(oracle))
