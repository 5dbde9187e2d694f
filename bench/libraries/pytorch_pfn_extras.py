"""A manager of training with extensions and lazy layers."""

import pytorch_pfn_extras as ppe
import torch

from bench.drawn import batches, filled


def main():
    model = torch.nn.Sequential(ppe.nn.LazyLinear(None, 8), torch.nn.Tanh(), ppe.nn.LazyLinear(None, 2))
    data, losses = batches(), []
    model(data[0][0])
    filled(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    manager = ppe.training.ExtensionsManager(model, optimizer, 2, iters_per_epoch=4, out_dir="result")
    manager.extend(
        lambda manager: losses.append(manager.observation.get("loss", 0.0)), trigger=(1, "iteration"), name="keep"
    )
    for points, classes in data:
        with manager.run_iteration():
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(points), classes)
            ppe.reporting.report({"loss": float(loss.detach())})
            loss.backward()
            optimizer.step()
    return losses, [*model.parameters()]
