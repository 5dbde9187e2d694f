"""Digits and a small GPT, trained by all ranks and by one process with the whole batch; run by training.py."""

import sys
from pathlib import Path

import numpy
from common import clew, dist, rank, size

from clew import nn
from clew.nn import functional as F
from clew.nn.parallel import DistributedDataParallel as DDP

ROOT = Path(__file__).parents[3]
sys.path += [str(ROOT), str(ROOT / "examples")]
BATCH = 4 * 3  # whole numbers of samples on 1, 2, 3 and 4 ranks


def digits():
    """Batches of images and labels in a random order."""
    import digits as example

    images, _, labels, _ = example.load()
    order = numpy.random.default_rng(0).permutation(len(labels))[: 22 * 5 * BATCH].reshape(-1, 5 * BATCH)
    model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
    return model, F.cross_entropy, [(images[one], labels[one]) for one in order]


def gpt():
    """Batches of the README's bytes, each with the byte that follows."""
    from bench.workloads import gpt as workload

    text = numpy.frombuffer((ROOT / "README.md").read_bytes(), dtype=numpy.uint8).astype(numpy.int64)
    starts = numpy.random.default_rng(0).integers(0, len(text) - workload.TOKENS - 1, (8, BATCH))
    parts = text[starts[..., None] + numpy.arange(workload.TOKENS + 1)]

    def loss(scores, following):
        return F.cross_entropy(scores.reshape(-1, workload.WORDS), following.reshape(-1))

    batches = [(clew.tensor(part[:, :-1]), clew.tensor(part[:, 1:])) for part in parts]
    return workload.build(clew), loss, batches


def curve(make, shared):
    """The losses over the whole batch, step by step."""
    clew.manual_seed(0)
    model, loss_of, batches = make()
    model = DDP(model) if shared else model
    optimizer = clew.optim.AdamW(model.parameters(), lr=4e-3)
    losses = []
    for x, y in batches:
        if shared:
            x, y = (one.chunk(size)[rank] for one in (x, y))
        optimizer.zero_grad()
        loss = loss_of(model(x), y)
        loss.backward()
        optimizer.step()
        loss = loss.detach()
        if shared:
            dist.all_reduce(loss, dist.ReduceOp.AVG)
        losses.append(loss.item())
    return numpy.array(losses)


def check_losses_of_digits_and_of_a_small_gpt():
    for make in (digits, gpt):
        found, expected = curve(make, shared=True), curve(make, shared=False)
        assert numpy.allclose(found, expected, rtol=2e-5), (make.__name__, found, expected)
        assert expected[-1] < 0.95 * expected[0]
