"""Muon: steps along orthogonalized means of the gradient, for matrices."""

from __future__ import annotations

import math
from typing import Any

from clew import Tensor

from .composed import ComposedOptimizer, rate_of, zeros_for
from .groups import Params
from .options import check_not_negative, options_of

Group = dict[str, Any]


def round_to_bfloat16(x: Tensor) -> Tensor:
    """A float32 tensor with each element rounded to bfloat16."""
    return x.bfloat16().float()


def orthogonalized(update: Tensor, coefficients: tuple[float, float, float], steps: int, eps: float) -> Tensor:
    """A matrix with the singular vectors of `update` and singular values near 1, by Newton and Schulz's iteration.

    As in PyTorch, every intermediate result is rounded to bfloat16 (https://kellerjordan.github.io/posts/muon).
    """
    a, b, c = coefficients
    is_tall = update.shape[0] > update.shape[1]
    x = round_to_bfloat16(update.float())
    x = x.T if is_tall else x
    x = round_to_bfloat16(x / round_to_bfloat16(x.norm()).clamp(min=eps))
    for _ in range(steps):
        gram = round_to_bfloat16(x @ x.T)
        polynomial = round_to_bfloat16(gram.addmm(gram, gram, beta=b, alpha=c))
        x = round_to_bfloat16(x.addmm(polynomial, x, beta=a))
    return x.T if is_tall else x


class Muon(ComposedOptimizer):
    """Momentum whose steps are orthogonalized, for the matrices of hidden layers (https://arxiv.org/abs/2502.16982).

    Args:
        params: matrices or groups of them; what else a model has, another optimizer takes.
        lr: the step size.
        weight_decay: shrinks the parameter, by `lr * weight_decay`.
        momentum: the decay rate of the moving average of gradients.
        nesterov: step along the mean as it will be.
        ns_coefficients: of the polynomial of degree 5 that is iterated on the singular values.
        eps: the least norm that the mean is divided by.
        ns_steps: how often the polynomial is iterated; less than 100.
        adjust_lr_fn: what `lr` is multiplied by for a matrix of A by B: "original" (None) `sqrt(max(1, A / B))`,
            "match_rms_adamw" `0.2 * sqrt(max(A, B))`.

    The state of a parameter: "momentum_buffer".

    Raises:
        ValueError: an option is out of range, or a parameter is no matrix.

    Example:
        >>> weight = torch.nn.Parameter(torch.eye(2))
        >>> optimizer = torch.optim.Muon([weight], lr=0.5)
        >>> weight.sum().backward()
        >>> optimizer.step()
        >>> torch.allclose(weight.detach(), 0.95 * torch.eye(2) - 0.25, atol=0.1)
        True
    """

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        check_not_negative("momentum", momentum)
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        if ns_steps >= 100:
            raise ValueError(f"Number of steps must be less than 100 for computational efficiency, got {ns_steps}")
        if len(ns_coefficients) != 3:
            raise ValueError(f"Coefficients must be a tuple of exactly 3 values, got {len(ns_coefficients)}")
        super().__init__(params, **options_of(locals()))
        for parameter in (each for group in self.param_groups for each in group["params"]):
            if parameter.dim() != 2:
                raise ValueError(
                    f"Muon only supports 2D parameters whereas we found a parameter with size: {parameter.shape}"
                )

    def _step_one(self, parameter: Tensor, grad: Tensor, group: Group) -> None:
        if parameter.is_complex():
            raise RuntimeError("Muon does not support complex parameters; use Adam")
        state = self.state[parameter]
        if not state:
            state.update(zeros_for(parameter, "momentum_buffer"))
        mean = state["momentum_buffer"].lerp_(grad, 1 - group["momentum"])
        update = grad.lerp(mean, group["momentum"]) if group["nesterov"] else mean
        rate, (rows, columns) = rate_of(group), parameter.shape
        by_shape = {
            None: math.sqrt(max(1, rows / columns)),
            "original": math.sqrt(max(1, rows / columns)),
            "match_rms_adamw": 0.2 * math.sqrt(max(rows, columns)),
        }
        parameter.mul_(1 - rate * group["weight_decay"])
        step = orthogonalized(update, group["ns_coefficients"], group["ns_steps"], group["eps"])
        parameter.add_(step, alpha=-rate * by_shape[group["adjust_lr_fn"]])
