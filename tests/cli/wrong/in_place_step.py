import clew as torch

model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
first = model(torch.ones(8, 4)).mean()
second = first.square()
first.backward(retain_graph=True)
optimizer.step()
second.backward()
