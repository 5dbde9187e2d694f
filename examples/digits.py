"""Handwritten digits: a small network learns scikit-learn's 8x8 images to more than 97 % of unseen ones.

    python examples/digits.py                 # five seeds, a few seconds each
    clew xray examples/digits.py --seeds 1    # the same, and what its graph saved and freed

A quarter of the 1797 images, the same for every seed and with as many of each digit as in the whole, is kept for the
test.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import clew as torch
from clew import Tensor, nn
from clew.nn import functional as F

BATCH = 64


def load() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Training images, test images (float32, 64 pixels from 0 to 1), training labels, test labels (int64)."""
    images, labels = load_digits(return_X_y=True)
    parts = train_test_split(
        (images / 16).astype(np.float32), labels.astype(np.int64), test_size=0.25, stratify=labels, random_state=0
    )
    train_images, test_images, train_labels, test_labels = (torch.from_numpy(part) for part in parts)
    return train_images, test_images, train_labels, test_labels


def build(hidden: int) -> nn.Module:
    """64 pixels, one hidden layer, ten classes."""
    return nn.Sequential(nn.Linear(64, hidden), nn.ReLU(), nn.Dropout(0.2), nn.Linear(hidden, 10))


def train_step(model: nn.Module, optimizer: torch.optim.Optimizer, images: Tensor, labels: Tensor) -> Tensor:
    """One step; returns the loss."""
    optimizer.zero_grad()
    loss = F.cross_entropy(model(images), labels)
    loss.backward()
    optimizer.step()
    return loss


def accuracy(model: nn.Module, images: Tensor, labels: Tensor) -> float:
    """The share of the images that the model names correctly."""
    model.eval()
    with torch.no_grad():
        correct = (model(images).argmax(dim=1) == labels).sum().item()
    model.train()
    return float(correct / len(labels))


def train(seed: int, epochs: int, hidden: int, lr: float, tick: Callable[[str], None]) -> float:
    """Train one network; returns its accuracy on the test images. ``tick`` is told how each epoch ended."""
    train_images, test_images, train_labels, test_labels = load()
    torch.manual_seed(seed)
    model = build(hidden)
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    for _ in range(epochs):
        total = 0.0
        whole = len(train_images) // BATCH  # the rest of an epoch is no batch of its own, but part of a later epoch's
        for batch in torch.randperm(len(train_images))[: whole * BATCH].split(BATCH):
            total += train_step(model, optimizer, train_images[batch], train_labels[batch]).item()
        tick(f"seed {seed}  loss {total / whole:.4f}")
    return accuracy(model, test_images, test_labels)


def main() -> None:
    parser = argparse.ArgumentParser(description="Train an MLP on scikit-learn's digits.")
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--seeds", type=int, default=5, help="how many networks, from seed 0 on")
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--lr", type=float, default=3e-3)
    options = parser.parse_args()

    with Progress(options.seeds * options.epochs) as progress:
        reached = [
            train(seed, options.epochs, options.hidden, options.lr, progress.tick) for seed in range(options.seeds)
        ]
    for seed, share in enumerate(reached):
        print(f"seed {seed}: {100 * share:.2f} % of the test images")
    print(f"mean of {len(reached)}: {100 * sum(reached) / len(reached):.2f} %")


class Progress:
    """A progress bar where someone looks and rich is installed; else one line for every tenth epoch."""

    def __init__(self, total: int) -> None:
        self._total, self._done = total, 0
        self._bar = None
        if sys.stderr.isatty():
            try:
                from rich.console import Console
                from rich.progress import Progress as Bar
            except ImportError:
                return
            self._bar = Bar(console=Console(stderr=True))
            self._task = self._bar.add_task("training", total=total)

    def __enter__(self) -> Progress:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def tick(self, text: str) -> None:
        self._done += 1
        if self._bar is not None:
            self._bar.update(self._task, advance=1, description=text)
        elif self._done % 10 == 0:
            print(f"{self._done:4} of {self._total} epochs  {text}", file=sys.stderr)


if __name__ == "__main__":
    main()
