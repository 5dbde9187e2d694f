"""Modules and functions that are traced here and in PyTorch: run with `torch` as one or the other."""

# ruff: noqa: F841
import collections
import math
import operator

import torch
import torch.nn.functional as F
from torch import nn

Pair = collections.namedtuple("Pair", ["left", "right"])


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 5)
        self.second = nn.Linear(5, 4)

    def forward(self, x):
        return self.second(F.relu(self.first(x)))


class Weights(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.scale = nn.Parameter(torch.ones(4))
        self.register_buffer("shift", torch.arange(4.0))
        self.plain = torch.full((4,), 0.5)

    def forward(self, x):
        y = torch.topk(torch.sum(self.linear(x + self.linear.weight).relu() * self.scale, dim=-1), 3)
        return y[0] + self.shift[:3] - self.plain[1:]


class Nested(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Layers(), Layers()])
        self.tail = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Sequential(nn.Dropout(0.0), nn.LayerNorm(4)))

    def forward(self, x):
        for block in self.blocks:
            x = x + block(x)
        return self.tail(x)


class Convolutions(nn.Module):
    example = (2, 3, 8, 8)

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 6, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(6)
        self.pool = nn.MaxPool2d(2)
        self.fc = nn.Linear(6 * 4 * 4, 3)

    def forward(self, x):
        out = self.pool(F.relu(self.bn1(self.conv1(x))))
        out = torch.flatten(out, 1)
        return F.log_softmax(self.fc(out), dim=1)


class Attention(nn.Module):
    example = (2, 6, 8)

    def __init__(self):
        super().__init__()
        self.heads = 2
        self.qkv = nn.Linear(8, 24)
        self.out = nn.Linear(8, 8)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q, k, v = (one.view(batch, length, self.heads, -1).transpose(1, 2) for one in (q, k, v))
        scores = q @ k.transpose(-2, -1) / math.sqrt(width)
        mask = torch.tril(torch.ones(6, 6)).bool()
        weights = scores.masked_fill(~mask, float("-inf")).softmax(dim=-1)
        return self.out((weights @ v).transpose(1, 2).reshape(batch, length, width))


class SharedTwice(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)

    def forward(self, x):
        return self.lin(self.lin(x)) + self.lin.bias


class Containers(nn.Module):
    def forward(self, x):
        pair = Pair(x + 1, x * 2)
        return {"sum": pair[0] + pair[1], "list": [x, (x - 1,)], "none": None, "name": "x"}


class Defaults(nn.Module):
    def forward(self, x, scale: float = 2.0, *, bias=None):
        return x * scale


class Variadic(nn.Module):
    def forward(self, x, *args, **kwargs):
        return x + 1


