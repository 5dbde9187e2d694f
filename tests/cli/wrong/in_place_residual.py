import clew as torch

layer = torch.nn.Linear(4, 4)
x = torch.ones(8, 4)
out = torch.sigmoid(layer(x))
out += x
out.sum().backward()
