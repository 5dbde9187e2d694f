"""Equivariant graph networks on points."""

from egnn_pytorch import EGNN, EGNN_Network

from bench.drawn import filled, integers, normal, trained


def main():
    layer, features, places = filled(EGNN(dim=8, num_nearest_neighbors=3)), normal(2, 6, 8), normal(2, 6, 3)
    network = filled(EGNN_Network(num_tokens=5, num_positions=6, dim=8, depth=2, num_nearest_neighbors=3))
    tokens = integers(5, 2, 6)
    return layer(features, places), trained(lambda: network(tokens, places)[1].square().mean(), network, steps=3)
