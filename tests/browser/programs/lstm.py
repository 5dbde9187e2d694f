"""An LSTM cell unrolled over 200 steps, trained for a few steps: a program for the report to describe."""

import torch
from torch import nn

STEPS, BATCH, WIDTH = 200, 8, 32


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(4, WIDTH)
        self.head = nn.Linear(WIDTH, 1)

    def forward(self, series):
        h, c = torch.zeros(BATCH, WIDTH), torch.zeros(BATCH, WIDTH)
        outputs = []
        for step in range(series.shape[0]):
            h, c = self.cell(series[step], (h, c))
            outputs.append(self.head(h))
        return torch.stack(outputs)


torch.manual_seed(0)
model = Tagger()
optimizer = torch.optim.Adam(model.parameters())
for _ in range(4):
    series = torch.randn(STEPS, BATCH, 4)
    target = series.cumsum(0).mean(-1, keepdim=True)
    loss = (model(series) - target).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
