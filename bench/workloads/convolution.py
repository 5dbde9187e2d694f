"""A convolution net on images of 28x28, and a residual block of 64 channels with batch norm."""

from __future__ import annotations

from typing import Any, ClassVar

from bench.workload import Jit, Module, Run, Workload
from bench.workloads._shared import Spec, adam, fill, jax_training, sgd, training, values

BATCH = 64


def jax_conv(jax: Module, x: Any, weight: Any) -> Any:
    return jax.lax.conv_general_dilated(x, weight, (1, 1), "SAME", dimension_numbers=("NCHW", "OIHW", "NCHW"))


class ConvolutionNet(Workload):
    name = "convolution net 28x28, 32 and 64 channels, batch 64"
    compiled = True
    trains = True
    tolerance = 10
    spec: ClassVar[Spec] = {
        "0.weight": (32, 1, 3, 3),
        "0.bias": (32,),
        "3.weight": (64, 32, 3, 3),
        "3.bias": (64,),
        "7.weight": (10, 64 * 7 * 7),
        "7.bias": (10,),
    }

    @staticmethod
    def inputs() -> tuple[Any, Any]:
        return values(BATCH, 1, 28, 28), (values(BATCH, seed=1) * 1000).astype("int64") % 10

    def eager(self, m: Module, jit: Jit) -> Run:
        nn = m.nn
        model = nn.Sequential(
            *(nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Flatten(), nn.Linear(64 * 7 * 7, 10)),
        )
        fill(m, model)
        optimizer = m.optim.Adam(model.parameters(), lr=1e-3)
        data = [m.from_numpy(array) for array in self.inputs()]
        return training(optimizer, lambda x, y: nn.functional.cross_entropy(model(x), y), data, jit)

    def jax(self, jax: Module) -> Run:
        def stage(x: Any, weight: Any, bias: Any) -> Any:
            x = jax.nn.relu(jax_conv(jax, x, weight) + bias[:, None, None])
            return jax.lax.reduce_window(x, -jax.numpy.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")

        def loss(p: Any, x: Any, y: Any) -> Any:
            x = stage(stage(x, p[0], p[1]), p[2], p[3])
            logs = jax.nn.log_softmax(x.reshape(BATCH, -1) @ p[4].T + p[5])
            return -jax.numpy.take_along_axis(logs, y[:, None], axis=1).mean()

        return jax_training(jax, self.spec, loss, self.inputs(), adam(1e-3))


class ResidualBlock(Workload):
    name = "residual block 64x16x16 with batch norm, batch 64"
    compiled = True
    trains = True
    tolerance = 10
    spec: ClassVar[Spec] = {
        "conv1.weight": (64, 64, 3, 3),
        "norm1.weight": (64,),
        "norm1.bias": (64,),
        "conv2.weight": (64, 64, 3, 3),
        "norm2.weight": (64,),
        "norm2.bias": (64,),
    }

    @staticmethod
    def inputs() -> tuple[Any, Any]:
        return values(BATCH, 64, 16, 16), values(BATCH, 64, 16, 16, seed=1)

    def eager(self, m: Module, jit: Jit) -> Run:
        nn, relu = m.nn, m.nn.functional.relu

        class Block(nn.Module):  # type: ignore[misc, name-defined]
            def __init__(self) -> None:
                super().__init__()
                self.conv1, self.norm1 = nn.Conv2d(64, 64, 3, padding=1, bias=False), nn.BatchNorm2d(64)
                self.conv2, self.norm2 = nn.Conv2d(64, 64, 3, padding=1, bias=False), nn.BatchNorm2d(64)

            def forward(self, x: Any) -> Any:
                return relu(x + self.norm2(self.conv2(relu(self.norm1(self.conv1(x))))))

        model = Block()
        fill(m, model)
        optimizer = m.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        data = [m.from_numpy(array) for array in self.inputs()]
        return training(optimizer, lambda x, y: nn.functional.mse_loss(model(x), y), data, jit)

    def jax(self, jax: Module) -> Run:
        jnp = jax.numpy

        def norm(x: Any, weight: Any, bias: Any) -> Any:
            mean = x.mean((0, 2, 3), keepdims=True)
            scale = jax.lax.rsqrt(x.var((0, 2, 3), keepdims=True) + 1e-5) * weight[:, None, None]
            return (x - mean) * scale + bias[:, None, None]

        def loss(p: Any, x: Any, y: Any) -> Any:
            inner = jax.nn.relu(norm(jax_conv(jax, x, p[0]), p[1], p[2]))
            out = jax.nn.relu(x + norm(jax_conv(jax, inner, p[3]), p[4], p[5]))
            return jnp.mean((out - y) ** 2)

        return jax_training(jax, self.spec, loss, self.inputs(), sgd(0.1, momentum=0.9))


WORKLOADS = (ConvolutionNet(), ResidualBlock())
