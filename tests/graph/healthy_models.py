"""Ten small models that train well: what finds trouble has to be silent on them."""

import clew
from clew import nn

F = nn.functional


class Healthy:
    """`loss()` computes the loss of `parameters`; `train()` makes a few steps, or one backward without an optimizer."""

    def __init__(self, parameters, loss, steps=2, optimizer=clew.optim.Adam, **options):
        self.parameters, self.loss, self.steps = list(parameters), loss, steps
        self.optimizer = optimizer(self.parameters, **options) if optimizer else None

    def train(self):
        for _ in range(self.steps if self.optimizer else 1):
            for parameter in self.parameters:
                parameter.grad = None
            value = self.loss()
            value.backward()
            if self.optimizer:
                self.optimizer.step()
        return value.detach()


def _training(model, data, loss, steps=2, optimizer=clew.optim.Adam, **options):
    return Healthy(model.parameters(), lambda: loss(model(data)), steps, optimizer, **options)


def _to_classes(output, classes=3):
    target = clew.arange(output.shape[0]) % classes
    return F.cross_entropy(output, target)


def perceptron():
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3))
    return _training(model, clew.randn(16, 8), _to_classes)


def convolutions():
    layers = [nn.Conv2d(1, 4, 3, bias=False), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()]
    model = nn.Sequential(*layers, nn.Dropout(0.2), nn.Linear(36, 3))
    return _training(model, clew.randn(16, 1, 8, 8), _to_classes)


def recurrent():
    return _training(nn.LSTM(4, 8), clew.randn(30, 4, 4), lambda out: out[0].square().mean())


def transformer():
    model = nn.Sequential(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), nn.Flatten(), nn.Linear(48, 3))
    return _training(model, clew.randn(4, 6, 8), _to_classes, steps=3)


def regression():
    target = clew.randn(50, 1)
    loss = lambda out: F.mse_loss(out, target)  # noqa: E731
    return _training(nn.Linear(5, 1), clew.randn(50, 5), loss, 20, clew.optim.SGD, lr=0.1, momentum=0.9)


class _Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = nn.Linear(8, 4), nn.Linear(2, 8)

    def forward(self, x):
        mean, log_variance = self.encoder(x).chunk(2, 1)
        code = mean + clew.randn_like(mean) * (log_variance / 2).exp()
        fit = F.binary_cross_entropy_with_logits(self.decoder(code), clew.sigmoid(x))
        return fit - 0.5 * (1 + log_variance - mean * mean - log_variance.exp()).mean()


def autoencoder():
    return _training(_Autoencoder(), clew.randn(16, 8), lambda loss: loss)


def gaussian_process():
    x = clew.linspace(0, 1, 20)[:, None]
    y = (6 * x).sin()
    log_scale = clew.zeros((), requires_grad=True)

    def likelihood():
        kernel = (-((x - x.T) ** 2) / (0.02 * log_scale.exp())).exp() + 0.1 * clew.eye(20)
        lower = clew.linalg.cholesky(kernel)
        return (y * clew.cholesky_solve(y, lower)).sum() / 2 + lower.diagonal().log().sum()

    return Healthy([log_scale], likelihood, optimizer=None)


def differential_equation():
    f = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))

    def rollout():
        x, h = clew.ones(1, 2), 0.1
        for _ in range(10):
            k1 = f(x)
            k2 = f(x + h / 2 * k1)
            k3 = f(x + h / 2 * k2)
            k4 = f(x + h * k3)
            x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return x.square().sum()

    return Healthy(f.parameters(), rollout, optimizer=None)


def words():
    model = nn.Sequential(nn.Embedding(20, 8), nn.LayerNorm(8), nn.GRU(8, 8))
    return _training(model, clew.randint(0, 20, (6, 4)), lambda out: (out[0] - 1).square().mean())


def adversaries():
    maker = nn.Sequential(nn.Linear(4, 8), nn.LeakyReLU(), nn.Linear(8, 2))
    judge = nn.Sequential(nn.Linear(2, 8), nn.GELU(), nn.Linear(8, 1))

    def play():
        fake, real = maker(clew.randn(16, 4)), clew.randn(16, 2)
        judged = F.softplus(-judge(real)) + F.softplus(judge(fake.detach()))
        return judged.mean() + F.softplus(-judge(fake)).mean()

    return Healthy([*maker.parameters(), *judge.parameters()], play)


HEALTHY = (
    perceptron,
    convolutions,
    recurrent,
    transformer,
    regression,
    autoencoder,
    gaussian_process,
    differential_equation,
    words,
    adversaries,
)
