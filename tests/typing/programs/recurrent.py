"""A recurrent network with a state that is detached."""

import clew as torch
from clew import nn

cell = nn.LSTMCell(4, 8)
state = torch.zeros(2, 8), torch.zeros(2, 8)
for _ in range(3):
    hidden, memory = cell(torch.randn(2, 4), state)
    hidden.sum().backward()
    state = hidden.detach(), memory.detach()
print(state[0].shape)
