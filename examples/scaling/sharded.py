"""A training step of clew's under `jax.jit`, its batch shared out over devices: here four that are parts of the CPU.

    python examples/scaling/sharded.py      # needs jax; a few seconds

The step, recorded once with its backward and its optimizer, becomes a function for JAX. Its batch lies in parts on the
devices, its parameters and the optimizer's state on each of them; from that XLA finds out who computes what and where
sums go over devices. On GPUs or TPUs the same lines run as they are, without the line that sets XLA_FLAGS.
"""

from __future__ import annotations

import os

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=4")  # before JAX begins

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import clew as torch
from clew import nn

BATCH, STEPS = 64, 8


def batches() -> list[tuple[np.ndarray, np.ndarray]]:
    """Points of the plane, and in which of three parts of it they lie."""
    random = np.random.default_rng(0)
    points = random.standard_normal((STEPS + 2, BATCH, 2)).astype(np.float32)
    return [(x, ((np.arctan2(x[:, 0], x[:, 1]) + 3.15) // 2.1).astype(np.int64)) for x in points]


def recorded(first: list[tuple[np.ndarray, np.ndarray]]) -> torch.keep.Program:
    """A step of AdamW, whose inputs and state are named. The first is made outside: it makes the state."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 3))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)

    def step(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    (x, y), (x2, y2) = [[torch.tensor(part) for part in pair] for pair in first]
    step(x, y)
    optimizer.zero_grad()
    with torch.keep_graph() as program:
        loss = step(x2, y2)
    program.name(x=x2, y=y2, loss=loss)
    for number, (parameter, state) in enumerate(optimizer.state.items()):
        program.name(**{f"p{number}": parameter}, **{f"p{number}_{name}": one for name, one in state.items()})
    return program


def curve_by_clew(program: torch.keep.Program, data: list[tuple[np.ndarray, np.ndarray]]) -> list[float]:
    """Losses of one process."""
    losses = []
    for x, y in data:
        program["x"].copy_(torch.from_numpy(x))
        program["y"].copy_(torch.from_numpy(y))
        program.run()
        losses.append(program["loss"].item())
    return losses


def curve_by_jax(program: torch.keep.Program, data: list[tuple[np.ndarray, np.ndarray]]) -> list[float]:
    """Losses of all devices together."""
    mesh = Mesh(np.array(jax.devices()), ("data",))
    on_each, in_parts = NamedSharding(mesh, PartitionSpec()), NamedSharding(mesh, PartitionSpec("data"))
    names = [name for name in program._names if name not in ("x", "y", "loss")]
    state = {name: jax.device_put(program[name].detach().numpy().copy(), on_each) for name in names}
    step = jax.jit(program.to_jax())
    losses = []
    for x, y in data:
        result = step(state | {"x": jax.device_put(x, in_parts), "y": jax.device_put(y, in_parts)})
        losses.append(float(result["loss"]))
        state = {name: result[name] for name in names}
    devices = {shard.device for shard in jax.device_put(data[0][0], in_parts).addressable_shards}
    print(f"{len(devices)} devices, {BATCH // len(devices)} of {BATCH} samples on each")
    return losses


def main() -> None:
    data = batches()
    program = recorded(data[:2])
    by_jax = curve_by_jax(program, data[2:])
    by_clew = curve_by_clew(program, data[2:])
    for one, other in zip(by_jax, by_clew, strict=True):
        print(f"loss {one:.6f} on the devices, {other:.6f} in one process")


if __name__ == "__main__":
    main()
