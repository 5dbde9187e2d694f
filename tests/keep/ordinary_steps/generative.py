"""Generative models and densities."""

from __future__ import annotations

from typing import Any

import clew as torch
from clew import nn
from clew.nn import functional as F

from .harness import batches, case, mlp, training


@case
def gan() -> Any:
    generator, critic = mlp(2, 8, 3), mlp(3, 8, 1)
    of_generator = torch.optim.Adam(generator.parameters(), lr=1e-3)
    of_critic = torch.optim.Adam(critic.parameters(), lr=1e-3)

    def step(real: Any) -> Any:
        noise = torch.randn(real.shape[0], 2)
        of_critic.zero_grad()
        fake = generator(noise)
        loss_c = F.softplus(-critic(real)).mean() + F.softplus(critic(fake.detach())).mean()
        loss_c.backward()
        of_critic.step()
        of_generator.zero_grad()
        loss_g = F.softplus(-critic(fake)).mean()
        loss_g.backward()
        of_generator.step()
        return loss_c.item(), loss_g.item()

    return step, batches((4, 3)), [generator, critic]


@case
def gradient_penalty() -> Any:
    critic = mlp(3, 8, 1)
    optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3)

    def step(real: Any) -> Any:
        optimizer.zero_grad()
        x = real.clone().requires_grad_()
        (slope,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
        loss = ((slope.norm(dim=1) - 1) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step, batches((4, 3)), [critic]


@case
def vae() -> Any:
    encoder, decoder = mlp(6, 8, 4), mlp(2, 8, 6)
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-3)

    def step(x: Any) -> Any:
        mean, log_var = encoder(x).chunk(2, dim=-1)
        z = mean + torch.randn_like(mean) * (0.5 * log_var).exp()
        loss = F.mse_loss(decoder(z), x) - 0.5 * (1 + log_var - mean.pow(2) - log_var.exp()).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step, batches((4, 6)), [encoder, decoder]


@case
def normal_likelihood() -> Any:
    mean, log_scale = torch.zeros(2, requires_grad=True), torch.zeros(2, requires_grad=True)
    optimizer = torch.optim.Adam([mean, log_scale], lr=0.05)

    def step(x: Any) -> Any:
        loss = -torch.distributions.Normal(mean, log_scale.exp()).log_prob(x).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step, batches((5, 2)), [mean, log_scale]


@case
def mixture_density() -> Any:
    net = mlp(1, 8, 9)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)

    def loss_of(model: Any, x: Any, y: Any) -> Any:
        weight, mean, log_scale = model(x).chunk(3, dim=-1)
        log_density = torch.distributions.Normal(mean, log_scale.exp()).log_prob(y)
        return -(weight.log_softmax(-1) + log_density).logsumexp(-1).mean()

    return training(net, optimizer, loss_of, "item"), batches((6, 1), (6, 1)), [net, optimizer]


@case
def normalizing_flow() -> Any:
    couplings = nn.ModuleList([mlp(2, 8, 4) for _ in range(3)])
    optimizer = torch.optim.Adam(couplings.parameters(), lr=1e-2)

    def loss_of(model: Any, x: Any) -> Any:
        log_volume = torch.zeros(x.shape[0])
        for coupling in model:
            kept, changed = x.chunk(2, dim=-1)
            scale, shift = coupling(kept).chunk(2, dim=-1)
            x = torch.cat([changed * scale.tanh().exp() + shift, kept], dim=-1)
            log_volume = log_volume + scale.tanh().sum(-1)
        return (0.5 * x.pow(2).sum(-1) - log_volume).mean()

    return training(couplings, optimizer, loss_of, "item"), batches((5, 4)), [couplings, optimizer]


@case
def tied_autoencoder() -> Any:
    weight = nn.Parameter(0.1 * torch.randn(3, 6))
    biases = nn.ParameterList([nn.Parameter(torch.zeros(3)), nn.Parameter(torch.zeros(6))])
    optimizer = torch.optim.SGD([weight, *biases], lr=0.1, momentum=0.9)

    def step(x: Any) -> Any:
        code = torch.sigmoid(F.linear(x, weight, biases[0]))
        loss = F.mse_loss(F.linear(code, weight.t(), biases[1]), x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step, batches((4, 6)), [weight, biases, optimizer]


@case
def diffusion() -> Any:
    net = mlp(4, 16, 3)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    kept_signal = torch.cumprod(1 - torch.linspace(1e-4, 0.2, 10), 0)

    def step(x: Any) -> Any:
        time = torch.randint(0, 10, (x.shape[0],))
        signal = kept_signal[time].unsqueeze(-1)
        noise = torch.randn_like(x)
        noisy = signal.sqrt() * x + (1 - signal).sqrt() * noise
        guess = net(torch.cat([noisy, time.unsqueeze(-1) / 10], dim=-1))
        loss = F.mse_loss(guess, noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step, batches((6, 3)), [net, optimizer]


@case
def wasserstein_critic() -> Any:
    generator, critic = mlp(2, 8, 3), mlp(3, 8, 1)
    optimizer = torch.optim.RMSprop(critic.parameters(), lr=1e-2)

    def step(real: Any) -> Any:
        for _ in range(2):
            with torch.no_grad():
                fake = generator(torch.randn(real.shape[0], 2))
            optimizer.zero_grad()
            loss = critic(fake).mean() - critic(real).mean()
            loss.backward()
            optimizer.step()
            for parameter in critic.parameters():
                parameter.data.clamp_(-0.1, 0.1)
        return loss.item()

    return step, batches((4, 3)), [critic, optimizer]
