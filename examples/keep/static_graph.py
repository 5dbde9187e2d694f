"""A question of 2017, run: a graph that is built once, new data in `a.data`, `y.forward()` and `y.backward()`.

    python examples/keep/static_graph.py

The loop is the question's, word for word but for `.cuda()`; what it lacked was a forward of a graph that is there.
"""

from __future__ import annotations

import clew as torch


def static_graph(rounds: int = 100) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns `a` after the loop, with the gradients of all rounds added up, and `y`."""
    a = torch.randn(2, 3, requires_grad=True)

    with torch.keep_graph():
        # a like a placeholder
        y = torch.sum(a)

    for _ in range(rounds):
        a.data = torch.randn(2, 3)  # Only modify its data
        y.forward()  # Call a forward over y (computed using pre-built graph)
        y.backward()  # Backward on built graph

    return a, y


def train(steps: int = 200) -> float:
    """A network whose whole training step is kept: `program.run()` makes one step. Returns the last loss."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    x = torch.empty(32, 2)
    target = torch.empty(32, 1)

    def step() -> torch.Tensor:
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), target)
        loss.backward()
        optimizer.step()
        return loss

    def load() -> None:
        x.uniform_(-1, 1)
        target.copy_((x[:, :1] * x[:, 1:]).sin())

    load()
    step()  # the first makes the optimizer's state, and is another program than the others
    with torch.keep_graph() as program:
        loss = step()
    program.name(x=x, target=target, loss=loss)
    for _ in range(steps):
        load()  # the next batch, into the tensors that the program reads
        program.run()
    return program["loss"].item()


if __name__ == "__main__":
    a, y = static_graph()
    print(f"y = {y.item():.4f}, the sum of a is {a.sum().item():.4f}; gradients of 100 rounds: {a.grad.tolist()}")
    print(f"loss after 200 kept steps: {train():.5f}")
