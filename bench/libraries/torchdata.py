"""Nodes that load data, with a state that resumes."""

import torch
from torchdata.nodes import Batcher, IterableWrapper, Loader, Mapper
from torchdata.stateful_dataloader import StatefulDataLoader

from bench.drawn import normal


def main():
    points = normal(12, 3)
    loader = Loader(Batcher(Mapper(IterableWrapper(range(12)), lambda i: points[i]), batch_size=4))
    found = [torch.stack(batch) for batch in loader]
    stateful = StatefulDataLoader(torch.utils.data.TensorDataset(points), batch_size=3)
    iterator = iter(stateful)
    next(iterator)
    state = stateful.state_dict()
    again = StatefulDataLoader(torch.utils.data.TensorDataset(points), batch_size=3)
    again.load_state_dict(state)
    return found, [batch[0] for batch in again]
