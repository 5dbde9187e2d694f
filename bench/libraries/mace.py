"""MACE: energies and forces of atoms, equivariant messages."""

import ase
import numpy as np
import torch
from e3nn import o3
from mace import data, modules
from mace.tools import AtomicNumberTable, torch_geometric

from bench.drawn import array, filled


def main():
    torch.set_default_dtype(torch.float32)
    table = AtomicNumberTable([1, 8])
    atoms = ase.Atoms(
        "OHHOHH",
        positions=np.array([[0, 0, 0], [0, 0.8, 0.6], [0, -0.8, 0.6], [3, 0, 0], [3, 0.8, 0.6], [3, -0.8, 0.6]])
        + 0.05 * array(6, 3),
    )
    sizes = {
        "r_max": 4.0,
        "num_bessel": 4,
        "num_polynomial_cutoff": 5,
        "max_ell": 2,
        "num_interactions": 2,
        "num_elements": 2,
    }
    blocks = {
        "interaction_cls": modules.RealAgnosticInteractionBlock,
        "interaction_cls_first": modules.RealAgnosticInteractionBlock,
    }
    more = {
        "hidden_irreps": o3.Irreps("8x0e + 8x1o"),
        "MLP_irreps": o3.Irreps("8x0e"),
        "atomic_energies": np.zeros(2),
        "avg_num_neighbors": 4,
        "correlation": 2,
        "gate": torch.tanh,
    }
    model = filled(modules.MACE(**sizes, **blocks, **more, atomic_numbers=table.zs))
    batch = torch_geometric.Batch.from_data_list(
        [data.AtomicData.from_config(data.config_from_atoms(atoms), z_table=table, cutoff=4.0)]
    )
    found = model(batch.to_dict(), training=True)
    return found["energy"], found["forces"]
