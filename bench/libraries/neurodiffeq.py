"""An ordinary differential equation solved by a network."""

import torch
from neurodiffeq import diff
from neurodiffeq.conditions import IVP
from neurodiffeq.networks import FCNN
from neurodiffeq.solvers import Solver1D

from bench.drawn import filled


def main():
    network = filled(FCNN(n_input_units=1, n_output_units=1, hidden_units=(8, 8)))
    conditions, settings = (
        [IVP(t_0=0.0, u_0=1.0)],
        {"t_min": 0.0, "t_max": 1.0, "nets": [network], "n_batches_valid": 0},
    )
    solver = Solver1D(lambda u, t: [diff(u, t) + u], conditions, **settings)
    solver.fit(max_epochs=5, tqdm_file=None)
    return solver.metrics_history["train_loss"], solver.get_solution()(torch.linspace(0, 1, 5), to_numpy=True)
