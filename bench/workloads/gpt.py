"""A small GPT: 4 sequences of 64 tokens, width 128, 2 layers, 4 heads, AdamW."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bench.workload import Jit, Module, Run, Workload
from bench.workloads._shared import Spec, adam, fill, jax_training, training

BATCH, TOKENS, WIDTH, LAYERS, HEADS, WORDS = 4, 64, 128, 2, 4, 256
RATE, DECAY = 1e-3, 0.01


def spec() -> Spec:
    shapes: dict[str, tuple[int, ...]] = {"words.weight": (WORDS, WIDTH), "places.weight": (TOKENS, WIDTH)}
    for layer in range(LAYERS):
        prefix = f"blocks.{layer}."
        shapes |= {
            prefix + "norm1.weight": (WIDTH,),
            prefix + "norm1.bias": (WIDTH,),
            prefix + "qkv.weight": (3 * WIDTH, WIDTH),
            prefix + "qkv.bias": (3 * WIDTH,),
            prefix + "out.weight": (WIDTH, WIDTH),
            prefix + "out.bias": (WIDTH,),
            prefix + "norm2.weight": (WIDTH,),
            prefix + "norm2.bias": (WIDTH,),
            prefix + "up.weight": (4 * WIDTH, WIDTH),
            prefix + "up.bias": (4 * WIDTH,),
            prefix + "down.weight": (WIDTH, 4 * WIDTH),
            prefix + "down.bias": (WIDTH,),
        }
    return shapes | {"norm.weight": (WIDTH,), "norm.bias": (WIDTH,), "head.weight": (WORDS, WIDTH)}


def tokens() -> tuple[Any, Any]:
    text = np.random.default_rng(0).integers(0, WORDS, (BATCH, TOKENS + 1))
    return text[:, :-1].copy(), text[:, 1:].copy()


def build(m: Module) -> Any:
    """The model as one writes it with PyTorch's modules."""
    nn, functional = m.nn, m.nn.functional

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.qkv, self.out = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
            self.norm2 = nn.LayerNorm(WIDTH)
            self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

        def forward(self, x: Any) -> Any:
            batch, length, _ = x.shape
            q, k, v = (
                part.view(batch, length, HEADS, WIDTH // HEADS).transpose(1, 2)
                for part in self.qkv(self.norm1(x)).split(WIDTH, dim=2)
            )
            seen = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(seen.transpose(1, 2).reshape(batch, length, WIDTH))
            return x + self.down(functional.gelu(self.up(self.norm2(x))))

    class Gpt(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(TOKENS, WIDTH)
            self.blocks = nn.ModuleList([Block() for _ in range(LAYERS)])
            self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS, bias=False)

        def forward(self, text: Any) -> Any:
            x = self.words(text) + self.places.weight
            for block in self.blocks:
                x = block(x)
            return self.head(self.norm(x))

    return Gpt()


class MiniGpt(Workload):
    name = "mini-GPT, 4x64 tokens, width 128, AdamW"
    compiled = True
    trains = True
    replayed = True
    tolerance = 10

    def eager(self, m: Module, jit: Jit) -> Run:
        model = build(m)
        fill(m, model)
        optimizer = m.optim.AdamW(model.parameters(), lr=RATE, weight_decay=DECAY)

        def loss(text: Any, following: Any) -> Any:
            return m.nn.functional.cross_entropy(model(text).view(-1, WORDS), following.view(-1))

        return training(optimizer, loss, [m.from_numpy(array) for array in tokens()], jit)

    def jax(self, jax: Module) -> Run:
        jnp, names = jax.numpy, list(spec())
        mask = jnp.tril(jnp.ones((TOKENS, TOKENS), bool))

        def norm(x: Any, weight: Any, bias: Any) -> Any:
            centred = x - x.mean(-1, keepdims=True)
            return centred * jax.lax.rsqrt((centred * centred).mean(-1, keepdims=True) + 1e-5) * weight + bias

        def attend(x: Any) -> Any:
            q, k, v = (
                part.reshape(BATCH, TOKENS, HEADS, WIDTH // HEADS).transpose(0, 2, 1, 3)
                for part in jnp.split(x, 3, axis=2)
            )
            scores = q @ k.swapaxes(-1, -2) / math.sqrt(WIDTH // HEADS)
            seen = jax.nn.softmax(jnp.where(mask, scores, -jnp.inf), axis=-1) @ v
            return seen.transpose(0, 2, 1, 3).reshape(BATCH, TOKENS, WIDTH)

        def loss(parameters: Any, text: Any, following: Any) -> Any:
            p = dict(zip(names, parameters, strict=True))

            def linear(x: Any, name: str) -> Any:
                return x @ p[name + ".weight"].T + p[name + ".bias"]

            x = p["words.weight"][text] + p["places.weight"]
            for layer in range(LAYERS):
                here = f"blocks.{layer}."
                inner = norm(x, p[here + "norm1.weight"], p[here + "norm1.bias"])
                x = x + linear(attend(linear(inner, here + "qkv")), here + "out")
                inner = norm(x, p[here + "norm2.weight"], p[here + "norm2.bias"])
                x = x + linear(jax.nn.gelu(linear(inner, here + "up"), approximate=False), here + "down")
            scores = norm(x, p["norm.weight"], p["norm.bias"]) @ p["head.weight"].T
            logs = jax.nn.log_softmax(scores, axis=-1)
            return -jnp.take_along_axis(logs, following[..., None], axis=-1).mean()

        return jax_training(jax, spec(), loss, tokens(), adam(RATE, DECAY))


WORKLOADS = (MiniGpt(),)
