"""The flow that nested sampling proposes from."""

from nessai.flows import configure_model

from bench.drawn import filled, normal, trained


def main():
    found = []
    for kind in ("realnvp", "nsf"):
        flow = configure_model({"n_inputs": 2, "n_blocks": 2, "n_layers": 1, "n_neurons": 8, "ftype": kind})
        flow = flow[0] if isinstance(flow, tuple) else flow
        filled(flow)
        points = 0.3 * normal(32, 2)
        found.append(trained(lambda: -flow.log_prob(points).mean(), flow, steps=3))
    return found
