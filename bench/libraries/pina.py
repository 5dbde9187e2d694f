"""A solver informed by Poisson's equation."""

from pina import Condition, Trainer
from pina.domain import CartesianDomain
from pina.equation import Equation, FixedValue
from pina.model import FeedForward
from pina.operator import laplacian
from pina.problem import SpatialProblem
from pina.solver import PINN

from bench.drawn import filled


class Poisson(SpatialProblem):
    output_variables = ["u"]
    spatial_domain = CartesianDomain({"x": [0.0, 1.0]})
    domains = {"inside": CartesianDomain({"x": [0.0, 1.0]}), "left": CartesianDomain({"x": 0.0})}
    conditions = {
        "inside": Condition(
            domain="inside", equation=Equation(lambda x, y: laplacian(y, x, components=["u"], d=["x"]) + 1)
        ),
        "left": Condition(domain="left", equation=FixedValue(0.0)),
    }


def main():
    problem = Poisson()
    problem.discretise_domain(10, "grid", domains=["inside"])
    problem.discretise_domain(1, "grid", domains=["left"])
    solver = PINN(problem=problem, model=filled(FeedForward(1, 1, layers=[8, 8])))
    quiet = {
        "enable_progress_bar": False,
        "logger": False,
        "enable_model_summary": False,
        "enable_checkpointing": False,
    }
    trainer = Trainer(solver, max_epochs=3, accelerator="cpu", **quiet)
    trainer.train()
    return trainer.callback_metrics["train_loss"], [*solver.parameters()]
