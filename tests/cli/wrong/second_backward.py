import clew as torch

cell = torch.nn.RNNCell(4, 8)
hidden = torch.zeros(1, 8)
for _ in range(3):
    hidden = cell(torch.ones(1, 4), hidden)
    hidden.sum().backward()
