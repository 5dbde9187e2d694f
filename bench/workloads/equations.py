"""Second order: the residual of Burgers' equation ``u_t + u u_x = 0.01 u_xx``, and its gradient."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from bench.workload import Jit, Module, Run, Workload
from bench.workloads._shared import Spec, arrays, fill, values

WIDTHS, POINTS = (2, 32, 32, 32, 1), 256


def spec() -> Spec:
    shapes: dict[str, tuple[int, ...]] = {}
    for index, (inputs, outputs) in enumerate(pairwise(WIDTHS)):
        shapes |= {f"{2 * index}.weight": (outputs, inputs), f"{2 * index}.bias": (outputs,)}
    return shapes


def network(tanh: Any, parameters: Any, points: Any) -> Any:
    for index in range(0, len(parameters), 2):
        points = points @ parameters[index].T + parameters[index + 1]
        if index + 2 < len(parameters):
            points = tanh(points)
    return points


class SecondOrder(Workload):
    name = "second order, MLP 2-32-32-32-1, 256 points"
    trains = True
    replayed = True
    tolerance = 10

    def eager(self, m: Module, jit: Jit) -> Run:
        layers: list[Any] = []
        for inputs, outputs in pairwise(WIDTHS):
            layers += [m.nn.Linear(inputs, outputs), m.nn.Tanh()]
        model = m.nn.Sequential(*layers[:-1])
        parameters = fill(m, model)
        points = m.from_numpy(values(POINTS, 2)).requires_grad_()
        grad = m.autograd.grad

        def run() -> Any:
            model.zero_grad()
            u = model(points)
            (slopes,) = grad(u.sum(), points, create_graph=True)
            u_x, u_t = slopes[:, 0], slopes[:, 1]
            (curvatures,) = grad(u_x.sum(), points, create_graph=True)
            residual = u_t + u[:, 0] * u_x - 0.01 * curvatures[:, 0]
            (residual * residual).mean().backward()
            return [parameter.grad for parameter in parameters]

        return Run(run)

    def jax(self, jax: Module) -> Run:
        jnp = jax.numpy

        def loss(parameters: Any, points: Any) -> Any:
            def slopes_of(points: Any) -> Any:
                return jax.grad(lambda points: network(jnp.tanh, parameters, points).sum())(points)

            u, slopes = network(jnp.tanh, parameters, points), slopes_of(points)
            curvatures = jax.grad(lambda points: slopes_of(points)[:, 0].sum())(points)
            return ((slopes[:, 1] + u[:, 0] * slopes[:, 0] - 0.01 * curvatures[:, 0]) ** 2).mean()

        gradient = jax.jit(jax.grad(loss))
        parameters = [jnp.asarray(array) for array in arrays(spec())]
        points = jnp.asarray(values(POINTS, 2))
        return Run(lambda: gradient(parameters, points), ready=jax.block_until_ready)

    def autograd(self, autograd: Module) -> Run:
        import autograd.numpy as anp

        points = values(POINTS, 2)

        def loss(parameters: Any) -> Any:
            def total(points: Any) -> Any:
                return anp.sum(network(anp.tanh, parameters, points))

            slopes_of = autograd.grad(total)
            u, slopes = network(anp.tanh, parameters, points), slopes_of(points)
            curvatures = autograd.grad(lambda points: anp.sum(slopes_of(points)[:, 0]))(points)
            return anp.mean((slopes[:, 1] + u[:, 0] * slopes[:, 0] - 0.01 * curvatures[:, 0]) ** 2)

        gradient = autograd.grad(loss)
        parameters = arrays(spec())
        return Run(lambda: gradient(parameters))


WORKLOADS = (SecondOrder(),)
