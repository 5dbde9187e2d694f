"""Steps as people write them: each builds its state and gives a step and the arguments of a call."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import clew as torch
from clew import nn
from clew.nn import functional as F

Step = Callable[..., Any]
Case = Callable[[], tuple[Step, Callable[[int], tuple[Any, ...]], list[Any]]]
CASES: dict[str, Case] = {}


def case(build: Case) -> Case:
    CASES[build.__name__] = build
    return build


def mlp(*sizes: int, act: type[nn.Module] = nn.Tanh) -> nn.Sequential:
    layers: list[nn.Module] = []
    for i in range(len(sizes) - 1):
        layers += [nn.Linear(sizes[i], sizes[i + 1]), act()]
    return nn.Sequential(*layers[:-1])


def batches(*shapes: tuple[int, ...]) -> Callable[[int], tuple[Any, ...]]:
    def batch(i: int) -> tuple[Any, ...]:
        generator = torch.Generator().manual_seed(100 + i)
        return tuple(torch.randn(*shape, generator=generator) for shape in shapes)

    return batch


def training(model: nn.Module, optimizer: Any, loss_of: Callable[..., Any], ending: str = "tensor") -> Step:
    def step(*batch: Any) -> Any:
        optimizer.zero_grad()
        loss = loss_of(model, *batch)
        loss.backward()
        optimizer.step()
        return loss.item() if ending == "item" else loss.detach() if ending == "detach" else loss

    return step


def mse(model: nn.Module, x: Any, y: Any) -> Any:
    return F.mse_loss(model(x), y)


OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
    "nesterov": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=1e-3),
    "adam": lambda p: torch.optim.Adam(p, lr=0.01),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.01),
    "amsgrad": lambda p: torch.optim.Adam(p, lr=0.01, amsgrad=True),
    "nadam": lambda p: torch.optim.NAdam(p, lr=0.01),
    "radam": lambda p: torch.optim.RAdam(p, lr=0.01),
    "adamax": lambda p: torch.optim.Adamax(p, lr=0.01),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=0.01),
    "adagrad": lambda p: torch.optim.Adagrad(p, lr=0.01),
    "adadelta": lambda p: torch.optim.Adadelta(p),
    "asgd": lambda p: torch.optim.ASGD(p),
    "rprop": lambda p: torch.optim.Rprop(p),
    "adafactor": lambda p: torch.optim.Adafactor(p),
}


def _optimizer_case(name: str, make: Callable[[Any], Any]) -> None:
    def build() -> Any:
        model = mlp(4, 8, 1)
        optimizer = make(model.parameters())
        return training(model, optimizer, mse, "item"), batches((5, 4), (5, 1)), [model, optimizer]

    CASES[f"optimizer_{name}"] = build


for _name, _make in OPTIMIZERS.items():
    _optimizer_case(_name, _make)

LAYERS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "relu": (lambda: mlp(4, 8, 2, act=nn.ReLU), (3, 4)),
    "gelu": (lambda: mlp(4, 8, 2, act=nn.GELU), (3, 4)),
    "silu": (lambda: mlp(4, 8, 2, act=nn.SiLU), (3, 4)),
    "dropout": (lambda: nn.Sequential(nn.Linear(4, 32), nn.Dropout(0.5), nn.Linear(32, 2)), (3, 4)),
    "batch_norm": (lambda: nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 2)), (6, 4)),
    "layer_norm": (lambda: nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.Linear(8, 2)), (3, 4)),
    "group_norm": (lambda: nn.Sequential(nn.Conv2d(2, 4, 3), nn.GroupNorm(2, 4), nn.ReLU()), (2, 2, 5, 5)),
    "conv": (lambda: nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(18, 2)), (2, 1, 5, 5)),
    "conv1d": (lambda: nn.Conv1d(2, 3, 3, padding=1), (2, 2, 6)),
    "conv_transpose": (lambda: nn.ConvTranspose2d(2, 1, 2, stride=2), (2, 2, 3, 3)),
    "max_pool": (lambda: nn.Sequential(nn.Conv2d(1, 2, 3), nn.MaxPool2d(2)), (2, 1, 6, 6)),
    "avg_pool": (lambda: nn.Sequential(nn.Conv2d(1, 2, 3), nn.AdaptiveAvgPool2d(1)), (2, 1, 6, 6)),
    "bilinear": (lambda: nn.Sequential(nn.Linear(3, 3), nn.Softplus()), (2, 3)),
    "prelu": (lambda: nn.Sequential(nn.Linear(3, 3), nn.PReLU()), (2, 3)),
    "attention": (lambda: nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True), (2, 3, 8)),
    "softmax": (lambda: nn.Sequential(nn.Linear(3, 3), nn.Softmax(-1)), (2, 3)),
    "glu": (lambda: nn.Sequential(nn.Linear(3, 4), nn.GLU()), (2, 3)),
    "upsample": (lambda: nn.Sequential(nn.Conv2d(1, 1, 3), nn.Upsample(scale_factor=2)), (1, 1, 5, 5)),
    "weight_norm": (lambda: nn.utils.parametrizations.weight_norm(nn.Linear(3, 2)), (2, 3)),
}


def _layer_case(name: str, make: Callable[[], nn.Module], shape: tuple[int, ...]) -> None:
    def build() -> Any:
        model = make()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        step = training(model, optimizer, lambda m, x: m(x).pow(2).mean(), "detach")
        return step, batches(shape), [model, optimizer]

    CASES[f"layer_{name}"] = build


for _name, (_build, _shape) in LAYERS.items():
    _layer_case(_name, _build, _shape)

LOSSES: dict[str, Callable[[Any, Any], Any]] = {
    "mse": lambda out, y: F.mse_loss(out, y),
    "l1": lambda out, y: F.l1_loss(out, y),
    "huber": lambda out, y: F.huber_loss(out, y),
    "smooth_l1": lambda out, y: F.smooth_l1_loss(out, y),
    "bce": lambda out, y: F.binary_cross_entropy(out.sigmoid(), y.sigmoid()),
    "bce_logits": lambda out, y: F.binary_cross_entropy_with_logits(out, y.sigmoid()),
    "kl": lambda out, y: F.kl_div(out.log_softmax(-1), y.softmax(-1), reduction="batchmean"),
    "gaussian_nll": lambda out, y: F.gaussian_nll_loss(out, y, out.exp()),
    "cosine": lambda out, y: 1 - F.cosine_similarity(out, y).mean(),
    "logsumexp": lambda out, y: (out - y).logsumexp(-1).mean(),
    "cross_entropy": lambda out, y: F.cross_entropy(out, y.argmax(-1)),
    "smoothed": lambda out, y: F.cross_entropy(out, y.argmax(-1), label_smoothing=0.1),
    "nll": lambda out, y: F.nll_loss(out.log_softmax(-1), y.argmax(-1)),
    "hinge": lambda out, y: (1 - out * y.sign()).clamp(min=0).mean(),
    "triplet": lambda out, y: F.triplet_margin_loss(out, y, -y),
}


def _loss_case(name: str, loss: Callable[[Any, Any], Any]) -> None:
    def build() -> Any:
        model = mlp(4, 6, 3)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        step = training(model, optimizer, lambda m, x, y: loss(m(x), y))
        return step, batches((5, 4), (5, 3)), [model, optimizer]

    CASES[f"loss_{name}"] = build


for _name, _loss in LOSSES.items():
    _loss_case(_name, _loss)


@case
def inference() -> Any:
    model = mlp(4, 8, 2).eval()

    def step(x: Any) -> Any:
        with torch.no_grad():
            return model(x).argmax(-1)

    return step, batches((3, 4)), [model]


@case
def clipping() -> Any:
    model = mlp(4, 8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        return loss.item(), norm

    return step, batches((5, 4), (5, 1)), [model, optimizer]


@case
def clipping_by_value() -> Any:
    model = mlp(4, 8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        F.mse_loss(model(x), y).backward()
        nn.utils.clip_grad_value_(model.parameters(), 0.1)
        optimizer.step()

    return step, batches((5, 4), (5, 1)), [model, optimizer]


@case
def logging() -> Any:
    model = mlp(4, 8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    history: list[float] = []

    def step(x: Any, y: Any) -> None:
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        history.append(loss.item())

    return step, batches((5, 4), (5, 1)), [model, history]


@case
def results_in_a_dict() -> Any:
    model = mlp(4, 8, 3)

    def step(x: Any) -> Any:
        logits = model(x)
        return {"logits": logits, "probability": logits.softmax(-1), "best": [logits.max().item(), None]}

    return step, batches((5, 4)), [model]


@case
def averaged_weights() -> Any:
    model = mlp(4, 8, 1)
    average = copy.deepcopy(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for slow, fast in zip(average.parameters(), model.parameters(), strict=True):
                slow.mul_(0.9).add_(fast, alpha=0.1)
        return loss.detach()

    return step, batches((5, 4), (5, 1)), [model, average]


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
def policy_gradient() -> Any:
    policy = mlp(4, 8, 2)
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)

    def step(states: Any, returns: Any) -> Any:
        chosen = torch.distributions.Categorical(logits=policy(states))
        action = chosen.sample()
        loss = -(chosen.log_prob(action) * returns[:, 0]).mean() - 0.01 * chosen.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return action, loss.item()

    return step, batches((6, 4), (6, 1)), [policy]


@case
def q_learning() -> Any:
    net, target = mlp(4, 8, 2), mlp(4, 8, 2)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)

    def step(state: Any, following: Any, reward: Any) -> Any:
        with torch.no_grad():
            goal = reward[:, 0] + 0.9 * target(following).max(1).values
        value = net(state)[:, 0]
        loss = F.smooth_l1_loss(value, goal)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        for slow, fast in zip(target.parameters(), net.parameters(), strict=True):
            slow.data.lerp_(fast.data, 0.05)
        return loss.item()

    return step, batches((5, 4), (5, 4), (5, 1)), [net, target]


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
def meta_learning() -> Any:
    w = torch.randn(3, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)

    def step(x: Any, y: Any) -> Any:
        inner = ((x @ w - y[:, 0]) ** 2).mean()
        (g,) = torch.autograd.grad(inner, w, create_graph=True)
        fast = w - 0.1 * g
        outer = ((x @ fast - y[:, 0]) ** 2).mean()
        optimizer.zero_grad()
        outer.backward()
        optimizer.step()
        return outer.item()

    return step, batches((5, 3), (5, 1)), [w]


@case
def physics_informed() -> Any:
    net = mlp(1, 8, 8, 1)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)

    def step(t: Any) -> Any:
        t = t.detach().requires_grad_()
        u = net(t)
        (du,) = torch.autograd.grad(u.sum(), t, create_graph=True)
        (d2u,) = torch.autograd.grad(du.sum(), t, create_graph=True)
        loss = ((d2u + u) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step, batches((7, 1)), [net]


@case
def recurrent() -> Any:
    cell, head = nn.GRUCell(2, 4), nn.Linear(4, 1)
    optimizer = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.1)

    def step(x: Any) -> Any:
        h = torch.zeros(x.shape[1], 4)
        for frame in x:
            h = cell(frame, h)
        loss = head(h).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step, batches((3, 2, 2)), [cell, head]


@case
def lstm() -> Any:
    net = nn.LSTM(2, 4, batch_first=True)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    return training(net, optimizer, lambda m, x: m(x)[0].pow(2).mean()), batches((2, 3, 2)), [net]


@case
def embedding() -> Any:
    table, head = nn.Embedding(10, 4), nn.Linear(4, 10)
    optimizer = torch.optim.SGD([*table.parameters(), *head.parameters()], lr=0.1)

    def step(tokens: Any) -> Any:
        loss = F.cross_entropy(head(table(tokens[:, :-1])).reshape(-1, 10), tokens[:, 1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    def batch(i: int) -> tuple[Any, ...]:
        return (torch.randint(0, 10, (2, 5), generator=torch.Generator().manual_seed(i)),)

    return step, batch, [table, head]


@case
def hamiltonian() -> Any:
    data = torch.randn(6, 3)

    def energy(q: Any) -> Any:
        return F.softplus(-(data @ q)).sum() + 0.5 * (q * q).sum()

    def step(q: Any, p: Any) -> Any:
        for _ in range(3):
            q = q.detach().requires_grad_()
            (g,) = torch.autograd.grad(energy(q), q)
            p = p - 0.05 * g
            q = (q + 0.1 * p).detach()
        return q, p

    return step, batches((3,), (3,)), [data]


@case
def runge_kutta() -> Any:
    a = torch.randn(2, 2, requires_grad=True)

    def step(y: Any) -> Any:
        for _ in range(4):
            k1 = a @ y
            k2 = a @ (y + 0.05 * k1)
            y = y + 0.1 * k2
        loss = (y * y).sum()
        (g,) = torch.autograd.grad(loss, a)
        return loss.item(), g

    return step, batches((2,)), [a]


@case
def custom_function() -> Any:
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return 2 * x * g

    w = torch.randn(3, requires_grad=True)

    def step(x: Any) -> Any:
        (g,) = torch.autograd.grad(Square.apply(x * w).sum(), w)
        return g

    return step, batches((3,)), [w]


@case
def module_class() -> Any:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])
            self.scale = nn.Parameter(torch.ones(()))
            self.residual = True

        def forward(self, x: Any) -> Any:
            for i, layer in enumerate(self.layers):
                h = torch.tanh(layer(x))
                x = x + h if self.residual and i > 0 else h
            return x * self.scale

    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    return training(model, optimizer, mse, "item"), batches((3, 4), (3, 4)), [model]


@case
def hooks() -> Any:
    model = mlp(4, 8, 1)
    model[0].register_forward_hook(lambda module, given, out: out * 0.5)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    return training(model, optimizer, mse, "item"), batches((5, 4), (5, 1)), [model]


@case
def accumulation() -> Any:
    model = mlp(4, 8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        total = 0.0
        for part, goal in zip(x.split(2), y.split(2), strict=True):
            loss = F.mse_loss(model(part), goal) / 3
            loss.backward()
            total += loss.detach()
        optimizer.step()
        return total

    return step, batches((6, 4), (6, 1)), [model]


@case
def weight_penalty() -> Any:
    model = mlp(4, 8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def loss_of(m: Any, x: Any, y: Any) -> Any:
        return F.mse_loss(m(x), y) + 1e-3 * sum(p.pow(2).sum() for p in m.parameters())

    return training(model, optimizer, loss_of, "item"), batches((5, 4), (5, 1)), [model]


@case
def several_groups() -> Any:
    model = mlp(4, 8, 1)
    groups = [{"params": model[0].parameters(), "lr": 0.05}, {"params": model[2].parameters()}]
    optimizer = torch.optim.SGD(groups, lr=0.1)
    return training(model, optimizer, mse, "item"), batches((5, 4), (5, 1)), [model]


@case
def finite_check() -> Any:
    model = mlp(4, 8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        if not torch.isfinite(loss):
            return None
        loss.backward()
        optimizer.step()
        return loss.item()

    return step, batches((5, 4), (5, 1)), [model]


@case
def early_stop_by_value() -> Any:
    model = mlp(4, 8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        value = loss.item()
        if value > 1e6:
            raise RuntimeError("diverged")
        loss.backward()
        optimizer.step()
        return value

    return step, batches((5, 4), (5, 1)), [model]


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
def backward_outside() -> Any:
    model = mlp(4, 8, 1)

    def step(x: Any, y: Any) -> Any:
        return F.mse_loss(model(x), y)

    return step, batches((5, 4), (5, 1)), [model]


@case
def jacobian() -> Any:
    net = mlp(3, 4, 2)

    def step(x: Any) -> Any:
        x = x.detach().requires_grad_()
        y = net(x)
        return torch.stack([torch.autograd.grad(y[i], x, retain_graph=True)[0] for i in range(2)])

    return step, batches((3,)), [net]


@case
def hessian_vector_product() -> Any:
    w = torch.randn(3, requires_grad=True)

    def step(x: Any, v: Any) -> Any:
        (g,) = torch.autograd.grad(((x @ w).tanh() ** 2).sum(), w, create_graph=True)
        (h,) = torch.autograd.grad((g * v).sum(), w)
        return h

    return step, batches((4, 3), (3,)), [w]


@case
def einsum_attention() -> Any:
    w = torch.randn(4, 12, requires_grad=True)

    def step(x: Any) -> Any:
        q, k, v = (x @ w).chunk(3, dim=-1)
        score = torch.einsum("bqd,bkd->bqk", q, k) / math.sqrt(q.shape[-1])
        score = score.masked_fill(torch.ones(3, 3).triu(1).bool(), float("-inf"))
        loss = (score.softmax(-1) @ v).pow(2).mean()
        (g,) = torch.autograd.grad(loss, w)
        return g

    return step, batches((2, 3, 4)), [w]


@case
def in_place_buffers() -> Any:
    total, count = torch.zeros(3), torch.zeros(())

    def step(x: Any) -> Any:
        total.add_(x.sum(0))
        count.add_(x.shape[0])
        return total / count

    return step, batches((4, 3)), [total, count]


@case
def noisy_inputs() -> Any:
    model = mlp(3, 4, 1)

    def step(x: Any) -> Any:
        return model(x + 0.1 * torch.randn_like(x)).mean().item(), torch.rand(2), torch.randperm(4)

    return step, batches((4, 3)), [model]


@case
def decorated_method() -> Any:
    class Trainer:
        def __init__(self) -> None:
            self.model = mlp(4, 8, 1)
            self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

        def step(self, x: Any, y: Any) -> Any:
            self.optimizer.zero_grad()
            loss = F.mse_loss(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            return loss.item()

    trainer = Trainer()
    return trainer.step, batches((5, 4), (5, 1)), [trainer.model]


@case
def fine_tuning() -> Any:
    body, head = mlp(4, 8, 8), nn.Linear(8, 2)
    for parameter in body.parameters():
        parameter.requires_grad_(False)
    optimizer = torch.optim.Adam(head.parameters(), lr=0.01)

    def step(x: Any, y: Any) -> Any:
        loss = F.mse_loss(head(body(x)), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step, batches((5, 4), (5, 2)), [body, head]


@case
def exponential_schedule() -> Any:
    model = mlp(4, 8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        scheduler.step()
        return loss.item()

    return step, batches((5, 4), (5, 1)), [model, optimizer]


@case
def schedule_between_steps() -> Any:
    model = mlp(4, 8, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
    plain = batches((5, 4), (5, 1))

    def batch(i: int) -> tuple[Any, ...]:
        if i:
            scheduler.step()
        return plain(i)

    return training(model, optimizer, mse, "item"), batch, [model, optimizer]


@case
def warm_up_by_hand() -> Any:
    model = mlp(4, 8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    plain = batches((5, 4), (5, 1))

    def batch(i: int) -> tuple[Any, ...]:
        for group in optimizer.param_groups:
            group["lr"] = 0.01 * (i + 1)
        return plain(i)

    return training(model, optimizer, mse, "item"), batch, [model, optimizer]


@case
def counted_steps() -> Any:
    class Trainer:
        steps = 0

        def step(self, x: Any) -> Any:
            self.steps += 1
            return (x * x).sum()

    trainer = Trainer()
    trainer.steps = 0
    return trainer.step, batches((5,)), [vars(trainer)]


@case
def state_between_calls() -> Any:
    cell = nn.RNNCell(2, 3)

    class Runner:
        h = torch.zeros(1, 3)

        def step(self, x: Any) -> Any:
            self.h = cell(x, self.h).detach()
            return self.h.sum().item()

    runner = Runner()
    return runner.step, batches((1, 2)), [cell, vars(runner)]
