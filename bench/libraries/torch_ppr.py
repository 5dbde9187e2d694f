"""Personalized page ranks of a graph."""

import torch
from torch_ppr import page_rank, personalized_page_rank

from bench.drawn import integers


def main():
    edges = torch.cat([torch.stack([torch.arange(10), (torch.arange(10) + 1) % 10]), integers(10, 2, 20)], 1)
    return page_rank(edge_index=edges), personalized_page_rank(edge_index=edges, indices=[0, 3])
