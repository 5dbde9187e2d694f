"""Encoders of atoms and bonds."""

import torch
from ogb.graphproppred.mol_encoder import AtomEncoder, BondEncoder
from ogb.utils.features import get_atom_feature_dims, get_bond_feature_dims

from bench.drawn import filled, integers, trained


def main():
    atoms = torch.stack([integers(size, 6) for size in get_atom_feature_dims()], 1)
    bonds = torch.stack([integers(size, 8) for size in get_bond_feature_dims()], 1)
    first, second = filled(AtomEncoder(8)), filled(BondEncoder(8))
    return trained(
        lambda: first(atoms).square().mean() + second(bonds).square().mean(),
        [*first.parameters(), *second.parameters()],
    )
