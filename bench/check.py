"""What ``clew run --check`` costs: programs under PyTorch, under clew, and under clew with each operation compared.

python bench/check.py              all of them, as a table
python bench/check.py -k gru       some

Each program prints the seconds of its steps, so that imports do not count: the least of five. All have one thread.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
_LOOP = """
torch.manual_seed(0)
{model}
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
def step():
    optimizer.zero_grad()
    loss = loss_of(net)
    loss.backward()
    optimizer.step()
for _ in range(3):
    step()
best = float("inf")
for _ in range(5):
    start = time.perf_counter()
    for _ in range({steps}):
        step()
    best = min(best, time.perf_counter() - start)
print(best)
"""
PROGRAMS = {
    "MLP on digits": (
        50,
        """
x, y = torch.rand(128, 64), torch.randint(0, 10, (128,))
net = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
loss_of = lambda net: F.cross_entropy(net(x), y)
""",
    ),
    "transformer": (
        10,
        """
tokens = torch.randint(0, 100, (16, 32))
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(100, 128)
        layer = torch.nn.TransformerEncoderLayer(128, 4, 256, dropout=0.0, batch_first=True)
        self.blocks = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = torch.nn.Linear(128, 100)
    def forward(self, x):
        return self.head(self.blocks(self.embed(x)))
net = Net()
loss_of = lambda net: F.cross_entropy(net(tokens).flatten(0, 1), tokens.flatten())
""",
    ),
    "GRU": (
        20,
        """
x = torch.randn(16, 30, 32)
net = torch.nn.GRU(32, 64, batch_first=True)
loss_of = lambda net: net(x)[0].square().mean()
""",
    ),
}


def seconds(source: str, *command: str) -> float:
    """What the program prints."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "program.py"
        path.write_text("import time, torch\nimport torch.nn.functional as F\n" + source)
        environment = os.environ | {
            "PYTHONPATH": str(ROOT / "src"),
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        }
        ran = subprocess.run(
            [sys.executable, *command, str(path)], capture_output=True, text=True, env=environment, check=False
        )
    if ran.returncode:
        raise SystemExit(ran.stderr)
    return float(ran.stdout)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-k", metavar="NAME", default="", help="only programs with this in their name")
    wanted = parser.parse_args().k.lower()
    run = ("-m", "clew", "run", "--as-torch")
    print("| program | PyTorch | clew | --check | of both together |\n|---|---|---|---|---|")
    for name, (steps, model) in PROGRAMS.items():
        if wanted not in name.lower():
            continue
        source = _LOOP.format(model=model, steps=steps)
        torch, ours, checked = (seconds(source, *how) for how in ((), run, (*run, "--check")))
        times = [f"{1e3 * one / steps:.2f} ms" for one in (torch, ours, checked)]
        print(f"| {name} | {' | '.join(times)} | {checked / (torch + ours):.1f} times |", flush=True)


if __name__ == "__main__":
    main()
