"""Modes as blocks and as decorators."""

import clew as torch


@torch.no_grad()
def evaluate(x: torch.Tensor) -> float:
    return float(x.mean())


with torch.inference_mode():
    print(evaluate(torch.ones(3)))
with torch.set_grad_enabled(False):
    print(torch.is_grad_enabled())
with torch.autograd.detect_anomaly(check_nan=False):
    torch.ones(2, requires_grad=True).sum().backward()
