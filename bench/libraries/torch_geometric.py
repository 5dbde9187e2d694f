"""Graph convolutions, attention and pooling on batches of random graphs."""

import torch
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GATConv, GCNConv, GINConv, SAGEConv, global_mean_pool

from bench.drawn import filled, integers, normal, perceptron, trained


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(
            [GCNConv(4, 8), SAGEConv(8, 8), GATConv(8, 4, heads=2), GINConv(perceptron(8, 8))]
        )
        self.last = torch.nn.Linear(8, 2)

    def forward(self, data):
        x = data.x
        for layer in self.layers:
            x = layer(x, data.edge_index).tanh()
        return self.last(global_mean_pool(x, data.batch))


def main():
    batch = Batch.from_data_list([Data(x=normal(6, 4), edge_index=integers(6, 2, 14)) for _ in range(4)])
    model, classes = filled(Network()), integers(2, 4)
    losses = trained(lambda: torch.nn.functional.cross_entropy(model(batch), classes), model)
    return losses, model(batch)
