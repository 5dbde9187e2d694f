"""Ten models of different kinds for the tests of row 6.12: each function gives a model and its input."""

import clew
from clew import nn
from clew.nn import functional as F


class Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.convolutions = nn.ModuleList([nn.Conv2d(channels, channels, 3, padding=1, bias=False) for _ in range(2)])
        self.norms = nn.ModuleList([nn.BatchNorm2d(channels) for _ in range(2)])

    def forward(self, x):
        h = F.relu(self.norms[0](self.convolutions[0](x)), inplace=True)
        return F.relu(x + self.norms[1](self.convolutions[1](h)))


class TanhTimesSquare(clew.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.tanh()
        ctx.save_for_backward(x, y)
        return x * x * y

    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        return grad * (2 * x * y + x * x * (1 - y * y))


class Functions(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(clew.randn(40, 40) * 0.2)

    def forward(self, x):
        for _ in range(12):
            x = TanhTimesSquare.apply(x @ self.weight).clamp(-2, 2)
        return x


class InPlace(nn.Module):
    """Writes to results, and through views of them."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(clew.randn(50, 50) * 0.1)

    def forward(self, x):
        for _ in range(12):
            h = x @ self.weight
            h[:, ::2] *= 0.5
            h += x
            h[:10].tanh_()
            x = (h * 0.9).add_(0.1).tanh_()
        return x


class Cells(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(16, 48)

    def forward(self, x):
        h, total = x.new_zeros(x.shape[1], 48), 0
        for step in x:
            h = self.cell(step, h)
            total = total + h.square().mean()
        return total


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.LSTM(32, 32, batch_first=True) for _ in range(4)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)[0].sin()
        return x


class Equation(nn.Module):
    """Thirty steps of Heun's method."""

    def __init__(self):
        super().__init__()
        self.field = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 8))

    def forward(self, x):
        for _ in range(30):
            first = self.field(x)
            x = x + 0.05 * (first + self.field(x + 0.1 * first))
        return x


class Hourglass(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.ModuleList([nn.Conv1d(4, 8, 3, padding=1), nn.Conv1d(8, 16, 3, padding=1)])
        self.up = nn.ModuleList([nn.Conv1d(24, 8, 3, padding=1), nn.Conv1d(12, 4, 3, padding=1)])
        self.norm = nn.GroupNorm(2, 8)

    def forward(self, x):
        wide = self.down[0](x).sigmoid()
        narrow = self.down[1](F.max_pool1d(wide, 2)).cos()
        both = self.up[0](clew.cat([wide, F.interpolate(narrow, scale_factor=2)], 1))
        both = F.softplus(self.norm(both))
        return self.up[1](clew.cat([both, x], 1)).softmax(1)


def perceptron():
    return nn.Sequential(*[m for _ in range(8) for m in (nn.Linear(64, 64), nn.GELU())]), clew.randn(256, 64)


def dropout():
    parts = [m for _ in range(6) for m in (nn.Linear(96, 96), nn.ReLU(inplace=True), nn.Dropout(0.2))]
    return nn.Sequential(*parts), clew.randn(200, 96)


def convolutions():
    blocks = [Residual(16) for _ in range(4)]
    return nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), *blocks, nn.AdaptiveAvgPool2d(1)), clew.randn(4, 3, 24, 24)


def transformer():
    layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.1, batch_first=True)
    return nn.TransformerEncoder(layer, 4), clew.randn(4, 40, 32)


def cells():
    return Cells(), clew.randn(40, 96, 16)


def layers():
    return Layers(), clew.randn(16, 40, 32)


def equation():
    return Equation(), clew.randn(256, 8)


def functions():
    return Functions(), clew.randn(150, 40)


def in_place():
    return InPlace(), clew.randn(150, 50)


def hourglass():
    return Hourglass(), clew.randn(8, 4, 128)


MODELS = [perceptron, dropout, convolutions, transformer, cells, layers, equation, functions, in_place, hourglass]
