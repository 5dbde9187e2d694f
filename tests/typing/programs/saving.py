"""Save and load."""

import os
import tempfile

import clew as torch
from clew import nn

model = nn.Linear(2, 2)
path = os.path.join(tempfile.mkdtemp(), "model.pt")
torch.save(model.state_dict(), path)
model.load_state_dict(torch.load(path))
count = sum(parameter.numel() for parameter in model.parameters())
print(count, {name: tuple(value.shape) for name, value in model.named_parameters()})
