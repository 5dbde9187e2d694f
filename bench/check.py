"""What ``clew run --check`` costs: programs under PyTorch, under clew, and under clew with each operation compared.

python bench/check.py              all of them, as a table
python bench/check.py -k gru       some

Processor time of a step; imports do not count. All have one thread. The two processes of --check run side by side: with
a core for each, a run takes the time of the slower one, which is given in times of PyTorch's and clew's together.
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
import os, time, torch
import torch.nn.functional as F
torch.manual_seed(0)
{model}
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
def steps(count):
    for _ in range(count):
        optimizer.zero_grad()
        loss = loss_of(net)
        loss.backward()
        optimizer.step()
def spent():
    theirs = 0.0
    for pid in open(f"/proc/self/task/{{os.getpid()}}/children").read().split():  # that of PyTorch, under --check
        fields = open(f"/proc/{{pid}}/stat").read().rpartition(")")[2].split()
        theirs += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return time.process_time(), theirs
steps({count} // 5)
start = spent()
steps({count})
print(*(end - begin for begin, end in zip(start, spent())))
"""
PROGRAMS = {
    "MLP on digits": (
        400,
        """
x, y = torch.rand(128, 64), torch.randint(0, 10, (128,))
net = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
loss_of = lambda net: F.cross_entropy(net(x), y)
""",
    ),
    "transformer": (
        30,
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
        60,
        """
x = torch.randn(16, 30, 32)
net = torch.nn.GRU(32, 64, batch_first=True)
loss_of = lambda net: net(x)[0].square().mean()
""",
    ),
}


def milliseconds(model: str, count: int, *command: str) -> list[float]:
    """Of processor time for one step: of the program's process, and of PyTorch's under --check."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "program.py"
        path.write_text(_LOOP.format(model=model, count=count))
        environment = os.environ | {
            "PYTHONPATH": str(ROOT / "src"),
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        }
        ran = subprocess.run(
            [sys.executable, *command, str(path)], stdout=subprocess.PIPE, env=environment, check=True, text=True
        )
    return [1e3 * float(text) / count for text in ran.stdout.split()]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-k", metavar="NAME", default="", help="only programs with this in their name")
    wanted = parser.parse_args().k.lower()
    run = ("-m", "clew", "run", "--as-torch")
    print(
        "| program | PyTorch | clew | --check, the script | --check, PyTorch | the slower of both |\n"
        "|---|---|---|---|---|---|"
    )
    for name, (steps, model) in PROGRAMS.items():
        if wanted not in name.lower():
            continue
        torch, ours, checked = (milliseconds(model, steps, *how) for how in ((), run, (*run, "--check")))
        times = [f"{one:.2f} ms" for one in (torch[0], ours[0], *checked)]
        print(f"| {name} | {' | '.join(times)} | {max(checked) / (torch[0] + ours[0]):.1f} times |", flush=True)


if __name__ == "__main__":
    main()
