"""A graph that is kept and run again."""

import clew

x, w = clew.ones(3), clew.ones(3, requires_grad=True)
with clew.keep_graph() as program:
    y = (x * w).sum()
x.copy_(clew.full((3,), 2.0))
program.run()
print(y.item())


def step(data: clew.Tensor) -> clew.Tensor:
    return (data * w).sum()


fast = clew.compile(step)
print(fast(x).item())
