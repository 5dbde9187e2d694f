import clew as torch

encoder, decoder = torch.nn.Linear(4, 2), torch.nn.Linear(2, 4)
optimizer = torch.optim.SGD(decoder.parameters(), lr=0.1)
for _ in range(10):
    x = torch.randn(8, 4)
    optimizer.zero_grad()
    loss = (decoder(encoder(x)) - x).square().mean()
    loss.backward()
    optimizer.step()
