"""The loop of every tutorial."""

import clew as torch
from clew import nn
from clew.nn import functional as F

model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
total = 0.0
for _ in range(3):
    images, labels = torch.randn(16, 4), torch.randint(0, 3, (16,))
    optimizer.zero_grad()
    loss = F.cross_entropy(model(images), labels)
    loss.backward()
    optimizer.step()
    total += loss.item()
images, labels = torch.randn(16, 4), torch.randint(0, 3, (16,))
accuracy = (model(images).argmax(dim=1) == labels).float().mean().item()
print(total, accuracy)
