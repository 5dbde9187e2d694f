"""What the growth watch and `clew xray` cost where a step takes microseconds: CPU time of whole processes, in turns.

python bench/looking.py [--steps N] [--rounds N]
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile

_SOURCE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "src")

# The workload "tiny MLP step, SGD".
_SCRIPT = """
import contextlib
import sys
import clew
from clew import nn
model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = clew.optim.SGD(model.parameters(), lr=0.01)
x, y = clew.randn(8, 4), clew.randn(8, 1)
with clew.graph.watch() if "watch" in sys.argv else contextlib.nullcontext():
    for _ in range(int(sys.argv[1])):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
"""


def cpu_seconds(command: list[str]) -> float:
    """What a process takes, its own and the system's for it."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    path = os.pathsep.join(filter(None, [_SOURCE, os.environ.get("PYTHONPATH")]))
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": path})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--steps", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        script = os.path.join(folder, "tiny.py")
        with open(script, "w") as file:
            file.write(_SCRIPT)
        steps = str(options.steps)
        commands = {
            "plain": [sys.executable, script, steps],
            "growth watch": [sys.executable, script, steps, "watch"],
            "clew xray": [sys.executable, "-m", "clew.cli", "xray", script, steps],
        }
        taken: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(options.rounds):
            for name, command in commands.items():
                taken[name].append(cpu_seconds(command))
    best = {name: min(seconds) for name, seconds in taken.items()}
    for name, seconds in best.items():
        more = (seconds - best["plain"]) / options.steps * 1e6
        ratio = seconds / best["plain"]
        print(f"{name:13} {seconds:.3f} s for {options.steps:,} steps, {more:+.2f} µs each, ratio {ratio:.2f}")


if __name__ == "__main__":
    main()
