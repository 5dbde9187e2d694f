"""Multilayer perceptrons: one so small that only overhead counts, one for digits of 28x28, and deep ones for memory."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from bench.workload import Jit, Module, Run, Workload
from bench.workloads._shared import Spec, adam, arrays, fill, jax_training, plain_training, sgd, training, values


class Perceptron(Workload):
    """Linear layers with ReLU between them, a mean squared error or a cross entropy, and a step of an optimizer."""

    compiled = True
    replayed = True

    def __init__(self, name: str, widths: Sequence[int], batch: int, optimizer: str, rate: float) -> None:
        self.name = name
        self.widths, self.batch, self.optimizer, self.rate = widths, batch, optimizer, rate
        self.classifies = widths[-1] > 1

    def inputs(self) -> tuple[Any, Any]:
        if self.classifies:
            targets = (values(self.batch, seed=1) * 1000).astype("int64") % self.widths[-1]
        else:
            targets = values(self.batch, 1, seed=1)
        return values(self.batch, self.widths[0]), targets

    def spec(self) -> Spec:
        shapes: dict[str, tuple[int, ...]] = {}
        for index, (inputs, outputs) in enumerate(pairwise(self.widths)):
            shapes |= {f"{2 * index}.weight": (outputs, inputs), f"{2 * index}.bias": (outputs,)}
        return shapes

    def eager(self, m: Module, jit: Jit) -> Run:
        layers: list[Any] = []
        for inputs, outputs in pairwise(self.widths):
            layers += [m.nn.Linear(inputs, outputs), m.nn.ReLU()]
        model = m.nn.Sequential(*layers[:-1])
        fill(m, model)
        functional = m.nn.functional
        criterion = functional.cross_entropy if self.classifies else functional.mse_loss
        optimizer = getattr(m.optim, self.optimizer)(model.parameters(), lr=self.rate)
        return training(optimizer, lambda x, y: criterion(model(x), y), [m.from_numpy(a) for a in self.inputs()], jit)

    def jax(self, jax: Module) -> Run:
        return jax_training(
            jax, self.spec(), lambda p, x, y: self._loss(jax.numpy, p, x, y), self.inputs(), self._update
        )

    def autograd(self, autograd: Module) -> Run:
        import autograd.numpy as anp

        x, y = self.inputs()
        both = autograd.value_and_grad(lambda parameters: self._loss(anp, parameters, x, y))
        return plain_training(anp, both, arrays(self.spec()), self._update)

    def numpy(self, np: Module) -> Run:
        x, y = self.inputs()
        return plain_training(np, lambda p: self._by_hand(np, p, x, y), arrays(self.spec()), self._update)

    @property
    def _update(self) -> Any:
        return (adam if self.optimizer == "Adam" else sgd)(self.rate)

    def _loss(self, np_: Module, parameters: Any, x: Any, y: Any) -> Any:
        for index in range(0, len(parameters), 2):
            x = x @ parameters[index].T + parameters[index + 1]
            if index + 2 < len(parameters):
                x = np_.maximum(x, 0)
        if not self.classifies:
            return np_.mean((x - y) ** 2)
        shifted = x - np_.max(x, axis=1, keepdims=True)
        logs = shifted - np_.log(np_.sum(np_.exp(shifted), axis=1, keepdims=True))
        return -np_.mean(logs[np_.arange(len(y)), y])

    def _by_hand(self, np: Module, parameters: Any, x: Any, y: Any) -> tuple[Any, list[Any]]:
        """The loss, and the gradients as one would write them without any library for it."""
        passed = [x]
        for index in range(0, len(parameters), 2):
            x = x @ parameters[index].T + parameters[index + 1]
            if index + 2 < len(parameters):
                x = np.maximum(x, 0)
                passed.append(x)
        if self.classifies:
            rows = np.arange(len(y))
            x = x - x.max(axis=1, keepdims=True)
            exponentials = np.exp(x)
            sums = exponentials.sum(axis=1, keepdims=True)
            loss = -(x[rows, y] - np.log(sums[:, 0])).mean()
            slope = exponentials / sums
            slope[rows, y] -= 1
            slope /= len(y)
        else:
            error = x - y
            loss, slope = (error * error).mean(), error * np.float32(2 / error.size)
        gradients: list[Any] = []
        for index in range(len(parameters) - 2, -1, -2):
            before = passed[index // 2]
            gradients = [slope.T @ before, slope.sum(axis=0), *gradients]
            if index:
                slope = (slope @ parameters[index]) * (before > 0)
        return loss, gradients


class DeepPerceptron(Perceptron):
    """Bytes against depth: nothing is timed, only the peak of the memory is taken."""

    timed = False
    trains = True
    compiled = False
    replayed = False

    def __init__(self, depth: int) -> None:
        super().__init__(f"deep MLP, {depth} layers of 256, batch 1024", (256,) * (depth + 1), 1024, "SGD", 0.01)
        self.group = "depth"
        self.depth = depth

    def facts(self) -> dict[str, Any]:
        return {"depth": self.depth}

    def has(self, method: str) -> bool:
        return method != "numpy" and super().has(method)


class Mlp784(Perceptron):
    trains = True
    tolerance = 10

    def __init__(self) -> None:
        super().__init__("MLP 784-256-256-10, batch 64, Adam", (784, 256, 256, 10), 64, "Adam", 1e-3)


WORKLOADS = (
    Perceptron("tiny MLP step, SGD", (4, 16, 1), 8, "SGD", 0.01),
    Perceptron("tiny MLP step, Adam", (4, 16, 1), 8, "Adam", 0.01),
    Mlp784(),
)
