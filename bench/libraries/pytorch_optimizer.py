"""Eleven optimizers by name."""

from pytorch_optimizer import load_optimizer

from bench.drawn import normal, perceptron, trained

# Not soap: its basis is that of a singular matrix. Weights that differ by 1e-7 give losses that differ by 1e-3.
NAMES = "adabelief", "adan", "adopt", "came", "lion", "madgrad", "muon", "prodigy", "ranger", "shampoo", "tiger"


def main():
    found, points = [], normal(16, 4)
    for name in NAMES:
        model = perceptron()
        if name == "muon":
            groups = [
                {"params": [p for p in model.parameters() if (p.dim() > 1) is muon], "use_muon": muon}
                for muon in (True, False)
            ]
        else:
            groups = model.parameters()
        optimizer = load_optimizer(name)(groups, lr=1e-2)
        found.append(trained(lambda: model(points).square().mean(), optimizer))
    return found
