"""A network is trained in Python, shipped as C, and trained on there, when what it sees has changed.

    python examples/keep/shipped.py     # needs scikit-learn, make and a C compiler

The camera was built in lying on its side: the network that knew 97 % of the digits knows few of those it sees. On the
device there is no Python; `program.to_c` has taken along the backward and the optimizer, so shipped.c trains it on.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

import clew as torch
from clew import nn
from clew.nn import functional as F

BATCH = 64


def data() -> tuple[np.ndarray, np.ndarray]:
    """Images, 64 pixels from 0 to 1, and labels, in a random order."""
    images, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(images))
    return (images[order] / 16).astype(np.float32), labels[order].astype(np.int64)


def rotated(images: np.ndarray) -> np.ndarray:
    """By 90 degrees."""
    return np.rot90(images.reshape(-1, 8, 8), axes=(1, 2)).reshape(-1, 64)


def trained(images: np.ndarray, labels: np.ndarray, steps: int = 400) -> torch.keep.Program:
    """A training step as a program, with the weights after as many; images, labels and scores have names."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    x, y = torch.empty(BATCH, 64), torch.empty(BATCH, dtype=torch.int64)

    def load(step: int) -> None:
        chosen = np.arange(step * BATCH, (step + 1) * BATCH) % len(images)
        x.copy_(torch.from_numpy(images[chosen])), y.copy_(torch.from_numpy(labels[chosen]))

    def step() -> torch.Tensor:
        optimizer.zero_grad()
        scores = model(x)
        F.cross_entropy(scores, y).backward()
        optimizer.step()
        return scores

    load(0)
    step()  # the first makes the optimizer's state
    with torch.keep_graph() as program:
        scores = step()
    program.name(images=x, labels=y, scores=scores)
    for i in range(1, steps):
        load(i)
        program.run()
    return program


def ship(program: torch.keep.Program, folder: Path) -> None:
    """Write it as C, with the device's own main, and compile."""
    print(program.to_c(folder))
    shutil.copy(Path(__file__).with_name("shipped.c"), folder / "main.c")
    subprocess.run(["make", "main"], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def train_on(folder: Path, images: np.ndarray, labels: np.ndarray, steps: int) -> tuple[float, float]:
    """On the device. Returns the accuracy on images for the test before and after."""
    images.tofile(folder / "images")
    labels.tofile(folder / "labels")
    command = ["./main", "images", "labels", str(len(images)), str(steps)]
    said = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout
    before, after = (float(number) for number in re.findall(r": ([0-9.]+)", said))
    return before, after


def main(steps: int = 800) -> tuple[float, float, float]:
    images, labels = data()
    test = len(images) // 4
    program = trained(images[test:], labels[test:])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ship(program, folder)
        known, _ = train_on(folder, images, labels, 0)
        before, after = train_on(folder, rotated(images), labels, steps)
    print(
        f"accuracy on the device: {known:.1%} as shipped, {before:.1%} of rotated images, {after:.1%} after training on"
    )
    return known, before, after


if __name__ == "__main__":
    main()
