import clew as torch

model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Linear(8, 1))
for parameter in model.parameters():
    parameter.clamp_(-1, 1)
