"""Shapes of arguments in annotations, checked at each call."""

from beartype import beartype
from jaxtyping import Float, Int, jaxtyped
from torch import Tensor

from bench.drawn import integers, normal, perceptron


@jaxtyped(typechecker=beartype)
def chosen(values: Float[Tensor, "batch classes"], classes: Int[Tensor, " batch"]) -> Float[Tensor, " batch"]:
    return values.gather(1, classes[:, None])[:, 0]


def main():
    found = chosen(perceptron()(normal(5, 4)), integers(2, 5))
    try:
        chosen(normal(5, 2), integers(2, 4))
    except Exception:
        return found, isinstance(normal(2, 3), Float[Tensor, "a 3"])
