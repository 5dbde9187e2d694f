"""Groups of parameters and a schedule."""

from typing import Any

import clew as torch
from clew import nn

model = nn.Linear(2, 1)
groups: list[dict[str, Any]] = [{"params": [model.weight]}, {"params": [model.bias], "lr": 0.01}]
optimizer = torch.optim.SGD(groups, lr=0.1, momentum=0.9)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
for _ in range(4):
    optimizer.zero_grad()
    model(torch.ones(3, 2)).square().mean().backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    scheduler.step()
print(scheduler.get_last_lr())