class Annotated(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.abs()


class Activations(nn.Module):
    def __init__(self):
        super().__init__()
        self.actFn = nn.ReLU()
        self.softMax = nn.Softmax(dim=-1)

    def forward(self, x):
        return self.softMax(self.actFn(x)) + F.gelu(x) + F.silu(x) + F.softplus(x) + F.leaky_relu(x, 0.1)


class Recurrent(nn.Module):
    example = (2, 5, 4)

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(4, 3, batch_first=True)

    def forward(self, x):
        out, (h, c) = self.lstm(x)
        return out[:, -1], h + c


class Embeds(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.arange(12.0).reshape(3, 4))

    def forward(self, x):
        return F.linear(x, self.weight, None) + F.layer_norm(self.weight, (4,)).sum()


def operators(x):
    y = (x + 1) * 2 - x / 3 // 1 % 5
    z = 2 - y, 1 / (x.abs() + 1), 3 + x, 2 * x, x**2, -x, +x, abs(x)
    return [one.sum() for one in z] + [x == y, x != y, x < y, x >= 1, x > 0, x >= 1]


def integers(x):
    y = x.to(torch.int64)
    return y & 3, y | 4, y ^ 1, ~y, y << 1, y >> 1, 7 & y, 2 ** (y & 3)


def indexing(x):
    return x[0], x[:, 1:3], x[..., None], x[None, 0, ::2], x[x > 0], x[[0, 1]], x[torch.tensor([0])]


def attributes(x):
    return x.shape[0], x.T, x.dtype, x.size(0), x.size(), x.ndim, x.mT.contiguous().view(-1), x.data


def unpacking(x):
    a, b = x.split(2, dim=1)
    (c, d), e = x.chunk(2)[0].unbind(1)[:2], a
    values, indices = torch.max(x, dim=1)
    return a + b, c - d, values, indices, e


def functions(x):
    y = torch.cat([x, x], dim=0)
    z = torch.stack((x, x + 1)).mean(0)
    return torch.where(y > 0, y, torch.zeros_like(y)), torch.clamp(z, min=0.0, max=1.0), torch.einsum("ij,kj->ik", x, z)


def creation(x):
    return x + torch.ones(4) + torch.arange(4) + x.new_zeros(4) + torch.full((4,), 2.0, dtype=torch.float32)


def math_functions(x):
    return x * math.sqrt(x.shape[1]) + math.pi + math.floor(x.size(0) / 2)


def tensor_first(x):
    constant = torch.ones(4)
    return constant + x, constant * x, constant - x, constant @ x.T, torch.add(constant, x)


def einsums(x):
    return torch.einsum("ij,kj->ik", [x, x]), torch.einsum("ij->j", x), torch.tensordot(x, x, dims=1).sum()


def keywords(x):
    return torch.sum(input=x, dim=1), F.softmax(x, dim=-1), x.sum(dim=0, keepdim=True), torch.add(x, x, alpha=2)


def normalized(x):
    return torch.linalg.norm(x), torch.special.erfcx(x), torch.fft.rfft(x).real, x.norm(dim=1)


def pooled(x):
    y = x.unsqueeze(0)
    return F.max_pool1d(y, 2), F.avg_pool1d(y, 2), F.adaptive_avg_pool1d(y, 1), F.pad(x, (1, 1)), F.interpolate(y, 8)


def losses(x):
    return (
        F.mse_loss(x, x + 1),
        F.cross_entropy(x, torch.tensor([0, 1, 2, 3])),
        F.normalize(x),
        F.one_hot(x.argmax(1), 4),
    )


def dropped(x):
    return F.dropout(x, 0.0, training=False), F.dropout(x, p=0.0), nn.functional.dropout2d(x[None, None], 0.0)


def in_place(x):
    y = x.clone()
    y += 1
    y.mul_(2)
    return F.relu(y, inplace=True), torch.relu_(y)


def operator_functions(x):
    return operator.add(x, 1), operator.getitem(x, 0), operator.matmul(x, x), operator.neg(x)


def comparisons(x):
    return torch.eq(x, 0), torch.isnan(x), x.gt(0), torch.logical_and(x > 0, x < 1), x.ne(1).any()


def dead(x):
    x.sin()
    y = x + 1
    z = y.cos()
    return x.exp()


def names(relu, input, sum_1):
    add_1 = relu + input
    return torch.relu(add_1).sum() + sum_1.sum() + torch.relu(relu).relu()


def nothing(x):
    return None


def constant_result(x):
    return x, 1.5, "text", True, slice(0, 2)


def chained(x):
    return x.t().float().unsqueeze(0).expand(2, -1, -1).permute(2, 0, 1).flatten().type(torch.float64)


def wrapped(x):
    return leaf(x, 2) + len(x)


@torch.fx.wrap
def leaf(x, times):
    return x * times if x.sum() > 0 else x


torch.fx.wrap("len")


def lambda_in_default(x, f=None):
    return x * 2


PROGRAMS = [
    Layers, Weights, Nested, Convolutions, Attention, SharedTwice, Containers, Defaults, Variadic, Annotated,
    Activations, Recurrent, Embeds, operators, integers, indexing, attributes, unpacking, functions, creation,
    math_functions, einsums, keywords, normalized, pooled, losses, dropped, in_place, operator_functions,
    comparisons, dead, names, nothing, constant_result, chained, wrapped, lambda_in_default,
]  # fmt: skip
