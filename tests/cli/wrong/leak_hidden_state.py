import clew as torch


class Tracker:
    def __init__(self):
        self.average = torch.zeros(())

    def update(self, loss):
        self.average = 0.9 * self.average + 0.1 * loss


model, tracker = torch.nn.Linear(4, 1), Tracker()
optimizer = torch.optim.Adam(model.parameters())
for _ in range(40):
    optimizer.zero_grad()
    loss = model(torch.ones(8, 4)).square().mean()
    loss.backward()
    optimizer.step()
    tracker.update(loss)
